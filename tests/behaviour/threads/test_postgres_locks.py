"""One run per thread at a time, in all processes on one Postgres; and what becomes of the session
with the locks."""

from __future__ import annotations

import asyncio
import gc
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
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
from tests.kit.deep import deep
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.processes.silence import Line, line_to
from tests.kit.run.agents import record_run, run_input
from tests.kit.waiting import PATIENCE, eventually

pytestmark = pytest.mark.xdist_group("postgres")

KWARGS: dict[str, Any] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}


class Holder:
    """Another process that locks a thread; see `holder.py`."""

    def __init__(self, dsn: str, thread_id: str = "t", mode: str = "refuse") -> None:
        command = [sys.executable, "-m", "tests.kit.processes.lock_holder", dsn, thread_id, mode]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.read_line()

    def go(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def read_line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def asked(self) -> str:
        self.go()
        return self.read_line()

    def kill(self) -> None:
        self._process.kill()  # SIGKILL: nothing of it gets to say goodbye
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


@pytest.fixture
def holders() -> Iterator[Callable[..., Holder]]:
    made: list[Holder] = []

    def make(*args: Any) -> Holder:
        made.append(Holder(*args))
        return made[-1]

    yield make
    for holder in made:
        holder.kill()


def sessions(dsn: str) -> list[int]:
    """The server's processes that hold advisory locks in this database."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT DISTINCT pid FROM pg_locks JOIN pg_database d ON d.oid = database "
            "WHERE locktype = 'advisory' AND datname = current_database()"
        )
        return [row[0] for row in rows.fetchall()]


def holders_of(dsn: str, thread_id: str) -> list[int]:
    """The server's process that holds the lock of a thread."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' "
            "AND (classid::int8 << 32 | objid::int8) = %s",
            (key_of(thread_id),),
        )
        return [row[0] for row in rows.fetchall()]


async def moved(dsn: str, thread_id: str, before: list[int]) -> None:
    """Wait until another session than before has the lock of a thread."""
    await eventually(
        lambda: holders_of(dsn, thread_id) not in ([], before), "another session has the lock"
    )


