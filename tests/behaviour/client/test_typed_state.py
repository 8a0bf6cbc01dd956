"""`AGUISession[Model]`: the state as the application's type, and as what the agent is sent."""

from __future__ import annotations

import copy
import json
from enum import Enum
from typing import Annotated, Any, Literal, Self

import pytest
from ag_ui.core import RunAgentInput
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from typing_extensions import TypedDict

from langgraph_agui.client import AGUISession
from langgraph_agui.client.typed_state import StateT, TypedState
from tests.kit.processes.scripted_servers import Awaiting, Blocking, recording, server
from tests.kit.run.wire_events import Wire, event, in_run

both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)
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


SOUP = {
    "title": "Soup",
    "servingsCount": 2,
    "ingredients": [{"name": "tomato", "origin": "Rome"}],
    "more": {"x": [1]},
}


@both
def test_the_agent_and_the_user_take_turns(reader: Blocking) -> None:
    delta = event("STATE_DELTA", delta=[{"op": "replace", "path": "/servingsCount", "value": 4}])
    with server(
        recording(*in_run(snapshot(SOUP), delta)), recording(*in_run()), recording(*in_run())
    ) as agent:
        session = AGUISession[Recipe](agent.url)
        assert session.state == Recipe()
        seen: list[int] = []
        reader.read(session.send("x"), lambda one: seen.append(session.state.servings))
        assert seen == [1, 2, 4, 4]
        assert session.state.ingredients == [Ingredient(name="tomato")]
        session.state.servings = 6
        session.state.notes["salt"] = {"much": True}
        reader.read(session.send("y"))
        session.state = session.state.model_copy(update={"title": "Stew"})
        reader.read(session.send("z"))
    sent = [asked.json["state"] for asked in agent.asked]
    assert sent[0] == {}
    assert sent[1] == {**SOUP, "servingsCount": 6, "notes": {"salt": {"much": True}}}
    assert sent[2] == {**sent[1], "title": "Stew"}


@both
def test_an_update_that_does_not_fit(reader: Blocking, caplog: pytest.LogCaptureFixture) -> None:
    bad = {**SOUP, "servingsCount": "s3cret"}
    recorded = in_run(
        snapshot(SOUP),
        snapshot(bad),
        event("CUSTOM", name="n", value=1),
        snapshot({**bad, "title": 1}),
    )
    with server(
        recording(*recorded), recording(*in_run()), recording(*in_run(snapshot({"title": "New"})))
    ) as agent:
        reported: list[ValidationError] = []
        session = AGUISession[Recipe](agent.url, on_invalid_state=reported.append)
        reader.read(session.send("x"), lambda one: session.state)
        assert [error.error_count() for error in reported] == [1, 2]
        assert (session.state.title, session.state.servings) == ("Soup", 2)
        session.state.title = "Mine"
        again = AGUISession[Recipe].from_json(session.to_json(), agent.url)
        assert again.state == session.state
        assert again.to_json() == session.to_json()
        for one in (again, session):
            reader.read(one.send("y"))
        assert session.state == Recipe(title="New")
    # What the agent holds goes back to it, with the user's change, and what was kept in place of
    # what did not fit.
    kept = {**bad, "title": "Mine", "servingsCount": 2}
    assert [asked.json["state"] for asked in agent.asked[1:]] == [kept] * 2
    assert "does not fit" not in caplog.text
    with server(recording(*recorded)) as agent:
        logging_ = AGUISession[Recipe](agent.url)
        reader.read(logging_.send("x"), lambda one: logging_.state)
    assert caplog.text.count("does not fit") == 2
    assert "servingsCount" in caplog.text
    assert "s3cret" not in caplog.text


class Needy(BaseModel):
    name: str


@both
def test_a_first_state_that_does_not_fit(
    reader: Blocking, caplog: pytest.LogCaptureFixture
) -> None:
    with server(recording(*in_run()), recording(*in_run(snapshot({"name": 1})))) as agent:
        session = AGUISession[Needy](agent.url)
        for _ in range(2):
            with pytest.raises(ValidationError):
                _ = session.state
            reader.read(session.send("x"))
        assert caplog.text.count("does not fit") == 1
        AGUISession[Needy].from_json(session.to_json(), agent.url)
        assert caplog.text.count("does not fit") == 1  # loading tells nothing new
        session.state = Needy(name="a")
        assert session._input((), ()).state == {"name": "a"}
        with pytest.raises(ValidationError):
            session.state = {"name": 1}  # type: ignore[assignment]
        assert session.state.name == "a"


