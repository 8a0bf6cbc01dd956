"""One run per thread at a time, in one process: all kinds of checkpointers give the same
promises."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from langgraph_agui.kernel.errors import ErrorCode, RunInputError
from langgraph_agui.runs.locks import ThreadLease, ThreadLocks
from langgraph_agui.workers import locks_for as locks_for_module
from langgraph_agui.workers.locks_for import locks_for
from langgraph_agui.workers.postgres_locks import PostgresLocks
from tests.kit.waiting import PATIENCE


@pytest.fixture(
    params=["memory", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))]
)
async def locks(request: pytest.FixtureRequest) -> AsyncIterator[ThreadLocks]:
    if request.param == "memory":
        yield ThreadLocks()
        return
    async with AsyncPostgresSaver.from_conn_string(
        request.getfixturevalue("fresh_database")
    ) as saver:
        made = locks_for(saver)
        assert isinstance(made, PostgresLocks)
        yield made


def taken(locks: ThreadLocks) -> int:
    """How many threads have a run."""
    return len(locks._queues)


async def refused(locks: ThreadLocks, thread_id: str = "t") -> None:
    with pytest.raises(RunInputError) as caught:
        await locks.acquire(thread_id)
    assert caught.value.code is ErrorCode.THREAD_BUSY
    assert str(caught.value) == "Another run is active in this thread."


async def queued(locks: ThreadLocks, thread_id: str = "t") -> asyncio.Task[ThreadLease]:
    """A task that waits for a thread that is taken."""
    waiter = asyncio.create_task(locks.acquire(thread_id, 8))
    await asyncio.sleep(0.02)
    assert not waiter.done()
    return waiter


async def test_a_second_run_is_refused_until_the_first_has_ended(locks: ThreadLocks) -> None:
    lease = await locks.acquire("t")
    await refused(locks)
    await refused(locks)
    other = await locks.acquire("another thread")
    await lease.release()
    again = await locks.acquire("t")
    await refused(locks)
    for held in (again, other):
        await held.release()
    assert taken(locks) == 0


async def test_who_waits_is_served_in_order(locks: ThreadLocks) -> None:
    order: list[int] = []

    async def run(number: int) -> None:
        lease = await locks.acquire("t", 64)
        order.append(number)
        await asyncio.sleep(0)
        await lease.release()

    first = await locks.acquire("t", 64)
    runs = []
    for number in range(8):
        runs.append(asyncio.create_task(run(number)))
        await asyncio.sleep(0)
    assert order == []
    await first.release()
    await refused(locks)  # nobody comes in between
    await asyncio.gather(*runs)
    assert order == list(range(8))
    assert taken(locks) == 0


async def test_a_lease_is_released_once(locks: ThreadLocks) -> None:
    first = await locks.acquire("t")
    await first.release()
    second = await locks.acquire("t")
    await asyncio.gather(*[first.release() for _ in range(3)])
    await refused(locks)
    await second.release()
    await second.release()
    assert taken(locks) == 0


async def test_who_is_cancelled_while_waiting_leaves_the_queue(locks: ThreadLocks) -> None:
    lease = await locks.acquire("t")
    gone, stays = await queued(locks), await queued(locks)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    await lease.release()
    await (await stays).release()
    assert taken(locks) == 0


async def test_who_is_cancelled_when_its_turn_has_come_passes_it_on(locks: ThreadLocks) -> None:
    lease = await locks.acquire("t")
    gone, stays = await queued(locks), await queued(locks)
    releasing = asyncio.ensure_future(lease.release())
    while not releasing.done():
        await asyncio.sleep(0)
    gone.cancel()  # it has been handed the thread, and does not know yet
    await asyncio.gather(gone, return_exceptions=True)
    if not gone.cancelled():
        await gone.result().release()
    await (await asyncio.wait_for(stays, PATIENCE)).release()
    assert taken(locks) == 0


@pytest.mark.parametrize("turns", range(6))
async def test_who_is_cancelled_while_taking_holds_nothing(locks: ThreadLocks, turns: int) -> None:
    await (await locks.acquire("warm")).release()
    acquiring = asyncio.create_task(locks.acquire("t"))
    for _ in range(turns):
        await asyncio.sleep(0)
    acquiring.cancel()
    await asyncio.gather(acquiring, return_exceptions=True)
    if not acquiring.cancelled():
        await acquiring.result().release()
    await (await asyncio.wait_for(locks.acquire("t", 8), PATIENCE)).release()
    assert taken(locks) == 0


async def test_a_release_that_is_cancelled_still_releases(locks: ThreadLocks) -> None:
    lease = await locks.acquire("t")
    releasing = asyncio.ensure_future(lease.release())
    await asyncio.sleep(0)
    releasing.cancel()
    await asyncio.gather(releasing, return_exceptions=True)
    await (await asyncio.wait_for(locks.acquire("t", 8), PATIENCE)).release()
    assert taken(locks) == 0


def test_a_closed_event_loop_has_no_leases() -> None:
    """No code would release them."""
    locks = ThreadLocks()
    asyncio.run(locks.acquire("t"))
    asyncio.run(locks.acquire("t"))


async def test_a_waiter_of_a_closed_event_loop_is_passed_over() -> None:
    def wait_and_close() -> None:
        loop = asyncio.new_event_loop()
        waiting.append(loop.create_task(locks.acquire("t", 8)))
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    locks, waiting = ThreadLocks(), list[asyncio.Task[ThreadLease]]()
    lease = await locks.acquire("t")
    await asyncio.to_thread(wait_and_close)
    stays = await queued(locks)
    await lease.release()
    await (await asyncio.wait_for(stays, PATIENCE)).release()
    assert not waiting[0].done()
    assert taken(locks) == 0


def test_who_waits_gets_the_thread_of_a_closed_event_loop() -> None:
    locks, loop = ThreadLocks(), asyncio.new_event_loop()
    loop.run_until_complete(locks.acquire("t"))

    async def wait() -> None:
        waiter = await queued(locks)
        loop.close()
        await (await asyncio.wait_for(waiter, PATIENCE)).release()

    asyncio.run(wait())
    assert taken(locks) == 0


@dataclass
class Counter:
    """Who is in the thread, and the most that ever were."""

    inside: int = 0
    most: int = 0
    runs: int = 0

    def enter(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.runs += 1

    def leave(self) -> None:
        self.inside -= 1


async def test_two_event_loops_exclude_each_other() -> None:
    locks, counter = ThreadLocks(), Counter()

    async def run() -> None:
        lease = await locks.acquire("t", 64)
        counter.enter()
        await asyncio.sleep(0.001)
        counter.leave()
        await lease.release()

    async def runs() -> None:
        await asyncio.gather(*[run() for _ in range(20)])

    threads = [threading.Thread(target=lambda: asyncio.run(runs())) for _ in range(2)]
    for thread in threads:
        thread.start()
    await runs()
    for thread in threads:
        await asyncio.to_thread(thread.join, 20)
    assert (counter.runs, counter.most) == (60, 1)
    assert taken(locks) == 0


async def test_a_checkpointer_has_one_set_of_locks_for_as_long_as_it_lives() -> None:
    saver, other = InMemorySaver(), InMemorySaver()
    locks = locks_for(saver)
    assert locks_for(saver) is locks
    assert locks_for(other) is not locks
    number = id(saver)
    del saver
    gc.collect()
    assert number not in locks_for_module._locks


def test_checkpointers_need_not_be_hashable() -> None:
    @dataclass
    class Equal:
        name: str = "same"

    one, two = Equal(), Equal()
    assert locks_for(one) is locks_for(one)
    assert locks_for(one) is not locks_for(two)
