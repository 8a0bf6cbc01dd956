"""Servers of the agent: in this process, or in processes that can be killed.

`python -m tests.faults.conversations.worker` forks a server for each line of its input, a JSON object with
`room` and `database`, and says its process id and port: Python and its packages are loaded once.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
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
from tests.kit.waiting import PATIENCE


def connections(dsn: str) -> AsyncConnectionPool[Any]:
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    return AsyncConnectionPool(dsn, kwargs=options, min_size=2, max_size=8, open=False)


@asynccontextmanager
async def opened(database: str) -> AsyncIterator[tuple[Any, PostgresRunStore | None]]:
    """The checkpointer of a database, and the store of its live runs.

    Args:
        database: "memory", the DSN of a Postgres, or a file of SQLite.
    """
    if database == "memory":
        yield InMemorySaver(), None
    elif database.startswith("postgres"):
        async with connections(database) as pool, PostgresRunStore(pool) as store:
            yield AsyncPostgresSaver(pool), store
    else:
        async with AsyncSqliteSaver.from_conn_string(database) as saver:
            yield saver, None


async def set_up(dsn: str) -> None:
    """Make the tables of a Postgres, once."""
    async with connections(dsn) as pool:
        await AsyncPostgresSaver(pool).setup()
        await PostgresRunStore(pool).setup()


def application(room: Path, database: str) -> FastAPI:
    """An application that serves the agent twice: at `/stay` its runs go on without their reader.

    `/kept/THREAD` is what the graph keeps of a thread.
    """
    graphs: list[Any] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            saver, store = await stack.enter_async_context(opened(database))
            graph = graph_on(saver, room)
            graphs.append(graph)
            for name, mode in (("stop", "cancel"), ("stay", "continue")):
                agent = LangGraphAgent(
                    graph,
                    name=name,
                    on_disconnect=mode,
                    run_store=store,
                    state=StateOptions(client_writable=["note"]),
                )
                app.include_router(agui_router(agent, f"/{name}"))
                await stack.enter_async_context(agent.serving())
            yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/kept/{thread}")
    async def kept(thread: str) -> dict[str, Any]:
        state = await graphs[0].aget_state({"configurable": {"thread_id": thread}})
        values = state.values
        return {
            "messages": [plain(message) for message in values.get("messages", ())],
            "state": {key: values[key] for key in ("mood", "note", "count") if key in values},
            "next": state.next,
        }

    return app


class Nursery:
    """Starts servers in processes of their own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.conversations.worker"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, room: Path, database: str) -> tuple[int, int]:
        """Start a server; return its process id and its port."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"room": str(room), "database": database}) + "\n")
        self._process.stdin.flush()
        pid, port = self._process.stdout.readline().split()
        return int(pid), int(port)

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)


def serve(room: Path, database: str) -> None:
    """Serve on a free port until the process is killed."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        os.write(1, f"{os.getpid()} {listening.getsockname()[1]}\n".encode())
        config = uvicorn.Config(
            application(room, database), log_config=None, access_log=False, lifespan="on"
        )
        uvicorn.Server(config).run([listening])


def main() -> None:
    logging.disable()  # what runs have failed of is in their events
    children: list[int] = []
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            given = json.loads(line)
            serve(Path(given["room"]), given["database"])
            os._exit(0)
        children.append(child)
    for child in children:
        if os.waitpid(child, os.WNOHANG) == (0, 0):
            os.kill(child, signal.SIGKILL)


if __name__ == "__main__":
    main()
