"""`AGUISession[Model]`: the state as the application's type, and as what the agent is sent."""

from __future__ import annotations

import copy
import json
from enum import Enum
from typing import Annotated, Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from langgraph_agui.client import AGUISession, StreamTruncatedError
from langgraph_agui.client.typed_state import StateT, TypedState
from tests.kit.processes.scripted_servers import Blocking, server
from tests.kit.run.wire_events import STARTED, Wire, event, in_run, state_delta

NOWHERE = "http://127.0.0.1:1/agent"


class Ingredient(BaseModel):
    name: str
    grams: int | None = None


class Recipe(BaseModel):
    title: str = ""
    servings: Annotated[int, Field(alias="servingsCount", ge=1)] = 1
    ingredients: list[Ingredient] = []
    notes: dict[str, Any] = {}
    model_config = ConfigDict(validate_by_name=True)


def snapshot(value: Any) -> Wire:
    return event("STATE_SNAPSHOT", snapshot=value)


TOMATO = {"name": "tomato", "origin": "Rome"}
SOUP = {"title": "Soup", "servingsCount": 2, "ingredients": [TOMATO], "more": {"x": [1]}}


def test_the_agent_and_the_user_take_turns() -> None:
    delta = state_delta({"op": "replace", "path": "/servingsCount", "value": 4})
    with server(in_run(snapshot(SOUP), delta), in_run(), in_run()) as agent:
        session = AGUISession[Recipe](agent.url)
        assert session.state == Recipe()
        seen: list[int] = []
        Blocking().read(session.send("x"), lambda one: seen.append(session.state.servings))
        assert seen == [1, 2, 4, 4]
        assert session.state.ingredients == [Ingredient(name="tomato")]
        session.state.servings = 6
        session.state.notes["salt"] = {"much": True}
        session.send("y").wait()
        session.state = session.state.model_copy(update={"title": "Stew"})
        session.send("z").wait()
    first, second, third = [asked.json["state"] for asked in agent.asked]
    assert first == {}
    assert second == {**SOUP, "servingsCount": 6, "notes": {"salt": {"much": True}}}
    assert third == {**second, "title": "Stew"}


def test_an_update_that_does_not_fit(caplog: pytest.LogCaptureFixture) -> None:
    """What the agent holds goes back to it, with the user's change, and what was kept in place of
    what did not fit."""
    bad = {**SOUP, "servingsCount": "s3cret"}
    with server(in_run(snapshot(SOUP), snapshot(bad)), in_run(), in_run()) as agent:
        session = AGUISession[Recipe](agent.url)
        Blocking().read(session.send("x"), lambda one: session.state)
        assert caplog.text.count("does not fit at servingsCount") == 1
        assert "s3cret" not in caplog.text
        session.state.title = "Mine"
        again = AGUISession[Recipe].from_json(session.to_json(), agent.url)
        assert (again.state, again.to_json()) == (session.state, session.to_json())
        for one in (again, session):
            one.send("y").wait()
    kept = {**bad, "title": "Mine", "servingsCount": 2}
    assert [asked.json["state"] for asked in agent.asked[1:]] == [kept] * 2


class Needy(BaseModel):
    name: str


def test_a_first_state_that_does_not_fit(caplog: pytest.LogCaptureFixture) -> None:
    with server(in_run(), in_run(snapshot({"name": 1}))) as agent:
        session = AGUISession[Needy](agent.url)
        for _ in range(2):
            with pytest.raises(ValidationError):
                _ = session.state
            session.send("x").wait()
        AGUISession[Needy].from_json(session.to_json(), agent.url)
        assert caplog.text.count("does not fit") == 1  # loading tells nothing new
        session.state = Needy(name="a")
        assert session._input((), ()).state == {"name": "a"}
        with pytest.raises(ValidationError):
            session.state = {"name": 1}  # type: ignore[assignment]
        assert session.state.name == "a"


