"""The example of docs/operations/scaling.md, run by the commands of its compose file: two workers on one Postgres."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
import yaml
from ag_ui.core import RunAgentInput

from langgraph_agui.protocol import Verifier, decode, fold
from tests.adapter.streams import run_input
from tests.agreement import record_stream
from tests.deep import deep
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.xdist_group("postgres")

EXAMPLE = Path(__file__).parents[2] / "examples" / "scaling"
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load((EXAMPLE / "compose.yaml").read_text())["services"]
SLOW = "0.015"
"""Seconds before each word: an answer takes about one."""


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


def ask(port: int, given: RunAgentInput) -> Answer:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/agent",
        given.model_dump_json(by_alias=True).encode(),
        {"content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return Answer(response.status, response.read())
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read())


def healthy(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/agent/health", timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@dataclass(frozen=True)
class Workers:
    dsn: str
    ports: tuple[int, int]
    processes: tuple[subprocess.Popen[bytes], ...]


@pytest.fixture(scope="module")
def workers(make_database: Callable[[], str]) -> Iterator[Workers]:
    """Two workers, on a port each so that a test can choose."""
    dsn = make_database()
    environment = {**os.environ, "DATABASE_URL": dsn, "DEMO_DELAY": SLOW, "MODEL": ""}
    subprocess.run(command("setup"), cwd=EXAMPLE, env=environment, check=True, timeout=PATIENCE)
    ports = free_port(), free_port()
    processes = tuple(
        subprocess.Popen(command("agent", host="127.0.0.1", port=str(port), workers="1"), cwd=EXAMPLE, env=environment)
        for port in ports
    )
    try:
        for port in ports:
            wait_for(lambda port=port: healthy(port), "a worker answers")  # type: ignore[misc]
        yield Workers(dsn, ports, processes)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(PATIENCE)


def texts(client: Any) -> list[str]:
    return [
        str(message.content) for message in client.messages if message.role in ("user", "assistant") and message.content
    ]


def locked(dsn: str) -> int:
    """How many threads have a run."""
    query = (
        "SELECT objid FROM pg_locks JOIN pg_database d ON d.oid = database WHERE locktype = 'advisory' AND datname = "
    )
    with psycopg.connect(dsn) as connection:
        return len(connection.execute(f"{query} current_database()".encode()).fetchall())


def test_one_run_at_a_time_whichever_worker_has_it(workers: Workers) -> None:
    thread, question = str(uuid4()), "What is the weather in Rome?"
    inputs = [run_input(question, thread=thread) for _ in range(2)]
    with ThreadPoolExecutor(2) as clients:
        answers = list(clients.map(ask, workers.ports, inputs))

    assert sorted(answer.status for answer in answers) == [200, 409], [answer.body for answer in answers]
    won = next(at for at, answer in enumerate(answers) if answer.status == 200)
    refusal = json.loads(answers[1 - won].body)
    assert refusal["code"] == "thread_busy"
    assert refusal["detail"] == "Another run is going on in this thread."
    events, client = answers[won].recorded(inputs[won])
    assert events[-1].type.value == "RUN_FINISHED"
    assert texts(client)[0] == question
    assert "25" in texts(client)[-1]

    # The other worker, whose run was refused, goes on where this one has ended, and tells all of it to a new client.
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
    assert kept == {given.messages[0].id for given in [*ran, last]}  # all that ran, nothing of what was refused
    assert locked(workers.dsn) == 0


@deep
def test_other_threads_run_meanwhile(workers: Workers) -> None:
    inputs = [run_input("Hello") for _ in range(4)]
    with ThreadPoolExecutor(4) as clients:
        answers = list(clients.map(ask, workers.ports * 2, inputs))
    assert [answer.status for answer in answers] == [200] * 4


def test_a_worker_that_is_killed_leaves_its_thread_to_the_others(workers: Workers) -> None:
    """The last test here: one worker is gone after it."""
    thread = str(uuid4())
    first, second = run_input("What is the weather in Rome and Oslo?", thread=thread), run_input("Hello", thread=thread)
    with ThreadPoolExecutor(1) as client:
        cut_off = client.submit(ask, workers.ports[1], first)
        wait_for(lambda: locked(workers.dsn) == 1, "the run holds its thread")
        assert ask(workers.ports[0], second).status == 409
        workers.processes[1].kill()
        with pytest.raises(Exception):  # noqa: B017, PT011  # however the client says that the stream broke off
            cut_off.result(PATIENCE)
    answers: list[int] = []
    wait_for(lambda: answers.append(ask(workers.ports[0], second).status) or answers[-1] == 200, "it is free")
