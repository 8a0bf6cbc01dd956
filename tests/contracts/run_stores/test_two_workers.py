"""Two worker processes on one store of live runs: what a client of one of them sees of a run in the
other.

The databases, the sockets and the clients are real, and so is the end of a process.
tests/kit/processes/worker.py is the application; its model waits in the middle of a word until a test
opens its gate.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from ag_ui.core import Message, RunAgentInput

from langgraph_agui.protocol import SSEDecoder, Verifier, decode, fold
from langgraph_agui.protocol.schema import parse_input
from tests.contracts.generations.test_readers import check_form, plain
from tests.kit.deep import deep
from tests.kit.expect.agreement import record_stream
from tests.kit.paths import ROOT
from tests.kit.processes import worker as application
from tests.kit.processes.node_client import ClientRun, NodeClient
from tests.kit.processes.raw_http import JSON, Answer, Connection, ask, body_of
from tests.kit.processes.redis_server import free_port
from tests.kit.run.agents import RecordedRun, dumped, run_input, user
from tests.kit.waiting import PATIENCE, wait_for

pytestmark = [pytest.mark.xdist_group("postgres"), deep]

NEW, OLD = None, "0.0.59"
SOON = 20.0
"""Seconds in which what happens at once, or after a few seconds, has happened, however busy the
machine is."""
MARKS = {
    "reasoning": b"Pond",
    "text": b"Look",
    "arguments": b"Ro",
    "tool": b"SUBAGENT_FINISHED",
    "question": b"Shall",
}
"""What a client has got when the agent stops in a scene."""


class Worker:
    """A process with uvicorn, on a port of its own."""

    def __init__(self, environment: dict[str, str], *options: str) -> None:
        self.port = free_port()
        command = [
            sys.executable,
            "-m",
            "uvicorn",
            "tests.kit.processes.worker:app",
            "--port",
            str(self.port),
        ]
        self.process = subprocess.Popen(
            [*command, "--log-level", "error", *options],
            cwd=ROOT,
            env={**os.environ, **environment},
        )

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def get(self, path: str) -> Any:
        return ask(self.port, "GET", path).json

    def tasks(self) -> list[str]:
        """The names of its tasks that are at work for runs."""
        return self.get("/tasks") if self.process.poll() is None else []

    def accepts(self) -> bool:
        """Whether it takes requests."""
        try:
            return ask(self.port, "GET", "/agent/health").status == 200
        except OSError:
            return False


class Scene:
    """A thread in which the agent stops, and what happens there.

    Attributes:
        name: Where it stops: a scene of the application.
        thread: The thread.
        question: What the user says.
    """

    def __init__(self, home: Path, name: str, thread: str) -> None:
        self._home, self.name, self.thread = home, name, thread
        self.question = user(f"{name} {thread}", "u1")

    def open(self, part: str = "") -> None:
        """Let the agent go on."""
        self._home.joinpath(f"{self.thread}{part}.open").touch()

    def stops(self, at: Worker, part: str = "") -> None:
        """Wait until the agent stops, and the worker `at` finds its run."""
        wait_for(self._home.joinpath(f"{self.thread}{part}.hung").exists, "the agent stops")
        wait_for(lambda: at.get(f"/live/{self.thread}"), "the other worker finds the run")

    @property
    def stopped(self) -> Path:
        """The file that says when the model, or tool, was cancelled."""
        return self._home / f"{self.thread}.stopped"

    def input(self, *messages: Message, **fields: Any) -> RunAgentInput:
        return run_input(*messages, thread=self.thread, **fields)

    # -- clients of Node --------------------------------------------------------------------------

    def headers(self, reader: str) -> dict[str, str]:
        return {"x-tape": f"{self.thread}-{reader}"}

    def taped(self, reader: str) -> bytes:
        """What was sent to a client so far."""
        tape = self._home / f"{self.thread}-{reader}"
        return tape.read_bytes() if tape.exists() else b""

    def recorded(self, reader: str, run: ClientRun) -> RecordedRun:
        """The stream of a client, verified."""
        assert run.input is not None
        return RecordedRun(list(decode([self.taped(reader)])), parse_input(run.input))

    def begin(self, pool: ThreadPoolExecutor, client: NodeClient, at: Worker) -> Future[ClientRun]:
        """Let a client ask the question."""
        question = self.question.model_dump(by_alias=True, exclude_none=True)
        return pool.submit(
            client.run,
            url=at.url("/agent"),
            threadId=self.thread,
            runId="live",
            add=[question],
            headers=self.headers("live"),
        )

    def joins(self, client: NodeClient, at: Worker, reader: str, **fields: Any) -> ClientRun:
        """Let a client connect to the thread."""
        url, headers = at.url("/agent/connect"), self.headers(reader)
        return client.run(url=url, threadId=self.thread, headers=headers, **fields)


class Reader:
    """A client of Python that connects to a thread, or runs it, and reads as far as it is told."""

    def __init__(
        self, at: Worker, path: str, given: RunAgentInput, buffer: int | None = None, **headers: str
    ) -> None:
        self.given, self._connection = given, Connection(at.port, buffer)
        self._connection.send("POST", path, body_of(given), {**JSON, **headers})
        assert self._connection.head()[0] == 200
        self._pieces = self._connection.pieces()
        self.received = b""

    def until(self, mark: bytes) -> None:
        """Read until the mark."""
        while mark not in self.received:
            self.received += next(self._pieces)

    def rest(self) -> RecordedRun:
        """Read the stream to its end."""
        self.received += b"".join(self._pieces)
        self._connection.leave()
        return RecordedRun(list(decode([self.received])), self.given)

    def pieces(self) -> Iterator[bytes]:
        """Read the stream to its end, piece by piece."""
        for piece in self._pieces:
            self.received += piece
            yield piece
        self._connection.leave()

    def vanish(self) -> dict[str, Any]:
        """Close the socket; return what the client holds, for its next request."""
        self._connection.vanish()
        verifier, events = Verifier(strict=True, input=self.given), list(decode([self.received]))
        for event in events:
            verifier.feed(event)
        record_stream(events, self.given.messages, self.given.state)
        client = fold(events, self.given.messages, self.given.state)
        messages = [
            message.model_dump(by_alias=True, exclude_none=True, mode="json")
            for message in client.messages
        ]
        return {"messages": messages, "state": client.state}


class Stage:
    """Three workers on one store. The third one is there to be killed."""

    def __init__(self, home: Path, dsn: str, redis: str) -> None:
        self._home = home
        self._environment = {"DATABASE_URL": dsn, "REDIS_URL": redis, "STAGE": str(home)}
        self.workers = [Worker(self._environment) for _ in range(3)]
        self.one, self.two, self.third = self.workers

    def start(self, *options: str) -> Worker:
        """One more worker."""
        self.workers.append(Worker(self._environment, *options))
        wait_for(self.workers[-1].accepts, "it answers")
        return self.workers[-1]

    def end(self) -> None:
        """Stop the workers; kill those that do not stop."""
        for each in self.workers:
            each.process.terminate()
        hung: list[int] = []
        for each in self.workers:
            try:
                each.process.wait(SOON)
            except subprocess.TimeoutExpired:
                each.process.kill()
                hung.append(each.process.pid)
        assert not hung, "a worker does not stop"

    @contextmanager
    def scene(self, name: str, prefix: str = "") -> Iterator[Scene]:
        """A new thread. In the end no worker is at work for it."""
        scene = Scene(self._home, name, f"{prefix}{uuid4()}")
        try:
            yield scene
        finally:
            for part in ("", *(f".{number}" for number in range(application.PIECES))):
                scene.open(part)
        wait_for(lambda: not any(each.tasks() for each in self.workers), "all is over")


@pytest.fixture(scope="module")
def stage(
    make_database: Callable[[], str], redis_server: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    dsn, redis = make_database(), f"redis://127.0.0.1:{redis_server}/511"
    asyncio.run(application.set_up(dsn))
    made = Stage(tmp_path_factory.mktemp("stage"), dsn, redis)
    try:
        for each in made.workers:
            wait_for(each.accepts, "a worker answers")
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def clients(node_client: NodeClient) -> Iterator[list[NodeClient]]:
    """One process for each client that runs beside others."""
    others = [NodeClient(), NodeClient()]
    yield [node_client, *others]
    for other in others:
        other.close()


def check(
    scene: Scene, runs: dict[str, tuple[str | None, ClientRun]], *, subagents: bool = True
) -> None:
    """Each client took its stream, which is right for its generation; all hold what the run's own
    client holds."""
    _, live = runs["live"]
    for reader, (generation, run) in runs.items():
        stream = scene.recorded(reader, run)
        assert (run.error, run.runError, run.warnings) == (None, None, []), reader
        assert [
            message.model_dump(by_alias=True, mode="json") for message in stream.messages
        ] == run.messages
        assert (plain(run), run.state) == (plain(live), live.state), reader
        check_form(stream, generation, subagents=subagents)


def texts(messages: Sequence[dict[str, Any]], role: str) -> list[Any]:
    return [
        message["content"]
        for message in messages
        if message["role"] == role and message.get("content")
    ]


def check_answer(run: ClientRun) -> None:
    """The client holds all of the agent's answer, each part once."""
    assert texts(run.messages, "reasoning") == ["Ponder.", "So."]
    assert [
        message.get("encryptedValue") is not None
        for message in run.messages
        if message["role"] == "reasoning"
    ] == [
        True,
        True,
    ]
    assert texts(run.messages, "assistant")[0] == "Looking."
    assert texts(run.messages, "assistant")[-1] == "All done."
    calls = [
        call["function"] for message in run.messages for call in message.get("toolCalls") or ()
    ]
    assert [(call["name"], json.loads(call["arguments"])) for call in calls] == [
        ("look", {"place": "Rome"}),
        ("feel", {"mood": "fine"}),
    ]
    assert texts(run.messages, "tool") == ["seen Rome", "felt"]
    assert run.state == {"title": application.TITLE, "mood": "fine"}
    ids = [message["id"] for message in run.messages]
    assert len(set(ids)) == len(ids)


