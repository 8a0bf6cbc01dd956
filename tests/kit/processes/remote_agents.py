"""A remote agent on a real server, and a local graph around it with an AG-UI client of its own."""

from __future__ import annotations

import operator
from itertools import count
from typing import Annotated, Any

from ag_ui.core import ResumeEntry
from fastapi import FastAPI
from langchain_core.messages import BaseMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from langgraph_agui import LangGraphAgent, agui_router
from tests.kit.processes.serving import Served
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input

STATUS: Any = {True: "cancelled", False: "resolved"}
LATER: Any = {"configurable": {"thread_id": "later"}}


class Host:
    """Serves agents."""

    def __init__(self, app: FastAPI, served: Served) -> None:
        self.served = served
        self._app, self._numbers = app, count()

    def __call__(self, graph: Any, **options: Any) -> str:
        """The address of a graph's agent."""
        path = f"/{next(self._numbers)}"
        self._app.include_router(agui_router(LangGraphAgent(graph, **options), path))
        return self.served.url(path)


class Shared(MessagesState):
    """A state with more than messages."""

    recipe: Any
    dish: Any
    private: Any
    log: Annotated[list[str], operator.add]


def around(
    *nodes: Any, checkpointer: Any = None, schema: type = Shared, **compiled: Any
) -> CompiledStateGraph[Any]:
    """A graph that runs these nodes one after the other; each is a Runnable with a name."""
    builder = StateGraph(schema)
    before = START
    for node in nodes:
        name = getattr(node, "name", None) or node.__name__
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder.compile(checkpointer, **compiled)


class Client:
    """A front end of the local graph: it sends back what it holds."""

    def __init__(self, graph: Any, thread: str = "local", **options: Any) -> None:
        self.graph, self.agent, self.thread = graph, LangGraphAgent(graph, **options), thread
        self.messages: list[Any] = []
        self.state: Any = {}
        self.recorded: list[RecordedRun] = []

    async def say(self, *messages: Any, **fields: Any) -> RecordedRun:
        """One run."""
        given = run_input(*self.messages, *messages, thread=self.thread, state=self.state, **fields)
        recorded = await record_run(self.agent, given)
        if recorded.last.type == "RUN_FINISHED":
            spoken = [message for message in recorded.streamed if message.role != "activity"]
            assert dumped(spoken) == dumped(recorded.snapshot)
        self.messages = [message for message in recorded.messages if message.role != "activity"]
        self.state = recorded.state
        self.recorded.append(recorded)
        return recorded

    @property
    def open(self) -> list[Any]:
        """What the last run waits for."""
        return list(getattr(self.recorded[-1].last.outcome, "interrupts", None) or ())

    async def answer(self, *payloads: Any, **fields: Any) -> RecordedRun:
        """Answer what is open, in its order; None cancels."""
        entries = [
            ResumeEntry(
                interrupt_id=one.id,
                **({"payload": payload} if payload is not None else {}),
                status="cancelled" if payload is None else "resolved",
            )
            for one, payload in zip(self.open, payloads, strict=True)
        ]
        return await self.say(resume=entries, **fields)

    @property
    def config(self) -> Any:
        return {"configurable": {"thread_id": self.thread}}

    async def held(self) -> list[BaseMessage]:
        """What the local thread holds."""
        return (await self.graph.aget_state(self.config)).values["messages"]


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
