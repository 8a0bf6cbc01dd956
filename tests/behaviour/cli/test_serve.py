"""`serve` and `demo` as a person exposes and stops them."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from contextlib import AsyncExitStack

import httpx2
import pytest
from ag_ui.core import TextMessageContentEvent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli import loading, serve
from langgraph_agui.devtools.cli.formatting import CommandError
from langgraph_agui.protocol.sse import decode
from tests.behaviour.cli.terminal import invoke
from tests.kit.deep import deep
from tests.kit.graphs.small import chain_of
from tests.kit.processes.demo_server import environment, running
from tests.kit.processes.raw_http import JSON, Connection, ask, body_of
from tests.kit.run.agents import RecordedRun, run_input
from tests.kit.waiting import wait_for

pytestmark = pytest.mark.xdist_group("serve")

KEY = "a key; with=signs"
BEARER = {"authorization": f"Bearer {KEY}"}


def test_nothing_is_open_to_other_machines_without_a_key():
    done = invoke("demo", "--port", 0, "--host", "0.0.0.0")
    told = "0.0.0.0 lets other machines in. Guard the agent: --api-key KEY"
    assert (done.exit_code, told in done.stderr) == (2, True)


def test_with_a_key_nothing_is_served_without_it():
    with running("demo", "--delay", "0", "--host", "0.0.0.0", "--api-key", KEY) as url:
        site = url.removesuffix("agent")
        wrong = ({}, {"authorization": "Bearer other"}, {"authorization": f"Basic {KEY}"})
        for path in ("", "agent/health", "agent/ready", "agent/capabilities", "playground/app.js"):
            for offered in wrong:
                cookies = {"langgraph-agui-key": "other"}
                answer = httpx2.get(site + path, headers=offered, cookies=cookies)
                assert answer.status_code == 401
                assert "Authorization: Bearer KEY" in answer.json()["detail"]
        given, crash = run_input("Hello"), body_of(run_input("crash"))
        assert httpx2.post(url, content=body_of(given), headers=JSON).status_code == 401
        answer = httpx2.post(url, content=body_of(given), headers=JSON | BEARER)
        assert RecordedRun(list(decode([answer.content])), given).types[-1] == "RUN_FINISHED"
        # It tells no texts of exceptions.
        crashed = httpx2.post(url, content=crash, headers=JSON | BEARER).text
        assert ('"code":"model_error"' in crashed, "asked to crash" in crashed) == (True, False)
        # A page that is opened with the key keeps it.
        with httpx2.Client(base_url=site) as browser:
            opened = browser.get("/", params={"key": KEY})
            assert (opened.status_code, opened.headers["location"]) == (303, "/")
            assert {"HttpOnly", "SameSite=Strict"} <= set(opened.headers["set-cookie"].split("; "))
            assert "AG-UI playground" in browser.get("/").text
            assert browser.get("/playground/app.js").status_code == 200


@deep
def test_a_server_that_is_terminated_ends_its_streams():
    line = [sys.executable, "-m", "langgraph_agui", "demo", "--port", "0", "--delay", "0.5"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        line = next(line for line in process.stdout if "Agent " in line)
        port = int(line.rpartition(":")[2].split("/")[0])
        given = run_input("What is the weather in Rome?")
        with Connection(port) as connection:
            connection.send("POST", "/agent", body_of(given))
            assert connection.head()[0] == 200
            assert ask(port, "GET", "/agent/ready").status == 200
            process.send_signal(signal.SIGTERM)
            recorded = RecordedRun(list(decode(connection.pieces())), given)
        assert (recorded.types[-1], recorded.last.code) == ("RUN_ERROR", "server_stopping")
        process.stdout.read()


COUNTS = """
import os
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


def answer(state):
    return {"messages": [AIMessage(f"{os.environ.get('WORD')}{len(state['messages'])}")]}


builder = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer")
"""
MAKES = """
from shared import builder


async def make_graph(config):
    return builder.compile(name=str(config["configurable"]))
