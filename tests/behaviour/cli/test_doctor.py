"""`langgraph-agui doctor` as users and scripts see it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from typer.testing import CliRunner

from langgraph_agui.devtools.cli.app import app
from tests.kit.deep import deep

UNREAD = "client tools: nothing in this graph binds them"
ADVICE = (
    "→ If clients offer tools, add AGUIMiddleware() to create_agent, "
    "or bind frontend_tools(config) in the model's node."
)
GRAPHS = """
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import GenericFakeChatModel
from langchain_deepseek import ChatDeepSeek
from langchain_groq import ChatGroq
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph.types import interrupt

from langgraph_agui import AGUIMiddleware, LangGraphAgent, ReasoningOptions
from langgraph_agui.chat_models import ReasoningChatDeepSeek

KEY = "test-key"
thinking = {"type": "enabled", "budget_tokens": 2048}
claude = ChatAnthropic(model="claude-sonnet-4-5", api_key=KEY, thinking=thinking)
deepseek = ChatDeepSeek(model="deepseek-v4-pro", api_key=KEY)
mended = ReasoningChatDeepSeek(model="deepseek-v4-pro", api_key=KEY)
raw = ChatGroq(model="qwen/qwen3-32b", api_key=KEY)
helper = SummarizationMiddleware(model=ChatOpenAI(model="gpt-5-mini", api_key=KEY))


class Odd(GenericFakeChatModel):
    pass


def answer(state):
    return {"messages": ["fixed"]}


fine = create_agent(claude, [], checkpointer=InMemorySaver())
lossy = create_agent(deepseek, [])
good = create_agent(mended, [], middleware=[helper])
two = StateGraph(MessagesState).add_node("[plan]", claude).add_node("act", deepseek)
two = two.add_edge(START, "[plan]").add_edge("[plan]", "act").compile()
mute = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile()
odd = create_agent(Odd(messages=iter(())), [])
binds = create_agent(claude, [], middleware=[AGUIMiddleware()])


def ask(state):
    return {"messages": [interrupt("Sure?")]}


def pass_on(state):
    return ask(state)


class Signal:
    def interrupt(self, text):
        return text


def signals(state):
    return {"messages": [Signal().interrupt("Sure.")]}


signal = StateGraph(MessagesState).add_node("ask", signals).add_edge(START, "ask").compile()
inside = StateGraph(MessagesState).add_node("say", signals).add_edge(START, "say")
inside = inside.compile(checkpointer=True)
calls = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").compile()
passes = StateGraph(MessagesState).add_node("ask", pass_on).add_edge(START, "ask").compile()
asks = create_agent(claude, [], middleware=[HumanInTheLoopMiddleware({"pay": True})])
texts = create_agent(raw, [])
split = LangGraphAgent(texts, reasoning=ReasoningOptions(think_tags=True))
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a user's graphs in it."""
    (tmp_path / "graphs.py").write_text(textwrap.dedent(GRAPHS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.delitem(sys.modules, "graphs", raising=False)
    return tmp_path


def doctor(spec: str) -> tuple[int, list[str]]:
    done = CliRunner().invoke(app, ["doctor", spec], env={"COLUMNS": "80"})
    return done.exit_code, done.stdout.splitlines()


def test_a_whole_report() -> None:
    code, lines = doctor("graphs:fine")
    assert code == 0
    assert lines == [
        "graphs:fine",
        "history: kept by the server, in the graph's InMemorySaver",
        "",
        "ChatAnthropic of langchain-anthropic, claude-sonnet-4-5",
        "  in    model",
        "  out   yes",
        "  back  yes",
        "",
        UNREAD,
        ADVICE,
        "",
        "No problems found. See whether the → lines apply to you.",
    ]


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("asks", "The graph pauses by HumanInTheLoopMiddleware"),
        ("calls", "The graph pauses by interrupt() in the node 'ask'"),
        ("passes", "The graph calls interrupt()"),
    ],
)
def test_approvals_without_a_checkpointer(name: str, cause: str) -> None:
    code, lines = doctor(f"graphs:{name}")
    assert code == 1
    remedy = "compile it with one, such as checkpointer=InMemorySaver()."
    assert lines[2] == f"→ {cause}, so it needs a checkpointer that keeps the thread: {remedy}"
    assert lines[-1] == "The checkpointer needs attention: see the → line."


def test_a_method_of_the_name_needs_no_checkpointer() -> None:
    code, lines = doctor("graphs:signal")
    assert (code, any("→" in line for line in lines)) == (0, False)


def test_the_checkpointer_of_a_subgraph() -> None:
    code, lines = doctor("graphs:inside")
    assert (code, lines[2][:20]) == (1, "→ checkpointer=True ")
    assert lines[-1] == "The checkpointer needs attention: see the → line."


def test_without_a_checkpointer_approvals_are_not_served() -> None:
    served = CliRunner().invoke(
        app, ["serve", "graphs:asks", "--port", "0", "--checkpointer", "none"]
    )
    assert served.exit_code == 2
    assert (
        "The graph pauses by HumanInTheLoopMiddleware, so it needs a checkpointer" in served.stderr
    )


