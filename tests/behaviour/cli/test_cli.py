"""The commands as users and scripts see them: output, messages, exit codes."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import httpx2
import pytest

from langgraph_agui import __version__
from tests.behaviour.cli.terminal import invoke, nobody
from tests.kit.deep import deep
from tests.kit.processes.demo_server import environment, running
from tests.kit.processes.scripted_servers import answering, asking, sending, server
from tests.kit.run.wire_events import FINISHED, STARTED

ROME = 'tool get_weather {"city": "Rome"}'


def started(*arguments):
    command = [sys.executable, "-m", "langgraph_agui", *arguments]
    return subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=environment())


def test_chat_shows_a_whole_run(demo_url):
    done = started("chat", demo_url, "What is the weather in Rome?")
    output, errors = done.communicate(timeout=200)
    assert (done.returncode, errors, "\x1b" in output) == (0, "", False)
    starts = [
        "thinking: The user wants the weather in Rome.",
        ROME,
        '  result: {"city": "Rome", "celsius": 25',
    ]
    starts += ["thinking: ", "In Rome it is 25 °C, sunny.", "tokens: "]
    first, last = output.splitlines()[:5], output.splitlines()[-1]
    for line, start in zip([*first, last], starts, strict=True):
        assert line.startswith(start), output


@deep
def test_the_demo_asks_itself_in_its_own_terminal():
    process = started("demo", "--port", "0", "--delay", "0", "--ask", "Weather in Rome?")
    try:
        assert f"{ROME}\n" in iter(process.stdout.readline, "")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("question", "code", "shown"),
    [
        ("What is 1/0?", 0, "  failed: 1 / 0 divides by zero."),
        ("please crash", 1, "error: model_error: The demo model was asked to crash."),
        ("email ada@example.com saying hi", 4, "waiting: "),
    ],
)
def test_the_exit_code_says_how_a_run_ended(demo_url, question, code, shown):
    result = invoke("chat", demo_url, question)
    assert (result.exit_code, shown in result.stdout) == (code, True)


def test_a_refused_answer_can_be_given_again():
    asks = asking({"id": "i", "reason": "confirmation", "message": "Sure\x1b[2J?"})
    refused = {"type": "RUN_ERROR", "message": "No such answer."}
    runs = ([STARTED, asks], [refused], [STARTED, FINISHED])
    with server(*runs, *[answering(404)] * 3) as agent:
        result = invoke("chat", agent.url, typed="hello\n3\nyes\n")
    assert result.exit_code == 0
    assert result.stdout.count("Sure␛[2J?") == 2
    assert "error: No such answer." in result.stdout


@deep
def test_ctrl_c_stops_a_run():
    with running("demo", "--delay", "0.3") as url:
        process = started("chat", url, "hello")
        assert process.stdout.read(9) == "thinking:"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert "Traceback" not in process.communicate()[1]


NO_RUN = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
SORRY = {"type": "RUN_ERROR", "message": "No.", "code": "sorry"}


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        (answering(200, "{}", "application/json"), 3, "json, not an AG-UI event stream"),
        (answering(403, "no"), 3, "HTTP 403: no"),
        (answering(404, "no"), 3, "Is this the address of the agent itself"),
        ([], 1, "The stream ended without a run: "),
        ([STARTED], 1, "The stream ended before its run did."),
        ([NO_RUN], 1, "The stream broke off: "),
        (sending(b"data: [DONE]\n\n"), 1, "The stream broke off: "),
        ([SORRY], 1, "error: sorry: No."),
    ],
)
def test_what_answers_is_no_agent(script, code, message):
    with server(script) as agent:
        result = invoke("chat", agent.url, "hello")
    assert (result.exit_code, message in result.output) == (code, True)


@pytest.mark.parametrize("command", ["chat", "validate"])
def test_nobody_listens(command):
    with nobody() as url:
        result = invoke(command, url, "hello")
    assert (result.exit_code, f"Nothing answers at {url}" in result.stderr) == (3, True)


@pytest.mark.parametrize("url", ["nonsense", "ftp://localhost/agent", "http://a:port/x"])
def test_what_is_no_url(url):
    result = invoke("chat", url, "hello")
    assert (result.exit_code, "is not the URL of an agent" in result.stderr) == (2, True)


def test_this_machine_needs_no_scheme(demo_url):
    address = demo_url.removeprefix("http://")
    assert address.startswith("127.0.0.1:")
    for one in (address, address.replace("127.0.0.1", "localhost")):
        assert invoke("chat", one, "hello").exit_code == 0
    assert "every rule kept" in invoke("validate", address, "hello").stdout


def test_headers_are_sent_and_checked(demo_url):
    assert invoke("chat", demo_url, "hello", "-H", "X-Test: yes").exit_code == 0
    for rest in ("", " sk-1", " sk-1: x", "=sk-1", "\tsk-1"):
        result = invoke("chat", demo_url, "hello", "-H", f"nonsense{rest}")
        expected = "Error: --header nonsense… must look like 'Name: value'.\n"
        assert (result.exit_code, result.stderr) == (2, expected)
    assert "--header … must look" in invoke("chat", demo_url, "hello", "-H", ":sk-1").stderr


MINE = """
from helper import WORD
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent

