"""Threads whose graph forgets: trimming, removing, summing up."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, record_run, run_input


async def talk(agent: LangGraphAgent, turns: int) -> list[RecordedRun]:
    """Several turns of a client that sends all that it holds, as the reference client does."""
    recorded: list[RecordedRun] = []
    for number in range(turns):
        held = recorded[-1].messages if recorded else []
        recorded.append(await record_run(agent, run_input(*held, f"q{number}", thread="t")))
        assert recorded[-1].last.type.value == "RUN_FINISHED"
    return recorded


async def test_what_a_node_removed_does_not_grow_back() -> None:
    model = Scripted(*[[f"a{number}"] for number in range(5)])

    async def answer(state: Chat) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def trim(state: Chat) -> Any:
        return {
            "messages": [RemoveMessage(id=message.id or "") for message in state["messages"][:-2]]
        }

    recorded = await talk(agent_of(answer, trim, checkpointer=InMemorySaver()), 5)
    assert [[message.text for message in given] for given in model.seen] == [
        ["q0"],
        *[[f"q{number - 1}", f"a{number - 1}", f"q{number}"] for number in range(1, 5)],
    ]
    assert [message.content for message in recorded[-1].messages] == [
        w for n in range(5) for w in (f"q{n}", f"a{n}")
    ]


async def test_a_thread_that_was_wiped_hears_only_what_is_new() -> None:
    model = Scripted(["a0"], ["a1"])

    async def answer(state: Chat) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    def wipe(state: Chat) -> Any:
        return {"messages": [RemoveMessage(id=message.id or "") for message in state["messages"]]}

    await talk(agent_of(answer, wipe, checkpointer=InMemorySaver()), 2)
    assert [[message.text for message in given] for given in model.seen] == [["q0"], ["q1"]]


async def test_summing_up_is_between_the_graph_and_its_model() -> None:
    model = Scripted(*[[f"a{number}"] for number in range(6)])
    summing = SummarizationMiddleware(
        Scripted(*[["SUMMARY"]] * 6), trigger=("messages", 5), keep=("messages", 2)
    )
    graph = create_agent(model, [], middleware=[summing], checkpointer=InMemorySaver())
    recorded = await talk(LangGraphAgent(graph=graph), 6)
    said = [message for message in recorded[-1].messages if message.role != "activity"]
    assert [message.content for message in said] == [
        w for n in range(6) for w in (f"q{n}", f"a{n}")
    ]
    assert not any(
        "SUMMARY" in event.model_dump_json() for turn in recorded for event in turn.events
    )
    assert any("SUMMARY" in message.text for message in model.seen[-1])


async def test_the_same_words_from_several_calls_stay_several_messages() -> None:
    async def judges(state: Chat) -> Any:
        votes = [await Scripted(["yes"]).ainvoke("x") for _ in range(3)]
        return {
            "messages": [
                AIMessage(vote.text, name=f"judge{number}") for number, vote in enumerate(votes)
            ]
        }

    agent = agent_of(judges, checkpointer=InMemorySaver())
    (recorded,) = await talk(agent, 1)
    recorded.check_snapshot()
    assert [message.content for message in recorded.messages] == ["q0", "yes", "yes", "yes"]
    stored = (await agent.graph.aget_state({"configurable": {"thread_id": "t"}})).values["messages"]
    assert [message.name for message in stored] == [None, "judge0", "judge1", "judge2"]
