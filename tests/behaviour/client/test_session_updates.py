"""The typed state of a session: when the agent's updates are read, and what of lists is sent
back."""

from __future__ import annotations

import copy
import json
from typing import Any, Self

import pytest
from pydantic import BaseModel, ValidationError, model_validator

from langgraph_agui.client import AGUISession, StreamTruncatedError
from langgraph_agui.client.typed_state import TypedState
from tests.kit.processes.scripted_servers import Awaiting, Blocking, recording, server
from tests.kit.run.wire_events import STARTED, Wire, event, in_run, state_delta

both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)


class Count(BaseModel):
    number: int = 0

    @model_validator(mode="after")
    def _count(self) -> Self:
        READ.append(self.number)
        return self


READ: list[int] = []


@pytest.fixture(autouse=True)
def nothing_read() -> None:
    READ.clear()


def put(value: object) -> Wire:
    return state_delta({"op": "add", "path": "/number", "value": value})


def counting(agent: Any) -> tuple[AGUISession[Count], list[object]]:
    """A session, and the inputs that it has reported."""
    faults: list[object] = []

    def report(error: ValidationError) -> None:
        faults.append(error.errors()[0]["input"])

    return AGUISession[Count](agent.url, on_invalid_state=report), faults


@both
def test_updates_that_nobody_looks_at_are_not_read(reader: Blocking) -> None:
    """All of a state is validated each time: a run of many deltas must not cost as many
    validations."""
    with server(recording(*in_run(*map(put, range(1, 50)), put("bad"), put(60)))) as agent:
        session, faults = counting(agent)
        assert READ == [0]
        reader.read(session.send("x"))
        assert READ == [0, 60]
        assert (session.state.number, READ) == (60, [0, 60])
    assert not faults  # of what has passed


@both
def test_the_last_update_does_not_fit(reader: Blocking) -> None:
    recorded = [*map(put, range(1, 20)), put("bad"), put("worse")]
    with server(recording(*in_run(*recorded)), recording(*in_run())) as agent:
        session, faults = counting(agent)
        reader.read(session.send("x"))
        assert faults == ["worse"]
        assert session.state.number == 19  # the last one that did fit
        assert READ == [0, 19]
        reader.read(session.send("y"))
    assert agent.asked[1].json["state"] == {"number": 19}


@both
def test_updates_that_never_fit(reader: Blocking) -> None:
    """Only the last few are tried: the state stays what somebody has seen."""
    with server(recording(*in_run(put(1), *[put("bad")] * 20))) as agent:
        session, faults = counting(agent)
        reader.read(session.send("x"))
    assert (session.state.number, faults) == (0, ["bad"])


class Dish(BaseModel):
    servings: int = 2
    steps: list[str] = []


class Named(Dish):
    name: str


MANY = {"servings": "many", "steps": ["a"], "more": 1}


@both
def test_what_fits_of_a_first_update(reader: Blocking) -> None:
    faults: list[ValidationError] = []
    with server(
        recording(*in_run(event("STATE_SNAPSHOT", snapshot=MANY))), recording(*in_run())
    ) as agent:
        session = AGUISession[Dish](agent.url, on_invalid_state=faults.append)
        reader.read(session.send("x"))
        assert [fault.errors()[0]["loc"] for fault in faults] == [("servings",)]
        assert session.state == Dish(servings=2, steps=["a"])
        session.state.steps.append("b")
        again = AGUISession[Dish].from_json(session.to_json(), agent.url)
        assert again.state == session.state
        reader.read(session.send("y"))
    assert agent.asked[1].json["state"] == {"servings": 2, "steps": ["a", "b"], "more": 1}


@pytest.mark.parametrize(
    ("kind", "first", "then", "read", "sent"),
    [
        # What the agent changed beside it, and what stood where it does not fit.
        (Dish, {"servings": 5}, MANY, Dish(servings=5, steps=["a"]), {**MANY, "servings": 5}),
        # There was no state before it: the default.
        (
            Named,
            {},
            {**MANY, "name": "n"},
            Named(name="n", steps=["a"]),
            {**MANY, "name": "n", "servings": 2},
        ),
        # There was nothing with keys before it.
        (Dish | None, None, MANY, Dish(steps=["a"]), {**MANY, "servings": 2}),
        (dict[str, int], {"a": 1, "b": 2}, {"a": "x", "c": 3}, {"a": 1, "c": 3}, {"a": 1, "c": 3}),
        # It has no keys: nothing of it fits, and it goes back as it came.
        (dict[str, int], {"a": 1}, ["x"], {"a": 1}, ["x"]),
    ],
)
def test_what_fits_of_an_update(kind: Any, first: Any, then: Any, read: Any, sent: Any) -> None:
    faults: list[ValidationError] = []
    state = TypedState[Any](kind, faults.append)
    for one in (first, then):
        state.receive(one)
        state.read()
    assert state.value == read
    assert state.commit() == sent
    assert len(faults) == (2 if kind is Named else 1)


