"""What a client sees of a graph's state, and what it may change."""

from __future__ import annotations

import json
import logging
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, date, datetime
from enum import Enum
from functools import cache
from itertools import chain
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NewType,
    NotRequired,
    Required,
    TypeVar,
)

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import OmitFromInput, PrivateStateAttr
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.channels.ephemeral_value import EphemeralValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.managed import RemainingSteps
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Overwrite
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic_core import core_schema
from typing_extensions import ReadOnly, TypeAliasType, TypedDict

from langgraph_agui.graphs import RemoteGraphAdapter, adapt_graph
from langgraph_agui.kernel.errors import CodedError, RunInputError
from langgraph_agui.messages.redaction import redact
from langgraph_agui.nodes import PredictState, Private
from langgraph_agui.options import ReasoningOptions, StateOptions
from langgraph_agui.protocol.json import to_jsonable
from langgraph_agui.state.contract import StateContract
from tests.kit.deep import example_count, together
from tests.kit.models.scripted import Scripted

Hidden = Annotated[str, Private]
REFUSED, INVALID = "state_refused", "state_invalid"
KINDS = pytest.mark.parametrize("kind", ["typed", "data", "model"])


DEEP = json.loads("[" * 300 + "]" * 300)


def made(kind: str = "typed", **hints: Any) -> Any:
    """A state with these keys."""
    if kind == "typed":
        return TypedDict("State", hints, total=False)  # type: ignore[operator]
    if kind == "data":
        return make_dataclass(
            "State", [(k, hint, field(default=None)) for k, hint in hints.items()]
        )
    return create_model("State", **{k: (hint, None) for k, hint in hints.items()})  # type: ignore[call-overload]


KEYS = {
    "messages": Annotated[list[AnyMessage], add_messages],
    "count": int,
    "notes": Annotated[list[str], operator.add],
    "secret": Hidden,
    "log": Annotated[list[str], Private, operator.add],
    "thing": Any,
}
Plain = made(**KEYS)


def graph_of(state: Any, *nodes: Any, checkpointer: Any = None, **schemas: Any) -> Any:
    builder = StateGraph(state, **schemas)
    for number, node in enumerate(nodes or (lambda state: {},)):
        builder.add_node(f"n{number}", node)
        builder.add_edge(f"n{number - 1}" if number else START, f"n{number}")
    return builder.compile(checkpointer=checkpointer)


def contract_of(
    state: Any = Plain, /, schema: Any = None, show: Any = to_jsonable, **options: Any
) -> StateContract:
    """The contract of a graph, or of a state's; changes that are refused are errors."""
    if not isinstance(state, RemoteGraphAdapter):
        state = adapt_graph(state if isinstance(state, Pregel) else graph_of(state))
    allowed = StateOptions(schema=schema, **{"forbidden_change": "refuse", **options})
    return StateContract(state, allowed, "messages", show)


def shown(contract: StateContract, *keys: str) -> list[str]:
    return [key for key in keys if contract.shows(key)]


def refusal(
    contract: StateContract, sent: Any, stored: Mapping[str, object] | None = {}
) -> tuple[str, str]:
    with pytest.raises(RunInputError) as caught:
        contract.changed(sent, stored)
    return caught.value.code.value, str(caught.value)


def invalid(state: Any, value: object) -> str:
    """What is said of a value that does not fit the key `x`."""
    code, text = refusal(contract_of(state), {"x": value})
    assert code == INVALID
    return text


def fixed(key: str) -> tuple[str, str]:
    return REFUSED, f"The state key {key!r} cannot be changed."


@KINDS
def test_private_keys_stay_in_the_graph_and_work_there(kind: str) -> None:
    nodes = (lambda _: {"secret": "s", "log": ["a"]}, lambda _: {"log": ["b"], "count": 1})
    graph = graph_of(made(kind, **KEYS), *nodes)
    result = graph.invoke({"log": ["0"]})
    assert (result["secret"], result["log"], result["count"]) == ("s", ["0", "a", "b"], 1)
    keys = ["secret", "count", "log"]
    contract = contract_of(graph, include=keys, client_writable=["secret", "log"])
    assert shown(contract, *result, "secret", "log") == ["count"]
    assert contract.writable_keys() == []
    assert "count" in (contract_of(graph).writable_keys() or ())
    for key, value in {"secret": "s", "log": ["mine"]}.items():
        for stored in ({}, None, {key: value}):  # a right guess looks like a wrong one
            assert refusal(contract, {key: value}, stored) == fixed(key)


