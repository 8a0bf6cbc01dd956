"""A function of the application that hangs holds no request, no thread and no place for ever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from fastapi import FastAPI, Request
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from langgraph_agui import (
    Approval,
    ApprovalOptions,
    LangGraphAgent,
    RunLimits,
    add_langgraph_fastapi_endpoint,
)
from langgraph_agui.protocol import decode
from tests.kit.processes.raw_http import JSON, Answer, ask, body_of
from tests.kit.processes.serving import Served, serving
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.waiting import eventually

HTTP_HOOKS = ["authorize_thread", "config_factory", "context_factory"]
# How a call takes its cancellation.
WAYS = pytest.mark.parametrize("obeys", [True, False], ids=["obeys", "ignores cancellation"])


class Hanging:
    """A hook that hangs until it is mended.

    Args:
        result: What it returns then.
        obeys: Whether it ends when it is cancelled.
    """

    def __init__(self, result: object, *, obeys: bool) -> None:
        self._result = result
        self._obeys = obeys
        self._mended = threading.Event()
        self.calls = 0

    async def __call__(self, *_: object) -> Any:
        self.calls += 1
        while not self._mended.is_set():
            try:
                await asyncio.sleep(0.005)
            except asyncio.CancelledError:
                if self._obeys:
                    raise
        return self._result

    def mend(self) -> None:
        self._mended.set()


def graph_of(ask_first: bool = False) -> Any:
    def answer(state: MessagesState) -> Any:
        said = interrupt({"question": "Which?"}) if ask_first else "Hello"
        return {"messages": [("ai", str(said))]}

    builder = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer")
    return builder.compile(checkpointer=InMemorySaver())


def post(served: Served, path: str = "/agent") -> Answer:
    return ask(served.port, "POST", path, body_of(run_input("hi", thread="t")), JSON)


def last_type(answer: Answer) -> str:
    assert answer.status == 200, answer.body
    return [*decode([answer.body])][-1].type.value


@WAYS
@pytest.mark.parametrize("name", HTTP_HOOKS)
def test_a_request_is_refused(name: str, obeys: bool, caplog: pytest.LogCaptureFixture) -> None:
    hook = Hanging(True if name == "authorize_thread" else None, obeys=obeys)
    agent = LangGraphAgent(graph_of(), limits=RunLimits(hook=0.05, runs=1))
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, agent, "/agent", **{name: hook})
    with serving(app) as served:
        refused = post(served)
        hook.mend()
        assert (refused.status, refused.json["code"]) == (503, "hook_timeout")
        (record,) = [one for one in caplog.records if getattr(one, "code", "") == "hook_timeout"]
        assert refused.json["correlationId"] == record.correlation_id  # type: ignore[attr-defined]
        assert f"{name} took longer than 0.05 seconds" in str(record.exc_info)
        told = any(f"{name} was cancelled and does not end" in one for one in caplog.messages)
        assert told is not obeys
        assert last_type(post(served)) == "RUN_FINISHED"
        served.wait_idle()


@pytest.mark.parametrize("path", ["/agent/connect", "/agent/cancel"])
def test_so_are_those_that_run_nothing(path: str) -> None:
    hook = Hanging(True, obeys=True)
    agent = LangGraphAgent(graph_of(), limits=RunLimits(hook=0.05))
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, agent, "/agent", authorize_thread=hook)
    with serving(app) as served:
        assert post(served, path).json["code"] == "hook_timeout"
        hook.mend()
        assert post(served, path).status in (200, 404)


def test_so_are_capabilities_that_take_too_long() -> None:
    class Slow(LangGraphAgent):
        get_capabilities = Hanging({}, obeys=True)  # type: ignore[assignment]

    app = FastAPI()
    agent = Slow(graph_of(), limits=RunLimits(hook=0.05))
    add_langgraph_fastapi_endpoint(app, agent, "/agent")
    with serving(app) as served:
        answer = ask(served.port, "GET", "/agent/capabilities")
        assert (answer.status, answer.json["code"]) == (503, "hook_timeout")


def test_what_a_hook_sets_in_its_context_reaches_the_run() -> None:
    """Such as the fields of an application's log records."""
    tenant: ContextVar[str] = ContextVar("tenant")
    seen: list[str] = []

    async def config(request: Request) -> RunnableConfig:
        await asyncio.sleep(0)
        tenant.set("acme")
        return {}

    async def answer(state: MessagesState) -> Any:
        seen.append(tenant.get("nobody"))
        return {"messages": [("ai", "Hello")]}

    app, builder = FastAPI(), StateGraph(MessagesState).add_node(answer).add_edge(START, "answer")
    add_langgraph_fastapi_endpoint(
        app, LangGraphAgent(builder.compile()), "/agent", config_factory=config
    )
    with serving(app) as served:
        assert last_type(post(served)) == "RUN_FINISHED"
    assert seen == ["acme"]