def test_what_does_not_fit_together() -> None:
    """A key cannot be put back if that breaks another rule: all stays as it was."""

    class Range(BaseModel):
        low: int = 0
        high: int = 9

        @model_validator(mode="after")
        def ordered(self) -> Self:
            if self.low > self.high:
                raise ValueError("no range")
            return self

    state = TypedState[Range](Range, lambda error: None)
    state.receive({"low": 20, "high": "far"})
    assert state.value == Range(low=0, high=9)


def test_changes_that_do_not_fit_are_not_sent() -> None:
    with server(
        recording(*in_run(event("STATE_SNAPSHOT", snapshot={"servings": 4}))), recording(*in_run())
    ) as agent:
        session = AGUISession[Dish](agent.url)
        session.send("x").wait()
        session.state.servings = "zz"  # type: ignore[assignment]
        session.to_json()
        for _ in range(2):
            with pytest.raises(ValidationError, match="servings"):
                session.send("y").wait()
        assert (len(agent.asked), len(session.messages)) == (1, 1)
        session.state.servings = 6
        session.send("z").wait()
    assert agent.asked[1].json["state"] == {"servings": 6}


@both
def test_a_run_that_breaks_off_is_read_too(reader: Blocking) -> None:
    with server(recording(STARTED, put(1), put("bad"))) as agent:
        session, faults = counting(agent)
        with pytest.raises(StreamTruncatedError):
            reader.read(session.send("x"))
        assert faults == ["bad"]
        assert session.state.number == 1


@both
def test_what_the_user_sets_after_an_update(reader: Blocking) -> None:
    def meddle(one: Any) -> None:
        if one.type == "STATE_DELTA":
            session.state = Count(number=7)

    changed = event("STATE_SNAPSHOT", snapshot={"number": 1, "more": 2})
    with server(recording(*in_run(changed, put(3))), recording(*in_run())) as agent:
        session, _ = counting(agent)
        reader.read(session.send("x"), meddle)
        assert session.state.number == 7
        reader.read(session.send("y"))
    assert agent.asked[1].json["state"] == {"number": 7, "more": 2}


def test_what_is_saved_in_the_middle_of_a_run() -> None:
    """What the agent sends goes before what was changed until then, whether somebody has looked at
    it or not."""
    saved: list[Any] = []
    with server(recording(*in_run(put(1), put(2)))) as agent:
        session, _ = counting(agent)
        for one in session.send("x"):
            if one.type == "STATE_DELTA":
                saved.append(json.loads(session.to_json())["state"])
                session.state.number = 7
    assert saved == [{"number": 1}, {"number": 2}]


def test_half_a_character() -> None:
    """Such text cannot be printed: as elsewhere, it is replaced."""
    with server(recording(*in_run(event("STATE_SNAPSHOT", snapshot={"a": "\ud800"})))) as agent:
        session = AGUISession[Any](agent.url)
        session.send("x").wait()
    assert session.state == {"a": "\ufffd"}


# -- lists ---------------------------------------------------------------------------------------


class Item(BaseModel):
    name: str
    amount: int = 1


class Basket(BaseModel):
    items: list[Item] = []


A, B, C = ({"name": name, "amount": 1, "id": f"id of {name}"} for name in "abc")


def _edit(items: list[Item]) -> None:
    items[1].amount = 5


def _replace(items: list[Item]) -> None:
    items[1:] = [Item(name="z"), items[2]]


def _swap(items: list[Item]) -> None:
    items[0], items[1] = items[1], items[0]


def _swap_and_edit(items: list[Item]) -> None:
    _swap(items)
    items[2].amount = 5


def _rotate_and_add(items: list[Item]) -> None:
    items[:] = [Item(name="z"), items[2], *items[:2]]


def _push_out(items: list[Item]) -> None:
    items[:] = [Item(name="z"), items[0], items[2]]


def _remove(items: list[Item]) -> None:
    del items[0]


def _remove_and_edit(items: list[Item]) -> None:
    del items[0]
    items[0].amount = 5


def _double(items: list[Item]) -> None:
    items.append(items[0])


NEW = {"name": "z", "amount": 1}


@pytest.mark.parametrize(
    ("edit", "sent"),
    [
        (_edit, [A, {**B, "amount": 5}, C]),
        (_replace, [A, {**B, "name": "z"}, C]),
        (_swap, [B, A, C]),
        (_swap_and_edit, [B, A, {**C, "amount": 5}]),
        (_rotate_and_add, [NEW, C, A, B]),
        (_push_out, [NEW, A, C]),
        (_remove, [B, C]),
        (_remove_and_edit, [{"name": "b", "amount": 5}, C]),  # nothing tells that it was B
        (_double, [A, B, C, {"name": "a", "amount": 1}]),
        (list.clear, []),
    ],
)
def test_what_the_type_does_not_know_of_elements(edit: Any, sent: list[Wire]) -> None:
    held = {"items": [A, B, C], "more": 1}
    before = copy.deepcopy(held)
    state = TypedState[Basket](Basket)
    state.receive(held)
    edit(state.value.items)
    for _ in range(2):
        assert json.dumps(state.to_json(), sort_keys=True) == json.dumps(
            {**held, "items": sent}, sort_keys=True
        )
    assert held == before
