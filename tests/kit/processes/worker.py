"""A worker with a store of live runs, for `uvicorn tests.kit.processes.worker:app`.

`DATABASE_URL` is the Postgres of the threads. `REDIS_URL` is where live runs are; without it they
are in Postgres too. `STAGE` is a directory: by its files tests, models and tools tell each other
how far they are.

The user says a scene and a name, "text 1f3a" for example. The scene says where the agent stops: it
makes the file `1f3a.hung`, waits for `1f3a.open`, and makes `1f3a.stopped` if it is stopped
meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from fastapi import Depends, FastAPI, Header, HTTPException, Request
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, before_agent
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.prebuilt import InjectedState
from langgraph.types import Command
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from langgraph_agui import LangGraphAgent, RunLimits, agui_router
from langgraph_agui.workers import PostgresRunStore, RedisRunStore
from tests.kit.expect.histories import assert_valid
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking

STAGE = Path(os.environ.get("STAGE", "."))
TITLE = "A draft" * 30  # long enough for a patch to be shorter than the state
UNREAD = 1_500_000
"""The bytes that may wait for a client at `/narrow`."""
PIECE, PIECES = 500_000, 24
"""Characters of a piece of a long answer, and its pieces: more than kernel and server take in for a
reader, by far."""


async def at_gate(name: str) -> None:
    """Wait until the gate is open; note if the wait is cancelled, and when."""
    STAGE.joinpath(f"{name}.hung").touch()
    try:
        while not STAGE.joinpath(f"{name}.open").exists():
            await asyncio.sleep(0.005)
    except asyncio.CancelledError:
        STAGE.joinpath(f"{name}.stopped").write_text(repr(time.time()))
        raise


# -- the agent -----------------------------------------------------------------------------------

# The chunks of a turn, each with the scene that stops behind it: in the middle of a word.
Turn: TypeAlias = list[tuple[Any, str]]
FIRST: Turn = [
    (thinking("Pond", 0), "reasoning"),
    (thinking("er.", 0), ""),
    (thinking(index=0, signature="s1"), ""),
    (text_chunk("Look", 1), "text"),
    (text_chunk("ing.", 1), ""),
    (calling(part("look", "", "look-1", 2)), ""),
    (calling(part(None, '{"place": "Ro', None, 2)), "arguments"),
    (calling(part(None, 'me"}', None, 2)), ""),
]
SECOND: Turn = [
    (thinking("So.", 0), ""),
    (thinking(index=0, signature="s2"), ""),
    (call("feel", "feel-1", 1, mood="fine"), ""),
]
QUESTION: Turn = [
    (text_chunk("Shall", 0), "question"),
    (text_chunk(" I?", 0), ""),
    (call("spend", "spend-1", 1, amount=5), ""),
]
LAST: Turn = [(text_chunk("All ", 0), ""), (text_chunk("done.", 0), "")]


def asked(messages: list[Any]) -> tuple[str, str, int]:
    """The scene and the name that the user has said last, and how many results of tools came after
    it."""
    place = max(at for at, message in enumerate(messages) if isinstance(message, HumanMessage))
    scene, _, name = messages[place].text.partition(" ")
    return scene, name, sum(isinstance(message, ToolMessage) for message in messages[place:])


def turn_of(messages: list[BaseMessage]) -> Turn:
    """What the model says next."""
    scene, _, results = asked(messages)
    if scene == "hello":
        return [(text_chunk("Hello.", 0), "")]
    if scene == "long":
        return [(text_chunk("x" * PIECE, 0), scene)] * PIECES
    turns = [QUESTION, LAST] if scene == "question" else [FIRST, SECOND, LAST]
    return turns[results]


class Gated(Scripted):
    """Says what the scene wants, and waits where it stops. It takes no history that providers
    refuse."""

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[Any]:
        assert_valid(messages)
        scene, name, _ = asked(messages)
        stops = [stop == scene for _, stop in turn_of(messages)]
        number = 0
        async for chunk in super()._astream(messages, *args, **kwargs):
            yield chunk
            if stops[number]:
                await at_gate(f"{name}.{number}" if scene == "long" else name)
            number += 1


class Board(AgentState[Any]):
    title: str
    mood: str


@before_agent(state_schema=Board)
async def begin(state: Any, runtime: Any) -> dict[str, Any]:
    return {"title": TITLE, "mood": "open"}


helper = create_agent(Scripted(["I ", "help."]), name="helper")


@tool
async def look(place: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
    """Look. A subagent helps."""
    scene, name, _ = asked(state["messages"])
    await helper.ainvoke({"messages": [HumanMessage(place)]})
    if scene == "tool":
        await at_gate(name)
    return f"seen {place}"


@tool
async def feel(mood: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[str]:
    """Feel."""
    return Command(update={"mood": mood, "messages": [ToolMessage("felt", tool_call_id=call_id)]})


@tool
async def spend(amount: int) -> str:
    """Spend money."""
    return f"spent {amount}"


def graph_on(pool: AsyncConnectionPool[Any]) -> Any:
    model = Gated(script=lambda messages: [piece for piece, _ in turn_of(messages)])
    guards = [begin, HumanInTheLoopMiddleware({"spend": True})]
    return create_agent(
        model, [look, feel, spend], middleware=guards, checkpointer=AsyncPostgresSaver(pool)
    )


# -- the worker ----------------------------------------------------------------------------------


def connections(dsn: str) -> AsyncConnectionPool[Any]:
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    return AsyncConnectionPool(dsn, kwargs=options, min_size=2, max_size=8, open=False)


def store_on(pool: AsyncConnectionPool[Any], redis: str) -> PostgresRunStore | RedisRunStore:
    return RedisRunStore(redis) if redis else PostgresRunStore(pool)


async def set_up(dsn: str) -> None:
    """Make the tables, once."""
    async with connections(dsn) as pool:
        await AsyncPostgresSaver(pool).setup()
        await PostgresRunStore(pool).setup()


def signed_in(x_user: Annotated[str, Header()] = "") -> None:
    if not x_user:
        raise HTTPException(401, "Sign in first.")


def owns(request: Request, thread_id: str) -> bool:
    return thread_id.startswith(request.headers["x-user"])


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with (
        connections(os.environ["DATABASE_URL"]) as pool,
        store_on(pool, os.environ["REDIS_URL"]) as store,
    ):
        graph = graph_on(pool)
        options: dict[str, Any] = {
            "name": "worker",
            "on_disconnect": "continue",
            "run_store": store,
        }
        agent = LangGraphAgent(graph, limits=RunLimits(readers=200), **options)
        narrow = LangGraphAgent(graph, limits=RunLimits(unread=UNREAD), **options)
        app.include_router(agui_router(agent, "/agent"))
        app.include_router(agui_router(narrow, "/narrow"))
        app.include_router(
            agui_router(agent, "/guarded", dependencies=[Depends(signed_in)], authorize_thread=owns)
        )
        app.state.workers, app.state.store = agent._workers, store
        async with agent.serving(), narrow.serving():
            yield


class Tape:
    """ASGI middleware that keeps the bytes of an answer in the file that the request names."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = dict(scope.get("headers", ())).get(b"x-tape", b"").decode()

        async def taped(message: Message) -> None:
            with STAGE.joinpath(name).open("ab") as file:
                file.write(message.get("body", b""))
            await send(message)

        await self._app(scope, receive, taped if name else send)


app = FastAPI(lifespan=lifespan)
app.add_middleware(Tape)


@app.get("/live/{thread}")
async def live(thread: str) -> bool:
    """Whether this worker finds a run in a thread."""
    return await app.state.store.find(app.state.workers._key(thread)) is not None


@app.get("/tasks")
async def tasks() -> list[str]:
    """The names of the tasks that are at work for runs."""
    names = [task.get_name() for task in asyncio.all_tasks()]
    always = "agui-run-store", "agui-namesakes"
    return [name for name in names if name.startswith("agui-") and name not in always]
