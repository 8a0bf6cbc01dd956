"""Values that JSON does not have, wherever a graph may put one: the stream is in order, and the
thread goes on."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer

from langgraph_agui import emit_activity, emit_result
from tests.kit.expect.faults import Case, each
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.run.agents import record_run, run_input

CANARY = "sk-CANARY-0123"


class Odd:
    """What nobody knows how to encode, and what fails when it is looked at."""

    secret = CANARY

    def __repr__(self) -> str:
        raise RuntimeError(CANARY)

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(CANARY)


class State(Chat):
    value: Any


def nested(levels: int | None) -> list[Any]:
    """A list in lists; without a number, in itself."""
    made: list[Any] = []
    for _ in range(levels or 0):
        made = [made]
    if levels is None:
        made.append(made)
    return made


VALUES: dict[str, Callable[[], Any]] = {
    "bytes": lambda: b"\xff\x00",
    "half of a surrogate pair": lambda: "a\ud83d",
    "NaN and a set": lambda: {"x": float("nan"), "y": [float("inf")], "z": {1, "two"}},
    "an unknown object": Odd,
    "an integer of 5,000 digits": lambda: 10**5000,
    "keys that are no strings": lambda: {1: "a", None: "b", (1, 2): "c", "\ud800": "d"},
    "a cycle": lambda: nested(None),
    "5,000 levels": lambda: nested(5000),
}
STORABLE = [*VALUES][:3]
"""What LangGraph's own serializer takes."""


def message_with(value: Any) -> Any:
    fields = {"additional_kwargs": {"value": value}, "response_metadata": {"value": value}}
    return {"messages": [AIMessage("odd", **fields)]}


PLACES: dict[str, Callable[[Any], Any]] = {
    "the state": lambda value: {"value": value},
    "an event of a stream writer": lambda value: get_stream_writer()(value),
    "a dispatched event": lambda value: adispatch_custom_event("odd", value),
    "an activity": lambda value: emit_activity("odd", {"value": value}),
    "the run's result": emit_result,
    "the fields of a message": message_with,
}
ODD, UNSTORED = "a value that is not JSON in", "a value that cannot be stored in"
JSON, ERROR = "the event, with JSON in its place", "`RUN_ERROR`, `graph_error`"
SHALLOW, SAVED = ("the state", "a dispatched event"), "a message, with a checkpointer"
STORED = ("the state", "the fields of a message")
CASES = [
    Case(f"{ODD} {one}", "a message", JSON, "success", deep=one not in SHALLOW) for one in PLACES
]
CASES += [Case(f"{UNSTORED} {one}", SAVED, ERROR, "graph_error") for one in STORED]


async def odd(state: State) -> Any:
    place, _, value = state["messages"][-1].text.partition(": ")
    if place == "hello":
        return {"messages": [AIMessage("Well.")]}
    update = PLACES[place](VALUES[value]())
    if isawaitable(update):
        update = await update
    return {"messages": [AIMessage("Done.")]} | (update if isinstance(update, dict) else {})


@each(CASES)
async def test_the_stream_is_in_order(case: Case) -> None:
    """Nothing of a value's own code or text gets out: `CANARY` is in the one whose methods fail."""
    refuses, place = case.ending != "success", case.fault.partition(" in ")[2]
    agents = {
        saved: agent_of(odd, state=State, checkpointer=InMemorySaver() if saved else None)
        for saved in (True, False)
    }
    for value in VALUES:
        agent, given = (
            agents[refuses or value in STORABLE],
            run_input(f"{place}: {value}", thread=value),
        )
        recorded = await record_run(agent, given)
        ending = getattr(recorded.last, "code", None) or recorded.last.outcome.type
        assert ending == (case.ending if value not in STORABLE else "success"), value
        assert CANARY not in str(recorded.events)
        again = await record_run(agent, run_input(*given.messages, "hello", thread=value))
        assert again.last.type.value == "RUN_FINISHED", again.last