class Shape(TypedDict):
    size: int


class Colour(Enum):
    RED = "red"


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    colour: Colour
    pair: tuple[int, int]


@pytest.mark.parametrize(
    ("kind", "state", "read"),
    [
        (Shape, {"size": 1}, {"size": 1}),
        (dict[str, Ingredient], {"a": {"name": "b"}}, {"a": Ingredient(name="b")}),
        (list[int], [1, 2], [1, 2]),
        (Recipe | None, None, None),
        (Literal["a"], "a", "a"),
        (Strict, {"colour": "red", "pair": [1, 2]}, Strict(colour=Colour.RED, pair=(1, 2))),
        (Any, {"x": 1}, {"x": 1}),
    ],
    ids=str,
)
@both
def test_other_types(reader: Blocking, kind: Any, state: Any, read: Any) -> None:
    reported: list[Any] = []
    with server(recording(*in_run(snapshot(state)))) as agent:
        session = AGUISession[kind](agent.url, on_invalid_state=reported.append)
        reader.read(session.send("x"))
    assert session.state == read
    assert type(session.state) is type(read)
    again = AGUISession[kind].from_json(session.to_json(), agent.url)
    assert again.state == read
    session.state = read
    assert json.loads(session.to_json())["state"] == state
    assert not reported


def test_a_type_that_may_be_nothing() -> None:
    session = AGUISession[Recipe | None](NOWHERE, state=Recipe(title="x"))
    session.state = None
    assert session.state is None
    assert session._input((), ()).state is None


def test_subclasses() -> None:
    class Own(AGUISession[StateT]):
        pass

    class Kitchen(Own[Recipe]):
        pass

    assert isinstance(Kitchen(NOWHERE).state, Recipe)
    assert isinstance(Kitchen.from_json(Kitchen(NOWHERE).to_json(), NOWHERE), Kitchen)
    assert AGUISession[Recipe] is AGUISession[Recipe]
    assert Own[Recipe].__name__ == "Own[Recipe]"


def test_a_deep_state_without_a_type() -> None:
    state: Any = {}
    for _ in range(500):
        state = {"inner": state}
    with server(recording(*in_run(snapshot(state))), recording(*in_run())) as agent:
        session: AGUISession[Any] = AGUISession(agent.url)
        session.send("x").wait()
        assert session.state == state
        session.send("y").wait()


@both
def test_a_session_without_a_type(reader: Blocking) -> None:
    """Its state is JSON data of its own: what is changed in it changes no run, and no run that goes
    on changes it."""
    delta = event("STATE_DELTA", delta=[{"op": "add", "path": "/list/-", "value": 2}])
    given_ = {"list": [0]}
    with server(recording(*in_run(delta, delta)), recording(*in_run())) as agent:
        session = AGUISession[Any](agent.url, state=given_)
        held: list[Any] = []

        def meddle(one: Any) -> None:
            session.state["list"].append("mine")
            held.append(session.state)

        reader.read(session.send("x"), meddle)
        assert [one["list"] for one in held] == [
            [0, "mine"],
            [0, 2, "mine"],
            [0, 2, 2, "mine", "mine"],
            [0, 2, 2, "mine", "mine"],
        ]
        assert given_ == {"list": [0]}
        session.state["more"] = {1, 2}
        reader.read(session.send("y"))
    assert agent.asked[1].json["state"] == {"list": [0, 2, 2, "mine", "mine"], "more": [1, 2]}


# -- what is sent is what was held, with exactly the user's changes ------------------------------

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


