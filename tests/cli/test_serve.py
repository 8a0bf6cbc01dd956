"""`serve` and `demo` as a person exposes and stops them."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import httpx2
import pytest

from langgraph_agui.protocol.sse import decode
from tests.adapter.streams import RecordedRun, run_input
from tests.cli.demo_server import environment, running
from tests.http.raw import Connection, ask, body_of

pytestmark = pytest.mark.xdist_group("serve")

KEY = "a key; with=signs"
BEARER = {"authorization": f"Bearer {KEY}"}


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """The URL of the playground of a demo with a key, which listens for all machines."""
    with running("demo", "--delay", "0", "--host", "0.0.0.0", "--api-key", KEY) as url:
        yield url.removesuffix("agent")


def test_nothing_is_open_to_other_machines_without_a_key() -> None:
    line = [sys.executable, "-m", "langgraph_agui", "demo", "--port", "0", "--host", "0.0.0.0"]
    done = subprocess.run(line, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 2
    assert "0.0.0.0 lets other machines in. Guard the agent: --api-key KEY" in done.stderr


def test_nothing_is_served_without_the_key(guarded: str) -> None:
    for path in ("", "agent/health", "agent/ready", "agent/capabilities", "playground/app.js"):
        for offered in ({}, {"authorization": "Bearer other"}, {"authorization": f"Basic {KEY}"}):
            answer = httpx2.get(guarded + path, headers=offered, cookies={"langgraph-agui-key": "other"})
            assert answer.status_code == 401
            assert "Authorization: Bearer KEY" in answer.json()["detail"]


def test_the_agent_runs_with_the_key(guarded: str) -> None:
    given = run_input("Hello")
    body, json_type = body_of(given), {"content-type": "application/json"}
    assert httpx2.post(f"{guarded}agent", content=body, headers=json_type).status_code == 401
    answer = httpx2.post(f"{guarded}agent", content=body, headers={**json_type, **BEARER})
    assert RecordedRun(list(decode([answer.content])), given).types[-1] == "RUN_FINISHED"


def test_a_page_that_is_opened_with_the_key_keeps_it(guarded: str) -> None:
    with httpx2.Client(base_url=guarded) as browser:
        opened = browser.get("/", params={"key": KEY})
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        assert {"HttpOnly", "SameSite=Strict"} <= set(opened.headers["set-cookie"].split("; "))
        assert "AG-UI playground" in browser.get("/").text
        assert browser.get("/playground/app.js").status_code == 200


def test_a_server_that_is_terminated_ends_its_streams() -> None:
    line = [sys.executable, "-m", "langgraph_agui", "demo", "--port", "0", "--delay", "0.5"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        assert process.stdout is not None
        port = next(int(line.rpartition(":")[2].split("/")[0]) for line in process.stdout if "Agent " in line)
        given = run_input("What is the weather in Rome?")
        with Connection(port) as connection:
            connection.send("POST", "/agent", body_of(given))
            assert connection.head()[0] == 200
            assert ask(port, "GET", "/agent/ready").status == 200
            process.send_signal(signal.SIGTERM)
            recorded = RecordedRun(list(decode(connection.pieces())), given)
        assert (recorded.types[-1], recorded.last.code) == ("RUN_ERROR", "server_stopping")
        process.stdout.read()
