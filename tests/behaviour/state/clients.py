"""A client of one thread, for tests of shared state."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from contextlib import aclosing
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent, Private
from langgraph_agui.protocol import Fold
from tests.kit.expect.agreement import record_stream
from tests.kit.graphs.small import chain_of
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.run.thread_client import ending

THREAD: Any = {"configurable": {"thread_id": "t"}}


class Paper(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    doc: Any
    log: Annotated[list[Any], operator.add]
    secret: Annotated[Any, Private]


def agent_of(*nodes: Any, schema: Any = Paper, **options: Any) -> LangGraphAgent:
    return LangGraphAgent(chain_of(*nodes, state=schema, checkpointer=InMemorySaver()), **options)


def writing(name: str = "node", says: str = "", **values: Any) -> Any:
    """A node that writes these values."""

    async def node(state: Any) -> dict[str, Any]:
        return values | ({"messages": [AIMessage(says)]} if says else {})

    node.__name__ = name
    return node


class Client:
    """What a client holds of a thread, from run to run."""

    def __init__(self, agent: LangGraphAgent, state: Any = None) -> None:
        self.agent = agent
        self.messages: list[Any] = []
        self.state: Any = state or {}

    def given(self, *messages: Any, **fields: Any) -> Any:
        return run_input(*self.messages, *messages, thread="t", state=self.state, **fields)

    def take(self, recorded: RecordedRun) -> RecordedRun:
        self.messages, self.state = recorded.messages, recorded.state
        return recorded

    async def say(self, *messages: Any, ends: str = "", **fields: Any) -> RecordedRun:
        recorded = self.take(await record_run(self.agent, self.given(*messages, **fields)))
        assert not ends or ending(recorded) == ends, recorded.last
        return recorded

    async def answer(
        self, run: RecordedRun, *more: Any, payload: Any = "yes", **fields: Any
    ) -> RecordedRun:
        """Answer what `run` has asked, and say more beside."""
        asked = run.last.outcome.interrupts[0].id
        status = "resolved" if payload else "cancelled"
        entry = {"interruptId": asked, "status": status, "payload": payload}
        return await self.say(*more, resume=[entry], **fields)

    async def connect(self, then: Callable[[], object] = lambda: None) -> RecordedRun:
        """Join the run that goes on; call `then` as soon as something has come."""
        given, events = self.given(), []
        async for event in self.agent.connect(given):
            events.append(event)
            if len(events) == 1:
                then()
        return self.take(RecordedRun(events, given))

    async def leave(self, message: str, enough: Callable[[Any, Any], bool]) -> None:
        """Run the agent, and stop reading when an event and the state after it are `enough`."""
        given, received = self.given(message), []
        fold = Fold(given.messages, given.state)
        async with aclosing(self.agent.run(given)) as events:
            async for event in events:
                received.append(event)
                fold.feed(event)
                if enough(event, fold.state):
                    break
        record_stream(received, given.messages, given.state)
        self.messages, self.state = fold.messages, fold.state

    @property
    def stored(self) -> Any:
        """The thread's state."""
        return self.agent.graph.get_state(THREAD).values  # type: ignore[union-attr]


def states(recorded: RecordedRun, kind: str = "") -> list[tuple[Any, Any]]:
    """The events, all or of one type, each with what the client's state was after it."""
    fold, found = Fold(recorded.input.messages, recorded.input.state), []
    for event in recorded.events:
        fold.feed(event)
        if kind in ("", event.type.value):
            found.append((event, fold.state))
    assert fold.warnings == []
    return found


def history(recorded: RecordedRun, key: str = "doc") -> list[Any]:
    """What the client has seen under a key, one after the other; "-" while it had none."""
    seen: list[Any] = []
    for _, state in states(recorded):
        value = state.get(key, "-")
        if not seen or json.dumps(value) != json.dumps(seen[-1]):
            seen.append(value)
    return seen


def told(recorded: RecordedRun) -> str:
    """All that the client was told, as text."""
    return "".join(event.model_dump_json() for event in recorded.events)
