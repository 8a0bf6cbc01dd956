"""Where conversations are held: a server of the agent in this process, or in processes that can be
killed.

`python -m tests.faults.conversations.houses` forks a server for each line of its input, a JSON list
of `room` and `database`, and says its process id and port: Python and its packages are loaded once.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from langgraph_agui import LangGraphAgent, StateOptions, agui_router
from langgraph_agui.workers import PostgresRunStore
from tests.faults.conversations.agent import graph_on, plain
from tests.kit.paths import ROOT
from tests.kit.processes.postgres import running_postgres
from tests.kit.processes.serving import serving
from tests.kit.waiting import PATIENCE


def connections(dsn: str) -> AsyncConnectionPool[Any]:
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    return AsyncConnectionPool(dsn, kwargs=options, min_size=2, max_size=8, open=False)


async def set_up(dsn: str) -> None:
    """Make the tables of a Postgres, once."""
    async with connections(dsn) as pool:
        await AsyncPostgresSaver(pool).setup()
        await PostgresRunStore(pool).setup()


@asynccontextmanager
async def opened(database: str) -> AsyncIterator[tuple[Any, PostgresRunStore | None]]:
    """The checkpointer of "memory", of the DSN of a Postgres, or of a file of SQLite; and the store
    of its live runs."""
    if database == "memory":
        yield InMemorySaver(), None
    elif database.startswith("postgres"):
        async with connections(database) as pool, PostgresRunStore(pool) as store:
            yield AsyncPostgresSaver(pool), store
    else:
        async with AsyncSqliteSaver.from_conn_string(database) as saver:
            yield saver, None


def application(room: Path, database: str) -> FastAPI:
    """Serves the agent twice: at `/stay` its runs go on without their reader. `/kept/THREAD` is what
    the graph keeps of a thread."""
    graphs: list[Any] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            saver, store = await stack.enter_async_context(opened(database))
            graphs.append(graph_on(saver, room))
            for name, mode in (("stop", "cancel"), ("stay", "continue")):
                options: Any = {"on_disconnect": mode, "run_store": store}
                state = StateOptions(client_writable=["note"])
                agent = LangGraphAgent(graphs[0], name=name, state=state, **options)
                app.include_router(agui_router(agent, f"/{name}"))
                await stack.enter_async_context(agent.serving())
            yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/kept/{thread}")
    async def kept(thread: str) -> dict[str, Any]:
        state = await graphs[0].aget_state({"configurable": {"thread_id": thread}})
        values = state.values
        messages = [plain(message) for message in values.get("messages", ())]
        shown = {key: values[key] for key in ("mood", "note", "count") if key in values}
        return {"messages": messages, "state": shown}

    return app


class House:
    """The servers of conversations, whose agent notes what it does in `room`; workers can be
    killed."""

    def __init__(self, room: Path, database: str, url: str = "", nursery: Any = None) -> None:
        self.room, self.can_kill = room, nursery is not None
        self._database, self._url, self._nursery = database, url, nursery
        number = 0 if url else 2 if database.startswith("postgres") else 1
        self._workers = [self._start() for _ in range(number)]

    def _start(self) -> tuple[int, int]:
        self._nursery.stdin.write(json.dumps([str(self.room), self._database]) + "\n")
        self._nursery.stdin.flush()
        pid, port = self._nursery.stdout.readline().split()
        return int(pid), int(port)

    def url(self, worker: int) -> str:
        number = self._workers[worker % len(self._workers)][1] if self._workers else 0
        return self._url or f"http://127.0.0.1:{number}"

    def kill(self, worker: int) -> None:
        """Kill a worker, and start another one in its place."""
        worker %= len(self._workers)
        os.kill(self._workers[worker][0], signal.SIGKILL)
        self._workers[worker] = self._start()


@contextmanager
def house_in(where: str) -> Iterator[House]:
    """A house whose threads are kept there."""
    with tempfile.TemporaryDirectory(prefix="agui-talk-") as name:
        room = Path(name)
        if where == "memory":
            with serving(application(room, where)) as served:
                yield House(room, where, served.url(""))
        elif where == "sqlite":
            with nursery() as raised:
                yield House(room, str(room / "threads.db"), nursery=raised)
        else:
            with running_postgres() as dsn, nursery() as raised:
                asyncio.run(set_up(dsn))
                yield House(room, dsn, nursery=raised)


@contextmanager
def nursery() -> Iterator[subprocess.Popen[str]]:
    """A process that starts servers, and ends with all of them."""
    command = [sys.executable, "-m", "tests.faults.conversations.houses"]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait(PATIENCE)


def serve(room: str, database: str) -> None:
    """Serve on a free port until the process is killed."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        os.write(1, f"{os.getpid()} {listening.getsockname()[1]}\n".encode())
        app = application(Path(room), database)
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on")
        uvicorn.Server(config).run([listening])


def main() -> None:
    logging.disable()  # what runs have failed of is in their events
    children: list[int] = []
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            serve(*json.loads(line))
            os._exit(0)
        children.append(child)
    for child in children:
        if os.waitpid(child, os.WNOHANG) == (0, 0):
            os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
