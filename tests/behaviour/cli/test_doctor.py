"""`langgraph-agui doctor` as users and scripts see it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.behaviour.cli.terminal import invoke
from tests.kit.deep import deep

UNREAD = "client tools: nothing in this graph binds them"
FINE = "No problems found. See whether the → lines apply to you."
ADVICE = (
    "→ If clients offer tools, add AGUIMiddleware() to create_agent, "
    "or bind frontend_tools(config) in the model's node."
)
SAVER = "The checkpointer needs attention: see the → line."
NO_MODEL, BY_CLIENT = "No chat model was found. ", "history: kept by the client, "
GRAPHS = """
import sqlite3
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import GenericFakeChatModel
from langchain_deepseek import ChatDeepSeek
from langchain_groq import ChatGroq
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
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


class Signal:
    def interrupt(self, text):
        return text


def answer(state):
    return {"messages": ["fixed"]}


def ask(state):
    return {"messages": [interrupt("Sure?")]}


def pass_on(state):
    return ask(state)


def signals(state):
    return {"messages": [Signal().interrupt("Sure.")]}


def one(node, **options):
    return StateGraph(MessagesState).add_node("ask", node).add_edge(START, "ask").compile(**options)


fine = create_agent(claude, [], checkpointer=InMemorySaver())
lossy = create_agent(deepseek, [])
good = create_agent(mended, [], middleware=[helper])
two = StateGraph(MessagesState).add_node("[plan]", claude).add_node("act", deepseek)
two = two.add_edge(START, "[plan]").add_edge("[plan]", "act").compile()
mute, signal, calls, passes = one(answer), one(signals), one(ask), one(pass_on)
inside = one(signals, checkpointer=True)
odd = create_agent(Odd(messages=iter(())), [])
binds = create_agent(claude, [], middleware=[AGUIMiddleware()])
asks = create_agent(claude, [], middleware=[HumanInTheLoopMiddleware({"pay": True})])
texts = create_agent(raw, [])
split = LangGraphAgent(texts, reasoning=ReasoningOptions(think_tags=True))
stored = create_agent(claude, [], checkpointer=SqliteSaver(sqlite3.connect(':memory:')))
"""


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch):
    """A folder with a user's graphs in it."""
    (tmp_path / "graphs.py").write_text(GRAPHS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.delitem(sys.modules, "graphs", raising=False)


def doctor(spec):
    done = invoke("doctor", spec, columns=80)
    return done.exit_code, done.stdout.splitlines()


def test_a_whole_report():
    history = "history: kept by the server, in the graph's InMemorySaver"
    model = ["ChatAnthropic of langchain-anthropic, claude-sonnet-4-5"]
    model += ["  in    model", "  out   yes", "  back  yes"]
    report = ["graphs:fine", history, "", *model, "", UNREAD, ADVICE, "", FINE]
    assert doctor("graphs:fine") == (0, report)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("asks", "The graph pauses by HumanInTheLoopMiddleware"),
        ("calls", "The graph pauses by interrupt() in the node 'ask'"),
        ("passes", "The graph calls interrupt()"),
    ],
)
def test_approvals_without_a_checkpointer(name, cause):
    code, lines = doctor(f"graphs:{name}")
    remedy = "compile it with one, such as checkpointer=InMemorySaver()."
    needs = f"→ {cause}, so it needs a checkpointer that keeps the thread: {remedy}"
    assert (code, lines[2], lines[-1]) == (1, needs, SAVER)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("asks", "--checkpointer", "none"),
            "pauses by HumanInTheLoopMiddleware, so it needs a checkpointer",
        ),
        (("stored",), "use AsyncSqliteSaver"),
    ],
)
def test_what_the_doctor_refuses_is_not_served(arguments, message):
    served = invoke("serve", f"graphs:{arguments[0]}", *arguments[1:], "--port", 0)
    assert (served.exit_code, message in served.stderr) == (2, True)


def test_a_langgraph_server_brings_the_checkpointer():
    graphs = '{"graphs": {"one": "./graphs.py:calls", "two": "./graphs.py:lossy"}}'
    Path("langgraph.json").write_text(graphs)
    code, lines = doctor("langgraph.json")
    found = [line for line in lines if line.startswith("langgraph.json")]
    assert (code, found) == (1, ["langgraph.json · one", "langgraph.json · two"])
    assert not any("checkpointer that keeps" in line for line in lines)


LOSSY = """ChatDeepSeek of langchain-deepseek, deepseek-v4-pro
  in    model
  out   yes
  back  no
  → langchain-deepseek never sends reasoning back. Use ReasoningChatDeepSeek from"""
HELPS = """ChatOpenAI of langchain-openai, gpt-5-mini
  in    SummarizationMiddleware.before_model
  helps the agent and has no turns of its own
"""
ODD = """Odd of graphs, Odd
  in    model
  out   not known
  back  not known
  → Odd is not known here. It is assumed to be right: """
MENDED = "ReasoningChatDeepSeek of langgraph-agui, deepseek-v4-pro\n"
SYNC = "history: kept by the server, in the graph's SqliteSaver\n→ "


@pytest.mark.parametrize(
    ("name", "code", "last", "reported"),
    [
        ("signal", 0, NO_MODEL, [BY_CLIENT]),
        ("inside", 1, SAVER, ["→ checkpointer=True "]),
        ("stored", 1, SAVER, [SYNC, "use AsyncSqliteSaver of langgraph.checkpoint.sqlite.aio"]),
        ("lossy", 1, "1 of 1 model should be changed.", [LOSSY]),
        ("good", 0, FINE, [MENDED, HELPS]),
        ("two", 1, "1 of 2 models should be changed.", ["  in    [plan]\n", "  in    act\n"]),
        ("odd", 0, FINE, [ODD]),
        ("texts", 1, "1 of 1 model should be changed.", ["think_tags=True"]),
        ("split", 0, FINE, [UNREAD]),
        ("binds", 0, "Nothing should be ", ["claude-sonnet-4-5"]),
        ("mute", 0, NO_MODEL, [BY_CLIENT]),
    ],
)
def test_what_is_reported(name, code, last, reported):
    got, lines = doctor(f"graphs:{name}")
    assert (got, lines[-1][: len(last)]) == (code, last)
    assert [part for part in reported if part not in "\n".join(lines)] == []
    if name in ("signal", "binds", "mute"):
        assert not any(text in line for line in lines for text in ("→", UNREAD))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("graphs", "does not name a graph"),
        ("absent:graph", "No module named 'absent'"),
        ("graphs:claude", "cannot be served"),
    ],
)
def test_a_graph_that_cannot_be_loaded(spec, message):
    done = invoke("doctor", spec)
    assert (done.exit_code, message in done.stderr) == (2, True)


@deep
def test_a_file_may_have_the_name_of_an_installed_module(tmp_path):
    file = tmp_path / "below" / "typer.py"
    file.parent.mkdir()
    file.write_text(f"{GRAPHS}\ngraph = mute\n")
    command = [sys.executable, "-m", "langgraph_agui", "doctor", f"{file}:graph"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "No chat model was found" in done.stdout