# -- reload --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scene_name", "held"),
    [("reasoning", "half of the word"), ("text", "the question"), ("arguments", "nothing")],
)
def test_a_page_is_reloaded_in_the_middle_of_a_word(
    scene_name: str, held: str, stage: Stage, clients: list[NodeClient]
) -> None:
    mark = MARKS[scene_name]
    with ThreadPoolExecutor(3) as pool, stage.scene(scene_name) as scene:
        begun = scene.begin(pool, clients[0], stage.one)
        scene.stops(stage.two)
        holding: dict[str, Any] = {"messages": []}
        if held == "the question":
            holding = {"messages": [scene.question.model_dump(by_alias=True, exclude_none=True)]}
        elif held == "half of the word":
            other = Reader(stage.one, "/agent/connect", scene.input())
            other.until(mark)
            holding = other.vanish()
            assert mark in json.dumps(holding["messages"][-1]).encode()
        joining = {
            name: pool.submit(
                scene.joins, client, stage.two, name, generation=generation, **holding
            )
            for client, name, generation in zip(
                clients[1:], ("new", "old"), (NEW, OLD), strict=True
            )
        }
        wait_for(
            lambda: all(mark in scene.taped(name) for name in joining),
            "they see what there is of the word",
        )
        assert not begun.done()
        scene.open()
        runs = {"live": (NEW, begun.result(PATIENCE))}
        runs["new"] = NEW, joining["new"].result(PATIENCE)
        runs["old"] = OLD, joining["old"].result(PATIENCE)
        check(scene, runs)
        check_answer(runs["new"][1])


