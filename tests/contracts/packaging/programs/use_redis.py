"""Two agents, as two workers have them, share their runs in Redis: one follows and stops a run of
the other.

Takes the address of Redis.
"""

import asyncio
import sys

from ag_ui.core import RunAgentInput, UserMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import verify
from langgraph_agui.workers import RedisRunStore

entered = asyncio.Event()


async def wait(state: MessagesState) -> MessagesState:
    entered.set()
    await asyncio.Event().wait()
    return {"messages": []}


def given(name: str) -> RunAgentInput:
    return RunAgentInput(
        protocol_version="1.0",
        thread_id="t",
        run_id=name,
        messages=[UserMessage(id="m", content="Hello")],
    )


async def main(url: str) -> None:
    async with RedisRunStore(url) as one, RedisRunStore(url) as other:
        graph = (
            StateGraph(MessagesState)
            .add_node(wait)
            .add_edge(START, "wait")
            .compile(checkpointer=InMemorySaver())
        )
        first, second = (
            LangGraphAgent(graph, name="assistant", run_store=store) for store in (one, other)
        )

        async def run() -> list:
            return verify([event async for event in first.run(given("r1"))], strict=True)

        running = asyncio.create_task(run())
        await entered.wait()
        was_cancelled, followed = False, []
        while not was_cancelled:  # the store may not have the run yet
            followed = []
            async for event in second.connect(given("r2")):
                followed.append(event)
                if event.type.value == "STEP_STARTED":
                    was_cancelled = await second.cancel("t", "r1")
        assert verify(followed, strict=True)[-1].outcome.type == "cancelled", followed[-1]
        assert (await running)[-1].outcome.type == "cancelled"


asyncio.run(main(sys.argv[1]))
