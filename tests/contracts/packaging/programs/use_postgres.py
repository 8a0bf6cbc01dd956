"""Two agents, as two workers have them, share a thread in Postgres: one run at a time. Takes the
DSN."""

import asyncio
import sys

from ag_ui.core import RunAgentInput, UserMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from psycopg_pool import AsyncConnectionPool

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import fold, verify

entered, leave = asyncio.Event(), asyncio.Event()


async def wait(state: MessagesState) -> MessagesState:
    entered.set()
    await leave.wait()
    return {"messages": [("ai", "Hello you.")]}


async def run(agent: LangGraphAgent, name: str) -> list:
    given = RunAgentInput(
        protocol_version="1.0",
        thread_id="t",
        run_id=name,
        messages=[UserMessage(id=name, content="Hello")],
    )
    return verify([event async for event in agent.run(given)], strict=True)


async def main(dsn: str) -> None:
    options = {"autocommit": True, "prepare_threshold": 0}
    async with (
        AsyncConnectionPool(dsn, min_size=1, kwargs=options) as one,
        AsyncConnectionPool(dsn, min_size=1, kwargs=options) as other,
    ):
        await AsyncPostgresSaver(one).setup()
        builder = StateGraph(MessagesState).add_node(wait).add_edge(START, "wait")
        graphs = [builder.compile(checkpointer=AsyncPostgresSaver(pool)) for pool in (one, other)]
        first, second = (LangGraphAgent(graph=graph, name="assistant") for graph in graphs)
        running = asyncio.create_task(run(first, "r1"))
        await entered.wait()
        refused = await run(second, "r2")
        assert refused[-1].code == "thread_busy", refused[-1]
        leave.set()
        assert {message.content for message in fold(await running).messages} == {
            "Hello",
            "Hello you.",
        }
        assert (await run(second, "r3"))[-1].type.value == "RUN_FINISHED"


asyncio.run(main(sys.argv[1]))
