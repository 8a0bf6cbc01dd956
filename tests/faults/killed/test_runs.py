"""A run that is killed leaves a thread that can go on: whatever event was its last, "hello" gets an
answer."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Message
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from langgraph_agui.protocol import Fold
from tests.faults.killed.nursery import Nursery, agent
from tests.kit.deep import deep
from tests.kit.expect.histories import assert_valid
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import user
from tests.kit.run.talking import Talk, by_role, calls_of, until
from tests.kit.waiting import wait_for


@dataclass
class Killed:
    """A run that was killed: its files, what its client holds and got."""

    database: Path
    done: Path
    held: list[Message]
    recorded: list[str]


def kill(nursery: Nursery, room: Path, after: int, *, saved: bool = False) -> Killed:
    """Kill a run after so many of its events, if it has them; `saved`: and when the quick tool's
    result is in the file, and the checkpoint that it belongs to."""
    database, done = room / f"{after}.db", room / f"{after}.done"
    nursery.begin("run", str(database), str(done))
    client, events = Fold([user("go", "u1")]), list[str]()
    while len(events) < after and (line := nursery.receive()) != "dead":
        event = json.loads(line)
        client.feed(event)
        events.append(event["type"])
        if len(events) < after:
            nursery.say("go on")
    query = "SELECT value FROM writes JOIN checkpoints USING (checkpoint_id)"

    def found() -> bool:
        with contextlib.closing(sqlite3.connect(database)) as file:
            return any(b"quick a" in value for (value,) in file.execute(query))

    if saved:
        wait_for(found, "the result is saved")
    if len(events) == after:
        nursery.kill()
    return Killed(database, done, client.messages, events)


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
async def test_killed_after_an_event(nursery: Nursery, every: bool, tmp_path: Path) -> None:
    """After the first event of each type and the last one of all, or after every event. What a tool
    had done is not forgotten: one of two tools was done, and its result is beside the state, in no
    checkpoint."""
    whole = kill(nursery, tmp_path, 1000)
    assert whole.done.read_text().split("\n") == [*["quick a", "slow b"] * 2, ""]
    count = len(whole.recorded)
    assert count > 50
    first = {whole.recorded.index(kind) + 1 for kind in whole.recorded}
    rescued = []
    for after in range(1, count + 1) if every else sorted({*first, count}):
        killed = kill(nursery, tmp_path, after)
        assert len(killed.recorded) == after
        try:
            told = await go_on(killed)
        except BaseException as error:
            error.add_note(f"killed after event {after}, a {killed.held[-1]}")
            raise
        rescued.append(sum("Interrupted" not in text for text in told.values()))
    assert (rescued[0], rescued[-1]) == (0, 4)
    for forgetful in (True, False) if every else (True,):
        (room := tmp_path / f"{forgetful}").mkdir()
        received = whole.recorded.index("TOOL_CALL_RESULT") + 1
        killed = kill(nursery, room, received, saved=True)
        assert killed.done.read_text() == "quick a\n"
        told = await go_on(killed, forgetful=forgetful)
        assert told == {"q1": "quick a", "s1": "Interrupted: there is no result."}