def question_ids(run: ClientRun) -> list[str]:
    """The ids of what the client is asked, in the form of its generation."""
    outcome = (run.last or {}).get("outcome") or {"interrupts": []}
    return [one["id"] for one in outcome["interrupts"]] + [
        one["rawEvent"]["id"] for one in run.custom
    ]


@pytest.mark.parametrize("generation", [NEW, OLD], ids=["1.0.0", "0.0.59"])
def test_a_question_is_shown_and_answered_by_another_worker(
    generation: str | None, stage: Stage, clients: list[NodeClient]
) -> None:
    with ThreadPoolExecutor(2) as pool, stage.scene("question") as scene:
        begun = scene.begin(pool, clients[0], stage.one)
        scene.stops(stage.two)
        following = pool.submit(scene.joins, clients[1], stage.two, "new", messages=[])
        wait_for(
            lambda: MARKS["question"] in scene.taped("new"), "it sees what there is of the word"
        )
        scene.open()
        live, followed = begun.result(PATIENCE), following.result(PATIENCE)
        shown = scene.joins(clients[2], stage.two, "shown", messages=[], generation=generation)
        check(
            scene,
            {"live": (NEW, live), "new": (NEW, followed), "shown": (generation, shown)},
            subagents=False,
        )
        [asked] = {name for run in (live, followed, shown) for name in question_ids(run)}

        answer = [{"interruptId": asked, "status": "resolved", "payload": {"approved": True}}]
        fields = {
            "threadId": scene.thread,
            "messages": shown.messages,
            "state": shown.state,
            "resume": answer,
        }
        done = clients[2].run(url=stage.two.url("/agent"), generation=generation, **fields)
        assert (done.error, done.runError) == (None, None)
        assert texts(done.messages, "assistant") == ["Shall I?", "All done."]
        assert texts(done.messages, "tool") == ["spent 5"]
        again = clients[2].run(url=stage.one.url("/agent"), generation=generation, **fields)
        # and nothing is spent twice
        assert (again.error, again.runError, plain(again)) == (
            None,
            None,
            plain(done),
        )
        after = scene.joins(
            clients[0], stage.one, "after", messages=live.messages, state=live.state
        )
        assert (plain(after), after.state) == (plain(done), done.state)