def test_a_hook_that_other_code_cancels_is_a_fault_of_the_server() -> None:
    async def config(request: Request) -> RunnableConfig:
        raise asyncio.CancelledError

    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(graph_of()), "/agent", config_factory=config)
    with serving(app) as served:
        assert post(served).status == 500


# -- on_answer -----------------------------------------------------------------------------------


class Paused:
    """A thread that waits for an answer.

    Args:
        on_answer: The hook.
        limits: The options of the agent.
    """

    def __init__(self, on_answer: Callable[[Approval], Awaitable[object]], **limits: Any) -> None:
        self.agent = LangGraphAgent(
            graph_of(ask_first=True),
            approvals=ApprovalOptions(on_answer=on_answer),
            limits=RunLimits(runs=1, **limits),
        )

    async def ask(self) -> None:
        paused = await record_run(self.agent, run_input("go", thread="t"))
        self._question = paused.last.outcome.interrupts[0].id

    async def answer(self) -> RecordedRun:
        answer = ResumeEntry(interrupt_id=self._question, status="resolved", payload="b")
        return await record_run(self.agent, run_input(thread="t", run="r", resume=[answer]))


@WAYS
async def test_an_answer_is_refused_and_may_come_again(
    obeys: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hook = Hanging(None, obeys=obeys)
    thread = Paused(hook, hook=0.05)
    await thread.ask()
    refused = await thread.answer()
    hook.mend()
    assert (refused.types, refused.last.code) == (["RUN_STARTED", "RUN_ERROR"], "hook_timeout")
    (record,) = [one for one in caplog.records if getattr(one, "code", "") == "hook_timeout"]
    assert refused.last.metadata["correlationId"] == record.correlation_id  # type: ignore[attr-defined]
    assert "on_answer took longer than 0.05 seconds" in str(record.exc_info)
    assert (await thread.answer()).last.outcome.type == "success"
    assert hook.calls == 2


@WAYS
@pytest.mark.parametrize("stop", ["cancel", "drain", "timeout"])
async def test_a_run_that_is_stopped_does_not_wait_for_it(obeys: bool, stop: str) -> None:
    hook = Hanging(None, obeys=obeys)
    thread = Paused(hook, hook=None, total=0.2 if stop == "timeout" else None)
    await thread.ask()
    answering = asyncio.create_task(thread.answer())
    await eventually(lambda: hook.calls, "the hook is called")
    if stop == "cancel":
        assert await thread.agent.cancel("t", "r")
    elif stop == "drain":
        async with thread.agent.serving():
            pass
    stopped = await answering
    hook.mend()
    ends = {"cancel": "cancelled", "drain": "server_stopping", "timeout": "run_timeout"}
    is_error = stopped.last.type.value == "RUN_ERROR"
    assert (stopped.last.code if is_error else stopped.last.outcome.type) == ends[stop]
    assert (await thread.answer()).last.outcome.type == "success"