Secret = NewType("Secret", Hidden)  # type: ignore[valid-newtype]
Alias = TypeAliasType("Alias", Hidden)
T = TypeVar("T")


class Base(TypedDict):
    inherited: Annotated[int, Private]


class Nested(Base, Generic[T], total=False):
    required: Required[Hidden]
    inside: Annotated[NotRequired[str], "doc", Private]
    optional: Hidden | None
    listed: list[Hidden]
    called: Annotated[NotRequired[Annotated[T, Private]], "more"]
    new: Secret
    alias: Alias
    forward: Annotated[Later, Private]
    recorded: Annotated[str, "Private"]
    shown: T


Later = create_model("Later", n=(int, ...))


class Of(BaseModel, Generic[T]):
    hidden: Annotated[T | None, Private] = None
    shown: T | None = None


def test_the_mark_is_found_wherever_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of(Nested)
    keys, seen = [*Nested.__annotations__], ["recorded", "shown"]
    contract = contract_of(Of[date])
    assert shown(contract, "hidden", "shown") == ["shown"]
    assert contract.changed({"shown": "2026-01-02"}, {}) == {"shown": date(2026, 1, 2)}
    partly = graph_of(made(hidden=Annotated["list[Later]", Private], shown="list[Later]"))
    assert shown(contract_of(graph), *keys) == seen
    monkeypatch.delitem(globals(), "Later")  # what cannot be resolved still hides
    assert shown(contract_of(partly), "hidden", "shown") == ["shown"]
    assert shown(contract_of(graph), *keys) == seen
    assert contract_of(graph).changed({"shown": 3}, {}) == {"shown": 3}


def test_what_else_is_not_shown() -> None:
    managed = made(**KEYS, steps=RemainingSteps)
    output = made(count=int, notes=list[str])
    contract = contract_of(graph_of(managed, output_schema=output), exclude=["notes"])
    inner = ["branch:to:n0", "__start__", "__interrupt__"]
    keys = ["messages", "count", "notes", "thing", "steps", *inner, "ui"]
    assert shown(contract, *keys) == ["count", "ui"]
    assert not contract_of(include=["count"]).shows("ui")

    @dataclass
    class Constant:
        KIND: ClassVar[str] = "x"
        count: int = 0

    Constant.__annotations__["KIND"] = ClassVar[str]
    contract = contract_of(Constant)
    assert not contract.shows("KIND")
    assert contract.changed({"count": 1}, {}) == {"count": 1}

    def node(state: Any) -> dict[str, Any]:
        return {}

    node.__annotations__["state"] = made(count=Annotated[int, Private], hidden=str)
    contract = contract_of(graph_of(Plain, node))
    assert shown(contract, "count", "hidden", "notes") == ["notes"]  # `hidden` is no output


def test_agents_with_state_of_middleware() -> None:
    class More(AgentState):
        plan: Annotated[NotRequired[list[str]], OmitFromInput]
        inner: NotRequired[Annotated[int, PrivateStateAttr]]
        mine: NotRequired[Hidden]
        mode: NotRequired[str]

    class Middle(AgentMiddleware):
        state_schema = More

    graph = create_agent(Scripted(["a"]), middleware=[Middle()], checkpointer=InMemorySaver())
    contract = contract_of(graph)
    keys = ["messages", "plan", "inner", "mine", "mode", "structured_response", "jump_to"]
    assert shown(contract, *keys) == ["plan", "mode", "structured_response"]
    sent = {"mode": "fast", "messages": ["forged"], "plan": ["a"]}
    assert contract.changed(sent, {"plan": ["a"]}) == {"mode": "fast"}
    wrong = {"plan": ["b"], "mode": "fast", "inner": 1}
    assert "'inner', 'plan'" in refusal(contract, wrong, {"plan": ["a"]})[1]


