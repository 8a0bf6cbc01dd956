"""A run that is killed leaves a thread that can go on: whatever event was its last, "hello" gets an
answer."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from ag_ui.core import Message
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui.protocol import Fold
from tests.kit.deep import deep
from tests.kit.expect.histories import assert_valid
from tests.kit.models.scripted import Scripted
from tests.kit.processes.killed_runs import agent
from tests.kit.run.agents import user
from tests.kit.run.talking import Talk, by_role, calls_of
from tests.kit.waiting import PATIENCE, wait_for


@dataclass
class Killed:
    """A run that was killed: its files, and what its client holds."""

    database: Path
    done: Path
    held: list[Message]
    recorded: list[str]
    """The types of the events that its client got."""
    alive: bool
    """Whether it was still running when it was killed."""

    @property
    def happened(self) -> list[str]:
        """What its tools have done."""
        return self.done.read_text().splitlines() if self.done.exists() else []


class Nursery:
    """Makes runs and kills them."""

    def __init__(self, room: Path) -> None:
        self._room = room
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kit.processes.killed_runs"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def kill(
        self, after: int, name: str | None = None, first: Callable[[Path], None] = lambda _: None
    ) -> Killed:
        """Kill a run after so many of its events, and after what is to be done `first`."""
        name = name or str(after)
        database, done = self._room / f"{name}.db", self._room / f"{name}.done"
        self._record(f"{database} {done}")
        child, client, events = int(self._receive()), Fold([user("go", "u1")]), list[str]()
        while len(events) < after and (line := self._receive()) != "dead":
            event = json.loads(line)
            client.feed(event)
            events.append(event["type"])
            if len(events) < after:
                self._record("go on")
        alive = len(events) == after
        if alive:
            first(database)
            os.kill(child, signal.SIGKILL)
            assert self._receive() == "dead"
        return Killed(database, done, client.messages, events, alive)

    def _record(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n".encode())
        self._process.stdin.flush()

    def _receive(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode().strip()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(PATIENCE) == 0


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = Nursery(tmp_path_factory.mktemp("killed"))
    yield made
    made.end()


async def saved(saver: AsyncSqliteSaver) -> dict[str, str]:
    """The results that are in the file, in the state or beside it, by the id of their call."""
    found: dict[str, str] = {}
    stored = await saver.aget_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": ""}})
    if stored is not None:
        writes = [
            value for _, channel, value in stored.pending_writes or () if channel == "messages"
        ]
        state = stored.checkpoint["channel_values"].get("messages", ())
        for message in [*state, *(message for write in writes for message in write)]:
            if isinstance(message, ToolMessage):
                found[message.tool_call_id] = message.text
    return found


async def go_on(killed: Killed, *, forgetful: bool = False) -> dict[str, str]:
    """Say "hello", and more; return the results that the model was told.

    Args:
        killed: What was killed.
        forgetful: Whether the client sends no more than its newest message.
    """
    async with AsyncSqliteSaver.from_conn_string(str(killed.database)) as saver:
        there = await saved(saver)
        model = Scripted(["Hello."], ["Again."])
        thread = Talk(agent(saver, model, killed.done, pytest.fail), model)
        second = await thread.say(*([] if forgetful else killed.held), user("hello", "u2"))
        assert [message.text for message in model.seen[0] if message.type == "human"] == [
            "go",
            "hello",
        ]
        assert model.seen[0][-1].text == "hello"
        recorded = {
            message.tool_call_id: str(message.text)
            for message in model.seen[0]
            if isinstance(message, ToolMessage)
        }
        assert {call: recorded[call] for call in there} == there
        assert_valid(await thread.stored())
        check_client(second.messages, await thread.stored())
        third = await thread.say(*second.messages, user("more", "u3"))
        said = [message.content for message in by_role(third.messages, "user")]
        # a client without its history gets that behind what it has
        assert sorted(said) == [
            "go",
            "hello",
            "more",
        ]
        assert [message.text for message in model.seen[1] if message.type == "human"] == [
            "go",
            "hello",
            "more",
        ]
        if not forgetful:  # run again from the message after the kill, and from the one before
            await thread.say(
                *second.messages[: 1 + [one.id for one in second.messages].index("u2")]
            )
            assert [message.text for message in model.seen[2] if message.type == "human"] == [
                "go",
                "hello",
            ]
            await thread.say(user("go", "u1"))
            assert [message.text for message in model.seen[3]] == ["go"]
        return recorded


def check_client(messages: list[Message], thread: Sequence[BaseMessage]) -> None:
    """The client sees one result of each call in the thread; calls that never got there are as it
    has seen them."""
    results = [message.tool_call_id for message in by_role(messages, "tool")]
    assert len(set(results)) == len(results)
    assert set(results) >= set(calls_of(thread))


@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=[deep, pytest.mark.timeout(900)])]
)
async def test_killed_after_an_event(nursery: Nursery, every: bool) -> None:
    """After the first event of each type and the last one of all, or after every event."""
    whole = nursery.kill(1000, f"every-{every}")
    assert not whole.alive
    assert whole.happened == ["quick a", "slow b"] * 2
    assert len(whole.recorded) > 50
    first = {whole.recorded.index(kind) + 1 for kind in whole.recorded}
    rescued = []
    for after in (
        range(1, len(whole.recorded) + 1) if every else sorted({*first, len(whole.recorded)})
    ):
        killed = nursery.kill(after, f"{every}-{after}")
        assert killed.alive, after
        try:
            recorded = await go_on(killed)
        except BaseException as error:
            error.add_note(f"killed after event {after}, a {killed.held[-1]}")
            raise
        rescued.append(sum("Interrupted" not in text for text in recorded.values()))
    assert rescued[0] == 0
    assert rescued[-1] == 4


def wait_until_saved(database: Path) -> None:
    """Wait until the quick tool's result is in the file, and the checkpoint that it belongs to."""
    query = "SELECT value FROM writes JOIN checkpoints USING (checkpoint_id)"

    def found() -> bool:
        with contextlib.closing(sqlite3.connect(database)) as file:
            return any(b"quick a" in value for (value,) in file.execute(query))

    wait_for(found, "the result is saved")


@pytest.mark.parametrize("forgetful", [True, pytest.param(False, marks=deep)])
async def test_what_a_tool_had_done_is_not_forgotten(nursery: Nursery, forgetful: bool) -> None:
    """One of two tools was done when the run was killed: its result is beside the state, in no
    checkpoint."""
    whole = nursery.kill(1000, f"whole-{forgetful}")
    received = whole.recorded.index("TOOL_CALL_RESULT") + 1
    killed = nursery.kill(received, f"half-{forgetful}", wait_until_saved)
    assert killed.happened == ["quick a"]
    assert await go_on(killed, forgetful=forgetful) == {
        "q1": "quick a",
        "s1": "Interrupted: there is no result.",
    }
