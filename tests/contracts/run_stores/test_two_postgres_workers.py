"""The programs and the example of docs/operations/scaling.md: two workers on one Postgres, by its
compose file."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml
from ag_ui.core import RunAgentInput

from langgraph_agui.protocol import decode
from tests.contracts.run_stores.pair import ending
from tests.docs.blocks import ROOT, blocks
from tests.kit.deep import deep
from tests.kit.processes.raw_http import Answer, ask, body_of
from tests.kit.processes.redis_server import free_port
from tests.kit.run.agents import RecordedRun, run_input
from tests.kit.run.visitor import Stream
from tests.kit.waiting import PATIENCE, wait_for

pytestmark = [pytest.mark.xdist_group("postgres"), deep]

EXAMPLE = ROOT / "examples" / "scaling"
COMPOSE = yaml.safe_load((EXAMPLE / "compose.yaml").read_text())
LONG = f"Hello{' again' * 300}"
"""What the model repeats, with more: for longer than other workers need to join."""


def command(service: str, **options: str) -> list[str]:
    """What the compose file runs, with other options where they are given."""
    words = [sys.executable, *COMPOSE["services"][service]["command"]]
    words[1:2] = [] if words[1] == "python" else ["-m", words[1]]
    for name, value in options.items():
        words[words.index(f"--{name}") + 1] = value
    return words


@dataclass(frozen=True)
class Worker:
    port: int
    process: Any

    def post(self, given: RunAgentInput) -> Answer:
        return ask(self.port, "POST", "/agent", body_of(given))

    def stream(self, given: RunAgentInput, path: str = "") -> Stream:
        return Stream(self, f"/agent{path}", given)  # type: ignore[arg-type]

    def begin(self, given: RunAgentInput, path: str = "") -> Stream:
        """A stream whose first text has arrived."""
        (stream := self.stream(given, path)).read_until(b'"TEXT_MESSAGE_CONTENT"')
        return stream

    def show(self, thread: str) -> RecordedRun:
        return self.stream(run_input(thread=thread), "/connect").rest()

    def is_healthy(self) -> bool:
        try:
            return ask(self.port, "GET", "/agent/health").status == 200
        except OSError:
            return False


@contextmanager
def running(words: list[str], port: int, folder: Path, environment: Any) -> Iterator[Worker]:
    """A process that serves the agent on a port, from when it answers."""
    worker = Worker(port, subprocess.Popen(words, cwd=folder, env=environment))
    try:
        wait_for(worker.is_healthy, "a worker answers")
        yield worker
    finally:
        worker.process.terminate()
        worker.process.wait(PATIENCE)


@dataclass(frozen=True)
class Workers:
    """Two workers, on a port each so that a test can choose."""

    environment: dict[str, str]
    one: Worker
    two: Worker


def one_more(environment: dict[str, str]) -> Any:
    port = free_port()
    words = command("agent", host="127.0.0.1", port=str(port), workers="1")
    return running(words, port, EXAMPLE, environment)


@pytest.fixture(scope="module", params=["postgres", "redis"])
def workers(
    request: pytest.FixtureRequest, make_database: Callable[[], str], redis_server: int
) -> Iterator[Workers]:
    """Two workers for each store of live runs; an answer takes about a second."""
    own = {"DEMO_DELAY": "0.015", "MODEL": "", "DATABASE_URL": make_database()}
    if request.param == "redis":
        own["REDIS_URL"] = f"redis://127.0.0.1:{redis_server}/511"
    environment = {**os.environ, **own}
    subprocess.run(command("setup"), cwd=EXAMPLE, env=environment, check=True, timeout=PATIENCE)
    with one_more(environment) as first, one_more(environment) as second:
        yield Workers(environment, first, second)


def texts(run: RecordedRun) -> list[str]:
    said = [one for one in run.messages if one.role in ("user", "assistant")]
    return [str(one.content) for one in said if one.content]


def test_a_run_without_a_reader_is_followed_and_ends_before_its_worker(workers: Workers) -> None:
    """A worker that is to stop waits for it, though the run keeps no connection open."""
    given = run_input(LONG, thread=str(uuid4()))
    join = run_input(thread=given.thread_id, run=given.run_id)
    with one_more(workers.environment) as stopping:
        stopping.begin(given).connection.leave()
        streams = [one.begin(join, "/connect") for one in (stopping, workers.one)]
        stopping.process.terminate()
        here, there = (stream.rest() for stream in streams)
        stopping.process.wait(PATIENCE)
    assert ending(there) == "success"
    assert len(there.of("TEXT_MESSAGE_CONTENT")) > 5  # it came while it was written
    assert (texts(there)[0], texts(there)[-1].endswith("Please crash")) == (LONG, True)
    assert there.messages == here.messages == workers.two.show(given.thread_id).messages


def test_a_worker_that_was_held_up_loses_nothing(workers: Workers) -> None:
    """The run ends while it does not read."""
    given = run_input(LONG, thread=str(uuid4()))
    own = workers.one.begin(given)
    held = workers.two.begin(run_input(thread=given.thread_id, run=given.run_id), "/connect")
    workers.two.process.send_signal(signal.SIGSTOP)
    try:
        live = own.rest()
    finally:
        workers.two.process.send_signal(signal.SIGCONT)
    assert (ending(live), held.rest().messages) == ("success", live.messages)


def test_a_worker_that_is_killed_leaves_its_thread_to_the_others(workers: Workers) -> None:
    """The last test of these workers: one is gone after it. Who connects again gets the thread as
    the last checkpoint has it, and the next message goes on from there."""
    thread = str(uuid4())
    second = run_input("What is the weather in Rome and Oslo?", thread=thread)
    cut_off = workers.two.begin(run_input(LONG, thread=thread))
    follower = workers.one.begin(run_input(thread=thread), "/connect")
    busy = {"code": "thread_busy", "detail": "Another run is active in this thread."}
    answers = [workers.one.post(second)]
    assert (answers[0].status, busy.items() <= answers[0].json.items()) == (409, True)
    workers.two.process.kill()
    with pytest.raises((EOFError, OSError)):  # the stream breaks off
        cut_off.rest()
    assert ending(follower.rest()) == "run_lost"
    shown = workers.one.show(thread)
    assert (ending(shown), texts(shown)) == ("success", [LONG])

    def says() -> bool:
        answers.append(workers.one.post(second))
        return answers[-1].status == 200

    wait_for(says, "it is free")
    assert "11" in str(texts(RecordedRun(list(decode([answers[-1].body])), second)))


def program(store: str) -> str:
    """The program of the page, for Redis with the lines that the page changes."""
    shown = blocks(ROOT / "docs" / "operations" / "scaling.md")
    [source] = [block.source for block in shown if block.title == "workers.py"]
    if store == "redis":
        [diff] = [block.source for block in shown if block.language == "diff"]
        for removed, added in re.findall(r"^-(.*\n)(?:\+(.*\n))?", diff, re.MULTILINE):
            assert source.count(removed) == 1
            source = source.replace(removed, added)
    return source


@pytest.mark.parametrize("store", ["postgres", "redis"])
def test_the_program_of_the_page(
    store: str, make_database: Callable[[], str], redis_server: int, tmp_path: Path
) -> None:
    (tmp_path / "workers.py").write_text(program(store), "utf-8")
    urls = {"DATABASE_URL": make_database(), "REDIS_URL": f"redis://127.0.0.1:{redis_server}/510"}
    environment = {**os.environ, **urls, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "workers.py"]
    subprocess.run(words, cwd=tmp_path, env=environment, check=True, timeout=PATIENCE)
    port = free_port()
    words = [sys.executable, "-m", "uvicorn", "workers:app", "--port", str(port)]
    with running(words, port, tmp_path, environment) as worker:
        run = worker.stream(run_input("Hi")).rest()
        assert ending(run) == "success"
        assert worker.show(run.input.thread_id).messages == run.messages