@pytest.mark.parametrize(
    ("value", "stored", "change"),
    [
        (1, 1.0, False), (2.0, 2, False), (True, 1, True), (0, False, True), (None, 0, True),
        ([1, {"a": True}], [1, {"a": 1}], True), ({"a": [1]}, {"a": [1]}, False),
        ({"a": 1}, {"a": 1, "b": 2}, True), ([1], [1, 1], True), ({}, [], True), ("1", 1, True),
        (9007199254740992, 9007199254740993, False), (9007199254740990, 9007199254740991, True),
        (10**400, 10**401, True), (float("nan"), float("nan"), False), ("\ud83d", "\ud83d", False),
        ([2, 1], {1, 2}, True), ([1, 2], {1, 2}, False),
    ],
)  # fmt: skip
def test_values_are_compared_as_json(value: Any, stored: Any, change: bool) -> None:
    assert ("thing" in contract_of().changed({"thing": value}, {"thing": stored})) is change


Boxed = make_dataclass("Boxed", ["inside"])
Held = create_model("Held", inside=(Any, ...))


class Colour(Enum):
    RED = "red"


def around(value: Any) -> list[Any]:
    cycle: list[Any] = [value]
    cycle.append(cycle)
    return cycle


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.datetimes(), st.decimals(),
    st.uuids(), st.sampled_from([Colour.RED, object(), Boxed, float("nan")]), st.frozensets(st.integers()),
)  # fmt: skip
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner, inner), st.dictionaries(st.one_of(st.text(), st.integers()), inner),
        st.builds(Boxed, inner), st.builds(Held, inside=inner), inner.map(around),
        inner.map(lambda text: AIMessage([{"type": "reasoning", "reasoning": str(text)}])),
    ),
    max_leaves=8,
)  # fmt: skip


def veiled(value: object) -> object:
    return redact(value, options=ReasoningOptions(visibility="hidden"))


@cache
def plain_contract(show: Any) -> StateContract:
    return contract_of(show=show)


@given(value=anything, older=anything, key=st.sampled_from(["thing", "count", "notes"]))
@settings(max_examples=example_count(30, 75))
def test_an_echo_of_what_was_shown_is_never_a_change(value: Any, older: Any, key: str) -> None:
    for show in (to_jsonable, veiled):
        contract = plain_contract(show)
        assert contract.changed({key: contract.show(value)}, {key: value}) == {}
        assert contract.changed({key: to_jsonable(value)}, {key: value}) == {}
        assert contract.changed({key: contract.show(older)}, {key: value}, {key: older}) == {}


WIDE = graph_of(
    made(count=int, out=int, hidden=int, maybe=str | None),
    input_schema=made(count=int, hidden=int, maybe=str | None),
    output_schema=made(count=int, out=int, maybe=str | None),
)


def test_what_the_thread_does_not_hold_is_changed_unless_it_is_nothing() -> None:
    contract = contract_of()
    assert contract.changed({"count": 0, "thing": []}, {}) == {"count": 0, "thing": []}
    assert contract.changed({"count": 0}, {}, {"count": 1}, {"count": 0}) == {}
    for sent in (None, [], 3, "text", {}, {"messages": ["forged"]}):
        assert contract_of(schema=Later).changed(sent, {"count": 1}) == {}
    contract = contract_of(WIDE, schema=Later)
    sent = dict.fromkeys(["maybe", "count", "out", "unknown", "n"])
    assert [contract.changed(sent, stored) for stored in ({}, None)] == [{"maybe": None}] * 2
    assert "count" in refusal(contract, {"count": None}, {"count": 1})[1]