@contextmanager
def held_elsewhere(dsn: str, thread_id: str) -> Iterator[None]:
    """A thread that another session has locked."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (key_of(thread_id),))
        yield


def lose(dsn: str, pids: list[int]) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for pid in pids:
            connection.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


async def refused(locks: ThreadLocks, thread_id: str = "t") -> None:
    with pytest.raises(RunInputError) as caught:
        await locks.acquire(thread_id)
    assert caught.value.code is ErrorCode.THREAD_BUSY


@deep  # tests/contracts/run_stores/test_two_postgres_workers.py has two workers
async def test_processes_exclude_each_other(
    fresh_database: str, holders: Callable[..., Holder]
) -> None:
    here, other = holders(fresh_database, "t", "wait"), holders(fresh_database, "t", "refuse")
    async with AsyncPostgresSaver.from_conn_string(fresh_database) as saver:
        locks = locks_for(saver)
        lease = await locks.acquire("t")
        assert other.asked() == "busy"
        here.go()
        await asyncio.sleep(0.3)
        await lease.release()
        assert here.read_line() == "held"
        await refused(locks)
        await (await locks.acquire("another thread")).release()
        waiting = asyncio.create_task(locks.acquire("t", 8))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        assert here.asked() == "released"
        await (await asyncio.wait_for(waiting, PATIENCE)).release()
    assert sessions(fresh_database) == []


async def test_a_killed_process_frees_its_threads(
    fresh_database: str, holders: Callable[..., Holder]
) -> None:
    holder = holders(fresh_database)
    assert holder.asked() == "held"
    async with AsyncPostgresSaver.from_conn_string(fresh_database) as saver:
        locks = locks_for(saver)
        await refused(locks)
        waiting = asyncio.create_task(locks.acquire("t", 8))
        holder.kill()
        await (await asyncio.wait_for(waiting, PATIENCE)).release()


@deep
async def test_a_waiter_who_is_cancelled_asks_no_more(
    fresh_database: str, holders: Callable[..., Holder]
) -> None:
    holder = holders(fresh_database)
    assert holder.asked() == "held"
    async with AsyncPostgresSaver.from_conn_string(fresh_database) as saver:
        locks = locks_for(saver)
        waiting = asyncio.create_task(locks.acquire("t", 8))
        await asyncio.sleep(0.2)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert waiting.cancelled()
        assert holder.asked() == "released"
        await (await asyncio.wait_for(locks.acquire("t", 8), PATIENCE)).release()
    assert sessions(fresh_database) == []


async def test_who_is_cancelled_while_taking_leaves_nothing_in_the_database(
    fresh_database: str,
) -> None:
    """Nor does the session of the others end."""
    async with AsyncPostgresSaver.from_conn_string(fresh_database) as saver:
        locks = locks_for(saver)
        kept = await locks.acquire("kept")
        own = sessions(fresh_database)
        for turns in range(8):
            acquiring = asyncio.create_task(locks.acquire("t", 8))
            for _ in range(turns):
                await asyncio.sleep(0)
            acquiring.cancel()
            await asyncio.gather(acquiring, return_exceptions=True)
            if not acquiring.cancelled():
                await acquiring.result().release()
            await (await asyncio.wait_for(locks.acquire("t", 8), PATIENCE)).release()
            assert sessions(fresh_database) == own
        await kept.release()
        assert sessions(fresh_database) == []


@deep
async def test_a_lost_connection_is_opened_again_and_takes_its_locks(
    fresh_database: str, holders: Callable[..., Holder]
) -> None:
    holder = holders(fresh_database)
    async with AsyncPostgresSaver.from_conn_string(fresh_database) as saver:
        locks = locks_for(saver)
        kept = await locks.acquire("t")
        lose(fresh_database, sessions(fresh_database))
        assert sessions(fresh_database) == []
        other = await locks.acquire("u")
        assert len(sessions(fresh_database)) == 1
        assert holder.asked() == "busy"  # "t" is locked again, though nobody asked for it
        lose(fresh_database, sessions(fresh_database))
        await kept.release()
        await other.release()
        await (await locks.acquire("t")).release()


@deep
async def test_a_lock_that_another_process_took_meanwhile_is_its_own(
    fresh_database: str, holders: Callable[..., Holder], caplog: pytest.LogCaptureFixture
) -> None:
    holder = holders(fresh_database)
    async with AsyncPostgresSaver.from_conn_string(fresh_database) as saver:
        locks = locks_for(saver)
        lost = await locks.acquire("t")
        lose(fresh_database, sessions(fresh_database))
        assert holder.asked() == "held"
        with caplog.at_level(logging.WARNING):
            other = await locks.acquire("u")
        assert "two runs are active" in caplog.text
        await lost.release()
        await refused(locks)
        assert holder.asked() == "released"
        await (await asyncio.wait_for(locks.acquire("t", 8), PATIENCE)).release()
        await other.release()


async def test_who_waits_for_another_run_waits_longer_than_the_database_may(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncPostgresSaver.from_conn_string(fresh_database) as saver:
        locks = locks_for(saver)
        with held_elsewhere(fresh_database, "t"):
            await refused(locks)
            be_quick(monkeypatch)
            waiting = asyncio.create_task(locks.acquire("t", 8))
            await time_is_over()
            assert not waiting.done()
        await (await asyncio.wait_for(waiting, PATIENCE)).release()


# -- a database that cannot be reached, or is silent ----------------------------------------------


def be_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_locks, "ANSWER", 0.4)


async def time_is_over() -> None:
    """Wait twice as long as the database may take for an answer. A call that goes on after its
    caller has given up has been hung up on then."""
    clock = asyncio.get_running_loop().time
    enough = clock() + 2 * postgres_locks.ANSWER
    await eventually(lambda: clock() > enough, "the time is over")


def records(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The log records about a database of thread locks that does not answer."""
    return [one.message for one in caplog.records if one.name == bounded.__name__]


@asynccontextmanager
async def silent_later(dsn: str) -> AsyncIterator[tuple[Line, AsyncPostgresSaver]]:
    """A checkpointer on a database that can fall silent."""
    pool: AsyncConnectionPool[Any]
    async with (
        line_to(dsn) as (line, through),
        asyncio.timeout(PATIENCE),
        AsyncConnectionPool(
            through, min_size=1, max_size=2, timeout=9 * PATIENCE, kwargs=KWARGS, open=False
        ) as pool,
    ):
        await pool.wait()
        yield line, AsyncPostgresSaver(pool)
        await pool.close(timeout=0)


async def fails(locks: ThreadLocks, thread_id: str) -> None:
    with pytest.raises(StateError):
        await locks.acquire(thread_id, 8)


async def again(locks: ThreadLocks, thread_id: str) -> ThreadLease:
    """The lease of a thread, when the database answers again."""
    while True:
        with suppress(StateError):
            return await locks.acquire(thread_id, 8)


