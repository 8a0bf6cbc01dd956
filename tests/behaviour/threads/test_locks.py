"""One run per thread at a time, in one process: all kinds of checkpointers give the same promises."""

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
from tests.kit.waiting import PATIENCE, eventually


@pytest.fixture(
    params=["memory", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))]
)
async def locks(request: pytest.FixtureRequest) -> AsyncIterator[ThreadLocks]:
    """Nothing of them is taken in the end."""
    if request.param == "memory":
        yield (made := ThreadLocks())
    else:
        dsn = request.getfixturevalue("fresh_database")
        async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
            yield (made := locks_for(saver))
            assert isinstance(made, PostgresLocks)
    assert made._queues == {}


async def refused(locks: ThreadLocks, thread_id: str = "t") -> None:
    with pytest.raises(RunInputError, match="Another run is active in this thread") as caught:
        await locks.acquire(thread_id)
    assert caught.value.code is ErrorCode.THREAD_BUSY


async def queued(locks: ThreadLocks) -> asyncio.Task[ThreadLease]:
    """A task that waits for a thread that is taken."""
    waiter = asyncio.create_task(locks.acquire("t", 64))
    waits = lambda: locks._queues["t"][-1].loop is asyncio.get_running_loop()  # noqa: E731
    await eventually(lambda: len(locks._queues["t"]) > 1 and waits(), "it waits")
    return waiter


async def granted(waiter: asyncio.Task[ThreadLease]) -> None:
    await (await asyncio.wait_for(waiter, PATIENCE)).release()


async def check_free(locks: ThreadLocks) -> None:
    await granted(asyncio.create_task(locks.acquire("t", 8)))


async def cancel(acquiring: asyncio.Task[ThreadLease]) -> None:
    acquiring.cancel()
    await asyncio.gather(acquiring, return_exceptions=True)
    if not acquiring.cancelled():
        await acquiring.result().release()


async def test_a_second_run_is_refused_until_the_first_has_ended(locks: ThreadLocks) -> None:
    lease = await locks.acquire("t")
    await refused(locks)
    other = await locks.acquire("another thread")
    await lease.release()
    again = await locks.acquire("t")
    await asyncio.gather(*[lease.release() for _ in range(3)])  # a lease is released once
    await refused(locks)
    for held in (again, other):
        await held.release()


async def test_who_waits_is_served_in_order(locks: ThreadLocks) -> None:
    order: list[int] = []

    async def run(number: int) -> None:
        lease = await locks.acquire("t", 64)
        order.append(number)
        await asyncio.sleep(0)
        await lease.release()

    first = await locks.acquire("t", 64)
    runs = []
    for number in range(4):
        runs.append(asyncio.create_task(run(number)))
        await asyncio.sleep(0)
    assert order == []
    await first.release()
    await refused(locks)  # nobody comes in between
    await asyncio.gather(*runs)
    assert order == [0, 1, 2, 3]


@pytest.mark.parametrize("handed", [False, True], ids=["waits", "has it, and does not know yet"])
async def test_a_waiter_who_is_cancelled_passes_its_place_on(
    locks: ThreadLocks, handed: bool
) -> None:
    lease = await locks.acquire("t")
    gone, stays = await queued(locks), await queued(locks)
    releasing = lease.release() if handed else None
    while releasing is not None and not releasing.done():
        await asyncio.sleep(0)
    await cancel(gone)
    await lease.release()
    await granted(stays)


async def test_who_is_cancelled_while_taking_or_releasing_holds_nothing(locks: ThreadLocks) -> None:
    for turns in range(6):
        acquiring = asyncio.create_task(locks.acquire("t"))
        for _ in range(turns):
            await asyncio.sleep(0)
        await cancel(acquiring)
        await check_free(locks)
    releasing = asyncio.ensure_future((await locks.acquire("t")).release())
    await asyncio.sleep(0)
    releasing.cancel()
    await check_free(locks)


async def test_closed_event_loops_hold_and_wait_for_nothing() -> None:
    """No code would release their leases."""
    locks, loop, waiting = (
        ThreadLocks(),
        asyncio.new_event_loop(),
        list[asyncio.Task[ThreadLease]](),
    )

    def wait_and_close() -> None:
        waiting.append(loop.create_task(locks.acquire("t", 8)))
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    await asyncio.to_thread(asyncio.run, locks.acquire("t"))
    lease = await locks.acquire("t")
    await asyncio.to_thread(wait_and_close)
    stays = await queued(locks)
    await lease.release()
    await granted(stays)
    assert not waiting[0].done()
    assert locks._queues == {}
    loop = asyncio.new_event_loop()
    await asyncio.to_thread(loop.run_until_complete, locks.acquire("t"))
    stays = await queued(locks)
    loop.close()  # while another one waits
    await granted(stays)


async def test_two_event_loops_exclude_each_other() -> None:
    locks, inside, most = ThreadLocks(), list[int](), list[int]()

    async def run() -> None:
        lease = await locks.acquire("t", 64)
        inside.append(1)
        most.append(len(inside))
        await asyncio.sleep(0.001)
        inside.pop()
        await lease.release()

    async def runs() -> None:
        await asyncio.gather(*[run() for _ in range(20)])

    other = threading.Thread(target=lambda: asyncio.run(runs()))
    other.start()
    await runs()
    await asyncio.to_thread(other.join, PATIENCE)
    assert most == [1] * 40


async def test_a_checkpointer_has_one_set_of_locks_for_as_long_as_it_lives() -> None:
    @dataclass
    class Equal:  # which cannot be hashed
        name: str = "same"

    for saver, other in ((InMemorySaver(), InMemorySaver()), (Equal(), Equal())):
        locks = locks_for(saver)
        assert locks_for(saver) is locks is not locks_for(other)
    number = id(saver)
    del saver
    gc.collect()
    assert number not in locks_for_module._locks