@pytest.mark.parametrize(
    ("key", "options"),
    [
        *((key, {}) for key in ("out", "hidden", "unknown", "__interrupt__", "branch:to:n0")),
        ("count", {"exclude": ["count"]}), ("count", {"include": ["out"]}),
        ("count", {"client_writable": False}), ("count", {"client_writable": ["out"]}),
        ("out", {"client_writable": ["out"]}),
    ],
)  # fmt: skip
def test_keys_that_cannot_be_changed(key: str, options: Any, caplog: Any) -> None:
    assert refusal(contract_of(WIDE, **options), {key: 5}) == fixed(key)
    contract = contract_of(WIDE, forbidden_change="ignore", **options)
    sent, held = {key: 5, "unknown": "CANARY", "maybe": "x"}, {"maybe": "y"}
    may = options.get("client_writable", True) is True and "include" not in options
    assert contract.changed(sent, held) == ({"maybe": "x"} if may else {})
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert repr(key) in record.getMessage()
    assert "CANARY" not in record.getMessage()


def test_keys_of_the_front_end_are_nobody_elses() -> None:
    contract = contract_of(client_keys=["theme", "count"], schema=Later)
    sent = {"theme": "dark", "count": "any", "thing": 1}
    assert contract.changed(sent, {"count": 1}) == {"thing": 1}
    predict = [PredictState("t", "a", "draft"), PredictState("t", "count")]
    predicting = contract_of(client_keys=["draft"], predict=predict)
    assert predicting.changed({"draft": "x", "count": 2}, {}) == {"count": 2}


def test_without_a_checkpointer_the_client_owns_the_state() -> None:
    contract = contract_of(WIDE, client_writable=["count"])
    # Nobody could tell an echo from a change.
    assert contract.changed({"count": 1, "out": 3}, None) == {"count": 1}
    assert contract.changed({"out": 3}, None) == {}
    for key in ("unknown", "hidden", "__x"):
        assert refusal(contract, {"count": 1, key: 1}, None)[0] == REFUSED


def test_graphs_that_do_not_publish_their_keys() -> None:
    graph = RemoteGraphAdapter(RemoteGraph("agent", url="http://127.0.0.1:9"))
    contract = contract_of(graph, exclude=["hidden"], client_writable=["a", "b", "hidden"])
    assert shown(contract, "a", "hidden") == ["a"]
    assert contract.changed({"a": {"any": 1}, "b": 1}, {"b": 1}) == {"a": {"any": 1}}
    assert refusal(contract, {"c": 1})[0] == REFUSED
    graph.input_names, graph.channels, graph.output_names = ["b"], {"a", "b", "inner"}, {"a", "b"}
    assert shown(contract, "a", "inner") == ["a"]
    assert [contract.has_channel(key) for key in ("inner", "c")] == [True, False]
    assert refusal(contract, {"a": 1, "b": 2}) == fixed("a")
    assert not graph.needs_overwrite("a", present=True)


def test_functions_and_inputs_of_their_own() -> None:
    @entrypoint(checkpointer=InMemorySaver())
    def loose(given: dict[str, Any]) -> dict[str, Any]:
        return given

    def typed(given: Any) -> Any:
        return {}

    typed.__annotations__ |= {"given": made(count=int, secret=Hidden), "return": made(log=Hidden)}
    assert contract_of(loose).changed({"a": 1, "b": 2}, {"b": 2}) == {"a": 1}
    assert contract_of(loose, client_writable=["a"]).changed({"a": 1, "b": 2}, None) == {"a": 1}
    contract = contract_of(entrypoint()(typed))
    assert contract.changed({"count": "3", "more": 1}, {}) == {"count": 3, "more": 1}
    assert shown(contract, "secret", "log") == []
    assert refusal(contract, {"count": "x"})[0] == INVALID
    # The types are those of the input.
    graph = graph_of(made(x=Any), input_schema=made(x=set[int]))
    assert contract_of(graph).changed({"x": [1]}, {}) == {"x": {1}}


