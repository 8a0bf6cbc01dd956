"""Runs have ids, and so have clients that join them: each stops its own run, whichever worker is
asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from langgraph_agui.readers.subscription import Subscription
from tests.contracts.run_stores.test_following import Pair, gated, pair_on, until_joined
from tests.kit.processes.stores import Server
from tests.kit.run.agents import RecordedRun, run_input, user
from tests.kit.run.joining import read
from tests.kit.waiting import PATIENCE, eventually


async def joined(pair: Pair, worker: str, run_id: str) -> Subscription:
    """A client of a worker that has joined the first run by a run id, when the store knows it."""
    store: Any = pair.stores[0]
    enter, entered = store.enter, list[str]()

    async def record(name: str, run: str) -> None:
        await enter(name, run)
        entered.append(run)

    store.enter = record
    reader: Subscription = getattr(pair, worker).subscribe(run_input(thread="t", run=run_id))
    await until_joined(reader)
    await eventually(lambda: entered, "the store knows the client's id")
    store.enter = enter
    return reader


async def waiting(pair: Pair, worker: str, run_id: str) -> Subscription:
    """A run of a worker that waits for the thread."""
    reader: Subscription = await getattr(pair, worker).begin(
        run_input(user("and", "u2"), thread="t", run=run_id)
    )
    workers = pair.one._workers
    assert workers is not None
    async with asyncio.timeout(PATIENCE):
        while await pair.stores[0].find(workers._key("t", run_id)) is None:
            await asyncio.sleep(0.001)
    return reader


@pytest.mark.parametrize(
    ("first", "joins", "waits", "asked"),
    [
        ("waits", "one", "one", "two"),
        ("waits", "one", "two", "one"),
        ("waits", "two", "one", "two"),
        ("waits", "two", "two", "one"),
        ("joins", "two", "two", "two"),
    ],
)
async def test_a_client_joins_by_the_id_of_another_run(
    server: Server, first: str, joins: str, waits: str, asked: str
) -> None:
    """The id stops the run that has it, and after that the one which the client has joined."""
    model = gated(4)
    async with pair_on(server, model, on_busy="wait") as pair:
        live = await pair.begin()
        await model.hung.wait()
        if first == "joins":
            client, other = await joined(pair, joins, "same"), await waiting(pair, waits, "same")
        else:
            other, client = await waiting(pair, waits, "same"), await joined(pair, joins, "same")
        agent = getattr(pair, asked)
        assert await agent.cancel("t", "same")
        async with asyncio.timeout(PATIENCE):
            assert (await read(other))[-1].outcome.type == "cancelled"
        going = [(run.input.run_id, run.task.cancelling()) for run in pair.one._running]
        assert going == [("live", 0)]

        reading = asyncio.create_task(read(live))
        async with asyncio.timeout(PATIENCE):
            while not reading.done():  # the store may still have the run that has ended
                await agent.cancel("t", "same")
                await asyncio.sleep(0.01)
            assert (await reading)[-1].outcome.type == "cancelled"
            assert (await read(client))[-1].outcome.type == "cancelled"


async def test_the_next_run_has_the_id_of_a_client_that_has_joined(server: Server) -> None:
    model = gated(4)
    async with pair_on(server, model) as pair:
        live = await pair.begin()
        await model.hung.wait()
        client = await joined(pair, "two", "same")
        model.gate.set()
        await asyncio.gather(read(live), read(client))
        again = gated(1)
        next_pair = Pair(pair.stores, again)
        later = await next_pair.begin(run_input(user("on", "u2"), thread="t", run="same"))
        await again.hung.wait()
        assert await next_pair.two.cancel("t", "same")
        assert (await read(later))[-1].outcome.type == "cancelled"
        await next_pair.end()


async def test_a_client_that_has_joined_stops_its_run_without_the_store(server: Server) -> None:
    model = gated(4)
    async with pair_on(server, model) as pair:
        live = await pair.begin()
        await model.hung.wait()
        client = await joined(pair, "one", "mine")

        async def fail(name: str) -> None:
            raise OSError("lost")

        pair.stores[0].find = fail  # type: ignore[method-assign, assignment]
        assert await pair.one.cancel("t", "mine")
        assert RecordedRun(await read(live), pair.given).last.outcome.type == "cancelled"
        await read(client)
