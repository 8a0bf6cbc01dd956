"""Values that JSON does not have, wherever a graph may put one: the stream is in order, and the
thread goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent, agui_router, emit_activity, emit_result
from tests.kit.expect.faults import Case, each
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


class State(MessagesState):
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


async def in_state(value: Any) -> Any:
    return {"value": value}


async def in_written_event(value: Any) -> None:
    get_stream_writer()(value)


async def in_dispatched_event(value: Any) -> None:
    await adispatch_custom_event("odd", value)


async def in_activity(value: Any) -> None:
    emit_activity("odd", {"value": value})


async def in_result(value: Any) -> None:
    emit_result(value)


async def in_message(value: Any) -> Any:
    return {
        "messages": [
            AIMessage("odd", additional_kwargs={"value": value}, response_metadata={"value": value})
        ]
    }


PLACES: dict[str, Callable[[Any], Any]] = {
    "the state": in_state,
    "an event of a stream writer": in_written_event,
    "a dispatched event": in_dispatched_event,
    "an activity": in_activity,
    "the run's result": in_result,
    "the fields of a message": in_message,
}


UNSTORABLE = {
    "an unknown object",
    "an integer of 5,000 digits",
    "keys that are no strings",
    "a cycle",
    "5,000 levels",
}
"""What LangGraph's own serializer refuses."""

SHALLOW = ("the state", "a dispatched event")
CASES = [
    *(
        Case(
            f"a value that is not JSON in {place}",
            "a message",
            "the event, with JSON in its place",
            "success",
            deep=place not in SHALLOW,
        )
        for place in PLACES
    ),
    *(
        Case(
            f"a value that cannot be stored in {place}",
            "a message, with a checkpointer",
            "`RUN_ERROR`, `graph_error`",
            "graph_error",
        )
        for place in ("the state", "the fields of a message")
    ),
]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    async def odd(state: State) -> Any:
        place, _, value = state["messages"][-1].text.partition(": ")
        if place == "hello":
            return {"messages": [AIMessage("Well.")]}
        update = await PLACES[place](VALUES[value]())
        return {"messages": [AIMessage("Done.")]} | (update or {})

    builder = StateGraph(State)
    builder.add_node("odd", odd)
    builder.add_edge(START, "odd")
    app = FastAPI()
    for path, saver in (("/plain", None), ("/stored", InMemorySaver())):
        app.include_router(agui_router(LangGraphAgent(builder.compile(checkpointer=saver)), path))
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
