"""The server of the soak: `python -m benchmarks.soak.server DIRECTORY`.

One agent has a SQLite checkpointer, one has none. The last user message says what the model does:
"weather" calls a tool, "transfer" one that has to be approved, "chat", "long" and "endless" are
words. The last is more than the buffers of a connection hold.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

from fastapi import FastAPI
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from benchmarks.model import (
    ScriptedModel,
    call_args,
    call_start,
    finish,
    signature,
    text_block,
    thinking,
)
from benchmarks.processes import serve
from langgraph_agui import LangGraphAgent, agui_router

from .census import busy, census

WORDS = 12
AMOUNTS = {"long": 300, "endless": 4000}


class Place(AgentState[Any]):
    """The conversation, and a value of state that tools change and clients see."""

    place: str


def script(messages: Sequence[BaseMessage]) -> Iterable[AIMessageChunk]:
    """What the model says next."""
    order = next(
        message.text for message in reversed(messages) if isinstance(message, HumanMessage)
    )
    yield from (thinking(f"thought {number} ") for number in range(WORDS))
    yield signature("c2lnbmVk")
    if order in ("weather", "transfer") and not isinstance(messages[-1], ToolMessage):
        yield call_start(f"call-{uuid4()}", "look" if order == "weather" else "transfer")
        yield from map(call_args, ('{"place', '": "Ro', 'me"}'))
    else:
        yield from (text_block(f"word {number} ") for number in range(AMOUNTS.get(order, WORDS)))
    yield finish(WORDS)


def agents_of(saver: AsyncSqliteSaver, transfers: Counter[str]) -> dict[str, LangGraphAgent]:
    """The agents by path. What is transferred is counted by call."""

    @tool
    async def look(place: str, call_id: Annotated[str, InjectedToolCallId]) -> Command[str]:
        """Look."""
        await asyncio.sleep(0.001)
        return Command(
            update={"place": place, "messages": [ToolMessage("sunny", tool_call_id=call_id)]}
        )

    @tool
    def transfer(place: str, call_id: Annotated[str, InjectedToolCallId]) -> str:
        """Transfer money."""
        transfers[call_id] += 1
        return "transferred"

    model = ScriptedModel(script=script)
    guard = HumanInTheLoopMiddleware({"transfer": True})
    stored = create_agent(
        model, [look, transfer], middleware=[guard], state_schema=Place, checkpointer=saver
    )
    plain = create_agent(model, [look], state_schema=Place)
    return {"stored": LangGraphAgent(graph=stored), "plain": LangGraphAgent(graph=plain)}


def app_of(agents: dict[str, LangGraphAgent], transfers: Counter[str]) -> FastAPI:
    """The agents, and what the soak asks of the process."""
    app = FastAPI()
    for name, agent in agents.items():
        app.include_router(agui_router(agent, f"/{name}"))
    every = list(agents.values())

    @app.post("/cancel/{name}/{thread}/{run}")
    async def cancel(name: str, thread: str, run: str) -> bool:
        return await agents[name].cancel(thread, run)

    @app.get("/busy")
    async def count() -> int:
        return busy(every)

    @app.get("/census")
    async def take() -> dict[str, float]:
        repeated = sum(times - 1 for times in transfers.values())
        transfers.clear()
        return {**census(every), "repeated transfers": repeated}

    return app


async def main(directory: Path) -> None:
    """Serve until the input ends."""
    async with AsyncSqliteSaver.from_conn_string(str(directory / "threads.sqlite")) as saver:
        transfers: Counter[str] = Counter()
        await serve(app_of(agents_of(saver, transfers), transfers))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