@pytest.mark.parametrize("scene_name", ["reasoning", "text", "arguments", "tool"])
def test_a_client_that_is_cut_off_gets_the_rest_of_another_worker(
    scene_name: str, stage: Stage, clients: list[NodeClient]
) -> None:
    with ThreadPoolExecutor(2) as pool, stage.scene(scene_name) as scene:
        own = Reader(stage.one, "/agent", scene.input(scene.question, run="live"))
        own.until(MARKS[scene_name])
        scene.stops(stage.two)
        whole = pool.submit(scene.joins, clients[0], stage.one, "live", messages=[])
        wait_for(
            lambda: MARKS[scene_name] in scene.taped("live"),
            "another client joins the run in its own worker",
        )
        held = own.vanish()
        back = pool.submit(scene.joins, clients[1], stage.two, "back", **held)
        wait_for(lambda: MARKS[scene_name] in scene.taped("back"), "the client is back")
        scene.open()
        runs = {"live": (NEW, whole.result(PATIENCE)), "back": (NEW, back.result(PATIENCE))}
        check(scene, runs)
        check_answer(runs["back"][1])


# -- cancel --------------------------------------------------------------------------------------


def test_a_run_is_cancelled_by_another_worker(
    stage: Stage, record_property: Callable[[str, object], None]
) -> None:
    with stage.scene("text", prefix="ada-") as scene:
        own = Reader(
            stage.one, "/guarded", scene.input(scene.question, run="live"), **{"x-user": "ada"}
        )
        own.until(MARKS["text"])
        scene.stops(stage.two)
        other = Reader(stage.two, "/guarded/connect", scene.input(), **{"x-user": "ada"})
        other.until(MARKS["text"])

        def cancel(thread: str, run: str, **headers: str) -> Answer:
            body = json.dumps({"threadId": thread, "runId": run}).encode()
            return ask(stage.two.port, "POST", "/guarded/cancel", body, {**JSON, **headers})

        ada = {"x-user": "ada"}
        assert cancel(scene.thread, "live").status == 401
        assert cancel(scene.thread, "live", **{"x-user": "eve"}).status == 403
        for thread, run in ((scene.thread, "other"), ("ada-2", "live")):
            refused = cancel(thread, run, **ada)
            assert (refused.status, refused.json["code"]) == (404, "run_unknown")
        assert not scene.stopped.exists()
        assert stage.two.get(f"/live/{scene.thread}")

        before = time.time()
        assert cancel(scene.thread, "live", **ada).status == 204
        wait_for(
            lambda: scene.stopped.exists() and scene.stopped.read_text(),
            "the model is stopped",
            SOON,
        )
        record_property(
            "seconds until the model was stopped", float(scene.stopped.read_text()) - before
        )
        streams = [own.rest(), other.rest()]
        assert [stream.last.outcome.type for stream in streams] == ["cancelled", "cancelled"]
        assert dumped(streams[0].messages) == dumped(streams[1].messages)
        wait_for(lambda: not stage.two.get(f"/live/{scene.thread}"), "the run is over")
        assert cancel(scene.thread, "live", **ada).json["code"] == "run_unknown"


