"""Routes of agents that are not, or not only, a `LangGraphAgent`."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import ag_ui_langgraph
import httpx2
import pytest
from ag_ui.core import (
    AgentCapabilities,
    CustomEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    StepStartedEvent,
    SubagentStartedEvent,
    TextMessageStartEvent,
    ToolCallStartEvent,
)
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint, agui_router
from langgraph_agui.protocol import decode
from langgraph_agui.translate.lifecycle import run_started
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.paths import ROOT
from tests.kit.processes.raw_http import body_of
from tests.kit.processes.serving import serving
from tests.kit.run.agents import RecordedRun, run_input


def graph() -> Any:
    return chain_of(talker(Scripted(["Hel", "lo"])), checkpointer=InMemorySaver())


def ask(app: FastAPI, path: str = "/agent", given: RunAgentInput | None = None) -> list[Any]:
    with serving(app) as served:
        answer = httpx2.post(
            served.url(path),
            content=body_of(given or run_input("hi")),
            headers={"content-type": "application/json"},
        )
    assert answer.status_code == 200, answer.text
    return list(decode([answer.content]))


class Loud(LangGraphAgent):
    """Changes its input and its events."""

    async def run(self, run_input: RunAgentInput, **options: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        yield_first = CustomEvent(name="loud", value=options.get("context"))
        async for event in super().run(run_input, **options):
            yield event
            if event.type == "RUN_STARTED":
                yield yield_first


class Wrapper:
    """Delegates to an agent."""

    name = "wrapper"

    def __init__(self, agent: LangGraphAgent) -> None:
        self._agent = agent

    async def run(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        async for event in self._agent.run(run_input):
            yield event


def test_a_subclass_that_overrides_run() -> None:
    app = FastAPI()
    app.include_router(
        agui_router(Loud(graph()), "/agent", context_factory=lambda _: {"user": "Ann"})
    )
    events = ask(app)
    assert [event.type.value for event in events[:2]] == ["RUN_STARTED", "CUSTOM"]
    assert events[1].value == {"user": "Ann"}
    assert events[-1].type == "RUN_FINISHED"


def test_an_object_that_delegates() -> None:
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, Wrapper(LangGraphAgent(graph())), "/agent")
    assert (
        "".join(event.delta for event in ask(app) if event.type == "TEXT_MESSAGE_CONTENT")
        == "Hello"
    )


def test_the_wrapper_of_the_docs() -> None:
    page = (ROOT / "docs" / "migrating.md").read_text("utf-8")
    [program] = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    module: dict[str, Any] = {}
    exec(program, module)
    app, agent = FastAPI(), LangGraphAgent(graph(), name="mine")
    add_langgraph_fastapi_endpoint(
        app, module["Polite"](agent), "/agent", config_factory=lambda _: {"tags": ["x"]}
    )
    events = ask(app)
    assert (
        "".join(event.delta for event in events if event.type == "TEXT_MESSAGE_CONTENT") == "Hello"
    )
    assert ask(app, path="/agent/connect")[-1].type == "RUN_FINISHED"
    with serving(app) as served:
        assert httpx2.get(served.url("/agent/capabilities")).json()["identity"]["name"] == "mine"
        assert httpx2.get(served.url("/agent/health")).json()["agent"]["name"] == "mine"


def test_a_subclass_that_overrides_connect() -> None:
    class Quiet(LangGraphAgent):
        async def connect(self, run_input: RunAgentInput, **options: Any) -> AsyncIterator[Any]:  # type: ignore[override]
            async for event in super().connect(run_input, **options):
                if event.type in ("RUN_STARTED", "RUN_FINISHED"):
                    yield event

    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, Quiet(graph()), "/agent")
    assert [event.type.value for event in ask(app, path="/agent/connect")] == [
        "RUN_STARTED",
        "RUN_FINISHED",
    ]


def test_the_incumbents_own_agent() -> None:
    app = FastAPI()
    agent = ag_ui_langgraph.LangGraphAgent(name="theirs", graph=graph())
    add_langgraph_fastapi_endpoint(app, agent, "/agent")
    assert (
        "".join(event.delta for event in ask(app) if event.type == "TEXT_MESSAGE_CONTENT")
        == "Hello"
    )


def test_an_agent_that_raises_ends_its_run_with_an_error() -> None:
    class Broken:
        async def run(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
            raise RuntimeError("CANARY")
            yield

    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, Broken(), "/agent")
    [event] = ask(app)
    assert (event.type.value, event.code) == ("RUN_ERROR", "internal")
    assert "CANARY" not in event.message


def started(run_input: RunAgentInput) -> Any:
    return RunStartedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id)


def finished(run_input: RunAgentInput) -> Any:
    return RunFinishedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id)


class Unfinished:
    async def run(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield started(run_input)


class BreaksOff:
    """Fails in the middle of everything."""

    async def run(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield run_started(run_input)
        yield StepStartedEvent(step_name="step")
        yield SubagentStartedEvent(subagent_run_id="s", name="helper")
        yield StepStartedEvent(step_name="step", subagent_run_id="s")
        yield ReasoningStartEvent(message_id="r")
        yield ReasoningMessageStartEvent(message_id="r", role="reasoning")
        yield TextMessageStartEvent(message_id="m", subagent_run_id="s")
        yield ToolCallStartEvent(tool_call_id="c", tool_call_name="look")
        raise RuntimeError("broken")


def test_an_agent_that_breaks_off_is_closed() -> None:
    app, given = FastAPI(), run_input("hi")
    app.include_router(agui_router(BreaksOff(), "/agent"))
    recorded = RecordedRun(ask(app, given=given), given)
    assert recorded.types[8:] == [
        "TOOL_CALL_END",
        "TEXT_MESSAGE_END",
        "REASONING_MESSAGE_END",
        "REASONING_END",
        "STEP_FINISHED",
        "SUBAGENT_ERROR",
        "STEP_FINISHED",
        "RUN_ERROR",
    ]


class GoesOn:
    async def run(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        yield started(run_input)
        yield finished(run_input)
        yield CustomEvent(name="late", value=1)


class NoGenerator:
    """`run` is an iterator of another kind, which has to be closed too."""

    closed = False

    def run(self, run_input: RunAgentInput) -> Any:
        self._events = iter([started(run_input), None, finished(run_input)])
        return self

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        for event in self._events:
            return event
        raise StopAsyncIteration

    async def aclose(self) -> None:
        type(self).closed = True


class FailsAtOnce:
    def run(self, run_input: RunAgentInput) -> Any:
        raise RuntimeError("CANARY")


class FailsToClone(Unfinished):
    def clone(self) -> Any:
        raise RuntimeError("CANARY")


@pytest.mark.parametrize(
    ("agent", "types"),
    [
        (Unfinished(), ["RUN_STARTED", "RUN_ERROR"]),
        (GoesOn(), ["RUN_STARTED", "RUN_FINISHED"]),
        (NoGenerator(), ["RUN_STARTED", "RUN_FINISHED"]),
        (FailsAtOnce(), ["RUN_ERROR"]),
        (FailsToClone(), ["RUN_ERROR"]),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list) else "",
)
def test_each_run_has_one_end(agent: Any, types: list[str]) -> None:
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, agent, "/agent")
    events = ask(app)
    assert [event.type.value for event in events] == types
    assert "CANARY" not in str(events)
    assert getattr(agent, "closed", True)


class KeepsItsRun:
    """Serves one request: it keeps the state of a run in itself."""

    used = False

    def clone(self) -> KeepsItsRun:
        return KeepsItsRun()

    async def run(self, run_input: RunAgentInput) -> AsyncIterator[Any]:
        assert not self.used
        self.used = True
        yield started(run_input)
        yield finished(run_input)

    connect = run


@pytest.mark.parametrize("path", ["/agent", "/agent/connect"])
def test_each_request_gets_a_clone(path: str) -> None:
    app, agent = FastAPI(), KeepsItsRun()
    add_langgraph_fastapi_endpoint(app, agent, "/agent")
    for _ in range(2):
        assert [event.type.value for event in ask(app, path)] == ["RUN_STARTED", "RUN_FINISHED"]
    assert not agent.used


def test_capabilities_of_any_kind() -> None:
    class Async(Unfinished):
        async def get_capabilities(self) -> dict[str, Any]:
            return {"custom": {"a": 1}}

    class Model(Unfinished):
        def get_capabilities(self) -> AgentCapabilities:
            return AgentCapabilities.model_validate({"custom": {"a": 1}})

    for agent in (Async(), Model()):
        app = FastAPI()
        add_langgraph_fastapi_endpoint(app, agent, "/agent", tags=None, dependencies=None)
        with serving(app) as served:
            assert httpx2.get(served.url("/agent/capabilities")).json()["custom"] == {"a": 1}


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        (lambda: graph(), r"LangGraphAgent\(graph\)"),
        (lambda: object(), r"run\(input\)"),
        (lambda: LangGraphAgent, "class"),
        (lambda: None, r"run\(input\)"),
    ],
)
def test_what_is_no_agent_is_refused_at_mount(agent: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        agui_router(agent())
    with pytest.raises(TypeError, match=text):
        add_langgraph_fastapi_endpoint(FastAPI(), agent())


def test_a_factory_that_run_does_not_take_is_refused_at_mount() -> None:
    with pytest.raises(TypeError, match=r"Wrapper\.run takes no context"):
        agui_router(Wrapper(LangGraphAgent(graph())), context_factory=lambda _: {})


def test_the_options_of_the_route() -> None:
    app = FastAPI()
    add_langgraph_fastapi_endpoint(
        app,
        LangGraphAgent(graph()),
        "/agent",
        name="chat",
        tags=["agents"],
        operation_id="run_chat",
    )
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(graph()), "/hidden", include_in_schema=False)
    schema = app.openapi()
    operation = schema["paths"]["/agent"]["post"]
    assert (operation["tags"], operation["operationId"], operation["summary"]) == (
        ["agents"],
        "run_chat",
        "Chat",
    )
    assert "/hidden" not in schema["paths"]
    assert app.url_path_for("chat") == "/agent"


def test_clones_and_capabilities() -> None:
    agent = LangGraphAgent(graph(), name="mine")
    assert agent.clone() is agent
    assert agent.get_capabilities()["identity"]["name"] == "mine"  # type: ignore[index]
