"""Many runs at once, many models in one run, and what they cost."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import AIMessageChunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.scripted import Scripted, add, call, thinking, used
from tests.kit.run.agents import record_run, run_input
from tests.kit.waiting import PATIENCE


async def test_a_hundred_runs_on_one_agent() -> None:
    def script(messages: list[Any]) -> list[Any]:
        canary = str(messages[-1].content)
        chunks = [
            thinking(f"{canary} ", 0),
            AIMessageChunk([{"type": "text", "text": canary, "index": 1}]),
        ]
        return [chunks[0], 0.001, chunks[1], 0.001, call("look", f"call-{canary}", 2)]

    agent = agent_of(talker(Scripted(script=script)), checkpointer=InMemorySaver())
    canaries = [f"canary{number:03}" for number in range(100)]
    runs = await asyncio.gather(*(record_run(agent, run_input(canary)) for canary in canaries))
    for canary, recorded in zip(canaries, runs, strict=True):
        recorded.check_snapshot()
        text = "".join(event.model_dump_json() for event in recorded.events)
        assert not [other for other in canaries if other != canary and other in text]
        assert [message.content for message in recorded.messages] == [canary, f"{canary} ", canary]
    assert not agent._running


async def test_two_models_in_parallel_branches() -> None:
    """They speak in turns, each waiting for the other's word."""
    turns = [asyncio.Event() for _ in range(6)]

    def branch(first: int, *pieces: Any) -> Any:
        async def node(state: Chat) -> Any:
            chunks = []
            model = Scripted(script=lambda _: steps)
            steps: list[Any] = []
            for place, piece in enumerate(pieces):
                steps += [piece, turns[first + 2 * place].set]
            async for chunk in model.astream("x"):
                chunks.append(chunk)
                mine = first + 2 * (len(chunks) - 1)
                if 0 < mine < 5:
                    await asyncio.wait_for(turns[mine - 1].wait(), PATIENCE)
            return {"messages": [add(chunks)]}

        return node

    builder = StateGraph(Chat)
    builder.add_node("one", branch(0, "a1", "a2", "a3"))
    builder.add_node("two", branch(1, "b1", call("look", "c1", q=1), "b3"))
    builder.add_edge(START, "one")
    builder.add_edge(START, "two")
    recorded = await record_run(LangGraphAgent(graph=builder.compile()), run_input("hi"))
    recorded.check_snapshot()
    one, two = sorted(recorded.messages[1:], key=lambda message: str(message.content))
    assert (one.content, one.tool_calls) == ("a1a2a3", None)
    assert two.content == "b1b3"
    assert [call.function.arguments for call in two.tool_calls] == ['{"q": 1}']


async def test_usage_by_model_each_call_once_hidden_ones_included() -> None:
    async def node(state: Chat) -> Any:
        small, big = (
            Scripted(["x", used(1, 2)], model="small"),
            Scripted(["y", used(10, 20)], model="big"),
        )
        await small.with_config(tags=["nostream"]).ainvoke("x")
        await small.ainvoke("x")
        await Scripted([used(100, 200)], model="big", disable_streaming=True).ainvoke("x")
        reply = await big.ainvoke("x")
        return {"messages": [reply]}

    recorded = await record_run(agent_of(node), run_input("hi"))
    assert [
        (entry.provider, entry.model, entry.input_tokens, entry.output_tokens)
        for entry in recorded.last.usage
    ] == [("scripted", "small", 2, 4), ("scripted", "big", 110, 220)]
    silent = await record_run(agent_of(talker(Scripted(["a"]))), run_input("hi"))
    assert silent.last.usage is None