def answer(state):
    return {"messages": [AIMessage(WORD)]}

builder = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
graph = builder.compile()

def needy(model):
    return graph

def broken():
    raise RuntimeError("no luck")

class Holder:
    agent = LangGraphAgent(graph=graph, name="held")

number = 3
"""
FILES = {
    "helper": "WORD = 'pong'",
    "mine": MINE,
    "wrong": "import surely_not_installed",
    "broken": "1 / 0",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a user's own graph in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    for name, text in FILES.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.mark.parametrize("spec", ["mine.py", pytest.param("mine:Holder.agent", marks=deep)])
def test_serving_your_own_graph(project, spec):
    with running("serve", spec, cwd=project) as url:
        result = invoke("chat", url, "ping")
        page = httpx2.get(url.removesuffix("agent"))
    assert (result.exit_code, "pong" in result.stdout) == (0, True)
    assert "AG-UI playground" in page.text


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("mine", "does not name a graph"),
        (":graph", "does not name a graph"),
        ("absent:graph", "Importing absent failed: ModuleNotFoundError: No module named 'absent'"),
        ("absent.py:graph", "There is no file absent.py"),
        ("wrong:graph", "No module named 'surely_not_installed'"),
        ("broken.py:graph", "Importing broken.py failed: ZeroDivisionError"),
        ("mine:grph", "mine has no 'grph'."),
        ("mine:builder", "mine:builder cannot be served: This StateGraph is not compiled."),
        ("mine:number", "mine:number cannot be served"),
        ("mine:needy", "Calling mine:needy failed: TypeError"),
        ("mine:broken", "Calling mine:broken failed: RuntimeError: no luck"),
    ],
)
def test_a_wrong_spec_says_what_is_wrong(project, spec, message):
    result = invoke("serve", spec, "--port", "0")
    assert (result.exit_code, message in result.stderr) == (2, True)


def test_a_port_in_use():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = invoke("demo", "--port", str(port))
    assert result.exit_code == 1
    assert f"Cannot listen on 127.0.0.1:{port}: Address already in use" in result.stderr
    assert "--port" in result.stderr


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("openai:gpt-5-mini", "set OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-5", "set ANTHROPIC_API_KEY"),
        ("gpt-5", "must look like provider:model"),
        ("nobody:gpt-5", "cannot be used"),
    ],
)
@pytest.mark.providers
def test_a_model_that_cannot_be_used(monkeypatch, model, message):
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    result = invoke("demo", "--model", model)
    assert (result.exit_code, message in result.stderr) == (2, True)


def test_a_local_server_answers_only_to_local_names(demo_url):
    hosts = ({}, {"Host": "evil.example"})
    assert [httpx2.get(f"{demo_url}/health", headers=one).status_code for one in hosts] == [
        200,
        400,
    ]


def test_without_the_extra_one_line_names_it():
    code = "import sys; sys.modules['typer'] = None; from langgraph_agui.devtools.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment()
    )
    expected = 'typer is missing: pip install "langgraph-agui[cli]"\n'
    assert (done.returncode, done.stderr) == (1, expected)


def test_version_and_help():
    assert invoke("--version").stdout == f"langgraph-agui {__version__}\n"
    for command in ((), ("serve",), ("demo",), ("chat",), ("validate",), ("play",)):
        result = invoke(*command, "--help")
        assert (result.exit_code, "Usage" in result.stdout) == (0, True)
    exit_codes = "0 no problems found, 1 something to change, 2 the graph cannot be loaded"
    assert exit_codes in invoke("doctor", "--help").stdout
