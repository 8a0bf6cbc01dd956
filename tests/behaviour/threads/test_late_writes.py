"""A run that is stopped has written its thread before anybody hears of its end.

LangGraph writes checkpoints beside the graph; here the store takes longer than a run takes to stop.
"""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from collections.abc import AsyncIterator
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent, RunLimits
from langgraph_agui.graphs.writes import RunCheckpointer, Writes
from langgraph_agui.kernel import aio
from langgraph_agui.runs import run
from tests.kit.graphs.failing_checkpointers import Troubled
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import user
from tests.kit.run.dialogues import resolved
from tests.kit.run.talking import texts
from tests.kit.run.thread_client import Client, ending
from tests.kit.waiting import PATIENCE, eventually

# Seconds for which nobody but its holder may write into the file, and seconds after which a run that
# goes on is cancelled again: it leaves LangGraph's own wait long before it can write.
LOCKED = 0.5
CANCELLED_AGAIN = 0.02


class Store:
    """A thread in a SQLite file, which another connection locks for a while; and its graph."""

    def __init__(self, saver: AsyncSqliteSaver, path: Path) -> None:
        self.saver = saver
        self.other = sqlite3.connect(path, isolation_level=None, timeout=0)
        self.begun = asyncio.Event()
        self.unlocks, self.asks = True, False

    def graph(self, shape: str) -> Any:
        self.asks = shape == "answer"
        nodes = [self.ask, talker(Scripted(["one"], ["two"])), self.hang]
        nodes = [chain_of(*nodes)] if shape == "subgraph" else nodes
        return chain_of(*nodes, checkpointer=self.saver)

    async def ask(self, state: Chat) -> None:
        """Then lock the file for a while, as soon as what is being written is there."""
        if self.asks:
            interrupt("really?")
        while not self.other.in_transaction:
            await asyncio.sleep(0)
            with suppress(sqlite3.OperationalError):
                self.other.execute("BEGIN EXCLUSIVE")
        if self.unlocks:
            asyncio.get_running_loop().call_later(LOCKED, self.unlock)

    async def hang(self, state: Chat) -> None:
        self.begun.set()
        await asyncio.sleep(PATIENCE)

    def unlock(self) -> None:
        if self.other.in_transaction:
            self.other.rollback()


async def written(graph: Any) -> list[tuple[str | None, list[str]]]:
    """Of the graph and those inside it: the last checkpoint, and the messages in it."""
    states = [await graph.aget_state({"configurable": {"thread_id": "t"}}, subgraphs=True)]
    states += [task.state for task in states[0].tasks if task.state is not None]
    places = [state.config["configurable"].get("checkpoint_id") for state in states]
    said = [texts(state.values.get("messages", ())) for state in states]
    return list(zip(places, said, strict=True))


@pytest.fixture
async def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    monkeypatch.setattr(aio, "_CANCEL_INTERVAL", CANCELLED_AGAIN)
    monkeypatch.setattr(run, "_WRITE_TIMEOUT", PATIENCE)
    path = tmp_path / "threads.sqlite"
    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        await saver.setup()
        yield (store := Store(saver, path))
        store.unlock()
        store.other.close()


async def nothing_goes_on() -> None:
    current = {asyncio.current_task()}
    await eventually(lambda: asyncio.all_tasks() == current, "what the run has left has ended")


async def stop(client: Client, store: Store, how: str) -> None:
    """Stop the run when the last node has begun; a clock may do it before, on a slow machine."""
    if how in ("cancel", "drain"):
        await eventually(store.begun.is_set, "the last node has begun")
    if how == "cancel":
        assert await client.agent.cancel(client.thread, "r")
    if how == "drain":
        await client.agent.drain()