async def test_silence_from_the_beginning(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with silent_later(fresh_database) as (line, saver):
        locks = locks_for(saver)
        be_quick(monkeypatch)
        line.flows.clear()
        await fails(locks, "t")
        await asyncio.gather(*(fails(locks, f"t{number}") for number in range(9)))
        [record] = records(caplog)
        assert record.startswith("The database of the thread locks does not answer (")
        line.flows.set()
        await (await again(locks, "t")).release()


@pytest.mark.parametrize("end", [Line.restore, Line.replace])
async def test_silence_while_a_thread_is_locked(
    fresh_database: str,
    end: Callable[[Line], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The live runs get their locks back, by themselves. What the server hears too late locks
    nothing."""
    async with silent_later(fresh_database) as (line, saver):
        locks = locks_for(saver)
        kept = await locks.acquire("kept")
        before = holders_of(fresh_database, "kept")
        be_quick(monkeypatch)
        line.flows.clear()
        await fails(locks, "t")
        assert len(records(caplog)) == 1
        await time_is_over()
        end(line)
        await moved(fresh_database, "kept", before)
        assert holders_of(fresh_database, "t") == []
        await kept.release()
    assert sessions(fresh_database) == []
    assert "two runs" not in caplog.text


@pytest.mark.parametrize("end", [Line.restore, Line.replace])
async def test_silence_while_a_thread_is_released(
    fresh_database: str,
    end: Callable[[Line], None],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with silent_later(fresh_database) as (line, saver):
        locks = locks_for(saver)
        lease, kept = await locks.acquire("t"), await locks.acquire("kept")
        before = holders_of(fresh_database, "kept")
        be_quick(monkeypatch)
        line.flows.clear()
        await lease.release()
        [record] = records(caplog)
        assert "(unlock)" in record
        await time_is_over()
        end(line)
        await moved(fresh_database, "kept", before)
        await (await again(locks, "t")).release()
        await kept.release()
    assert sessions(fresh_database) == []
    assert "two runs" not in caplog.text


async def test_a_connection_alone_is_silent(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread is free for other processes soon, though the server never hears of it."""
    async with silent_later(fresh_database) as (line, saver):
        lease = await locks_for(saver).acquire("t")
        be_quick(monkeypatch)
        line.flows.clear()
        line.replace()
        await lease.release()
        await eventually(lambda: holders_of(fresh_database, "t") == [], "the thread is free")


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


async def test_a_database_that_cannot_be_reached_is_a_state_error(fresh_database: str) -> None:
    nowhere = "postgresql://postgres@127.0.0.1:1/nowhere"
    async with AsyncConnectionPool(
        nowhere, min_size=0, max_size=1, timeout=0.2, open=False
    ) as pool:
        locks = locks_for(AsyncPostgresSaver(pool))  # type: ignore[arg-type]
        with pytest.raises(StateError) as caught:
            await locks.acquire("t", 8)
        assert isinstance(caught.value.__cause__, psycopg.OperationalError)
        assert isinstance(locks, PostgresLocks)
        await eventually(lambda: not locks._queues, "the thread is free")


async def test_nobody_waits_for_those_who_wait_for_the_pool(fresh_database: str) -> None:
    pool: AsyncConnectionPool[Any]
    async with AsyncConnectionPool(
        fresh_database, min_size=1, max_size=1, timeout=1, kwargs=KWARGS, open=False
    ) as pool:
        locks = locks_for(AsyncPostgresSaver(pool))
        clock = asyncio.get_running_loop().time

        async def fail(thread_id: str) -> None:
            with pytest.raises(StateError):
                await locks.acquire(thread_id)

        held = await locks.acquire("held")
        lose(fresh_database, sessions(fresh_database))
        async with pool.connection():  # the only one
            begin = clock()
            await fail("alone")
            alone = clock() - begin
            begin = clock()
            attempts = [asyncio.create_task(fail(f"t{number}")) for number in range(6)]
            await asyncio.sleep(alone / 10)
            await held.release()
            assert not any(attempt.done() for attempt in attempts)
            await asyncio.gather(*attempts)
            assert clock() - begin < 2 * alone
        await (await locks.acquire("held")).release()
    assert sessions(fresh_database) == []


async def test_who_is_cancelled_while_waiting_for_the_pool_holds_nothing(
    fresh_database: str,
) -> None:
    pool: AsyncConnectionPool[Any]
    async with AsyncConnectionPool(
        fresh_database, min_size=1, max_size=1, timeout=9 * PATIENCE, kwargs=KWARGS, open=False
    ) as pool:
        locks = locks_for(AsyncPostgresSaver(pool))
        async with pool.connection():  # the only one
            acquiring = asyncio.create_task(locks.acquire("t"))
            await eventually(
                lambda: pool.get_stats()["requests_waiting"] == 1, "the attempt waits for the pool"
            )
            acquiring.cancel()
            await asyncio.gather(acquiring, return_exceptions=True)
            assert acquiring.cancelled()
            await eventually(lambda: not locks._queues, "the thread is free")
        await (await locks.acquire("t")).release()
    assert sessions(fresh_database) == []


async def test_locks_take_nothing_from_the_pool(fresh_database: str) -> None:
    pool: AsyncConnectionPool[Any]
    async with AsyncConnectionPool(
        fresh_database, min_size=1, max_size=1, kwargs=KWARGS, open=False
    ) as pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        locks = locks_for(saver)
        assert locks_for(AsyncPostgresSaver(pool)) is locks  # one session for all savers on a pool
        await (await locks.acquire("first")).release()
        async with pool.connection():  # the only one
            leases = await asyncio.gather(*[locks.acquire(f"t{number}") for number in range(50)])
            assert len(sessions(fresh_database)) == 1
            await asyncio.gather(*[lease.release() for lease in leases])
        assert sessions(fresh_database) == []


async def test_a_second_event_loop_is_refused(fresh_database: str) -> None:
    async with AsyncPostgresSaver.from_conn_string(fresh_database) as saver:
        locks = locks_for(saver)
        lease = await locks.acquire("t")
        with pytest.raises(RunInputError, match="works in one event loop") as caught:
            await asyncio.to_thread(asyncio.run, locks.acquire("u"))
        assert caught.value.code is ErrorCode.WRONG_EVENT_LOOP
        await refused(locks)
        await lease.release()
        assert sessions(fresh_database) == []


async def test_the_session_ends_with_the_checkpointer(fresh_database: str) -> None:
    def here() -> int:
        with psycopg.connect(fresh_database, autocommit=True) as connection:
            query = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'langgraph-agui%%'"
            row = connection.execute(
                f"{query} AND datname = current_database()".encode()
            ).fetchone()
            assert row is not None
            return int(row[0])

    async def use() -> None:
        async with AsyncPostgresSaver.from_conn_string(fresh_database) as saver:
            await (await locks_for(saver).acquire("t")).release()
            assert here() == 1

    await use()
    gc.collect()
    await eventually(lambda: here() == 0, "the session has ended")


class SecretConnection(AsyncConnection[Any]):
    """Knows the password by itself, as classes for cloud databases do."""

    @classmethod
    async def connect(cls, conninfo: str = "", **kwargs: Any) -> SecretConnection:  # type: ignore[override]
        return await super().connect(conninfo, **{**kwargs, "dbname": SecretConnection.dbname})  # type: ignore[return-value]

    dbname = ""


async def test_every_way_to_connect_is_understood(fresh_database: str) -> None:
    parts = conninfo_to_dict(fresh_database)
    SecretConnection.dbname = str(parts.pop("dbname"))
    whole: dict[str, Any] = {**KWARGS, **parts, "dbname": SecretConnection.dbname}

    async def later() -> str:
        return fresh_database

    async def excluded(saver: Any) -> None:
        locks = locks_for(saver)
        assert isinstance(locks, PostgresLocks)
        lease = await locks.acquire("t")
        assert len(sessions(fresh_database)) == 1
        await lease.release()

    def pool(*args: Any, **kwargs: Any) -> AsyncConnectionPool[Any]:
        return AsyncConnectionPool(*args, min_size=0, max_size=1, open=False, **kwargs)

    ways: list[Callable[[], Awaitable[None] | None]] = []
    for made in (
        pool(kwargs=whole),
        pool(later, kwargs=lambda: KWARGS),
        pool(kwargs={**KWARGS, **parts}, connection_class=SecretConnection),
    ):
        async with made:
            await excluded(
                AsyncShallowPostgresSaver(made) if not ways else AsyncPostgresSaver(made)
            )


async def test_the_deprecated_saver_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("langgraph.checkpoint.postgres.aio.AsyncShallowPostgresSaver")
    pool = AsyncConnectionPool(
        "postgresql://127.0.0.1:1/nowhere", min_size=0, max_size=1, open=False
    )
    assert isinstance(locks_for(AsyncPostgresSaver(pool)), PostgresLocks)  # type: ignore[arg-type]


def test_the_key_of_a_thread_never_changes() -> None:
    assert key_of("thread") == -8750022058293765504
    assert key_of("\ud800") != key_of("\ud801")
    assert len({key_of(f"thread {number}") for number in range(1000)}) == 1000
