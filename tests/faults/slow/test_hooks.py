"""A function of the application that hangs holds no request, no thread and no place for ever."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import pytest
from fastapi import FastAPI, Request
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import (
    ApprovalOptions,
    LangGraphAgent,
    RunLimits,
    add_langgraph_fastapi_endpoint,
)
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.processes.raw_http import JSON, Answer, ask, body_of
from tests.kit.processes.serving import Served, serving
from tests.kit.run.agents import run_input
from tests.kit.run.dialogues import resolved
from tests.kit.run.talking import Talk
from tests.kit.waiting import eventually

TENANT: ContextVar[str] = ContextVar("tenant")


class Hanging:
    """A hook that hangs until it is mended; `obeys`: it ends when it is cancelled."""

    def __init__(self, result: object = None, *, obeys: bool = True) -> None:
        self.result, self.obeys, self.calls = result, obeys, 0
        self.mended = threading.Event()

    async def __call__(self, *_: object) -> Any:
        self.calls += 1
        while not self.mended.is_set():
            try:
                await asyncio.sleep(0.005)
            except asyncio.CancelledError:
                if self.obeys:
                    raise
        return self.result


async def answer(state: Chat) -> Any:
    asks = state["messages"][-1].text == "ask"
    said = interrupt({"question": "Which?"}) if asks else TENANT.get("Hello")
    return {"messages": [("ai", str(said))]}


def agent(kind: type[LangGraphAgent] = LangGraphAgent, **limits: Any) -> LangGraphAgent:
    return kind(chain_of(answer, checkpointer=InMemorySaver()), limits=RunLimits(**limits))


def app_of(agent: LangGraphAgent, **hooks: Any) -> FastAPI:
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, agent, "/agent", **hooks)
    return app


def post(served: Served, path: str = "/agent") -> Answer:
    return ask(served.port, "POST", path, body_of(run_input("hi", thread="t")), JSON)


def check_record(caplog: pytest.LogCaptureFixture, correlation_id: str, text: str) -> None:
    [record] = [one for one in caplog.records if getattr(one, "code", "") == "hook_timeout"]
    assert correlation_id == record.correlation_id  # type: ignore[attr-defined]
    assert f"{text} took longer than 0.05 seconds" in str(record.exc_info)


@pytest.mark.parametrize(
    ("name", "obeys"),
    [("authorize_thread", True), ("config_factory", False), ("context_factory", True)],
)
def test_a_request_is_refused(name: str, obeys: bool, caplog: pytest.LogCaptureFixture) -> None:
    hook = Hanging(True if name == "authorize_thread" else None, obeys=obeys)
    with serving(app_of(agent(hook=0.05, runs=1), **{name: hook})) as served:
        refused = post(served)
        hook.mended.set()
        assert (refused.status, refused.json["code"]) == (503, "hook_timeout")
        check_record(caplog, refused.json["correlationId"], name)
        told = any(f"{name} was cancelled and does not end" in one for one in caplog.messages)
        assert told is not obeys
        answer = post(served)
        assert (answer.status, b"RUN_FINISHED" in answer.body) == (200, True)
        served.wait_idle()


def test_so_are_those_that_run_nothing() -> None:
    class Slow(LangGraphAgent):
        get_capabilities = Hanging({})  # type: ignore[assignment]

    hook = Hanging(True)
    with serving(app_of(agent(Slow, hook=0.05), authorize_thread=hook)) as served:
        for path in ("/agent/connect", "/agent/cancel"):
            assert post(served, path).json["code"] == "hook_timeout"
        answer = ask(served.port, "GET", "/agent/capabilities")
        assert (answer.status, answer.json["code"]) == (503, "hook_timeout")
        hook.mended.set()
        assert post(served, "/agent/connect").status == 200


def test_what_a_hook_sets_in_its_context_reaches_the_run() -> None:
    """If it is cancelled by other code, that is a fault of the server."""
    fails = False

    async def config(request: Request) -> Any:
        await asyncio.sleep(0)
        TENANT.set("acme")
        if fails:
            raise asyncio.CancelledError
        return {}

    with serving(app_of(agent(), config_factory=config)) as served:
        assert b"acme" in post(served).body
        fails = True
        assert post(served).status == 500


async def paused(on_answer: Hanging, **limits: Any) -> tuple[Talk, Any]:
    """A thread that waits for an answer, and the answer."""
    approvals = ApprovalOptions(on_answer=on_answer)
    made = LangGraphAgent(agent().graph, approvals=approvals, limits=RunLimits(runs=1, **limits))
    thread = Talk(made, Scripted())
    asked = await thread.say("ask", outcome="interrupt")
    return thread, resolved((asked.last.outcome.interrupts[0].id, "b"))


@pytest.mark.parametrize("obeys", [True, False])
async def test_an_answer_is_refused_and_may_come_again(
    obeys: bool, caplog: pytest.LogCaptureFixture
) -> None:
    hook = Hanging(obeys=obeys)
    thread, answer = await paused(hook, hook=0.05)
    refused = await thread.say(resume=answer, outcome="hook_timeout")
    hook.mended.set()
    assert refused.types == ["RUN_STARTED", "RUN_ERROR"]
    check_record(caplog, refused.last.metadata["correlationId"], "on_answer")
    await thread.say(resume=answer)
    assert hook.calls == 2


@pytest.mark.parametrize(
    ("stop", "obeys"), [("cancelled", False), ("server_stopping", True), ("run_timeout", False)]
)
async def test_a_run_that_is_stopped_does_not_wait_for_it(obeys: bool, stop: str) -> None:
    hook = Hanging(obeys=obeys)
    thread, answer = await paused(hook, hook=None, total=0.2 if stop == "run_timeout" else None)
    answering = asyncio.create_task(thread.say(resume=answer, run="r", outcome=stop))
    await eventually(lambda: hook.calls, "the hook is called")
    if stop == "cancelled":
        assert await thread.agent.cancel("t", "r")
    elif stop == "server_stopping":
        await thread.agent.drain()
    await answering
    hook.mended.set()
    if stop != "server_stopping":
        await thread.say(resume=answer)
