"""The commands as users and scripts see them: output, messages, exit codes."""

from __future__ import annotations

import itertools
import json
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import httpx2
import pytest
from typer.testing import CliRunner

from langgraph_agui import __version__
from langgraph_agui.devtools.cli.app import app
from langgraph_agui.protocol import verify
from tests.kit.deep import deep
from tests.kit.expect.agreement import record_stream
from tests.kit.processes.demo_server import environment, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
ROME = 'tool get_weather {"city": "Rome"}'


def invoke(*arguments: str, typed: str = ""):
    return CliRunner().invoke(app, list(arguments), input=typed, env={"COLUMNS": "200"})


def run(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "langgraph_agui", *arguments]
    how = {"env": environment(), "timeout": 200}
    return subprocess.run(command, input=typed, capture_output=True, text=True, **how)


@contextmanager
def answering(
    *bodies: str, content_type: str = "text/event-stream", status: int = 200
) -> Iterator[str]:
    """A server that answers one POST after the other."""
    remaining = iter(bodies)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.end_headers()
            self.wfile.write(next(remaining).encode())

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/agent"
    finally:
        server.shutdown()
        server.server_close()


def frames(*events: dict) -> str:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events)


def test_chat_shows_a_whole_run(demo_url):
    done = run("chat", demo_url, "What is the weather in Rome?")
    assert done.returncode == 0, done.stderr
    starts = [
        "thinking: The user wants the weather in Rome.",
        ROME,
        '  result: {"city": "Rome", "celsius": 25',
        "thinking: ",
        "In Rome it is 25 °C, sunny.",
        "tokens: ",
    ]
    first, last = done.stdout.splitlines()[:5], done.stdout.splitlines()[-1]
    shown = zip([*first, last], starts, strict=True)
    assert all(line.startswith(start) for line, start in shown), done.stdout
    assert "\x1b" not in done.stdout


@deep
def test_the_demo_asks_itself_in_its_own_terminal():
    arguments = ["demo", "--port", "0", "--delay", "0", "--ask", "Weather in Rome?"]
    command = [sys.executable, "-m", "langgraph_agui", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment())
    assert process.stdout is not None
    try:
        printed = iter(process.stdout.readline, "")
        assert f"{ROME}\n" in itertools.takewhile(lambda line: line[:7] != "tokens:", printed)
    finally:
        process.kill()
        process.wait()


def test_json_lines_are_the_verified_stream(demo_url):
    result = invoke("chat", demo_url, "Is it warmer in Rome or in Oslo?", "--json")
    assert result.exit_code == 0
    events = [json.loads(line) for line in result.stdout.splitlines()]
    verify(events, strict=True)
    record_stream(events)
    kinds = [event["type"] for event in events]
    assert kinds[0] == "RUN_STARTED"
    assert kinds[-1] == "RUN_FINISHED"
    assert kinds.count("TOOL_CALL_START") == kinds.count("TOOL_CALL_RESULT") == 3
    assert (
        kinds.index("REASONING_MESSAGE_CONTENT")
        < kinds.index("TOOL_CALL_START")
        < kinds.index("TEXT_MESSAGE_START")
    )


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
    end = {**START, "type": "RUN_FINISHED"}
    question = {"id": "i", "reason": "confirmation", "message": "Sure\x1b[2J?"}
    asks = {**end, "outcome": {"type": "interrupt", "interrupts": [question]}}
    refused = {"type": "RUN_ERROR", "message": "No such answer."}
    with answering(frames(START, asks), frames(refused), frames(START, end)) as url:
        result = invoke("chat", url, typed="hello\n3\nyes\n")
    assert result.exit_code == 0
    assert result.stdout.count("Sure␛[2J?") == 2
    assert "error: No such answer." in result.stdout


@deep
def test_ctrl_c_stops_a_run():
    with running("demo", "--delay", "0.3") as url:
        command = [sys.executable, "-m", "langgraph_agui", "chat", url, "hello"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        )
        assert process.stdout.read(9) == b"thinking:"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert b"Traceback" not in process.stderr.read()