class Colour(Enum):
    RED = "red"


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    colour: Colour
    pair: tuple[int, int]


@pytest.mark.parametrize(
    ("kind", "state", "read"),
    [
        (dict[str, Ingredient], {"a": {"name": "b"}}, {"a": Ingredient(name="b")}),
        (list[int], [1, 2], [1, 2]),
        (Recipe | None, None, None),
        (Strict, {"colour": "red", "pair": [1, 2]}, Strict(colour=Colour.RED, pair=(1, 2))),
        (Any, {"x": 1}, {"x": 1}),
    ],
    ids=str,
)
def test_other_types(kind: Any, state: Any, read: Any) -> None:
    reported: list[Any] = []
    with server(in_run(snapshot(state))) as agent:
        session = AGUISession[kind](agent.url, on_invalid_state=reported.append)
        session.send("x").wait()
    for one in (session, AGUISession[kind].from_json(session.to_json(), agent.url)):
        assert (one.state, type(one.state)) == (read, type(read))
    session.state = read
    assert json.loads(session.to_json())["state"] == state
    assert not reported


def test_subclasses() -> None:
    class Own(AGUISession[StateT]):
        pass

    class Kitchen(Own[Recipe]):
        pass

    assert isinstance(Kitchen(NOWHERE).state, Recipe)
    assert isinstance(Kitchen.from_json(Kitchen(NOWHERE).to_json(), NOWHERE), Kitchen)
    assert AGUISession[Recipe] is AGUISession[Recipe]
    assert Own[Recipe].__name__ == "Own[Recipe]"


def test_a_session_without_a_type() -> None:
    """Its state is JSON data of its own: what is changed in it changes no run, and no run that goes
    on changes it."""
    delta, given_ = state_delta({"op": "add", "path": "/list/-", "value": 2}), {"list": [0]}
    with server(in_run(delta, delta), in_run()) as agent:
        session = AGUISession[Any](agent.url, state=given_)
        held: list[Any] = []

        def meddle(one: Any) -> None:
            session.state["list"].append("mine")
            held.append(session.state["list"])

        Blocking().read(session.send("x"), meddle)
        last = [0, 2, 2, "mine", "mine"]
        assert held == [[0, "mine"], [0, 2, "mine"], last, last]
        assert given_ == {"list": [0]}
        session.state["more"] = {1, 2}
        session.send("y").wait()
    assert agent.asked[1].json["state"] == {"list": last, "more": [1, 2]}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 0.5, "", "a"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    ),
    max_leaves=5,
)


class Loose(BaseModel):
    a: Any = None
    b: dict[str, Any] = {}
    c: list[Any] = Field(default=[], alias="cc")
    d: int = 7
    inner: Ingredient | None = None


maps, lists = (
    st.dictionaries(st.sampled_from("abcd"), json_values, max_size=3),
    st.lists(json_values, max_size=3),
)
fields = {"a": json_values, "b": maps, "c": lists, "d": st.integers(-3, 3)}
more = {"grams": st.integers(0, 3), "origin": json_values}
inners = st.fixed_dictionaries({"name": st.sampled_from(["", "x"])}, optional=more)
known = st.fixed_dictionaries({}, optional={**fields, "cc": lists, "inner": inners})
unknown = st.dictionaries(st.sampled_from(["x", "y", "é"]), json_values, max_size=2)
edits = st.fixed_dictionaries({}, optional=fields)


def exact(value: Any) -> str:
    return json.dumps(value, sort_keys=True).replace("1.0", "1")


