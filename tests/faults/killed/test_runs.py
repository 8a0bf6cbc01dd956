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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Message
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui.protocol import Fold
from tests.kit.deep import deep
from tests.kit.expect.histories import assert_valid
from tests.kit.models.scripted import Scripted
from tests.kit.processes.killed_runs import agent
from tests.kit.run.agents import user
from tests.kit.run.talking import Talk, by_role, calls_of, until
from tests.kit.waiting import PATIENCE, wait_for


@dataclass
class Killed:
    """A run that was killed: its files, what its client holds and got, and whether the run was still
    alive then."""

    database: Path
    done: Path
    held: list[Message]
    recorded: list[str]
    alive: bool

    @property
    def happened(self) -> list[str]:
        """What its tools have done."""
        return self.done.read_text().splitlines() if self.done.exists() else []


class Nursery:
    """Makes runs and kills them."""

    def __init__(self, room: Path) -> None:
        self._room = room
        command, pipe = [sys.executable, "-m", "tests.kit.processes.killed_runs"], subprocess.PIPE
        self._process: Any = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def kill(self, after: int, name: str, first: Callable[[Path], None] = lambda _: None) -> Killed:
        """Kill a run after so many of its events, and after what is to be done `first`."""
        database, done = self._room / f"{name}.db", self._room / f"{name}.done"
        self._say(f"{database} {done}")
        child, client, events = int(self._receive()), Fold([user("go", "u1")]), list[str]()
        while len(events) < after and (line := self._receive()) != "dead":
            event = json.loads(line)
            client.feed(event)
            events.append(event["type"])
            if len(events) < after:
                self._say("go on")
        if alive := len(events) == after:
            first(database)
            os.kill(child, signal.SIGKILL)
            assert self._receive() == "dead"
        return Killed(database, done, client.messages, events, alive)

    def _say(self, line: str) -> None:
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def _receive(self) -> str:
        return str(self._process.stdout.readline().strip())

    def end(self) -> None:
        self._process.stdin.close()
        assert self._process.wait(PATIENCE) == 0


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    made = Nursery(tmp_path_factory.mktemp("killed"))
    yield made
    made.end()


def results_in(messages: Any) -> dict[str, str]:
    return {one.tool_call_id: one.text for one in messages if isinstance(one, ToolMessage)}


async def saved(saver: AsyncSqliteSaver) -> dict[str, str]:
    """The results that are in the file, in the state or beside it, by the id of their call."""
    stored = await saver.aget_tuple({"configurable": {"thread_id": "t", "checkpoint_ns": ""}})
    if stored is None:
        return {}
    beside = [value for _, channel, value in stored.pending_writes or () if channel == "messages"]
    state = stored.checkpoint["channel_values"].get("messages", ())
    return results_in([*state, *(message for write in beside for message in write)])


async def go_on(killed: Killed, *, forgetful: bool = False) -> dict[str, str]:
    """Say "hello", and more; return the results that the model was told. A forgetful client sends
    no more than its newest message."""
    async with AsyncSqliteSaver.from_conn_string(str(killed.database)) as saver:
        there, model = await saved(saver), Scripted(["Hello."], ["Again."])
        thread = Talk(agent(saver, model, killed.done, pytest.fail), model)
        second = await thread.say(*([] if forgetful else killed.held), user("hello", "u2"))
        told = results_in(model.seen[0])
        assert thread.asked[-1] == "hello"
        assert {call: told[call] for call in there} == there
        stored = await thread.stored()
        assert_valid(stored)
        # The client sees one result of each call; calls that never got there are as it saw them.
        results = [message.tool_call_id for message in by_role(second.messages, "tool")]
        assert len(set(results)) == len(results)
        assert set(results) >= set(calls_of(stored))
        third = await thread.say(*second.messages, user("more", "u3"))
        said = [message.content for message in by_role(third.messages, "user")]
        # a client without its history gets that behind what it has
        assert sorted(said) == ["go", "hello", "more"]
        if not forgetful:  # run again from the message after the kill, and from the one before
            await thread.say(*until(second.messages, "u2"))
            await thread.say(user("go", "u1"))
        asked = [[one.text for one in seen if one.type == "human"] for seen in model.seen]
        all_ = [["go", "hello"], ["go", "hello", "more"], ["go", "hello"], ["go"]]
        assert asked == (all_[:2] if forgetful else all_)
        return told


@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=[deep, pytest.mark.timeout(900)])]
)
async def test_killed_after_an_event(nursery: Nursery, every: bool) -> None:
    """After the first event of each type and the last one of all, or after every event."""
    whole = nursery.kill(1000, f"every-{every}")
    assert not whole.alive
    assert whole.happened == ["quick a", "slow b"] * 2
    count = len(whole.recorded)
    assert count > 50
    first = {whole.recorded.index(kind) + 1 for kind in whole.recorded}
    rescued = []
    for after in range(1, count + 1) if every else sorted({*first, count}):
        killed = nursery.kill(after, f"{every}-{after}")
        assert killed.alive, after
        try:
            told = await go_on(killed)
        except BaseException as error:
            error.add_note(f"killed after event {after}, a {killed.held[-1]}")
            raise
        rescued.append(sum("Interrupted" not in text for text in told.values()))
    assert (rescued[0], rescued[-1]) == (0, 4)


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
    told = await go_on(killed, forgetful=forgetful)
    assert told == {"q1": "quick a", "s1": "Interrupted: there is no result."}