def test_a_langgraph_server_brings_the_checkpointer() -> None:
    Path("langgraph.json").write_text(
        '{"graphs": {"one": "./graphs.py:calls", "two": "./graphs.py:lossy"}}'
    )
    code, lines = doctor("langgraph.json")
    assert code == 1
    assert [line for line in lines if line.startswith("langgraph.json")] == [
        "langgraph.json · one",
        "langgraph.json · two",
    ]
    assert not any("checkpointer that keeps" in line for line in lines)


def test_tools_of_clients_that_are_bound() -> None:
    assert UNREAD in doctor("graphs:good")[1]
    assert UNREAD not in doctor("graphs:binds")[1]


@pytest.mark.parametrize("name", ["fine", "good", "odd", "split", "binds", "mute"])
def test_the_verdict_fits_the_advice(name: str) -> None:
    code, lines = doctor(f"graphs:{name}")
    assert code == 0
    advised = any("→" in line for line in lines[:-1])
    assert advised == (lines[-1] == "No problems found. See whether the → lines apply to you.")
    assert advised != (name in ("binds", "mute"))


def test_a_synchronous_checkpointer() -> None:
    with Path("graphs.py").open("a") as file:
        file.write(
            "import sqlite3\nfrom langgraph.checkpoint.sqlite import SqliteSaver\n"
            "stored = create_agent(claude, [], "
            "checkpointer=SqliteSaver(sqlite3.connect(':memory:')))\n"
        )
    code, lines = doctor("graphs:stored")
    assert code == 1
    assert lines[1] == "history: kept by the server, in the graph's SqliteSaver"
    assert "use AsyncSqliteSaver of langgraph.checkpoint.sqlite.aio" in lines[2]
    assert lines[-1] == "The checkpointer needs attention: see the → line."
    served = CliRunner().invoke(app, ["serve", "graphs:stored", "--port", "0"])
    assert (served.exit_code, "use AsyncSqliteSaver" in served.stderr) == (2, True)


def test_a_model_that_loses_reasoning() -> None:
    code, lines = doctor("graphs.py:lossy")
    assert code == 1
    assert (
        lines[1] == "history: kept by the client, which sends it with every run: the graph has no "
        "checkpointer"
    )
    assert lines[3:7] == [
        "ChatDeepSeek of langchain-deepseek, deepseek-v4-pro",
        "  in    model",
        "  out   yes",
        "  back  no",
    ]
    assert lines[7] == (
        "  → langchain-deepseek never sends reasoning back. "
        "Use ReasoningChatDeepSeek from langgraph_agui.chat_models, with the same arguments."
    )
    assert lines[-1] == "1 of 1 model should be changed."


def test_what_it_advises_helps_and_helpers_do_not_count() -> None:
    code, lines = doctor("graphs:good")
    assert code == 0
    assert lines[3] == "ReasoningChatDeepSeek of langgraph-agui, deepseek-v4-pro"
    at = lines.index("ChatOpenAI of langchain-openai, gpt-5-mini")
    assert lines[at + 1 : at + 3] == [
        "  in    SummarizationMiddleware.before_model",
        "  helps the agent and has no turns of its own",
    ]


def test_every_model_is_listed_with_its_place() -> None:
    code, lines = doctor("graphs:two")
    assert code == 1
    assert [line for line in lines if line.startswith("  in ")] == ["  in    [plan]", "  in    act"]
    assert lines[-1] == "1 of 2 models should be changed."


def test_a_graph_without_models() -> None:
    code, lines = doctor("graphs:mute")
    assert code == 0
    assert (
        lines[-1]
        == "No chat model was found. One that a node makes when it runs cannot be seen from here."
    )


def test_a_class_that_is_not_known() -> None:
    code, lines = doctor("graphs:odd")
    assert code == 0
    assert lines[3:7] == [
        "Odd of graphs, Odd",
        "  in    model",
        "  out   not known",
        "  back  not known",
    ]
    assert lines[7].startswith("  → Odd is not known here. It is assumed to be right: ")


def test_think_tags_are_split_or_not() -> None:
    code, lines = doctor("graphs:texts")
    assert code == 1
    assert "think_tags=True" in lines[7]
    assert doctor("graphs:split")[0] == 0


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("graphs", "does not name a graph"),
        ("absent:graph", "No module named 'absent'"),
        ("graphs:claude", "cannot be served"),
    ],
)
def test_a_graph_that_cannot_be_loaded(spec: str, message: str) -> None:
    done = CliRunner().invoke(app, ["doctor", spec])
    assert done.exit_code == 2
    assert message in done.stderr


def test_help_tells_the_exit_codes() -> None:
    done = CliRunner().invoke(app, ["doctor", "--help"], env={"COLUMNS": "300"})
    assert done.exit_code == 0
    assert "0 no problems found, 1 something to change, 2 the graph cannot be loaded" in done.stdout


@deep
def test_a_file_may_have_the_name_of_an_installed_module(tmp_path: Path) -> None:
    file = tmp_path / "graphs" / "typer.py"
    file.parent.mkdir()
    file.write_text(
        "from langgraph.graph import START, MessagesState, StateGraph\n"
        "builder = StateGraph(MessagesState)\n"
        "builder.add_node('answer', lambda state: {})\n"
        "builder.add_edge(START, 'answer')\n"
        "graph = builder.compile()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "langgraph_agui", "doctor", f"{file}:graph"],
        capture_output=True,
        text=True,
    )
    assert "No chat model was found" in done.stdout
