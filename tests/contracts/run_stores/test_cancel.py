"""Runs have ids, and so have clients that join them: each stops its own run, whichever worker is
asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.contracts.run_stores.pair import (
    Follower,
    Pair,
    Server,
    ending,
    followed,
    gated,
    hung,
    lost,
)
from tests.kit.run.agents import RecordedRun, run_input, user
from tests.kit.run.joining import read
from tests.kit.waiting import PATIENCE, eventually


async def joined(pair: Pair, worker: str, run_id: str) -> Follower:
    """A client of a worker that has joined the first run by a run id, when the store knows it."""
    store = pair.stores[0]
    enter, entered = store.enter, list[str]()

    async def record(name: str, run: str) -> None:
        await enter(name, run)
        entered.append(run)

    store.enter = record
    follower = await Follower(getattr(pair, worker), run_input(thread="t", run=run_id)).join()
    await eventually(lambda: entered, "the store knows the client's id")
    store.enter = enter
    return follower


async def test_any_worker_cancels(server: Server) -> None:
    async with followed(server) as (pair, live, follower):
        assert not await pair.two.cancel("t", "other")
        assert not await pair.two.cancel("other", "live")
        assert await pair.two.cancel("t", "live")
        assert ending(await pair.truth(live)) == "cancelled"
        assert ending(await follower.rest()) == "cancelled"
        async with asyncio.timeout(PATIENCE):
            while await pair.two.cancel("t", "live"):  # until the store has it too
                await asyncio.sleep(0.01)


@pytest.mark.parametrize("worker", ["one", "two"])
async def test_who_has_joined_cancels_by_its_own_run_id(server: Server, worker: str) -> None:
    """A page that was reloaded no longer knows the id of the run; any worker may get its wish."""
    async with hung(server) as (pair, live):
        await joined(pair, worker, "mine")
        for other in (pair.one, pair.two):
            assert not await other.cancel("other", "mine")
        asked = pair.two if worker == "one" else pair.one
        async with asyncio.timeout(PATIENCE):
            while not await asked.cancel("t", "mine"):
                await asyncio.sleep(0.01)
        assert ending(await pair.truth(live)) == "cancelled"


@pytest.mark.parametrize(
    ("first", "joins", "waits", "asked"),
    [
        ("joins", "two", "one", "two"),
        ("waits", "one", "two", "one"),
        ("waits", "two", "two", "one"),
    ],
)
async def test_a_client_joins_by_the_id_of_another_run(
    server: Server, first: str, joins: str, waits: str, asked: str
) -> None:
    """The id stops the run that has it, and after that the one which the client has joined."""
    model, given = gated(), run_input(user("and", "u2"), thread="t", run="same")

    async def waiting() -> Any:
        reader = await getattr(pair, waits).begin(given)
        await pair.until_found(pair.key(given.thread_id, given.run_id))
        return reader

    async with hung(server, model, on_busy="wait") as (pair, live):
        if first == "joins":
            client, other = await joined(pair, joins, "same"), await waiting()
        else:
            other, client = await waiting(), await joined(pair, joins, "same")
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
        assert ending(await client.rest()) == "cancelled"


async def test_a_run_id_that_comes_again(server: Server) -> None:
    """Each run is followed and stopped by itself: also the next one, with the id of a client that
    has joined, and one that begins before the end of the first has reached the store."""
    async with hung(server, model := gated()) as (pair, live):
        client = await joined(pair, "two", "same")
        model.go()
        await asyncio.gather(pair.truth(live), client.rest())
        for run in ("live", "same"):
            later = Pair(pair.stores, model := gated(1))
            given = run_input(user("on", "u2"), thread="t", run=run)
            live = await later.begin(given)
            await model.hung.wait()
            follower = await later.follow(run=None if run == "live" else "x").join()
            assert await later.two.cancel("t", run)
            assert ending(RecordedRun(await read(live), given)) == "cancelled"
            assert ending(await follower.rest()) == "cancelled"
            await later.end()


async def test_a_run_id_that_comes_again_at_once(server: Server) -> None:
    """The end of the first run is not that of the second."""
    async with server() as one, server() as two:
        pairs = [Pair([one, two], gated(), saver=None) for _ in range(2)]
        lives, runs = [], set[str]()
        for pair in pairs:
            lives.append(await pair.begin())
            async with asyncio.timeout(PATIENCE):
                while (run := await two.find(pair.key("t", "live"))) is None or run in runs:
                    await asyncio.sleep(0.001)
            runs.add(run)
        next(iter(pairs[0].one._running)).stop()
        for pair, live in zip(pairs, lives, strict=True):
            if pair is pairs[1]:
                assert await pair.two.cancel("t", "live")
            assert ending(await pair.truth(live)) == "cancelled"
            await pair.end()


async def test_a_client_that_has_joined_stops_its_run_without_the_store(server: Server) -> None:
    async with hung(server) as (pair, live):
        client = await joined(pair, "one", "mine")
        pair.stores[0].find = lost
        assert await pair.one.cancel("t", "mine")
        assert ending(await pair.truth(live)) == "cancelled"
        await client.rest()
