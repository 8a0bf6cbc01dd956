"""A local graph around a remote agent, and an AG-UI client of its own before it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

from ag_ui.core import ResumeEntry
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.client import RemoteAgent
from tests.kit.run.agents import RecordedRun
from tests.kit.run.thread_client import Client as ThreadClient

LATER: Any = {"configurable": {"thread_id": "t"}}
Host: TypeAlias = Callable[..., str]
"""Serves the agent of a graph, with options, and returns its address."""


class Shared(MessagesState):
    """A state with more than messages."""

    recipe: Any
    dish: Any
    private: Any
    log: Annotated[list[str], operator.add]


def around(*nodes: Any, saver: bool = True, schema: type = Shared) -> CompiledStateGraph[Any]:
    """A graph that runs these nodes one after the other; each is a Runnable with a name."""
    builder = StateGraph(schema).add_sequence([(node.name, node) for node in nodes])
    return builder.add_edge(START, nodes[0].name).compile(InMemorySaver() if saver else None)


class Client(ThreadClient):
    """A front end of a local graph: it sends back what it holds."""

    def __init__(self, graph: Any, **options: Any) -> None:
        super().__init__(LangGraphAgent(graph, **options))
        self.graph, self.open = graph, list[Any]()

    async def say(self, *messages: Any, **fields: Any) -> RecordedRun:
        """One run; `open` is what it waits for."""
        recorded = await self.send(*messages, **fields)
        if recorded.last.type == "RUN_FINISHED":
            recorded.check_snapshot()
            self.open = list(getattr(recorded.last.outcome, "interrupts", None) or ())
        self.held = [message for message in recorded.messages if message.role != "activity"]
        return recorded

    async def answer(self, *payloads: Any) -> RecordedRun:
        """Answer what is open, in its order; None cancels."""
        entries = [
            ResumeEntry(interrupt_id=one.id, status="cancelled")
            if payload is None
            else ResumeEntry(interrupt_id=one.id, status="resolved", payload=payload)
            for one, payload in zip(self.open, payloads, strict=True)
        ]
        return await self.say(resume=entries)


def client_of(url: str, *, saver: bool = True, **options: Any) -> Client:
    """A client of a graph whose one node is a remote agent."""
    return Client(around(RemoteAgent(url, **{"name": "expert", **options}), saver=saver))


def words(messages: Any) -> list[tuple[str, Any]]:
    """What messages say: kind and text, or the calls."""
    return [
        (one.type, one.text or [call["name"] for call in getattr(one, "tool_calls", [])])
        for one in messages
    ]


def tagged(recorded: RecordedRun) -> set[str | None]:
    """Whose items a stream tells."""
    own = ("TEXT_MESSAGE_START", "REASONING_START", "TOOL_CALL_START", "TOOL_CALL_RESULT")
    return {one.subagent_run_id for one in recorded.of(*own, "CUSTOM", "ACTIVITY_SNAPSHOT")}
