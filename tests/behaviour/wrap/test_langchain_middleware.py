"""What a client sees of an agent with each middleware of LangChain: docs/reference/middleware.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from langchain.agents import create_agent, middleware
from langchain.agents.middleware import (
    AutoModeMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    FilesystemFileSearchMiddleware,
    HumanInTheLoopMiddleware,
    LLMToolEmulator,
    LLMToolSelectorMiddleware,
    ModelCallLimitMiddleware,
    ModelChoice,
    ModelFallbackMiddleware,
    ModelRefusalMiddleware,
    ModelRetryMiddleware,
    ModelRouterMiddleware,
    PIIMiddleware,
    ProviderToolSearchMiddleware,
    ShellToolMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolErrorMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.decisions import BaseDecisionModel, ClassifierResponse
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from tests.behaviour.threads.test_connect import connect
from tests.behaviour.wrap.test_stream_transformers import said
from tests.kit.expect.canary import CANARY
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, record_run, run_input

PAGE = Path("docs/reference/middleware.md")


@tool
def look(place: str) -> str:
    """Look at a place."""
    return f"seen {place}"


@tool
def feel(mood: str) -> str:
    """Feel a mood."""
    return f"felt {mood}"


class Decides(BaseDecisionModel):
    """A decision model that gives the same answer to all questions."""

    model: str = "decides"
    answer: dict[str, Any]

    @property
    def _provider(self) -> str:
        return "scripted"

    def _classify(self, state: Any, questions: Mapping[str, Any]) -> ClassifierResponse:
        answers = dict.fromkeys(questions, self.answer)
        return ClassifierResponse.model_validate({"model": self.model, "answers": answers})


class Case(NamedTuple):
    """An agent, the text that its run streams, and the messages that the client holds then."""

    agent: Any
    streamed: str
    held: list[tuple[str, str]]


def looking(*, then: str = "Done.") -> Scripted:
    return Scripted(["I look. ", call("look", "c1", place="a")], [then])


def agent_of(model: Any, *used: Any, tools: Any = (look,), **fields: Any) -> Any:
    return create_agent(model, [*tools], middleware=[*used], checkpointer=InMemorySaver(), **fields)


LOOKED = [("assistant", "I look. "), ("tool", "seen a"), ("assistant", "Done.")]


def auto_mode() -> Case:
    risky = Decides(answer={"type": "noul", "noul": 0.9})
    agent = agent_of(looking(), AutoModeMiddleware(tools=["look"], classifier=risky))
    return Case(agent, "I look. Done.", [LOOKED[0], ("tool", "*"), LOOKED[2]])


def context_editing() -> Case:
    model = Scripted([call("look", "c1", place="a")], [call("look", "c2", place="b")], ["Done."])
    edit = ClearToolUsesEdit(trigger=1, keep=1)
    agent = agent_of(model, ContextEditingMiddleware(edits=[edit]))
    held = [("assistant", ""), ("tool", "seen a"), ("assistant", ""), ("tool", "seen b")]
    return Case(agent, "Done.", [*held, ("assistant", "Done.")])


def file_search() -> Case:
    search = FilesystemFileSearchMiddleware(root_path="docs/pictures", use_ripgrep=False)
    model = Scripted([call("glob_search", "c1", pattern="*.nothing")], ["None."])
    held = [("assistant", ""), ("tool", "No files found"), ("assistant", "None.")]
    return Case(agent_of(model, search, tools=[]), "None.", held)


def approvals() -> Case:
    agent = agent_of(looking(), HumanInTheLoopMiddleware(interrupt_on={"look": True}))
    return Case(agent, "I look. ", LOOKED[:1])


def emulated() -> Case:
    emulator = LLMToolEmulator(model=Scripted(["as if seen"]))
    held = [LOOKED[0], ("tool", "as if seen"), LOOKED[2]]
    return Case(agent_of(looking(), emulator), "I look. Done.", held)


def selected() -> Case:
    choice = call("ToolSelectionResponse", "s1", tools=["look"])
    selector = LLMToolSelectorMiddleware(model=Scripted([choice]), max_tools=1)
    return Case(agent_of(looking(), selector, tools=[look, feel]), "I look. Done.", LOOKED)


def model_limit() -> Case:
    limit = ModelCallLimitMiddleware(run_limit=1)
    held = [*LOOKED[:2], ("assistant", "Model call limits exceeded: run limit (1/1)")]
    return Case(agent_of(looking(), limit), f"I look. {held[-1][1]}", held)


def fallback() -> Case:
    first = Scripted(["Half an ans", RuntimeError("gone")])
    agent = agent_of(first, ModelFallbackMiddleware(Scripted(["Whole."])))
    return Case(agent, "Half an ansWhole.", [("assistant", "Whole.")])


def refusal() -> Case:
    refused = AIMessageChunk(
        [{"type": "refusal", "refusal": "I cannot"}], response_metadata={"output_version": "v1"}
    )
    model = Scripted(["Well, ", refused])
    second = ModelFallbackMiddleware(Scripted(["Here it is."]))
    agent = agent_of(model, second, ModelRefusalMiddleware())
    return Case(agent, "*Here it is.", [("assistant", "Here it is.")])


def model_retry() -> Case:
    model = Scripted(["Half ", RuntimeError("busy")], ["Whole."])
    agent = agent_of(model, ModelRetryMiddleware(initial_delay=0, max_retries=1))
    return Case(agent, "Half Whole.", [("assistant", "Whole.")])


def routed() -> Case:
    router = ModelRouterMiddleware(
        choices={"own": ModelChoice(model=Scripted(["Chosen."]), criteria="always")},
        instructions="Choose.",
        classifier=Decides(
            answer={
                "type": "choice",
                "choice": "own",
                "probabilities": {"own": 1.0},
                "confidence": 1.0,
            }
        ),
    )
    return Case(agent_of(Scripted(["Not me."]), router), "Chosen.", [("assistant", "Chosen.")])


def pii() -> Case:
    hides = PIIMiddleware("word", detector=CANARY, apply_to_output=True)
    text = "It is [REDACTED_WORD]."
    return Case(agent_of(Scripted(["It is ", CANARY, "."]), hides), text, [("assistant", text)])


def provider_tool_search() -> Case:
    return Case(agent_of(looking(), ProviderToolSearchMiddleware()), "I look. Done.", LOOKED)


def shell() -> Case:
    model = Scripted([call("shell", "c1", command="echo said")], ["Done."])
    held = [("assistant", ""), ("tool", "said\n"), ("assistant", "Done.")]
    return Case(agent_of(model, ShellToolMiddleware(), tools=[]), "Done.", held)


def summarized() -> Case:
    sums_up = SummarizationMiddleware(
        Scripted(["a summary"]), trigger=("messages", 3), keep=("messages", 1)
    )
    return Case(agent_of(looking(), sums_up), "I look. Done.", LOOKED)


def todos() -> Case:
    model = Scripted(
        [call("write_todos", "c1", todos=[{"content": "look", "status": "pending"}])], ["Done."]
    )
    held = [("assistant", ""), ("tool", "*"), ("assistant", "Done.")]
    return Case(agent_of(model, TodoListMiddleware(), tools=[]), "Done.", held)


def tool_limit() -> Case:
    model = Scripted([call("look", "c1", place="a")], [call("look", "c2", place="b")], ["Done."])
    agent = agent_of(model, ToolCallLimitMiddleware(run_limit=1))
    held = [("assistant", ""), ("tool", "seen a"), ("assistant", ""), ("tool", "*")]
    return Case(agent, "Done.", [*held, ("assistant", "Done.")])


@tool
def fails(place: str) -> str:
    """Fail."""
    raise RuntimeError("secret")


def tool_errors() -> Case:
    model = Scripted([call("fails", "c1", place="a")], ["Done."])
    handles = ToolErrorMiddleware(on_error=lambda error, request: type(error).__name__)
    held = [("assistant", ""), ("tool", "RuntimeError"), ("assistant", "Done.")]
    return Case(agent_of(model, handles, tools=[fails]), "Done.", held)


def tool_retry() -> Case:
    model = Scripted([call("fails", "c1", place="a")], ["Done."])
    again = ToolRetryMiddleware(max_retries=1, initial_delay=0, on_failure=lambda error: "No luck.")
    held = [("assistant", ""), ("tool", "No luck."), ("assistant", "Done.")]
    return Case(agent_of(model, again, tools=[fails]), "Done.", held)


CASES: dict[str, Callable[[], Case]] = {
    "AutoModeMiddleware": auto_mode,
    "ContextEditingMiddleware": context_editing,
    "FilesystemFileSearchMiddleware": file_search,
    "HumanInTheLoopMiddleware": approvals,
    "LLMToolEmulator": emulated,
    "LLMToolSelectorMiddleware": selected,
    "ModelCallLimitMiddleware": model_limit,
    "ModelFallbackMiddleware": fallback,
    "ModelRefusalMiddleware": refusal,
    "ModelRetryMiddleware": model_retry,
    "ModelRouterMiddleware": routed,
    "PIIMiddleware": pii,
    "ProviderToolSearchMiddleware": provider_tool_search,
    "ShellToolMiddleware": shell,
    "SummarizationMiddleware": summarized,
    "TodoListMiddleware": todos,
    "ToolCallLimitMiddleware": tool_limit,
    "ToolErrorMiddleware": tool_errors,
    "ToolRetryMiddleware": tool_retry,
}


@pytest.mark.parametrize("name", CASES)
async def test_each(name: str) -> None:
    case = CASES[name]()
    agent = LangGraphAgent(case.agent)
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    assert recorded.last.type == "RUN_FINISHED"
    check(said(recorded), case.streamed)
    held = shown(recorded)
    assert [role for role, _ in held] == [role for role, _ in case.held]
    for (_, text), (_, expected) in zip(held, case.held, strict=True):
        check(text, expected)
    if name != "SummarizationMiddleware":  # which removes what the client keeps
        assert shown(await connect(agent)) == held


def shown(recorded: RecordedRun) -> list[tuple[str, str]]:
    return [
        (message.role, str(getattr(message, "content", "") or ""))
        for message in recorded.messages
        if message.role in ("assistant", "tool")
    ]


def check(text: str, expected: str) -> None:
    """Compare texts; `*` in the expected one stands for any text."""
    pattern = ".*".join(re.escape(piece) for piece in expected.split("*"))
    assert re.fullmatch(pattern, text, re.DOTALL), (text, expected)


def test_all_of_them_are_known() -> None:
    public = {
        name
        for name in middleware.__all__
        if isinstance(found := getattr(middleware, name), type)
        and issubclass(found, middleware.AgentMiddleware)
        and found is not middleware.AgentMiddleware
    }
    assert set(CASES) == public
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert rows == sorted(CASES)
