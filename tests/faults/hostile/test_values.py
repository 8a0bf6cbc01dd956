"""Values that JSON does not have, wherever a graph may put one: the stream is in order, and the
thread goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import isawaitable
from typing import Any

import pytest
from fastapi import FastAPI
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer

from langgraph_agui import agui_router, emit_activity, emit_result
from tests.kit.expect.faults import Case, each
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.processes.serving import Served, serving
from tests.kit.run.visitor import Visitor, ending

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


def nested() -> list[Any]:
    made: list[Any] = []
    for _ in range(5000):
        made = [made]
    return made


def cyclic() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


VALUES: dict[str, Callable[[], Any]] = {
    "bytes": lambda: b"\xff\x00",
    "half of a surrogate pair": lambda: "a\ud83d",
    "NaN": lambda: {"x": float("nan"), "y": [float("inf")]},
    "an unknown object": Odd,
    "a set": lambda: {1, "two"},
    "an integer of 5,000 digits": lambda: 10**5000,
    "keys that are no strings": lambda: {1: "a", None: "b", (1, 2): "c", "\ud800": "d"},
    "a cycle": cyclic,
    "5,000 levels": nested,
}


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
# What LangGraph's own serializer refuses.
UNSTORABLE = {"an unknown object", "an integer of 5,000 digits", "keys that are no strings"}
UNSTORABLE |= {"a cycle", "5,000 levels"}
SHALLOW = ("the state", "a dispatched event")
ODD, UNSTORED = "a value that is not JSON in", "a value that cannot be stored in"
JSON, ERROR, SAVED = (
    "the event, with JSON in its place",
    "`RUN_ERROR`, `graph_error`",
    "a message, with a checkpointer",
)
CASES = [
    *(
        Case(f"{ODD} {one}", "a message", JSON, "success", deep=one not in SHALLOW)
        for one in PLACES
    ),
    *(
        Case(f"{UNSTORED} {one}", SAVED, ERROR, "graph_error")
        for one in ("the state", "the fields of a message")
    ),
]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    async def odd(state: State) -> Any:
        place, _, value = state["messages"][-1].text.partition(": ")
        if place == "hello":
            return {"messages": [AIMessage("Well.")]}
        update = PLACES[place](VALUES[value]())
        if isawaitable(update):
            update = await update
        return {"messages": [AIMessage("Done.")]} | (update if isinstance(update, dict) else {})

    app = FastAPI()
    for path, saver in (("/plain", None), ("/stored", InMemorySaver())):
        app.include_router(agui_router(agent_of(odd, state=State, checkpointer=saver), path))
    with serving(app) as served:
        yield served


@each(CASES)
def test_the_stream_is_in_order(case: Case, served: Served) -> None:
    """Nothing of a value's own code or text gets out: `CANARY` is in the one whose methods fail."""
    stores, place = case.ending != "success", case.fault.partition(" in ")[2]
    for value in VALUES:
        path = "/stored" if stores or value not in UNSTORABLE else "/plain"
        visitor = Visitor(served, path, thread=f"{case.name} {value}")
        stream = visitor.begin(f"{place}: {value}")
        recorded = visitor.keep(stream.rest())
        assert ending(recorded) == (case.ending if value in UNSTORABLE else "success"), value
        assert CANARY.encode() not in stream.received
        if value == "5,000 levels":  # no input may be as deep as that
            visitor.held = [message for message in visitor.held if message.role != "activity"]
            visitor.state = {}
        visitor.check_usable()
