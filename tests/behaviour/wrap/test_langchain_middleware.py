"""What a client sees of an agent with each middleware of LangChain: docs/reference/middleware.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

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
from tests.behaviour.wrap.test_stream_transformers import said
from tests.kit.expect.canary import CANARY
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.run.talking import connect

PAGE = Path("docs/reference/middleware.md")


@tool
def look(place: str) -> str:
    """Look at a place."""
    return f"seen {place}"


@tool
def feel(mood: str) -> str:
    """Feel a mood."""
    return f"felt {mood}"


@tool
def fails(place: str) -> str:
    """Fail."""
    raise RuntimeError("secret")


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


def agent_of(model: Any, *used: Any, tools: Any = (look,)) -> Any:
    return create_agent(model, [*tools], middleware=[*used], checkpointer=InMemorySaver())


def looking() -> Scripted:
    return Scripted(["I look. ", call("look", "c1", place="a")], ["Done."])


def calling(name: str, **args: Any) -> Scripted:
    return Scripted([call(name, "c1", **args)], ["Done."])


def looking_twice() -> Scripted:
    return Scripted([call("look", "c1", place="a")], [call("look", "c2", place="b")], ["Done."])


def called(*results: str) -> list[tuple[str, str]]:
    rounds = [[("assistant", ""), ("tool", result)] for result in results]
    return [*(row for each in rounds for row in each), ("assistant", "Done.")]


def looked(result: str = "seen a", last: str = "Done.") -> list[tuple[str, str]]:
    return [("assistant", "I look. "), ("tool", result), ("assistant", last)]


def answered(text: str) -> list[tuple[str, str]]:
    return [("assistant", text)]


RISKY = Decides(answer={"type": "noul", "noul": 0.9})
CHOICE: Any = {"type": "choice", "choice": "own", "probabilities": {"own": 1.0}, "confidence": 1.0}
TODOS = [{"content": "look", "status": "pending"}]
REFUSED = AIMessageChunk(
    [{"type": "refusal", "refusal": "I cannot"}], response_metadata={"output_version": "v1"}
)
SELECTED = call("ToolSelectionResponse", "s1", tools=["look"])
LIMITED = "Model call limits exceeded: run limit (1/1)"
BOTH = "I look. Done."

# An agent, the text that its run streams, and the messages that the client holds then.
CASES: dict[str, tuple[Callable[[], Any], str, list[tuple[str, str]]]] = {
    "AutoModeMiddleware": (
        lambda: agent_of(looking(), AutoModeMiddleware(tools=["look"], classifier=RISKY)),
        *(BOTH, looked("*")),
    ),
    "ContextEditingMiddleware": (
        lambda: agent_of(
            looking_twice(),
            ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=1)]),
        ),
        *("Done.", called("seen a", "seen b")),
    ),
    "FilesystemFileSearchMiddleware": (
        lambda: agent_of(
            calling("glob_search", pattern="*.nothing"),
            FilesystemFileSearchMiddleware(root_path="docs/pictures", use_ripgrep=False),
            tools=[],
        ),
        *("Done.", called("No files found")),
    ),
    "HumanInTheLoopMiddleware": (
        lambda: agent_of(looking(), HumanInTheLoopMiddleware(interrupt_on={"look": True})),
        *("I look. ", looked()[:1]),
    ),
    "LLMToolEmulator": (
        lambda: agent_of(looking(), LLMToolEmulator(model=Scripted(["as if seen"]))),
        *(BOTH, looked("as if seen")),
    ),
    "LLMToolSelectorMiddleware": (
        lambda: agent_of(
            looking(),
            LLMToolSelectorMiddleware(model=Scripted([SELECTED]), max_tools=1),
            tools=[look, feel],
        ),
        *(BOTH, looked()),
    ),
    "ModelCallLimitMiddleware": (
        lambda: agent_of(looking(), ModelCallLimitMiddleware(run_limit=1)),
        *(f"I look. {LIMITED}", looked(last=LIMITED)),
    ),
    "ModelFallbackMiddleware": (
        lambda: agent_of(
            Scripted(["Half an ans", RuntimeError("gone")]),
            ModelFallbackMiddleware(Scripted(["Whole."])),
        ),
        *("Half an ansWhole.", answered("Whole.")),
    ),
    "ModelRefusalMiddleware": (
        lambda: agent_of(
            Scripted(["Well, ", REFUSED]),
            *(ModelFallbackMiddleware(Scripted(["Here it is."])), ModelRefusalMiddleware()),
        ),
        *("*Here it is.", answered("Here it is.")),
    ),
    "ModelRetryMiddleware": (
        lambda: agent_of(
            Scripted(["Half ", RuntimeError("busy")], ["Whole."]),
            ModelRetryMiddleware(initial_delay=0, max_retries=1),
        ),
        *("Half Whole.", answered("Whole.")),
    ),
    "ModelRouterMiddleware": (
        lambda: agent_of(
            Scripted(["Not me."]),
            ModelRouterMiddleware(
                choices={"own": ModelChoice(model=Scripted(["Chosen."]), criteria="always")},
                instructions="Choose.",
                classifier=Decides(answer=CHOICE),
            ),
        ),
        *("Chosen.", answered("Chosen.")),
    ),
    "PIIMiddleware": (
        lambda: agent_of(
            Scripted(["It is ", CANARY, "."]),
            PIIMiddleware("word", detector=CANARY, apply_to_output=True),
        ),
        *("It is [REDACTED_WORD].", answered("It is [REDACTED_WORD].")),
    ),
    "ProviderToolSearchMiddleware": (
        lambda: agent_of(looking(), ProviderToolSearchMiddleware()),
        *(BOTH, looked()),
    ),
    "ShellToolMiddleware": (
        lambda: agent_of(calling("shell", command="echo said"), ShellToolMiddleware(), tools=[]),
        *("Done.", called("said\n")),
    ),
    "SummarizationMiddleware": (
        lambda: agent_of(
            looking(),
            SummarizationMiddleware(
                Scripted(["a summary"]), trigger=("messages", 3), keep=("messages", 1)
            ),
        ),
        *(BOTH, looked()),
    ),
    "TodoListMiddleware": (
        lambda: agent_of(calling("write_todos", todos=TODOS), TodoListMiddleware(), tools=[]),
        *("Done.", called("*")),
    ),
    "ToolCallLimitMiddleware": (
        lambda: agent_of(looking_twice(), ToolCallLimitMiddleware(run_limit=1)),
        *("Done.", called("seen a", "*")),
    ),
    "ToolErrorMiddleware": (
        lambda: agent_of(
            calling("fails", place="a"),
            ToolErrorMiddleware(on_error=lambda error, request: type(error).__name__),
            tools=[fails],
        ),
        *("Done.", called("RuntimeError")),
    ),
    "ToolRetryMiddleware": (
        lambda: agent_of(
            calling("fails", place="a"),
            ToolRetryMiddleware(max_retries=1, initial_delay=0, on_failure=lambda _: "No luck."),
            tools=[fails],
        ),
        *("Done.", called("No luck.")),
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_each(name: str) -> None:
    make, streamed, held = CASES[name]
    agent = LangGraphAgent(make())
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    assert recorded.last.type == "RUN_FINISHED"
    assert fnmatchcase(said(recorded), escaped(streamed))
    assert [role for role, _ in shown(recorded)] == [role for role, _ in held]
    for (_, text), (_, expected) in zip(shown(recorded), held, strict=True):
        assert fnmatchcase(text, escaped(expected)), (text, expected)
    if name != "SummarizationMiddleware":  # which removes what the client keeps
        assert shown(await connect(agent)) == shown(recorded)


def escaped(text: str) -> str:
    """`*` stands for any text, and brackets for themselves."""
    return text.replace("[", "[[]")


def shown(recorded: RecordedRun) -> list[tuple[str, str]]:
    return [
        (message.role, str(getattr(message, "content", "") or ""))
        for message in recorded.messages
        if message.role in ("assistant", "tool")
    ]


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