# -- many readers, and slow ones -----------------------------------------------------------------


def test_a_hundred_readers_of_one_run(stage: Stage) -> None:
    with stage.scene("text") as scene:
        own = Reader(stage.one, "/agent", scene.input(scene.question, run="live"))
        own.until(MARKS["text"])
        scene.stops(stage.two)
        readers = [Reader(stage.two, "/agent/connect", scene.input()) for _ in range(100)]
        for reader in readers:
            reader.until(MARKS["text"])
        # It is read once for all of them, and written once.
        assert stage.two.tasks().count("agui-read") == 1
        assert stage.one.tasks().count("agui-write-live") == 1
        scene.open()
        live = own.rest()
        for reader in readers:
            stream = reader.rest()
            assert (dumped(stream.messages), stream.state) == (dumped(live.messages), live.state)
            assert stream.last.outcome == live.last.outcome


def test_a_worker_that_was_held_up_loses_nothing(stage: Stage) -> None:
    """While it does not read, clients of another one begin: for each the run is written from its
    beginning again."""
    with stage.scene("text") as scene:
        own = Reader(stage.one, "/agent", scene.input(scene.question, run="live"))
        own.until(MARKS["text"])
        scene.stops(stage.two)
        reader = Reader(stage.two, "/agent/connect", scene.input())
        reader.until(MARKS["text"])
        stage.two.process.send_signal(signal.SIGSTOP)
        try:
            others: list[Reader] = []
            for _ in range(5):
                others.append(Reader(stage.third, "/agent/connect", scene.input(scene.question)))
                others[-1].until(MARKS["text"])
        finally:
            stage.two.process.send_signal(signal.SIGCONT)
        scene.open()
        live = own.rest()
        for each in (reader, *others):
            stream = each.rest()
            assert (dumped(stream.messages), stream.state) == (dumped(live.messages), live.state)


