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
    began. `patient` is the same without a limit."""

    def __init__(self, saver: Any = None, **options: Any) -> None:
        self.begun: list[str] = []
        self.let_go = threading.Event()
        tools = [self.tool(name) for name in ("look", "spend", "grab", "pay")]
        guard: Any = HumanInTheLoopMiddleware({"spend": True, "pay": True})
        model, saver = Scripted(script=self.script), saver or InMemorySaver()
        graph = create_agent(model, tools, middleware=[guard], checkpointer=saver)
        self.agent, self.patient = LangGraphAgent(graph, **options), LangGraphAgent(graph)

    def script(self, messages: list[BaseMessage]) -> Any:
        last = messages[-1]
        if isinstance(last, ToolMessage) or last.text == "hello":
            return ["Well."]
        if last.text == "model":
            return ["Hm", lambda: self.begun.append("model"), 3600.0]
        return [call(last.text, f"c{len(messages)}")]

    def tool(self, name: str) -> BaseTool:
        def hang() -> str:
            """Hang, in a thread that nobody can stop."""
            self.begun.append(name)
            self.let_go.wait(PATIENCE)
            return "at last"

        async def hang_here() -> str:
            """Hang."""
            self.begun.append(name)
            await asyncio.Event().wait()
            return "never"

        return tool(name)(hang if name in ("grab", "pay") else hang_here)

    def app(self) -> FastAPI:
        app = FastAPI()
        app.include_router(agui_router(self.agent, "/agent"))
        app.include_router(agui_router(self.patient, "/patient"))
        return app


def cancels(stream: Stream, hanging: Hanging) -> None:
    assert asyncio.run(hanging.agent.cancel(stream.input.thread_id, stream.input.run_id))


LATE, CANCELLED = "`RUN_ERROR`, `run_timeout`", "`RUN_FINISHED` with the outcome `cancelled`"
LEFT, VANISHED = (f"a {one} connection; the run stops" for one in ("closed", "reset"))
SOON = 1.0

# What ends a run that hangs: what is done, the limits of the agent, what the client gets.
ENDS: dict[str, tuple[Callable[[Stream, Hanging], None], dict[str, float], str, str]] = {
    "its client leaves": (lambda stream, _: stream.connection.leave(), {}, LEFT, "closed"),
    "its client vanishes": (lambda stream, _: stream.connection.vanish(), {}, VANISHED, "closed"),
    "`agent.cancel`": (cancels, {}, CANCELLED, "cancelled"),
    "`total`": (lambda *_: None, {"total": SOON}, LATE, "run_timeout"),
    "`idle`": (lambda *_: None, {"idle": SOON}, LATE, "run_timeout"),
}
RUNS = {
    "model": ("a model hangs", "a message"),
    "look": ("a tool hangs", "a message"),
    "spend": ("a tool hangs", "an approval"),
    "grab": ("a tool hangs in a thread", "a message"),
    "pay": ("a tool hangs in a thread", "an approval"),
}
SHALLOW = ["model `agent.cancel`", "spend its client vanishes", "pay its client leaves"]
SHALLOW += ["spend `total`"]
CASES = [
    Case(f"{fault}: {what}", run, told, end, (name, act, limits), f"{name} {what}" not in SHALLOW)
    for name, (fault, run) in RUNS.items()
    for what, (act, limits, told, end) in ENDS.items()
]


@each(CASES)
def test_what_hangs_is_ended(case: Case) -> None:
    name, end, limits = case.injected
    hanging = Hanging(limits=RunLimits(**limits))
    with serving(hanging.app()) as served:
        visitor = Visitor(served, "/patient")
        approval = approved(asked(visitor.send(name))) if name in ("spend", "pay") else []
        visitor.path = "/agent"
        stream = visitor.begin(resume=approval) if approval else visitor.begin(name)
        wait_for(lambda: hanging.begun == [name], f"{name} hangs")
        joined = visitor.join()
        end(stream, hanging)
        if case.ending != "closed":
            assert ending(visitor.keep(stream.rest())) == case.ending
        # who joins may come too late
        expected = {case.ending, "success"} if limits else {"cancelled"}
        assert ending(joined.rest()) in expected
        visitor.path = "/patient"
        if name in ("grab", "pay"):  # the thread of messages goes on although the tool's hangs
            tasks = served.tasks
            wait_for(lambda: not any("agui-run" in one for one in tasks()), "the run has ended")
            assert ending(visitor.send("hello")) == "success"
            hanging.let_go.set()
        served.wait_idle()
        visitor.check_usable()
    assert hanging.begun == [name]  # once, also if it was approved
