"""What a client sees of an agent with each middleware of LangChain: docs/reference/middleware.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
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


def looking() -> Scripted:
    return Scripted(["I look. ", call("look", "c1", place="a")], ["Done."])


def calling(name: str, **args: Any) -> Scripted:
    return Scripted([call(name, "c1", **args)], ["Done."])


def twice() -> Scripted:
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
CHOSEN = {"own": ModelChoice(model=Scripted(["Chosen."]), criteria="always")}
ROUTER: Any = {"choices": CHOSEN, "instructions": "?", "classifier": Decides(answer=CHOICE)}
TODOS = [{"content": "look", "status": "pending"}]
REFUSED = AIMessageChunk(
    [{"type": "refusal", "refusal": "I cannot"}], response_metadata={"output_version": "v1"}
)
SELECTED = Scripted([call("ToolSelectionResponse", "s1", tools=["look"])])
SUMMARY: Any = {"trigger": ("messages", 3), "keep": ("messages", 1)}
CLEARS = [ClearToolUsesEdit(trigger=1, keep=1)]
FILES: Any = {"root_path": "docs/pictures", "use_ripgrep": False}
BOTH, HIDDEN = "I look. Done.", "It is [REDACTED_WORD]."
LIMITED = "Model call limits exceeded: run limit (1/1)"
HALF = ["Half ", RuntimeError("busy")]
FALLBACK = ModelFallbackMiddleware(Scripted(["Whole."]))
AGAIN: Any = {"max_retries": 1, "initial_delay": 0}

# A model, its middleware, the text that is streamed, and the messages that the client holds then.
CASES: list[tuple[Scripted, list[Any], str, list[tuple[str, str]]]] = [
    (looking(), [AutoModeMiddleware(tools=["look"], classifier=RISKY)], BOTH, looked("*")),
    (twice(), [ContextEditingMiddleware(edits=CLEARS)], "Done.", called("seen a", "seen b")),
    (
        calling("glob_search", pattern="*.nothing"),
        [FilesystemFileSearchMiddleware(**FILES)],
        *("Done.", called("No files found")),
    ),
    (looking(), [HumanInTheLoopMiddleware({"look": True})], "I look. ", looked()[:1]),
    (looking(), [LLMToolEmulator(model=Scripted(["as if"]))], BOTH, looked("as if")),
    (looking(), [LLMToolSelectorMiddleware(model=SELECTED, max_tools=1)], BOTH, looked()),
    (
        looking(),
        [ModelCallLimitMiddleware(run_limit=1)],
        *(f"I look. {LIMITED}", looked(last=LIMITED)),
    ),
    (Scripted(HALF), [FALLBACK], "Half Whole.", answered("Whole.")),
    (
        Scripted(["Well, ", REFUSED]),
        [FALLBACK, ModelRefusalMiddleware()],
        *("*Whole.", answered("Whole.")),
    ),
    (
        Scripted(HALF, ["Whole."]),
        [ModelRetryMiddleware(**AGAIN)],
        "Half Whole.",
        answered("Whole."),
    ),
    (Scripted(["Not me."]), [ModelRouterMiddleware(**ROUTER)], "Chosen.", answered("Chosen.")),
    (
        Scripted(["It is ", CANARY, "."]),
        [PIIMiddleware("word", detector=CANARY, apply_to_output=True)],
        *(HIDDEN, answered(HIDDEN)),
    ),
    (looking(), [ProviderToolSearchMiddleware()], BOTH, looked()),
    (calling("shell", command="echo said"), [ShellToolMiddleware()], "Done.", called("said\n")),
    (looking(), [SummarizationMiddleware(Scripted(["a summary"]), **SUMMARY)], BOTH, looked()),
    (calling("write_todos", todos=TODOS), [TodoListMiddleware()], "Done.", called("*")),
    (twice(), [ToolCallLimitMiddleware(run_limit=1)], "Done.", called("seen a", "*")),
    (
        calling("fails", place="a"),
        [ToolErrorMiddleware(on_error=lambda error, request: type(error).__name__)],
        *("Done.", called("RuntimeError")),
    ),
    (
        calling("fails", place="a"),
        [ToolRetryMiddleware(**AGAIN, on_failure=lambda error: "No luck.")],
        *("Done.", called("No luck.")),
    ),
]
NAMES = [type(used[-1]).__name__ for _, used, *_ in CASES]


@pytest.mark.parametrize(("model", "used", "streamed", "held"), CASES, ids=NAMES)
async def test_each(model: Scripted, used: list[Any], streamed: str, held: Any) -> None:
    tools, saver = [look, feel, fails], InMemorySaver()
    agent = LangGraphAgent(create_agent(model, tools, middleware=used, checkpointer=saver))
    recorded = await record_run(agent, run_input("Hi", thread="t"))
    assert recorded.last.type == "RUN_FINISHED"
    assert fnmatchcase(said(recorded), escaped(streamed))
    assert [role for role, _ in shown(recorded)] == [role for role, _ in held]
    for (_, text), (_, expected) in zip(shown(recorded), held, strict=True):
        assert fnmatchcase(text, escaped(expected)), (text, expected)
    if not isinstance(used[0], SummarizationMiddleware):  # which removes what the client keeps
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
    assert {*NAMES} == public
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert rows == sorted(NAMES)
