"""An agent that any number of processes serve, on one Postgres.

    python app.py                      # once: makes the checkpointer's tables
    uvicorn app:app --workers 4        # as often, and on as many machines, as you like

`DATABASE_URL` says where Postgres is. `MODEL`, for example `anthropic:claude-sonnet-4-5`, is the model; without it a
scripted one answers offline, with `DEMO_DELAY` seconds before each word.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.cli.demo import DemoModel, get_weather

DATABASE_URL = os.environ.get("DATABASE_URL", "postgresql://postgres:postgres@localhost:5432/postgres")


def connections() -> AsyncConnectionPool[AsyncConnection[DictRow]]:
    """This process's pool, to be opened with `async with`. The saver needs these three options."""
    return AsyncConnectionPool(
        DATABASE_URL,
        connection_class=AsyncConnection[DictRow],
        kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
        min_size=1,
        max_size=10,  # times the number of processes, and one more for each: Postgres takes 100 by default
        check=AsyncConnectionPool.check_connection,  # a database that was restarted costs no run
        open=False,
    )


def model() -> BaseChatModel:
    if name := os.environ.get("MODEL"):
        return init_chat_model(name)
    return DemoModel(delay=float(os.environ.get("DEMO_DELAY", "0.02")))


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Everything that belongs to the event loop is made here, not at import: pool, saver, graph, agent, routes."""
    async with connections() as pool:
        graph = create_agent(model(), tools=[get_weather], checkpointer=AsyncPostgresSaver(pool))
        agent = LangGraphAgent(graph, name="assistant")
        add_langgraph_fastapi_endpoint(app, agent, "/agent")
        async with agent.serving():
            yield


app = FastAPI(lifespan=lifespan)


async def set_up() -> None:
    """Make the tables. Not in `lifespan`: workers that start together would get in each other's way."""
    async with connections() as pool:
        await AsyncPostgresSaver(pool).setup()


if __name__ == "__main__":
    asyncio.run(set_up())