@given(known, unknown, edits, st.booleans(), st.sampled_from(["y", None]))
def test_exactly_the_changes_are_sent(
    held: Any, beside: Any, changes: Any, assign: bool, name: str | None
) -> None:
    held = {**held, **beside}
    before = copy.deepcopy(held)
    state = TypedState[Loose](Loose)
    state.receive(held)
    assert exact(state.to_json()) == exact(before)  # reading changes nothing
    if assign:
        state.set(state.value.model_copy(deep=True))
    value, wanted = state.value, copy.deepcopy(before)
    was = value.model_dump(by_alias=True, mode="json")
    for field, change in changes.items():
        alias = "cc" if field == "c" else field
        setattr(value, field, change)
        if exact(change) != exact(was[alias]):
            wanted[alias] = change
    if value.inner is not None and name is not None:
        value.inner.name = name
        wanted["inner"]["name"] = name
    for _ in range(2):
        assert exact(state.to_json()) == exact(wanted)
    assert held == before


@pytest.mark.parametrize("assigns", [False, True], ids=["edit", "assign"])
def test_a_value_that_was_refused_can_be_put_back(assigns: bool) -> None:
    """The agent's 0 does not fit, so 6 stays: and that is what the agent is sent, beside its own
    changes."""
    state = TypedState[Recipe](Recipe, lambda error: None)
    for told in ({**SOUP, "servingsCount": 6}, {"title": "Stew", "servingsCount": 0}):
        state.receive(told)
        assert state.value.servings == 6
    if assigns:
        state.set(Recipe(title="Broth", servings=6))
    else:
        state.value.servings = 6
    assert state.commit() == {"title": "Broth" if assigns else "Stew", "servingsCount": 6}


class Count(BaseModel):
    number: int = 0

    @model_validator(mode="after")
    def _count(self) -> Self:
        READ.append(self.number)
        return self


READ: list[int] = []


def put(value: object) -> Wire:
    return state_delta({"op": "add", "path": "/number", "value": value})


def counting(agent: Any) -> tuple[AGUISession[Count], list[object]]:
    """A session, and the inputs that it has reported."""
    faults: list[object] = []

    def report(error: ValidationError) -> None:
        faults.append(error.errors()[0]["input"])

    READ.clear()
    return AGUISession[Count](agent.url, on_invalid_state=report), faults


@pytest.mark.parametrize(
    ("told", "number", "reported", "read"),
    [
        # All of a state is validated each time: a run of many deltas must not cost as many.
        pytest.param([*range(1, 50), "bad", 60], 60, [], [0, 60], id="nobody looks at them"),
        # The last one that did fit stays.
        pytest.param([*range(1, 20), "bad", "worse"], 19, ["worse"], [0, 19], id="the last is bad"),
        # Only the last few are tried: the state stays what somebody has seen.
        pytest.param([1, *["bad"] * 20], 0, ["bad"], [0], id="they never fit"),
    ],
)
def test_updates_are_read_at_the_end(
    told: list[Any], number: int, reported: list[Any], read: list[int]
) -> None:
    with server(in_run(*map(put, told)), in_run()) as agent:
        session, faults = counting(agent)
        session.send("x").wait()
        assert (session.state.number, faults, READ) == (number, reported, read)
        session.send("y").wait()
        assert agent.asked[1].json["state"] == {"number": number}


def test_the_same_fault_is_reported_once() -> None:
    with server(in_run(*map(put, ["a", "a", "b", 2, "a"]))) as agent:
        session, faults = counting(agent)
        for _ in session.send("x"):
            assert session.state.number in (0, 2)
    assert faults == ["a", "b", "a"]


def test_a_run_that_breaks_off_is_read_too() -> None:
    with server([STARTED, put(1), put("bad")]) as agent:
        session, faults = counting(agent)
        with pytest.raises(StreamTruncatedError):
            session.send("x").wait()
        assert (session.state.number, faults) == (1, ["bad"])


def test_what_the_user_sets_after_an_update() -> None:
    def meddle(one: Any) -> None:
        if one.type == "STATE_DELTA":
            session.state = Count(number=7)

    with server(in_run(snapshot({"number": 1, "more": 2}), put(3)), in_run()) as agent:
        session, _ = counting(agent)
        Blocking().read(session.send("x"), meddle)
        assert session.state.number == 7
        session.send("y").wait()
    assert agent.asked[1].json["state"] == {"number": 7, "more": 2}