known = st.fixed_dictionaries(
    {},
    optional={
        "a": json_values,
        "b": st.dictionaries(st.sampled_from("abc"), json_values, max_size=3),
        "cc": st.lists(json_values, max_size=3),
        "d": st.integers(-3, 3),
        "inner": st.fixed_dictionaries(
            {"name": st.sampled_from(["", "x"])},
            optional={"grams": st.integers(0, 3), "origin": json_values},
        ),
    },
)
unknown = st.dictionaries(st.sampled_from(["x", "y", "é"]), json_values, max_size=2)
edits = st.fixed_dictionaries(
    {},
    optional={
        "a": json_values,
        "b": st.dictionaries(st.sampled_from("abcd"), json_values, max_size=3),
        "c": st.lists(json_values, max_size=3),
        "d": st.integers(-3, 3),
    },
)


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
    recorded = value.model_dump(by_alias=True, mode="json")
    for field, change in changes.items():
        alias = "cc" if field == "c" else field
        setattr(value, field, change)
        if exact(change) != exact(recorded[alias]):
            wanted[alias] = change
    if value.inner is not None and name is not None:
        value.inner.name = name
        wanted["inner"]["name"] = name
    for _ in range(2):
        assert exact(state.to_json()) == exact(wanted)
    assert held == before


def test_true_is_not_one() -> None:
    state = TypedState[Loose](Loose)
    state.receive({"a": 1, "b": {"c": [0]}})
    state.value.a, state.value.b["c"][0] = True, False
    assert exact(state.to_json()) == exact({"a": True, "b": {"c": [False]}})


def test_the_input_is_not_the_session_s() -> None:
    session = AGUISession[Any](NOWHERE, state={"a": [1]})
    sent: RunAgentInput = session._input((), ())
    session.state["a"].append(2)
    assert sent.state == {"a": [1]}


@pytest.mark.parametrize("how", ["edit", "assign"])
def test_a_value_that_was_refused_can_be_put_back(how: str) -> None:
    """The agent's 0 does not fit, so 6 stays: and that is what the agent is sent, beside its own
    changes."""
    wrong = {"title": "Stew", "servingsCount": 0}
    with server(
        recording(*in_run(snapshot({**SOUP, "servingsCount": 6}), snapshot(wrong))),
        recording(*in_run()),
    ) as agent:
        session = AGUISession[Recipe](agent.url, on_invalid_state=lambda error: None)
        session.send("x").wait()
        assert session.state.servings == 6
        if how == "edit":
            session.state.servings = 6
            wanted = {"title": "Stew", "servingsCount": 6}
        else:
            session.state = Recipe(title="Broth", servings=6)
            wanted = {"title": "Broth", "servingsCount": 6}
        session.send("y").wait()
        assert agent.asked[1].json["state"] == wanted


def test_a_value_that_was_refused_under_the_name_of_its_field() -> None:
    state = TypedState[Recipe](Recipe, lambda error: None)
    for recorded in ({"servings": 6}, {"servings": 0, "title": "Stew"}):
        state.receive(recorded)
        assert state.value.servings == 6
    assert state.value.title == "Stew"


def test_the_same_fault_is_reported_once() -> None:
    fine, wrong = snapshot({"servingsCount": 2}), snapshot({"servingsCount": 0})
    other, more = snapshot({"servingsCount": -1}), event("STATE_DELTA", delta=[])
    faults: list[ValidationError] = []
    with server(recording(*in_run(wrong, more, wrong, other, fine, wrong))) as agent:
        session = AGUISession[Recipe](agent.url, on_invalid_state=faults.append)
        for _ in session.send("x"):
            assert session.state.servings in (1, 2)
    assert [fault.errors()[0]["input"] for fault in faults] == [0, -1, 0]


def test_what_was_kept_is_saved() -> None:
    """Fields that are wrong only together, such as a validator finds them, name no key that could
    be sent instead."""

    class Range(BaseModel):
        low: int = 0
        high: int = 9

        @model_validator(mode="after")
        def ordered(self) -> Self:
            if self.low > self.high:
                raise ValueError("no range")
            return self

    faults: list[ValidationError] = []
    with server(
        recording(*in_run(snapshot({"low": 3, "high": 5}), snapshot({"low": 8, "high": 5})))
    ) as agent:
        session = AGUISession[Range](agent.url, on_invalid_state=faults.append)
        session.send("x").wait()
    assert len(faults) == 1
    assert AGUISession[Range].from_json(session.to_json(), NOWHERE).state == Range(low=3, high=5)