def test_nobody_listens():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/agent"
        result = invoke("chat", url, "hello")
    assert result.exit_code == 3
    assert f"Nothing answers at {url}" in result.stderr


@pytest.mark.parametrize(
    ("body", "how", "code", "message"),
    [
        ("{}", {"content_type": "application/json"}, 3, "json, not an AG-UI event stream"),
        ("no", {"status": 403}, 3, "HTTP 403: no"),
        ("no", {"status": 404}, 3, "Is this the address of the agent itself"),
        ("", {}, 1, "The stream ended without a run: "),
        (frames(START), {}, 1, "The stream ended before its run did."),
        (frames({"type": "TEXT_MESSAGE_END", "messageId": "m"}), {}, 1, "The stream broke off: "),
        ("data: [DONE]\n\n", {}, 1, "The stream broke off: "),
        (
            frames({"type": "RUN_ERROR", "message": "No.", "code": "sorry"}),
            {},
            1,
            "error: sorry: No.",
        ),
    ],
)
def test_what_answers_is_no_agent(body, how, code, message):
    with answering(body, **how) as url:
        result = invoke("chat", url, "hello")
    assert (result.exit_code, message in result.output) == (code, True)


@pytest.mark.parametrize("url", ["nonsense", "ftp://localhost/agent", "http://a:port/x"])
def test_what_is_no_url(url):
    result = invoke("chat", url, "hello")
    assert result.exit_code == 2
    assert "is not the URL of an agent" in result.stderr


def test_this_machine_needs_no_scheme(demo_url):
    address = demo_url.removeprefix("http://")
    assert address.startswith(("127.0.0.1:", "localhost:"))
    assert invoke("chat", address, "hello").exit_code == 0
    assert "every rule kept" in invoke("validate", address, "hello").stdout
    port = httpx2.URL(demo_url).port
    assert invoke("chat", f"localhost:{port}/agent", "hello").exit_code == 0


def test_headers_are_sent_and_checked(demo_url):
    assert invoke("chat", demo_url, "hello", "-H", "X-Test: yes").exit_code == 0
    for rest in ("", " sk-1", " sk-1: x", "=sk-1", "\tsk-1"):
        result = invoke("chat", demo_url, "hello", "-H", f"nonsense{rest}")
        expected = "Error: --header nonsense… must look like 'Name: value'.\n"
        assert (result.exit_code, result.stderr) == (2, expected)
    assert "--header … must look" in invoke("chat", demo_url, "hello", "-H", ":sk-1").stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a user's own graph in it."""
    (tmp_path / "helper.py").write_text("WORD = 'pong'\n")
    (tmp_path / "mine.py").write_text(
        textwrap.dedent("""
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
        """)
    )
    (tmp_path / "wrong.py").write_text("import surely_not_installed\n")
    (tmp_path / "broken.py").write_text("1 / 0\n")
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
def test_a_wrong_spec_says_what_is_wrong(project, monkeypatch, spec, message):
    monkeypatch.chdir(project)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    for name in ("mine", "wrong", "broken", "helper"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    result = invoke("serve", spec, "--port", "0")
    assert result.exit_code == 2
    assert message in result.stderr


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
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_local_server_answers_only_to_local_names(demo_url):
    assert httpx2.get(demo_url + "/health").status_code == 200
    assert httpx2.get(demo_url + "/health", headers={"Host": "evil.example"}).status_code == 400


def test_without_the_extra_one_line_names_it():
    code = "import sys; sys.modules['typer'] = None; from langgraph_agui.devtools.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(), check=False
    )
    assert done.returncode == 1
    assert done.stderr == 'typer is missing: pip install "langgraph-agui[cli]"\n'


def test_version():
    assert invoke("--version").stdout == f"langgraph-agui {__version__}\n"


@pytest.mark.parametrize(
    "command", [(), ("serve",), ("demo",), ("chat",), ("validate",), ("play",)]
)
def test_help(command):
    result = invoke(*command, "--help")
    assert result.exit_code == 0
    assert "Usage" in result.stdout