def test_what_is_saved_in_the_middle_of_a_run() -> None:
    """What the agent sends goes before what was changed until then, whether somebody has looked at
    it or not."""
    saved: list[Any] = []
    with server(in_run(put(1), put(2))) as agent:
        session, _ = counting(agent)
        for one in session.send("x"):
            if one.type == "STATE_DELTA":
                saved.append(json.loads(session.to_json())["state"])
                session.state.number = 7
    assert saved == [{"number": 1}, {"number": 2}]


class Dish(BaseModel):
    servings: int = 2
    steps: list[str] = []


class Named(Dish):
    name: str


MANY: Any = {"servings": "many", "steps": ["a"], "more": 1}
NAMED = {**MANY, "name": "n"}


@pytest.mark.parametrize(
    ("kind", "first", "then", "read", "sent"),
    [
        # What the agent changed beside it, and what stood where it does not fit.
        (Dish, {"servings": 5}, MANY, Dish(servings=5, steps=["a"]), {**MANY, "servings": 5}),
        # There was no state before it: the default.
        (Named, {}, NAMED, Named(name="n", steps=["a"]), {**NAMED, "servings": 2}),
        # There was nothing with keys before it.
        (Dish | None, None, MANY, Dish(steps=["a"]), {**MANY, "servings": 2}),
        (dict[str, int], {"a": 1, "b": 2}, {"a": "x", "c": 3}, {"a": 1, "c": 3}, {"a": 1, "c": 3}),
        # It has no keys: nothing of it fits, and it goes back as it came.
        (dict[str, int], {"a": 1}, ["x"], {"a": 1}, ["x"]),
        # Under the name of its field.
        (Recipe, {"servings": 6}, {"servings": 0}, Recipe(servings=6), {"servings": 6}),
    ],
)
def test_what_fits_of_an_update(kind: Any, first: Any, then: Any, read: Any, sent: Any) -> None:
    faults: list[ValidationError] = []
    state = TypedState[Any](kind, faults.append)
    for one in (first, then):
        state.receive(one)
        state.read()
    assert (state.value, state.commit()) == (read, sent)
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
    with server(in_run(snapshot({"servings": 4})), in_run()) as agent:
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


class Item(BaseModel):
    name: str
    amount: int = 1


class Basket(BaseModel):
    items: list[Item] = []


A, B, C = ({"name": name, "amount": 1, "id": f"id of {name}"} for name in "abc")
B5, C5, Z = {**B, "amount": 5}, {**C, "amount": 5}, {"name": "z", "amount": 1}


@pytest.mark.parametrize(
    ("order", "edited", "sent"),
    [
        ([0, 1, 2], 1, [A, B5, C]),
        ([0, "z", 2], None, [A, {**B, "name": "z"}, C]),
        ([1, 0, 2], None, [B, A, C]),
        ([1, 0, 2], 2, [B, A, C5]),
        (["z", 2, 0, 1], None, [Z, C, A, B]),
        (["z", 0, 2], None, [Z, A, C]),
        ([1, 2], None, [B, C]),
        # nothing tells that it was B
        ([1, 2], 0, [{"name": "b", "amount": 5}, C]),
        ([0, 1, 2, 0], None, [A, B, C, {"name": "a", "amount": 1}]),
        ([], None, []),
    ],
)
def test_what_the_type_does_not_know_of_elements(
    order: list[Any], edited: int | None, sent: list[Wire]
) -> None:
    """The elements are put into that order, with a new one, and the amount of one is changed."""
    held = {"items": [A, B, C], "more": 1}
    before, state = copy.deepcopy(held), TypedState[Basket](Basket)
    state.receive(held)
    items = state.value.items
    items[:] = [Item(name="z") if one == "z" else items[one] for one in order]
    if edited is not None:
        items[edited].amount = 5
    for _ in range(2):
        assert exact(state.to_json()) == exact({**held, "items": sent})
    assert held == before
