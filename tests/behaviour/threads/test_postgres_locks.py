"""One run per thread at a time, in all processes on one Postgres; and what becomes of the session
with the locks."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import psycopg
import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.postgres.shallow import AsyncShallowPostgresSaver
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from langgraph_agui.kernel.errors import ErrorCode, RunInputError, StateError
from langgraph_agui.runs.locks import ThreadLease, ThreadLocks
from langgraph_agui.workers import bounded, postgres_locks
from langgraph_agui.workers.locks_for import locks_for
from langgraph_agui.workers.postgres_locks import PostgresLocks, key_of
from tests.behaviour.threads.test_locks import cancel, check_free, granted, refused
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.processes.silence import Line, line_to
from tests.kit.run.agents import record_run, run_input
from tests.kit.waiting import PATIENCE, eventually

pytestmark = pytest.mark.xdist_group("postgres")

KWARGS: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
NOWHERE = "postgresql://postgres@127.0.0.1:1/nowhere"


def ask(dsn: str, query: str, *values: Any) -> list[Any]:
    """The first column of the answer."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        return [row[0] for row in connection.execute(query.encode(), values).fetchall()]


def sessions(dsn: str, thread_id: str | None = None) -> list[int]:
    """The server's processes that hold advisory locks in this database, or that of a thread."""
    where = "locktype = 'advisory' AND datname = current_database()"
    if thread_id is not None:
        where += f" AND (classid::int8 << 32 | objid::int8) = {key_of(thread_id)}"
    joined = "pg_locks JOIN pg_database d ON d.oid = database"
    return ask(dsn, f"SELECT DISTINCT pid FROM {joined} WHERE {where}")


@contextmanager
def held_elsewhere(dsn: str) -> Iterator[None]:
    """A thread that another session has locked."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        query = "SELECT pg_try_advisory_lock(%s)"
        assert connection.execute(query, (key_of("t"),)).fetchone() == (True,)
        yield


def lose(dsn: str) -> None:
    """End the sessions that hold locks."""
    for pid in sessions(dsn):
        ask(dsn, "SELECT pg_terminate_backend(%s, 5000)", pid)
    assert sessions(dsn) == []


def pool_on(dsn: Any = "", size: int = 1, **options: Any) -> AsyncConnectionPool[Any]:
    fields = {"min_size": size, "max_size": 1, "kwargs": KWARGS, "open": False, **options}
    return AsyncConnectionPool(dsn, **fields)


@pytest.fixture
async def locks(fresh_database: str) -> AsyncIterator[ThreadLocks]:
    """Locks, of which the database holds none in the end."""
    async with AsyncPostgresSaver.from_conn_string(fresh_database) as saver:
        yield locks_for(saver)
    assert sessions(fresh_database) == []


async def test_sessions_exclude_each_other(
    locks: ThreadLocks, fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits for another run waits longer than the database may take; who has left asks no
    more."""
    lease = await locks.acquire("t")
    with pytest.raises(AssertionError), held_elsewhere(fresh_database):
        pass
    await lease.release()
    with held_elsewhere(fresh_database):
        await refused(locks)
        await (await locks.acquire("another thread")).release()
        be_quick(monkeypatch)
        gone, waiting = (asyncio.create_task(locks.acquire("t", 8)) for _ in range(2))
        await time_is_over()
        assert not waiting.done()
        await cancel(gone)
    await granted(waiting)


async def test_who_is_cancelled_while_taking_leaves_nothing_in_the_database(
    locks: ThreadLocks, fresh_database: str
) -> None:
    """Nor does the session of the others end."""
    kept = await locks.acquire("kept")
    own = sessions(fresh_database)
    for turns in range(8):
        acquiring = asyncio.create_task(locks.acquire("t", 8))
        for _ in range(turns):
            await asyncio.sleep(0)
        await cancel(acquiring)
        await check_free(locks)
        assert sessions(fresh_database) == own
    await kept.release()


@pytest.mark.parametrize("taken", [False, True], ids=["free", "taken by another meanwhile"])
async def test_a_lost_connection_is_opened_again_and_takes_its_locks(
    locks: ThreadLocks, fresh_database: str, taken: bool, caplog: pytest.LogCaptureFixture
) -> None:
    kept = await locks.acquire("t")
    lose(fresh_database)
    if taken:
        with held_elsewhere(fresh_database), caplog.at_level(logging.WARNING):
            other = await locks.acquire("u")
            assert "two runs are active" in caplog.text
            await kept.release()
            await refused(locks)
    else:
        other = await locks.acquire("u")
        assert sessions(fresh_database, "t") == sessions(fresh_database, "u") != []
        lose(fresh_database)
        await kept.release()
    await check_free(locks)
    await other.release()