"""
CONFIG = """{
    "dependencies": ["./library"],
    "graphs": {"one": "./one.py:graph", "two words": {"path": "./two.py:make_graph"}},
    "env": ".env"
}"""
COMPILES, ONE = "graph = builder.compile()\n", "from shared import builder\n\n"
FILES = {"library/shared.py": COUNTS, "one.py": ONE + COMPILES, "two.py": MAKES}
FILES |= {"langgraph.json": CONFIG, ".env": "WORD=word\n"}
APPLICATION = "from fastapi import FastAPI\napp = FastAPI()\ndef make_app():\n    return app\n"
FILES |= {"web.py": APPLICATION, "sub/web.py": APPLICATION, "broken.json": '{"graph": {}}'}
FILES |= {"lost.json": '{"graphs": {}, "env": ".nowhere"}'}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder as the LangGraph CLI has it."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", "library", *sys.path])
    monkeypatch.setenv("WORD", "word")
    for name in ("shared", "one", "two", "file", "web"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def answer_of(url, thread="thread"):
    body = httpx2.post(url, content=body_of(run_input("Hello", thread=thread)), headers=JSON)
    events = decode([body.content])
    return "".join(one.delta for one in events if isinstance(one, TextMessageContentEvent))


@deep
def test_graphs_of_a_langgraph_json_keep_their_threads(project, monkeypatch):
    monkeypatch.delenv("WORD")
    arguments = ["serve", "langgraph.json", "--cors", "http://localhost:3000/"]
    for messages in (1, 3):
        with running(*arguments, cwd=project) as url:
            assert url.endswith("/agents/one")
            assert answer_of(url, "1") == f"word{messages}"
            assert answer_of(url.replace("one", "two%20words"), "2") == f"word{messages}"
            asks = {"origin": "http://localhost:3000", "access-control-request-method": "POST"}
            allowed = httpx2.options(url, headers=asks).headers
            assert allowed["access-control-allow-origin"] == asks["origin"]
            asks["origin"] = "http://evil.example"
            assert httpx2.options(url, headers=asks).status_code == 400
    assert (project / ".langgraph-agui" / ".gitignore").read_text() == "*\n"


@deep
def test_a_changed_file_is_loaded_again(project):
    (project / "one.py").write_text(COUNTS + COMPILES)
    with running("serve", "one.py", "--reload", cwd=project) as url:
        assert answer_of(url) == "word1"
        changed = COUNTS.replace("{os.environ.get('WORD')}", "new")
        (project / "one.py").write_text(changed + COMPILES)

        def is_new():
            try:
                return answer_of(url).startswith("new")
            except httpx2.RequestError:  # the old process has ended
                return False

        wait_for(is_new, "the new graph answers")
        assert answer_of(url).startswith("new")


async def agents_of(targets, **options):
    stack = AsyncExitStack()
    site = serve.Site(load=lambda: targets, spec="it", heading="", **options)
    return await serve._make_agents(site, targets, stack), stack


def compiled(checkpointer=None):
    return chain_of(lambda _: {}, checkpointer=checkpointer)


async def test_graphs_without_a_checkpointer_get_one(project):
    own = InMemorySaver()
    savers = {"bare": None, "sub": True, "none": False, "own": own}
    targets = {name: compiled(saver) for name, saver in savers.items()}

    def kept(agents):
        return {name: agent.graph.checkpointer for name, agent in agents.items()}

    agents, stack = await agents_of({**targets, "agent": LangGraphAgent(compiled())})
    async with stack:
        found = kept(agents)
        bare = found["bare"]
        assert isinstance(bare, AsyncSqliteSaver)
        assert found == {"bare": bare, "sub": bare, "none": False, "own": own, "agent": None}
    assert targets["bare"].checkpointer is None
    found = kept((await agents_of(targets, checkpointer="memory"))[0])
    assert [type(one) for one in found.values()] == [InMemorySaver] * 2 + [bool, InMemorySaver]
    assert found["own"] is not own
    found = kept((await agents_of(targets, checkpointer="none"))[0])
    assert set(found.values()) == {None, False}


@pytest.mark.parametrize(
    ("host", "asked", "shown"),
    [("::1", None, True), ("0.0.0.0", None, False), ("0.0.0.0", True, True)],
)
async def test_a_page_may_come_back_and_sees_errors(host, asked, shown):
    options = {"checkpointer": "none", "host": host, "expose_errors": asked}
    agents, _ = await agents_of({"one": compiled()}, **options)
    context = agents["one"]._context
    assert (context.expose_errors, context.on_disconnect) == (shown, "continue")


async def test_options_that_an_agent_has_by_itself(capsys):
    agent = LangGraphAgent(compiled(), "mine")
    await agents_of({"one": compiled(), "mine": agent}, checkpointer="none", expose_errors=True)
    told = (
        "mine is a LangGraphAgent, served as you made it: without --checkpointer, --expose-errors\n"
    )
    assert capsys.readouterr().err == told
    await agents_of({"mine": agent})
    assert capsys.readouterr().err == ""


async def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "text").write_text("This is no database." * 100)
    for place in (tmp_path, tmp_path / "text", tmp_path / "text" / "below"):
        with pytest.raises(CommandError, match="The threads cannot be kept in "):
            await agents_of({"one": compiled()}, checkpointer=str(place))
    url = "postgresql://ada:secret@127.0.0.1/threads"
    with pytest.raises(CommandError, match="--checkpointer takes a SQLite file, memory or none"):
        await agents_of({"one": compiled()}, checkpointer=url)
    place = tmp_path / "new" / "threads.db"
    _, stack = await agents_of({"one": compiled()}, checkpointer=str(place))
    await stack.aclose()
    with sqlite3.connect(place) as database:
        assert ("checkpoints",) in database.execute("SELECT name FROM sqlite_master").fetchall()


AGENT = "from langgraph_agui import LangGraphAgent\na = MAKE\nb = LangGraphAgent(a, name='it')\n"
CALLED = "def make_graph():\n    return 1\ndef graph():\n    return NAMED\n"


@pytest.mark.parametrize(
    ("text", "taken", "others"),
    [
        ("a = MAKE\n_b = MAKE\n", ["LangGraph"], ""),
        ("a = c = MAKE\nb = MAKE\n", ["a", "b"], ""),
        (AGENT, ["it"], ""),
        ("def make_graph():\n    return NAMED\n", ["main"], ""),
        ("def make(config) -> 'Agent':\n    return NAMED\n", ["main"], ""),
        ("helper = MAKE\nagent = NAMED\n", ["main"], "helper"),
        ("helper = agent = NAMED\n", ["main"], ""),
        ("_a = MAKE\ngraph = NAMED\n", ["main"], ""),
        ("app = MAKE\ngraph = MAKE\na = MAKE\n", ["app", "graph"], "a"),
        (CALLED, ["main"], "make_graph"),
        ("def make():\n    return 1\n", CommandError, r"It has builder, answer\(\), make\(\)\. "),
    ],
)
def test_the_graphs_of_a_file(project, capsys, text, taken, others):
    made = text.replace("MAKE", "builder.compile()")
    made = made.replace("NAMED", "builder.compile(name='main')")
    (project / "file.py").write_text(COUNTS + made)
    if taken is CommandError:
        with pytest.raises(CommandError, match=others):
            loading.load_targets("file.py")
        return
    assert list(loading.load_targets("file.py")) == taken
    said = capsys.readouterr().err
    assert said.strip().endswith(f"Others by name: file.py:{others}" if others else "")
    assert bool(said) == bool(others)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("web.py:app",), "is an application, not a graph. Run it: uvicorn web:app\n"),
        (("web.py",), "Run it: uvicorn web:app\n"),
        (("web:make_app",), "Run it: uvicorn --factory web:make_app\n"),
        (("sub/web.py:app",), "Run it: uvicorn --app-dir sub web:app\n"),
        (("absent.json",), "absent.json is not a valid langgraph.json: "),
        (("broken.json",), "graphs"),
        (("lost.json",), "names the env file .nowhere, which is not there"),
        (
            ("one.py", "--cors", "localhost:3000"),
            "localhost:3000 must look like http://localhost:3",
        ),
    ],
)
def test_what_cannot_be_served(project, arguments, message):
    done = invoke("serve", *arguments, "--port", 0, "--checkpointer", "none")
    assert (done.exit_code, message in done.stderr) == (2, True), done.stderr