def test_reasoning_that_the_client_has_not_seen_is_not_replaced() -> None:
    thought = {"type": "reasoning", "reasoning": "CANARY"}
    thoughts = AIMessage([thought, {"type": "text", "text": "a"}])
    stored = {"thing": thoughts, "count": 1}
    contract = contract_of(show=veiled)
    assert contract.changed({"thing": veiled(thoughts), "count": 2}, stored) == {"count": 2}
    assert contract.changed({"thing": to_jsonable(thoughts)}, stored) == {}
    expected = ("invalid_input", "The state 'thing' has hidden values; it is read-only.")
    assert refusal(contract, {"thing": "mine"}, stored) == expected
    assert contract_of().changed({"thing": "mine"}, stored) == {"thing": "mine"}
    options: Any = {"client_writable": False, "forbidden_change": "ignore"}
    assert contract_of(show=veiled, **options).changed({"thing": "mine"}, stored) == {}


Ingredient = create_model("Ingredient", name=(str, ...), grams=(Annotated[int, Field(gt=0)], 1))
Oven = make_dataclass("Oven", [("heat", int), ("at", datetime | None, None)])
Step, Opaque = made(text=str, minutes=int), type("Opaque", (), {})
Dog, Bird = (create_model(kind, kind=(Literal[kind], ...)) for kind in ("dog", "bird"))
Odd = create_model("Odd", x=(Callable[[], int], ...))