def be_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_locks, "ANSWER", 0.4)


async def time_is_over() -> None:
    """Wait twice as long as the database may take for an answer. A call that goes on after its
    caller has given up has been hung up on then."""
    clock = asyncio.get_running_loop().time
    enough = clock() + 2 * postgres_locks.ANSWER
    await eventually(lambda: clock() > enough, "the time is over")


@asynccontextmanager
async def silent_later(dsn: str) -> AsyncIterator[tuple[Line, AsyncPostgresSaver]]:
    """A checkpointer on a database that can fall silent."""
    async with (
        line_to(dsn) as (line, through),
        asyncio.timeout(PATIENCE),
        pool_on(through, max_size=2, timeout=9 * PATIENCE) as pool,
    ):
        await pool.wait()
        yield line, AsyncPostgresSaver(pool)
        await pool.close(timeout=0)


async def fails(locks: ThreadLocks, thread_id: str) -> StateError:
    with pytest.raises(StateError) as caught:
        await locks.acquire(thread_id, 8)
    return caught.value


async def again(locks: ThreadLocks) -> ThreadLease:
    """The lease of the thread, when the database answers again."""
    while True:
        with suppress(StateError):
            return await locks.acquire("t", 8)


@pytest.mark.parametrize("end", [Line.restore, Line.replace])
@pytest.mark.parametrize("call", ["lock", "unlock"])
async def test_silence_while_runs_go_on(
    fresh_database: str,
    call: str,
    end: Callable[[Line], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The log has one record. The live runs get their locks back, by themselves. What the server
    hears too late locks nothing."""
    async with silent_later(fresh_database) as (line, saver):
        locks = locks_for(saver)
        kept = await locks.acquire("kept")
        lease = await locks.acquire("t") if call == "unlock" else None
        before = [[], sessions(fresh_database, "kept")]
        be_quick(monkeypatch)
        line.flows.clear()
        if lease is None:
            await asyncio.gather(*(fails(locks, name) for name in "tuvw"))
        else:
            await lease.release()
        [record] = [one.message for one in caplog.records if one.name == bounded.__name__]
        assert record.startswith(f"The database of the thread locks does not answer ({call})")
        await time_is_over()
        end(line)
        others = lambda: sessions(fresh_database, "kept") not in before  # noqa: E731
        await eventually(others, "another session has the lock")
        assert sessions(fresh_database, "t") == []
        await (await again(locks)).release()
        await kept.release()
    assert sessions(fresh_database) == []
    assert "two runs" not in caplog.text


async def test_an_agent_stops_though_the_database_is_silent(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody begins a run in it then. The one that goes on ends, and leaves its thread."""
    hangs = asyncio.Event()

    async def hang(_: Chat) -> None:
        hangs.set()
        await asyncio.Event().wait()

    async with silent_later(fresh_database) as (line, saver):
        await saver.setup()
        agent, locks = agent_of(hang, checkpointer=saver), locks_for(saver)
        running = asyncio.create_task(record_run(agent, run_input("go", thread="t")))
        await hangs.wait()
        be_quick(monkeypatch)
        line.flows.clear()
        with pytest.raises(StateError):
            await agent.begin(run_input("go", thread="u"))
        await agent.drain()
        assert (await running).last.code == "server_stopping"
        await eventually(lambda: not locks._queues, "no thread has a run")


async def test_a_database_that_is_silent_or_not_there_from_the_beginning(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with silent_later(fresh_database) as (line, saver):
        be_quick(monkeypatch)
        line.flows.clear()
        await fails(locks_for(saver), "t")
        line.flows.set()
        await (await again(locks_for(saver))).release()
    async with pool_on(NOWHERE, 0, timeout=0.2) as pool:
        locks = locks_for(AsyncPostgresSaver(pool))
        assert isinstance((await fails(locks, "t")).__cause__, psycopg.OperationalError)
        await eventually(lambda: not locks._queues, "the thread is free")


async def test_nobody_waits_for_those_who_wait_for_the_pool(fresh_database: str) -> None:
    async with pool_on(fresh_database, timeout=1) as pool:
        locks, clock = locks_for(AsyncPostgresSaver(pool)), asyncio.get_running_loop().time
        held = await locks.acquire("held")
        lose(fresh_database)
        async with pool.connection():  # the only one
            begin = clock()
            await fails(locks, "alone")
            alone, begin = clock() - begin, clock()
            attempts = [asyncio.create_task(fails(locks, f"t{number}")) for number in range(6)]
            await asyncio.sleep(alone / 10)
            await held.release()
            assert not any(attempt.done() for attempt in attempts)
            await asyncio.gather(*attempts)
            assert clock() - begin < 2 * alone
        await (await locks.acquire("held")).release()


async def test_locks_take_nothing_from_the_pool(fresh_database: str) -> None:
    """Who is cancelled while it waits for the pool, for the parameters, holds nothing."""
    async with pool_on(fresh_database, timeout=9 * PATIENCE) as pool:
        locks = locks_for(AsyncPostgresSaver(pool))
        assert locks_for(AsyncPostgresSaver(pool)) is locks  # one session for all savers on a pool
        async with pool.connection():  # the only one
            acquiring = asyncio.create_task(locks.acquire("t"))
            await eventually(lambda: pool.get_stats()["requests_waiting"] == 1, "it waits")
            await cancel(acquiring)
            await eventually(lambda: not locks._queues, "the thread is free")
        await check_free(locks)
        async with pool.connection():
            leases = await asyncio.gather(*[locks.acquire(f"t{number}") for number in range(50)])
            assert len(sessions(fresh_database)) == 1
            await asyncio.gather(*[lease.release() for lease in leases])
    assert sessions(fresh_database) == []


async def test_a_second_event_loop_is_refused(locks: ThreadLocks) -> None:
    lease = await locks.acquire("t")
    text = "works in one event loop.*Make all of them in the event loop that uses them"
    with pytest.raises(RunInputError, match=text) as caught:
        await asyncio.to_thread(asyncio.run, locks.acquire("u"))
    assert caught.value.code is ErrorCode.WRONG_EVENT_LOOP
    await lease.release()


async def test_the_session_ends_with_the_checkpointer(fresh_database: str) -> None:
    query = (
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
        "AND application_name = 'langgraph-agui thread locks ' || right(application_name, 16)"
    )

    async def use() -> None:
        async with AsyncPostgresSaver.from_conn_string(fresh_database) as saver:
            await check_free(locks_for(saver))
            assert len(ask(fresh_database, query)) == 1

    await use()
    gc.collect()
    await eventually(lambda: ask(fresh_database, query) == [], "the session has ended")


class SecretConnection(AsyncConnection[Any]):
    """Knows a parameter by itself, as classes for cloud databases do."""

    dbname = ""

    @classmethod
    async def connect(cls, conninfo: str = "", **kwargs: Any) -> Any:
        return await super().connect(conninfo, **{**kwargs, "dbname": SecretConnection.dbname})


async def test_every_way_to_connect_is_understood(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = conninfo_to_dict(fresh_database)
    SecretConnection.dbname = str(parts.pop("dbname"))

    async def later() -> str:
        return fresh_database

    bare, own = {**KWARGS, **parts}, SecretConnection
    ways: list[tuple[Any, AsyncConnectionPool[Any]]] = [
        (AsyncShallowPostgresSaver, pool_on(size=0, kwargs={**bare, "dbname": own.dbname})),
        (AsyncPostgresSaver, pool_on(later, 0, kwargs=lambda: KWARGS)),
        (AsyncPostgresSaver, pool_on(size=0, kwargs=bare, connection_class=own)),
    ]
    for kind, pool in ways:
        async with pool:
            locks = locks_for(kind(pool))
            assert isinstance(locks, PostgresLocks)
            lease = await locks.acquire("t")
            assert len(sessions(fresh_database)) == 1
            await lease.release()
    # The deprecated class may be missing.
    monkeypatch.delattr("langgraph.checkpoint.postgres.aio.AsyncShallowPostgresSaver")
    assert isinstance(locks_for(AsyncPostgresSaver(pool_on(NOWHERE, 0))), PostgresLocks)


def test_the_key_of_a_thread_never_changes() -> None:
    assert key_of("thread") == -8750022058293765504
    assert key_of("\ud800") != key_of("\ud801")
