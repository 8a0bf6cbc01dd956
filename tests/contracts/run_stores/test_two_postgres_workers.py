"""The programs and the example of docs/operations/scaling.md: two workers on one Postgres, by its
compose file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import yaml
from ag_ui.core import RunAgentInput

from langgraph_agui.protocol import ProtocolError, Verifier, decode, fold
from tests.docs.blocks import ROOT, blocks
from tests.kit.deep import deep
from tests.kit.expect.agreement import record_stream
from tests.kit.processes.redis_server import free_port
from tests.kit.run.agents import run_input
from tests.kit.waiting import PATIENCE, wait_for

pytestmark = [pytest.mark.xdist_group("postgres"), deep]

EXAMPLE = ROOT / "examples" / "scaling"
PAGE = ROOT / "docs" / "operations" / "scaling.md"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((EXAMPLE / "compose.yaml").read_text())[
    "services"
]
SLOW = "0.015"
"""Seconds before each word: an answer takes about one."""

LONG = f"Hello{' again' * 300}"
"""What the model repeats, with more: for longer than other workers need to join."""

TEXT = b'"TEXT_MESSAGE_CONTENT"'


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes

    def recorded(self, given: RunAgentInput) -> tuple[list[Any], Any]:
        """The events of a run, and what a client holds after it."""
        events = list(decode([self.body]))
        verifier = Verifier(strict=True, input=given)
        for event in events:
            verifier.feed(event)
        verifier.finish()
        record_stream(events, given.messages)
        return events, fold(events, given.messages)


def command(service: str, **options: str) -> list[str]:
    """What the compose file runs, with other options where they are given."""
    words = [sys.executable, *SERVICES[service]["command"]]
    words[1:2] = [] if words[1] == "python" else ["-m", words[1]]
    for name, value in options.items():
        words[words.index(f"--{name}") + 1] = value
    return words


def post(port: int, path: str, body: bytes) -> Any:
    url = f"http://127.0.0.1:{port}/agent{path}"
    return urllib.request.urlopen(
        urllib.request.Request(url, body, {"content-type": "application/json"}), None, PATIENCE
    )


def ask(port: int, given: RunAgentInput, path: str = "", begun: Event | None = None) -> Answer:
    """The answer to a request; `begun` is set when text has arrived."""
    body = b""
    try:
        with post(port, path, given.model_dump_json(by_alias=True).encode()) as response:
            for line in response:
                body += line
                if begun is not None and TEXT in line:
                    begun.set()
            return Answer(response.status, body)
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read())


def begin_and_leave(port: int, given: RunAgentInput) -> None:
    """Begin a run, and close the connection when its first text arrives."""
    with post(port, "", given.model_dump_json(by_alias=True).encode()) as response:
        assert any(TEXT in line for line in response)


def cancel(port: int, given: RunAgentInput) -> int:
    body = json.dumps({"threadId": given.thread_id, "runId": given.run_id}).encode()
    try:
        with post(port, "/cancel", body) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code


def healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/agent/health", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


@dataclass(frozen=True)
class Worker:
    port: int
    process: subprocess.Popen[bytes]


@contextmanager
def running(
    words: list[str], port: int, folder: Path, environment: dict[str, str]
) -> Iterator[Worker]:
    """A process that serves the agent on a port, from when it answers."""
    process = subprocess.Popen(words, cwd=folder, env=environment)
    try:
        wait_for(lambda: healthy(port), "a worker answers")
        yield Worker(port, process)
    finally:
        process.terminate()
        process.wait(PATIENCE)


@dataclass(frozen=True)
class Workers:
    """Two workers, on a port each so that a test can choose."""

    environment: dict[str, str]
    both: tuple[Worker, Worker]

    @property
    def ports(self) -> tuple[int, int]:
        return self.both[0].port, self.both[1].port

    @property
    def dsn(self) -> str:
        return self.environment["DATABASE_URL"]


def one_more(environment: dict[str, str]) -> Any:
    port = free_port()
    return running(
        command("agent", host="127.0.0.1", port=str(port), workers="1"), port, EXAMPLE, environment
    )


@contextmanager
def two_workers(**variables: str) -> Iterator[Workers]:
    environment = {**os.environ, "DEMO_DELAY": SLOW, "MODEL": "", **variables}
    subprocess.run(command("setup"), cwd=EXAMPLE, env=environment, check=True, timeout=PATIENCE)
    with one_more(environment) as first, one_more(environment) as second:
        yield Workers(environment, (first, second))


@pytest.fixture(scope="module")
def workers(make_database: Callable[[], str]) -> Iterator[Workers]:
    with two_workers(DATABASE_URL=make_database()) as both:
        yield both


@pytest.fixture(scope="module")
def workers_with_redis(make_database: Callable[[], str], redis_server: int) -> Iterator[Workers]:
    url = f"redis://127.0.0.1:{redis_server}/511"
    with two_workers(DATABASE_URL=make_database(), REDIS_URL=url) as both:
        yield both


@pytest.fixture(params=["workers", "workers_with_redis"], ids=["postgres", "redis"])
def sharing(request: pytest.FixtureRequest) -> Workers:
    """Two workers for each store of live runs."""
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


def texts(client: Any) -> list[str]:
    return [
        str(message.content)
        for message in client.messages
        if message.role in ("user", "assistant") and message.content
    ]


def locked(dsn: str) -> int:
    """How many threads have a run. The stores of live runs have advisory locks too, one for each
    worker."""
    query = (
        "SELECT objid FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' "
        "AND datname = current_database() AND application_name LIKE 'langgraph-agui thread locks%'"
    )
    with psycopg.connect(dsn) as connection:
        return len(connection.execute(query).fetchall())


def test_one_run_at_a_time_whichever_worker_has_it(workers: Workers) -> None:
    thread, question = str(uuid4()), "What is the weather in Rome?"
    inputs = [run_input(question, thread=thread) for _ in range(2)]
    with ThreadPoolExecutor(2) as clients:
        answers = list(clients.map(ask, workers.ports, inputs))

    assert sorted(answer.status for answer in answers) == [200, 409], [
        answer.body for answer in answers
    ]
    won = next(at for at, answer in enumerate(answers) if answer.status == 200)
    refusal = json.loads(answers[1 - won].body)
    assert refusal["code"] == "thread_busy"
    assert refusal["detail"] == "Another run is active in this thread."
    events, client = answers[won].recorded(inputs[won])
    assert events[-1].type.value == "RUN_FINISHED"
    assert texts(client)[0] == question
    assert "25" in texts(client)[-1]

    # The other worker, whose run was refused, goes on where this one has ended, and tells all of it
    # to a new client.
    again = run_input("And in Paris?", thread=thread)
    answer = ask(workers.ports[1 - won], again)
    assert answer.status == 200, answer.body
    events, after = answer.recorded(again)
    assert events[-1].type.value == "RUN_FINISHED"
    before = [message.id for message in client.messages]
    assert [message.id for message in after.messages if message.id in before] == before
    assert texts(after).count(question) == 1
    assert any("18" in text for text in texts(after))


@deep
def test_many_clients_at_one_thread_leave_one_run_and_no_lock(workers: Workers) -> None:
    thread = str(uuid4())
    inputs = [run_input("Hello", thread=thread) for _ in range(10)]
    with ThreadPoolExecutor(10) as clients:
        answers = list(clients.map(ask, workers.ports * 5, inputs))
    statuses = sorted(answer.status for answer in answers)
    assert set(statuses) == {200, 409}
    ran = [given for answer, given in zip(answers, inputs, strict=True) if answer.status == 200]

    last = run_input("Hello again", thread=thread)
    answer = ask(workers.ports[0], last)
    _, client = answer.recorded(last)
    kept = {message.id for message in client.messages if message.role == "user"}
    # all that ran, nothing of what was refused
    assert kept == {given.messages[0].id for given in [*ran, last]}
    assert locked(workers.dsn) == 0


@deep
def test_other_threads_run_meanwhile(workers: Workers) -> None:
    inputs = [run_input("Hello") for _ in range(4)]
    with ThreadPoolExecutor(4) as clients:
        answers = list(clients.map(ask, workers.ports * 2, inputs))
    assert [answer.status for answer in answers] == [200] * 4


def test_a_run_without_a_reader_is_followed_in_any_worker(sharing: Workers) -> None:
    thread = str(uuid4())
    given = run_input(LONG, thread=thread)
    begin_and_leave(sharing.ports[0], given)
    joins = [run_input(thread=thread, run=given.run_id) for _ in sharing.ports]
    with ThreadPoolExecutor(2) as clients:
        answers = list(clients.map(partial(ask, path="/connect"), sharing.ports, joins))

    (_, here), (events, there) = (
        answer.recorded(join) for answer, join in zip(answers, joins, strict=True)
    )
    assert events[-1].type.value == "RUN_FINISHED"
    # it came while it was written
    assert sum(event.type.value == "TEXT_MESSAGE_CONTENT" for event in events) > 5
    assert texts(there)[0] == LONG
    assert texts(there)[-1].endswith("Please crash")
    assert there.messages == here.messages
    # What is at rest is shown by both, and is the same.
    for port in sharing.ports:
        shown = ask(port, again := run_input(thread=thread), "/connect").recorded(again)[1]
        assert shown.messages == there.messages


def test_a_run_is_stopped_from_any_worker(sharing: Workers) -> None:
    thread = str(uuid4())
    given, join = run_input(LONG, thread=thread), run_input(thread=thread)
    begin_and_leave(sharing.ports[0], given)
    with ThreadPoolExecutor(1) as client:
        follower = client.submit(ask, sharing.ports[1], join, "/connect", begun := Event())
        assert begun.wait(PATIENCE)
        assert cancel(sharing.ports[1], given) == 204
        events, _ = follower.result(PATIENCE).recorded(join)
    assert events[-1].type.value == "RUN_FINISHED"
    assert events[-1].outcome.type == "cancelled"

    after = run_input("What is the weather in Rome?", thread=thread)
    wait_for(
        lambda: cancel(sharing.ports[1], given) == 404, "the other worker knows that it has ended"
    )
    events, shown = ask(sharing.ports[1], after).recorded(after)
    assert events[-1].type.value == "RUN_FINISHED"
    assert any("25" in text for text in texts(shown))


def test_a_run_without_a_reader_ends_before_its_worker(workers: Workers) -> None:
    """A worker that is to stop waits for it, though the run keeps no connection open."""
    thread = str(uuid4())
    given, join = run_input(LONG, thread=thread), run_input(thread=thread)
    with one_more(workers.environment) as stopping, ThreadPoolExecutor(1) as client:
        begin_and_leave(stopping.port, given)
        follower = client.submit(ask, workers.ports[0], join, "/connect", begun := Event())
        assert begun.wait(PATIENCE)
        stopping.process.terminate()
        events, there = follower.result(PATIENCE).recorded(join)
        stopping.process.wait(PATIENCE)
    assert events[-1].type.value == "RUN_FINISHED"
    assert texts(there)[-1].endswith("Please crash")
    shown = ask(workers.ports[1], again := run_input(thread=thread), "/connect").recorded(again)[1]
    assert shown.messages == there.messages


def program(store: str) -> str:
    """The program of the page, for Redis with the lines that the page changes."""
    shown = blocks(PAGE)
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
    subprocess.run(
        [sys.executable, "workers.py"], cwd=tmp_path, env=environment, check=True, timeout=PATIENCE
    )
    port = free_port()
    words = [sys.executable, "-m", "uvicorn", "workers:app", "--port", str(port)]
    with running(words, port, tmp_path, environment):
        given = run_input("Hi")
        events, client = ask(port, given).recorded(given)
        assert events[-1].type.value == "RUN_FINISHED"
        join = run_input(thread=given.thread_id)
        assert ask(port, join, "/connect").recorded(join)[1].messages == client.messages


def test_a_worker_that_is_killed_leaves_its_thread_to_the_others(sharing: Workers) -> None:
    """The last test here: one worker is gone after it."""
    thread = str(uuid4())
    first, join = run_input(LONG, thread=thread), run_input(thread=thread)
    second = run_input("What is the weather in Rome and Oslo?", thread=thread)
    with ThreadPoolExecutor(2) as clients:
        cut_off = clients.submit(ask, sharing.ports[1], first, "", begun := Event())
        assert begun.wait(PATIENCE)
        follower = clients.submit(ask, sharing.ports[0], join, "/connect", joined := Event())
        assert joined.wait(PATIENCE)
        assert locked(sharing.dsn) == 1
        assert ask(sharing.ports[0], second).status == 409
        sharing.both[1].process.kill()
        with pytest.raises(ProtocolError, match="ends within a run"):  # the stream breaks off
            cut_off.result(PATIENCE).recorded(first)
        events, _ = follower.result(PATIENCE).recorded(join)
    assert events[-1].type.value == "RUN_ERROR"
    assert events[-1].code == "run_lost"

    # Who connects again gets the thread as the last checkpoint has it, and the next message goes on
    # from there.
    again = run_input(thread=thread)
    events, shown = ask(sharing.ports[0], again, "/connect").recorded(again)
    assert events[-1].type.value == "RUN_FINISHED"
    assert texts(shown) == [LONG]
    answers: list[Answer] = []
    wait_for(
        lambda: answers.append(ask(sharing.ports[0], second)) or answers[-1].status == 200,
        "it is free",
    )
    _, client = answers[-1].recorded(second)
    assert any("11" in text for text in texts(client))
