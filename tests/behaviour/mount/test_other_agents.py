"""Routes of agents that are not, or not only, a `LangGraphAgent`."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import ag_ui_langgraph
import pytest
from ag_ui.core import (
    AgentCapabilities,
    CustomEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunAgentInput,
    RunFinishedEvent,
    StepStartedEvent,
    SubagentStartedEvent,
    TextMessageStartEvent,
    ToolCallStartEvent,
)
from fastapi import FastAPI
from fastapi.testclient import TestClient
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint, agui_router
from langgraph_agui.protocol import decode
from langgraph_agui.translate.lifecycle import run_started
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.paths import ROOT
from tests.kit.processes.raw_http import JSON, body_of
from tests.kit.run.agents import RecordedRun, run_input


def graph() -> Any:
    return chain_of(talker(Scripted(["Hel", "lo"])), checkpointer=InMemorySaver())


def app_of(agent: Any, **options: Any) -> FastAPI:
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, agent, "/agent", **options)
    return app


def ask(app: FastAPI, path: str = "/agent", given: RunAgentInput | None = None) -> list[Any]:
    answer = TestClient(app).post(path, content=body_of(given or run_input("hi")), headers=JSON)
    assert answer.status_code == 200, answer.text
    return list(decode([answer.content]))


def types(events: list[Any]) -> list[str]:
    return [event.type.value for event in events]


class Wrapper:
    """Delegates to an agent."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent

    async def run(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        async for event in self._agent.run(run_input):
            yield event


class Loud(LangGraphAgent):
    """Changes its events."""

    async def run(self, run_input: RunAgentInput, **options: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        async for event in super().run(run_input, **options):
            yield event
            if event.type == "RUN_STARTED":
                yield CustomEvent(name="loud", value=options.get("context"))

    async def connect(self, run_input: RunAgentInput, **options: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        async for event in super().connect(run_input, **options):
            if event.type in ("RUN_STARTED", "RUN_FINISHED"):
                yield event


def test_a_subclass_that_overrides_run_and_connect() -> None:
    app = app_of(Loud(graph()), context_factory=lambda _: {"user": "Ann"})
    events = ask(app)
    assert (types(events)[:2], events[-1].type) == (["RUN_STARTED", "CUSTOM"], "RUN_FINISHED")
    assert events[1].value == {"user": "Ann"}
    assert types(ask(app, "/agent/connect")) == ["RUN_STARTED", "RUN_FINISHED"]


def of_the_docs() -> Any:
    page = (ROOT / "docs" / "migrating.md").read_text("utf-8")
    [program] = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    module: dict[str, Any] = {}
    exec(program, module)
    return module["Polite"](LangGraphAgent(graph(), name="mine"))


MAKE: list[tuple[Callable[[], Any], dict[str, Any]]] = [
    (lambda: Wrapper(LangGraphAgent(graph())), {}),
    (lambda: ag_ui_langgraph.LangGraphAgent(name="theirs", graph=graph()), {}),
    (of_the_docs, {"config_factory": lambda _: {"tags": ["x"]}}),
]


@pytest.mark.parametrize(("make", "options"), MAKE, ids=["wrapper", "incumbent", "docs"])
def test_an_object_that_runs(make: Callable[[], Any], options: dict[str, Any]) -> None:
    app = app_of(make(), **options)
    said = [event.delta for event in ask(app) if event.type == "TEXT_MESSAGE_CONTENT"]
    assert "".join(said) == "Hello"
    if make is of_the_docs:
        assert ask(app, "/agent/connect")[-1].type == "RUN_FINISHED"
        get = TestClient(app).get
        assert get("/agent/capabilities").json()["identity"]["name"] == "mine"
        assert get("/agent/health").json()["agent"]["name"] == "mine"


class Made:
    """An agent of some events, and perhaps an error behind them."""

    def __init__(self, *events: Any, fails: bool = False) -> None:
        self.events, self.fails = events, fails

    async def run(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        for event in self.events:
            yield event(run_input) if callable(event) else event
        if self.fails:
            raise RuntimeError("CANARY")


def finished(run_input: RunAgentInput) -> Any:
    return RunFinishedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id)


class NoGenerator(Made):
    """`run` is an iterator of another kind, which has to be closed too."""

    closed = False

    def run(self, run_input: RunAgentInput) -> Any:
        self._events = iter([run_started(run_input), None, finished(run_input)])
        return self

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        for event in self._events:
            return event
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed = True


def fails(_: object, run_input: RunAgentInput | None = None) -> Any:
    raise RuntimeError("CANARY")


BREAKS_OFF = [
    StepStartedEvent(step_name="step"),
    SubagentStartedEvent(subagent_run_id="s", name="helper"),
    StepStartedEvent(step_name="step", subagent_run_id="s"),
    ReasoningStartEvent(message_id="r"),
    ReasoningMessageStartEvent(message_id="r", role="reasoning"),
    TextMessageStartEvent(message_id="m", subagent_run_id="s"),
    ToolCallStartEvent(tool_call_id="c", tool_call_name="look"),
]
CLOSED = "TOOL_CALL_END TEXT_MESSAGE_END REASONING_MESSAGE_END REASONING_END STEP_FINISHED"
CLOSED += " SUBAGENT_ERROR STEP_FINISHED RUN_ERROR"
LATE = CustomEvent(name="late", value=1)


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        pytest.param(Made(fails=True), "RUN_ERROR", id="raises"),
        pytest.param(Made(run_started), "RUN_STARTED RUN_ERROR", id="has no end"),
        pytest.param(Made(run_started, finished, LATE), "RUN_STARTED RUN_FINISHED", id="goes on"),
        pytest.param(NoGenerator(), "RUN_STARTED RUN_FINISHED", id="no generator"),
        pytest.param(type("Fails", (), {"run": fails})(), "RUN_ERROR", id="fails at once"),
        pytest.param(type("C", (Made,), {"clone": fails})(), "RUN_ERROR", id="fails to clone"),
        pytest.param(Made(run_started, *BREAKS_OFF, fails=True), CLOSED, id="breaks off"),
    ],
)
def test_each_run_has_one_end_and_all_is_closed(agent: Any, told: str) -> None:
    given = run_input("hi")
    events = ask(app_of(agent), given=given)
    sent = 1 + len(BREAKS_OFF) if told is CLOSED else 0
    assert types(events)[sent:] == told.split()
    if told.startswith("RUN_STARTED") or sent:
        RecordedRun(events, given)
    last = events[-1]
    assert "CANARY" not in str(events)
    assert last.type == "RUN_FINISHED" or last.code == "internal" or "ends" in last.message
    assert getattr(agent, "closed", True)


class KeepsItsRun(Made):
    """Serves one request: it keeps the state of a run in itself."""

    used = False

    def clone(self) -> KeepsItsRun:
        return KeepsItsRun(*self.events)

    async def run(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        assert not self.used
        self.used = True
        async for event in super().run(run_input):
            yield event

    connect = run


def test_each_request_gets_a_clone() -> None:
    agent = KeepsItsRun(run_started, finished)
    for path in ("/agent", "/agent/connect", "/agent"):
        assert types(ask(app_of(agent), path)) == ["RUN_STARTED", "RUN_FINISHED"]
    assert not agent.used
    ours = LangGraphAgent(graph(), name="mine")
    assert ours.clone() is ours
    assert ours.get_capabilities()["identity"]["name"] == "mine"  # type: ignore[index]


CUSTOM = {"custom": {"a": 1}}


async def later(_: Any) -> dict[str, Any]:
    return CUSTOM


@pytest.mark.parametrize("get", [later, lambda _: AgentCapabilities.model_validate(CUSTOM)])
def test_capabilities_of_any_kind(get: Any) -> None:
    agent = type("Agent", (Made,), {"get_capabilities": get})()
    told = TestClient(app_of(agent, tags=None, dependencies=None)).get("/agent/capabilities")
    assert CUSTOM.items() <= told.json().items()


@pytest.mark.parametrize(
    ("agent", "options", "text"),
    [
        (graph(), {}, r"LangGraphAgent\(graph\)"),
        (object(), {}, r"run\(input\)"),
        (LangGraphAgent, {}, "class"),
        (Wrapper(None), {"context_factory": dict}, r"Wrapper\.run takes no context"),
    ],
)
def test_what_cannot_run_is_refused_at_mount(agent: Any, options: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        agui_router(agent, **options)
    with pytest.raises(TypeError, match=text):
        add_langgraph_fastapi_endpoint(FastAPI(), agent, **options)


def test_the_options_of_the_route() -> None:
    app = app_of(LangGraphAgent(graph()), name="chat", tags=["agents"], operation_id="run_chat")
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(graph()), "/hidden", include_in_schema=False)
    paths = app.openapi()["paths"]
    described = {"tags": ["agents"], "operationId": "run_chat", "summary": "Chat"}
    assert described.items() <= paths["/agent"]["post"].items()
    assert ("/hidden" in paths, app.url_path_for("chat")) == (False, "/agent")