def test_a_reader_that_does_not_read_is_let_go(stage: Stage) -> None:
    """The others get all of a long answer, piece by piece: the model waits for them before it says
    the next."""
    size, count = application.PIECE, application.PIECES
    with ThreadPoolExecutor(1) as pool, stage.scene("long") as scene:
        own = Reader(stage.one, "/agent", scene.input(scene.question, run="live"))
        own.until(b"xxx")
        live = pool.submit(lambda: [*own.pieces()])
        scene.stops(stage.two, ".0")
        slow = Reader(stage.two, "/narrow/connect", scene.input(), 65_536, **scene.headers("slow"))
        wait_for(lambda: b"xxx" in scene.taped("slow"), "it has joined")
        good = Reader(stage.two, "/narrow/connect", scene.input())
        decoder, got = SSEDecoder(), 0
        for piece in good.pieces():
            before = got // size
            for event in decoder.feed(piece):
                got += len(event["delta"]) if event["type"] == "TEXT_MESSAGE_CONTENT" else 0
            for number in range(before, got // size):
                if number == count - 1:  # the good one gets the end when the slow one is gone
                    wait_for(
                        lambda: stage.two.tasks().count(f"agui-follow-{scene.thread}") == 1,
                        "it is let go",
                        SOON,
                    )
                scene.open(f".{number}")
        live.result(PATIENCE)
        [*slow.pieces()]

        said = []
        for reader in (own, good, slow):
            verifier, events = (
                Verifier(strict=True, input=reader.given),
                list(decode([reader.received])),
            )
            for event in events:
                verifier.feed(event)
            verifier.finish()
            said.append(
                (events[-1].type.value, fold(events, reader.given.messages).messages[-1].content)
            )
        answer = "x" * (size * count)
        assert said[:2] == [("RUN_FINISHED", answer), ("RUN_FINISHED", answer)]
        assert said[2][0] == "RUN_ERROR"
        assert said[2][1] is not None
        assert answer.startswith(str(said[2][1]))
        assert len(said[2][1]) < len(answer)
        assert b"reader_too_slow" in slow.received


# -- the end of a worker: the last tests, each ends one ------------------------------------------


def test_a_worker_is_killed(stage: Stage, record_property: Callable[[str, object], None]) -> None:
    """In a tool. The next message answers its call, and gets an answer."""
    with stage.scene("tool") as scene:
        own = Reader(stage.third, "/agent", scene.input(scene.question, run="live"))
        own.until(MARKS["tool"])
        scene.stops(stage.two)
        reader = Reader(stage.two, "/agent/connect", scene.input())
        reader.until(MARKS["tool"])
        stage.third.process.kill()
        before = time.monotonic()
        stream = reader.rest()
        record_property("seconds until the reader knew", time.monotonic() - before)
        assert time.monotonic() - before < SOON
        assert (stream.last.type.value, stream.last.code) == ("RUN_ERROR", "run_lost")
        assert not stage.two.get(f"/live/{scene.thread}")
        own.vanish()

        after = scene.input(*stream.messages, user("hello", "u2"), run="after")
        answers: list[Answer] = []

        def says() -> bool:
            answers.append(ask(stage.two.port, "POST", "/agent", body_of(after)))
            return answers[-1].status != 409

        wait_for(says, "the thread is free", SOON)
        answered = RecordedRun(list(decode([answers[-1].body])), after)
        assert answered.last.outcome.type == "success"
        shown = Reader(stage.two, "/agent/connect", scene.input()).rest()
        for held in (dumped(answered.messages), dumped(shown.messages)):
            agents = [message for message in held if not message.get("subagentRunId")]
            assert texts(agents, "assistant") == ["Looking.", "Hello."]
            assert [message["toolCallId"] for message in agents if message["role"] == "tool"] == [
                "look-1"
            ]


@deep
def test_a_deploy_has_no_patience(stage: Stage) -> None:
    """The server cuts its clients off after a second: they and those of another worker get the same
    end."""
    worker = stage.start("--timeout-graceful-shutdown", "1")
    with ThreadPoolExecutor(2) as pool, stage.scene("text") as scene:
        own = Reader(worker, "/agent", scene.input(scene.question, run="live"))
        own.until(MARKS["text"])
        scene.stops(stage.two)
        reader = Reader(stage.two, "/agent/connect", scene.input())
        reader.until(MARKS["text"])
        worker.process.terminate()
        for end in [pool.submit(own.rest), pool.submit(reader.rest)]:
            last = end.result(PATIENCE).last
            assert (last.type.value, last.code) == ("RUN_ERROR", "server_stopping")
        worker.process.wait(PATIENCE)


def test_a_worker_is_stopped_for_a_deploy(stage: Stage) -> None:
    """One run ends by itself, for uvicorn waits for its client. The other one has no client left,
    and is ended."""
    with (
        ThreadPoolExecutor(1) as pool,
        stage.scene("text") as patient,
        stage.scene("arguments") as left,
    ):
        own, alone = (
            Reader(stage.one, "/agent", one.input(one.question, run="live"))
            for one in (patient, left)
        )
        readers = []
        for scene, begun in ((patient, own), (left, alone)):
            begun.until(MARKS[scene.name])
            scene.stops(stage.two)
            readers.append(Reader(stage.two, "/agent/connect", scene.input()))
            readers[-1].until(MARKS[scene.name])
        alone.vanish()
        stage.one.process.terminate()
        wait_for(lambda: not stage.one.accepts(), "it takes no requests")
        assert stage.one.process.poll() is None
        ends = [pool.submit(reader.rest) for reader in readers]
        patient.open()
        live, followed = own.rest(), ends[0].result(PATIENCE)
        assert live.last.outcome.type == followed.last.outcome.type == "success"
        assert (dumped(live.messages), live.state) == (dumped(followed.messages), followed.state)
        ended = ends[1].result(PATIENCE)
        assert (ended.last.type.value, ended.last.code) == ("RUN_ERROR", "server_stopping")
        stage.one.process.wait(PATIENCE)
        assert not stage.two.get(f"/live/{left.thread}")
