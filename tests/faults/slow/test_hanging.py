"""Models and tools that hang: whoever leaves or cancels ends the run, and the thread goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, RunLimits, agui_router
from tests.kit.expect.faults import Case, each
from tests.kit.models.scripted import Scripted, call
from tests.kit.processes.serving import serving
from tests.kit.run.visitor import Stream, Visitor, approved, asked, ending
from tests.kit.waiting import PATIENCE, wait_for


class Hanging:
    """An agent whose model or tool hangs until it is let go; `begun` counts how often each tool
    began."""

    def __init__(self, **options: Any) -> None:
        self.begun: list[str] = []
        self.let_go = threading.Event()
        graph = create_agent(
            Scripted(script=self.script),
            [self.tool("look"), self.tool("spend"), self.sync_tool("grab"), self.sync_tool("pay")],
            middleware=[HumanInTheLoopMiddleware({"spend": True, "pay": True})],
            checkpointer=InMemorySaver(),
        )
        self.agent, self.patient = LangGraphAgent(graph, **options), LangGraphAgent(graph)

    def script(self, messages: list[BaseMessage]) -> Any:
        last = messages[-1]
        if isinstance(last, ToolMessage) or last.text == "hello":
            return ["Well."]
        if last.text == "model":
            return ["Hm", lambda: self.begun.append("model"), 3600.0]
        return [call(last.text, f"c{len(messages)}")]

    def tool(self, name: str) -> BaseTool:
        async def hang() -> str:
            """Hang."""
            self.begun.append(name)
            await asyncio.Event().wait()
            return "never"

        return tool(name)(hang)

    def sync_tool(self, name: str) -> BaseTool:
        def hang() -> str:
            """Hang, in a thread that nobody can stop."""
            self.begun.append(name)
            self.let_go.wait(PATIENCE)
            return "at last"

        return tool(name)(hang)

    def app(self) -> FastAPI:
        app = FastAPI()
        app.include_router(agui_router(self.agent, "/agent"))
        app.include_router(agui_router(self.patient, "/patient"))
        return app


def leaves(stream: Stream, hanging: Hanging) -> None:
    stream.connection.leave()


def vanishes(stream: Stream, hanging: Hanging) -> None:
    stream.connection.vanish()


def cancels(stream: Stream, hanging: Hanging) -> None:
    assert asyncio.run(hanging.agent.cancel(stream.input.thread_id, stream.input.run_id))


def waits(stream: Stream, hanging: Hanging) -> None:
    """Do nothing."""


SOON = 1.0
"""Seconds; a run that does not hang is served by an agent without a limit."""

# What ends a run that hangs: what is done, the agent's options, what the client gets.
ENDS: dict[str, tuple[Callable[[Stream, Hanging], None], dict[str, RunLimits], str, str]] = {
    "its client leaves": (leaves, {}, "a closed connection; the run stops", "closed"),
    "its client vanishes": (vanishes, {}, "a reset connection; the run stops", "closed"),
    "`agent.cancel`": (cancels, {}, "`RUN_FINISHED` with the outcome `cancelled`", "cancelled"),
    "`total`": (
        waits,
        {"limits": RunLimits(total=SOON)},
        "`RUN_ERROR`, `run_timeout`",
        "run_timeout",
    ),
    "`idle`": (
        waits,
        {"limits": RunLimits(idle=SOON)},
        "`RUN_ERROR`, `run_timeout`",
        "run_timeout",
    ),
}
RUNS = {
    "model": ("a model hangs", "a message"),
    "look": ("a tool hangs", "a message"),
    "spend": ("a tool hangs", "an approval"),
    "grab": ("a tool hangs in a thread", "a message"),
    "pay": ("a tool hangs in a thread", "an approval"),
}
SHALLOW = {
    ("model", "`agent.cancel`"),
    ("spend", "its client vanishes"),
    ("pay", "its client leaves"),
    ("spend", "`total`"),
}
CASES = [
    Case(
        f"{fault}: {what}", run, client, end, (name, act, options), deep=(name, what) not in SHALLOW
    )
    for name, (fault, run) in RUNS.items()
    for what, (act, options, client, end) in ENDS.items()
]


@each(CASES)
def test_what_hangs_is_ended(case: Case) -> None:
    name, end, options = case.injected
    hanging, in_thread = Hanging(**options), name in ("grab", "pay")
    with serving(hanging.app()) as served:
        visitor = Visitor(served)
        stream = begun(visitor, name)
        wait_for(lambda: hanging.begun == [name], f"{name} hangs")
        joined = visitor.join()
        end(stream, hanging)
        if case.ending != "closed":
            assert ending(visitor.keep(stream.rest())) == case.ending
        # who joins may come too late
        expected = {case.ending, "success"} if end is waits else {"cancelled"}
        assert ending(joined.rest()) in expected
        visitor.path = "/patient"
        if in_thread:
            check_goes_on(visitor)
            hanging.let_go.set()
        served.wait_idle()
        visitor.check_usable()
    assert hanging.begun == [name]  # once, also if it was approved


def begun(visitor: Visitor, name: str) -> Stream:
    """A run in which `name` is about to hang; it is approved if that is needed."""
    if name not in ("spend", "pay"):
        return visitor.begin(name)
    patient = Visitor(visitor.served, "/patient")
    questions = asked(patient.send(name))
    visitor.held, visitor.state = patient.held, patient.state
    return visitor.begin(resume=approved(questions))


def check_goes_on(visitor: Visitor) -> None:
    """The thread of messages goes on although the tool's thread still hangs."""
    wait_for(
        lambda: not any("agui-run" in task for task in visitor.served.tasks()), "the run has ended"
    )
    assert ending(visitor.send("hello")) == "success"
