"""An agent that any number of processes serve, on one Postgres. Each of them can follow and stop
the runs of all.

    python app.py                      # once: makes the tables
    uvicorn app:app --workers 4        # as often, and on as many machines, as you like

`DATABASE_URL` says where Postgres is. With `REDIS_URL`, the live runs are in Redis. `MODEL`, for
example `anthropic:claude-sonnet-4-5`, is the model; without it a scripted one answers offline, with
`DEMO_DELAY` seconds before each word.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from langgraph_agui import LangGraphAgent, RunLimits, add_langgraph_fastapi_endpoint
from langgraph_agui.devtools.demo import DemoModel, get_weather
from langgraph_agui.workers import PostgresRunStore, RunStore

DATABASE_URL = os.environ.get(
    "DATABASE_URL", "postgresql://postgres:postgres@localhost:5432/postgres"
)

# Seconds in which the runs of a process that stops may end.
DRAIN: Final = 20


def connections() -> AsyncConnectionPool[AsyncConnection[DictRow]]:
    """This process's pool, to be opened with `async with`. The saver needs these three options."""
    return AsyncConnectionPool(
        DATABASE_URL,
        connection_class=AsyncConnection[DictRow],
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        min_size=1,
        # one is the run store's; times the processes, plus one each: Postgres takes 100 by default
        max_size=10,
        check=AsyncConnectionPool.check_connection,  # a database that was restarted costs no run
        open=False,
    )


def live_runs(
    pool: AsyncConnectionPool[AsyncConnection[DictRow]],
) -> AbstractAsyncContextManager[RunStore]:
    """Where the processes find each other's runs."""
    if url := os.environ.get("REDIS_URL"):
        from langgraph_agui.workers import RedisRunStore  # needs the extra `redis`

        return RedisRunStore(url)
    return PostgresRunStore(pool)


def model() -> BaseChatModel:
    if name := os.environ.get("MODEL"):
        return init_chat_model(name)
    return DemoModel(delay=float(os.environ.get("DEMO_DELAY", "0.02")))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Everything that belongs to the event loop is made here, not at import: pool, stores, graph,
    agent, routes."""
    async with connections() as pool, live_runs(pool) as store:
        graph = create_agent(model(), tools=[get_weather], checkpointer=AsyncPostgresSaver(pool))
        agent = LangGraphAgent(
            graph,
            name="assistant",  # the agents of one name share their runs
            run_store=store,
            on_disconnect="continue",
            limits=RunLimits(total=600),  # so that a run without a reader ends
        )
        add_langgraph_fastapi_endpoint(app, agent, "/agent")
        async with agent.serving():
            yield
            await agent.drain(grace=DRAIN)


app = FastAPI(lifespan=lifespan)


async def set_up() -> None:
    """Make the tables. Not in `lifespan`: workers that start together would get in each other's
    way."""
    async with connections() as pool:
        await AsyncPostgresSaver(pool).setup()
        await PostgresRunStore(pool).setup()


if __name__ == "__main__":
    asyncio.run(set_up())