@pytest.mark.parametrize(
    ("shape", "how", "code"),
    [
        ("message", "total", "run_timeout"),
        ("answer", "drain", "server_stopping"),
        ("subgraph", "cancel", "cancelled"),
    ],
)
async def test_what_the_thread_has_at_the_end_is_all(
    store: Store, shape: str, how: str, code: str
) -> None:
    graph = store.graph(shape)
    limits = RunLimits(total=0.2) if how == "total" else None
    client, new, resume = Client(LangGraphAgent(graph, limits=limits)), [user("hi", "u")], []
    if store.asks:
        patient = Client(LangGraphAgent(graph))
        (question,) = await patient.ask(*new)
        client.held, new, resume = patient.held, [], resolved((question.id, True))
    running = asyncio.create_task(client.send(*new, resume=resume, run="r"))
    await stop(client, store, how)
    assert ending(await running) == code
    at_end = await written(graph)
    shown = await Client(LangGraphAgent(graph)).connect()
    await nothing_goes_on()
    assert at_end == await written(graph)
    assert [message.content for message in shown.messages] == at_end[0][1]
    if store.begun.is_set():
        assert at_end[-1][1] == ["hi", "one"]


def kept_of_runs() -> list[RunCheckpointer | Writes]:
    """The objects of runs that are in memory, also those of earlier tests that left tasks in a
    closed loop."""
    gc.collect()
    return [one for one in gc.get_objects() if issubclass(type(one), RunCheckpointer | Writes)]


async def test_a_store_that_writes_no_more_keeps_no_run(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(run, "_WRITE_TIMEOUT", 0.1)
    of_others = kept_of_runs()
    store.unlocks = False
    client = Client(LangGraphAgent(store.graph("message")))
    running = asyncio.create_task(client.send(user("hi", "u"), run="r"))
    await stop(client, store, "cancel")
    assert ending(await running) == "cancelled"
    assert store.other.in_transaction
    assert "The checkpointer still writes" in caplog.text
    store.unlock()
    await nothing_goes_on()
    assert await client.texts() == ["hi", "one"]
    assert not [one for one in kept_of_runs() if one not in of_others]


async def test_what_another_event_loop_writes_is_not_waited_for() -> None:
    """A tool in a thread may have a loop of its own, and waits there itself."""
    writes, begun, end = Writes(), asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    async def write() -> None:
        loop.call_soon_threadsafe(begun.set)
        await asyncio.to_thread(asyncio.run_coroutine_threadsafe(end.wait(), loop).result)

    working = asyncio.create_task(asyncio.to_thread(asyncio.run, writes.followed(write)()))
    await begun.wait()
    await asyncio.wait_for(writes.wait(PATIENCE), PATIENCE / 2)
    assert not working.done()
    end.set()
    await working


class Old(InMemorySaver):
    """A checkpointer from before `task_path`, with something of its own."""

    table = "threads"
    config_specs: Any = property(lambda self: [self.table])

    async def aput_writes(self, config: Any, writes: Any, task_id: str) -> None:  # type: ignore[override]
        await super().aput_writes(config, writes, task_id)


async def test_a_run_has_all_of_the_checkpointer() -> None:
    own = RunCheckpointer(saver := Old(), Writes())
    for name in {*dir(saver), *vars(saver)} - {"aput", "aput_writes", "with_allowlist"}:
        assert name.startswith("_") or getattr(own, name) == getattr(saver, name), name
    assert signature(own.aput_writes) == signature(saver.aput_writes)
    assert not hasattr(own, "missing")


async def test_in_strict_mode_the_writes_are_followed_too() -> None:
    """LangGraph calls `with_allowlist` there, and writes with what that returns."""
    saver, writes = Troubled(), Writes()
    saver.serde = JsonPlusSerializer(allowed_msgpack_modules=())
    saver.at, saver.hangs = 1, True
    own = RunCheckpointer(saver, writes)
    strict = own.with_allowlist({("builtins", "complex")})
    assert strict.serde is not own.serde
    place = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
    writing = asyncio.create_task(strict.aput_writes(place, [], "task"))
    await saver.met.wait()
    waiting = asyncio.create_task(writes.wait(PATIENCE))
    await asyncio.sleep(0)
    assert not waiting.done()
    saver.well()
    await waiting
    assert writing.done()