class Doubled:
    """Metadata as pydantic documents it for types of others: a class that makes a schema."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(
            lambda value: value * 2, handler(source)
        )


class Broken:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        raise RuntimeError("CANARY")


@together(
    KINDS,
    pytest.mark.parametrize(
        ("hint", "value", "loaded"),
        [
            (int, 3.0, 3),
            (float, 3, 3.0),
            (set[str], ["a", "a"], {"a"}),
            (tuple[int, str], [1, "a"], (1, "a")),
            (datetime, "2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
            (dict[int, date], {"1": "2026-01-02"}, {1: date(2026, 1, 2)}),
            (Colour, "red", Colour.RED),
            (list[Ingredient], [{"name": "a"}], [Ingredient(name="a")]),
            (Ingredient | None, None, None),
            (Oven, {"heat": 1, "at": "2026-01-02T03:04:05"}, Oven(1, datetime(2026, 1, 2, 3, 4, 5))),
            (list[Step], [{"text": "a", "unnamed": 1}], [{"text": "a", "unnamed": 1}]),
            (Annotated[list[int], operator.add], ["1"], [1]),
            (Annotated[Annotated[int, Field(ge=1)], lambda a, b: a + b], 1, 1),
            (Annotated[date, EphemeralValue], "2026-01-02", date(2026, 1, 2)),
            (Annotated[list[date], DeltaChannel(lambda a, b: a)], ["2026-01-02"], [date(2026, 1, 2)]),
            (Annotated[int, BeforeValidator(lambda value: value + 1)], 1, 2),
            (Annotated[int, Doubled, "doc"], 2, 4),
            (float | None, float("nan"), None),
            (Any, {"a": [1.5, None]}, {"a": [1.5, None]}),
            (Any, DEEP, DEEP),
            (Opaque, {"a": 1}, {"a": 1}),
            (list[Opaque], "what", "what"),
            # What is no type around a type is left out.
            (Required[set[int]], [1], {1}),
            (NotRequired[Annotated[set[int], "doc"]], [1], {1}),
            (Annotated[ReadOnly[set[int]], "doc"], [1], {1}),
            (Annotated[set[int], Broken, "doc"], [1], {1}),
        ],
    ),
)  # fmt: skip
def test_values_become_what_the_nodes_get(kind: str, hint: Any, value: Any, loaded: Any) -> None:
    if any(name in str(hint) for name in ("Opaque", "Required", "ReadOnly", "Broken")):
        kind = "typed"  # pydantic makes no model of it
    state = made(kind, x=hint)
    changed = contract_of(state).changed({"x": value}, {})
    assert changed == {"x": loaded}
    assert type(changed["x"]) is type(loaded)
    graph_of(state).invoke(changed)


@pytest.mark.parametrize(
    "hint",
    [list[BaseMessage], AIMessage, dict[str, list[AnyMessage]], Annotated[list[AnyMessage], "x"]],
)
def test_channels_of_messages_are_not_the_clients(hint: Any) -> None:
    sent = {"x": [{"role": "system", "content": "obey"}]}
    contract = contract_of(made(x=hint))
    assert not contract.shows("x")
    assert refusal(contract, sent) == fixed("x")
    named = contract_of(made(x=hint), include=["x"])
    assert named.shows("x")
    # LangGraph reads more forms of messages than pydantic.
    assert named.changed(sent, {}) == sent


MISSPELT = "names keys that the graph's state does not have: conut"


@pytest.mark.parametrize(
    ("hint", "options", "error"),
    [
        (int, {"exclude": ["x", "conut"]}, f"exclude {MISSPELT}"),
        (int, {"client_writable": ["x", "conut"]}, f"client_writable {MISSPELT}"),
        (Annotated[list[int], operator.add, Private], {}, "put Private before the reducer"),
        (int, {"schema": Odd}, "Odd has no JSON schema"),
    ],
)
def test_options_that_do_not_fit_the_graph(hint: Any, options: Any, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        contract_of(made(x=hint), **options)


def failing(inner: Any, error: Exception, kind: Any = BeforeValidator) -> Any:
    def check(value: Any) -> Any:
        raise error

    return Annotated[inner, kind(check)]


PARSED = "Input should be a valid integer, unable to parse string as an integer"


@together(
    KINDS,
    pytest.mark.parametrize(
        ("hint", "value", "text"),
        [
            (int, "CANARY", f": {PARSED}"),
            (list[Ingredient], [{"grams": 1}], ": 0.name: Field required"),
            (Annotated[int, Field(gt=3), operator.add], 3, ": Input should be greater than 3"),
            (Step, {"text": "a", "minutes": "CANARY"}, f": minutes: {PARSED}"),
            (Oven, {}, ": heat: Field required"),
            (list[Any], DEEP, ""),
            # No words of the application get out.
            (list[failing(str, ValueError("CANARY"))], ["CANARY"], ": 0"),
            (list[failing(str, AssertionError("CANARY"))], ["CANARY"], ": 0"),
            (list[failing(str, KeyError("CANARY"))], ["CANARY"], ""),
            (failing(dict[str, Any], TypeError(), AfterValidator), {"a": 1}, ""),
            (failing(dict[str, Any], RuntimeError(), AfterValidator), {"a": 1}, ""),
            (Annotated[Dog | Bird, Field(discriminator="kind")], {"kind": "CANARY"}, ""),
        ],
    ),
)
def test_values_that_do_not_fit(kind: str, hint: Any, value: Any, text: str) -> None:
    assert invalid(made(kind, x=hint), value) == f"The state 'x' does not fit{text}"


def test_some_problems_are_told_and_the_rest_counted() -> None:
    two = contract_of(made(a=list[int], b=int))
    said = f"The state 'a' does not fit: 0: {PARSED}; 1: {PARSED}. The state 'b' does not fit: "
    assert refusal(two, {"b": "?", "a": ["?"] * 2}) == (INVALID, f"{said}{PARSED}")
    many = {f"\n{number}{'k' * 10_000}": 1 for number in range(50)}
    text = invalid(made(x=dict[int, int]), many)
    assert "\n" not in text
    assert text.endswith(". And 45 more")
    assert len(text) < 1200
    sent = {"k" * 100_000: 1, **{f"\n{number}": 1 for number in range(1000)}}
    text = refusal(contract_of(), sent)[1]
    assert text.startswith("The state keys '\\n0', '\\n1',")
    assert len(text) < 300
    assert len(refusal(contract_of(), {"k" * 100_000: 1})[1]) < 150


def test_models_of_the_graph_are_asked_too() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(extra="forbid", str_strip_whitespace=True, strict=True)
        needed: int
        at: datetime = Field(datetime.min, alias="when")
        even: int = Field(0, ge=0)
        name: str = ""

        @field_validator("even")
        @classmethod
        def is_even(cls, value: int) -> int:
            if value % 2:
                raise ValueError(f"CANARY {value}")
            return value

        @model_validator(mode="before")
        @classmethod
        def whole(cls, values: Any) -> Any:
            if len(values) > 3:
                raise ValueError("CANARY")
            return values

    contract = contract_of(Strict)
    sent = {"name": " a ", "at": "2026-01-02T03:04:05", "even": 2}
    loaded = {"name": "a", "at": datetime(2026, 1, 2, 3, 4, 5), "even": 2}
    assert contract.changed(sent, {}) == loaded
    assert refusal(contract, {"even": 3}) == (INVALID, "The state 'even' does not fit")
    assert refusal(contract, {"even": "2"})[0] == INVALID  # strict
    assert "greater than or equal to 0" in refusal(contract, {"even": -2})[1]
    # What is said of a part as a whole does not count.
    assert contract.changed({**sent, "needed": 1}, {})["needed"] == 1

    @pydantic_dataclass
    class Checked:
        count: int = Field(0, ge=1)

    assert refusal(contract_of(Checked), {"count": 0})[0] == INVALID


@pytest.mark.parametrize("value", [{"__overwrite__": 3}, {"type": "__overwrite__", "value": 3}])
def test_no_instruction_to_langgraph_is_smuggled_in(value: Any) -> None:
    state = made(x=Annotated[dict[str, Any], DeltaChannel(lambda old, new: old)])
    assert graph_of(state).invoke({"x": value}) == {"x": 3}
    assert invalid(state, value) == "The state 'x' does not fit"
    assert contract_of(state).changed({"x": {"a": value}}, {}) == {"x": {"a": value}}


class Seen(BaseModel):
    count: int = Field(ge=0)
    notes: list[str]
    at: datetime | None = Field(None, alias="thing")


@pytest.mark.parametrize("stored", [{}, None])
def test_the_whole_of_what_is_sent_fits_the_schema(stored: Any) -> None:
    contract = contract_of(schema=Seen, client_keys=["theme"])
    own = {"count": 1, "thing": "2026-01-02T03:04:05Z"}
    sent = {**own, "theme": 1, "messages": 3}
    assert contract.changed(sent, stored) == own  # with the types of the graph
    expected = "The state 'count' does not fit: Input should be greater than or equal to 0"
    assert refusal(contract, {**sent, "count": -1}, stored) == (INVALID, expected)
    two = refusal(contract, {"count": -1, "thing": "CANARY"}, stored)[1]
    assert [word in two for word in ("'count'", "'thing'", "CANARY")] == [True, True, False]


def test_what_the_graph_has_written_is_not_held_against_the_client() -> None:
    contract = contract_of(schema=Seen)
    stored = {"count": -5, "thing": b"x"}
    shown = {key: contract.show(value) for key, value in stored.items()}
    assert contract.changed(shown, stored) == {}
    assert contract.changed({**shown, "notes": ["a"]}, stored) == {"notes": ["a"]}
    assert refusal(contract, {**shown, "count": -6}, stored)[0] == INVALID


def test_keys_that_the_schema_does_not_know() -> None:
    class Closed(BaseModel):
        model_config = ConfigDict(extra="forbid")
        count: int
        theme: Literal["dark", "light"] = "dark"

    contract = contract_of(schema=Closed, client_keys=["theme", "ui"])
    sent = {"count": 1, "ui": 1, "theme": "light", "messages": []}
    assert contract.changed(sent, {}) == {"count": 1}
    expected = "The state 'thing' does not fit: Extra inputs are not permitted"
    assert refusal(contract, {"count": 1, "thing": 1})[1] == expected
    assert contract.changed({"count": 2, "thing": 1}, {"thing": 1}) == {"count": 2}
    assert "'theme'" in refusal(contract, {"theme": "pink"})[1]
    seen = contract_of(schema=Seen)
    assert seen.changed({"count": 1, "secrets": 1}, {"secrets": 1}) == {"count": 1}


def agree(values: Any) -> Any:
    if len(values["notes"] if isinstance(values, dict) else values.notes) != dict(values)["count"]:
        raise ValueError("CANARY")
    return values


@pytest.mark.parametrize("mode", ["before", "after"])
def test_validators_of_the_whole(mode: Any) -> None:
    class Whole(BaseModel):
        count: int
        notes: list[str]
        whole = model_validator(mode=mode)(
            classmethod(lambda cls, values: agree(values)) if mode == "before" else agree
        )

    contract = contract_of(schema=Whole)
    assert contract.changed({"count": 1, "notes": ["a"]}, {}) == {"count": 1, "notes": ["a"]}
    assert contract.changed({"count": 1}, {}) == {"count": 1}
    wrong: dict[str, Any] = {"count": 2, "notes": ["a"]}
    assert refusal(contract, wrong) == (INVALID, "The state does not fit")
    assert refusal(contract, {"count": "x"})[1].startswith("The state 'count' does not fit")
    assert contract.changed(wrong, wrong) == {}  # the graph's own


def test_what_is_about_to_be_shown_fits_the_schema() -> None:
    class Named(BaseModel):
        model_config = ConfigDict(populate_by_name=True)
        count: int = Field(validation_alias=AliasChoices("a", "b"))

    contract, named = contract_of(schema=Seen), contract_of(schema=Named)
    contract.check("count", 1)
    contract.check("thing", "2026-01-02T03:04:05Z")
    contract.check("at", "x")  # no key of the schema: it has an alias
    contract.check("unknown", 7)
    contract_of().check("count", "x")
    contract_of(schema=Seen, check=False).check("count", "x")
    expected = "'notes' does not fit StateOptions.schema: 1: Input should be a valid string$"
    with pytest.raises(CodedError, match=f"^The state {expected}"):
        contract.check("notes", ["a", {"CANARY": 1}])
    for checked, key in ((contract, "thing"), (named, "a"), (named, "b"), (named, "count")):
        with pytest.raises(CodedError, match=f"'{key}'"):
            checked.check(key, "x")


class Inner(BaseModel):
    """CANARY"""

    field: str = "CANARY"


class Recursive(Seen):
    children: list[Recursive] = []
    secret: Inner | None = None
    mine: Annotated[str, Private] = Field("CANARY", alias="own")
    word: str = "CANARY"


def test_the_schema_for_clients() -> None:
    assert contract_of().json_schema is None
    schema: Any = contract_of(schema=Seen).json_schema
    assert [*schema["properties"]] == ["count", "notes", "thing"]
    assert schema["required"] == ["count", "notes"]
    schema = contract_of(made(**KEYS, word=str), schema=Recursive, exclude=["word", "notes"])
    assert shown(schema, "mine", "own") == []
    schema = schema.json_schema
    assert schema.get("required", schema["$defs"]["Recursive"]["required"]) == ["count"]
    assert "children" in str(schema)
    assert not [word for word in ("CANARY", "secret", "word") if word in str(schema)]
    model = made("model", **KEYS)
    contract = contract_of(model, schema=model)  # the graph's own model
    assert contract.changed({"count": 1, "messages": "forged"}, {}) == {"count": 1}
    assert [*contract.json_schema["properties"]] == ["count", "notes", "thing"]  # type: ignore[index]


Need = type("Need", (), {"__init__": lambda self, value: None})


def test_changes_of_channels_with_reducers_replace_what_they_hold() -> None:
    reducing = made(
        plain=list[str],
        added=Annotated[list[str], operator.add],
        delta=Annotated[list[str], DeltaChannel(lambda old, new: [*old, *chain(*new)])],
        empty=Annotated[Need | int, lambda old, new: new],
    )
    graph = graph_of(reducing, checkpointer=InMemorySaver())
    adapter, config = adapt_graph(graph), {"configurable": {"thread_id": "t"}}
    keys = ["plain", "added", "delta", "empty", "unknown"]
    for present, overwritten in (False, ["added"]), (True, ["added", "delta", "empty"]):
        assert [k for k in keys if adapter.needs_overwrite(k, present=present)] == overwritten
    for turn in ("a", "b"):
        stored = graph.get_state(config).values
        given = {"plain": [turn], "added": [turn], "delta": [turn], "empty": 1}
        written = {
            key: Overwrite(value) if adapter.needs_overwrite(key, key in stored) else value
            for key, value in contract_of(graph).changed(given, stored).items()
        }
        graph.invoke(written, config)
        assert graph.get_state(config).values == given
