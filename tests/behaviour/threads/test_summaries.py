"""A thread whose earlier messages were summed up says so to its clients."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ActivityMessage, Message
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, collect, dumped, record_run, run_input, user


def with_middleware(model: Scripted) -> Any:
    writer = Scripted(*[["All so far."]] * 9)
    middleware = SummarizationMiddleware(writer, trigger=("messages", 4), keep=("messages", 2))
    return create_agent(model, [], middleware=[middleware], checkpointer=InMemorySaver())


def by_hand(model: Scripted) -> Any:
    """A node that sums up, and marks its summary as LangChain does."""

    async def sum_up(state: Any) -> Any:
        messages = state["messages"]
        if len(messages) < 4:
            return {}
        summary = HumanMessage("All so far.", additional_kwargs={"lc_source": "summarization"})
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), summary, *messages[-2:]]}

    async def answer(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return chain_of(sum_up, answer, checkpointer=InMemorySaver())


both = pytest.mark.parametrize("build", [with_middleware, by_hand])


async def talk(agent: LangGraphAgent, turns: int) -> list[RecordedRun]:
    held: list[Message] = []
    recorded = []
    for number in range(turns):
        given = run_input(*held, user(f"u{number}", f"u{number}"), thread="t")
        recorded.append(await record_run(agent, given))
        held = recorded[-1].messages
    return recorded


async def reload(agent: LangGraphAgent, *held: Message) -> RecordedRun:
    given = run_input(*held, thread="t")
    return RecordedRun(await collect(agent.connect(given)), given)


def activities(recorded: RecordedRun) -> list[Any]:
    return recorded.of("ACTIVITY_SNAPSHOT")


@both
async def test_the_run_and_a_reload_say_so(build: Any) -> None:
    agent = LangGraphAgent(build(Scripted(["a0"], ["a1"], ["a2"])))
    runs = await talk(agent, 3)
    assert [len(activities(run)) for run in runs] == [0, 0, 1]
    (told,) = activities(runs[-1])
    assert told.activity_type == "langgraph:summary"
    assert told.content == {"text": "Earlier messages were summarized."}
    assert runs[-1].types[-3:] == ["ACTIVITY_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    # The client that was there keeps all messages.
    texts = [one.content for one in runs[-1].messages if not isinstance(one, ActivityMessage)]
    assert texts == ["u0", "a0", "u1", "a1", "u2", "a2"]
    again = await reload(agent)
    assert dumped(activities(again)) == dumped([told])
    first, *rest = again.messages
    assert first.id == told.message_id
    assert [one.content for one in rest] == texts[-len(rest) :]
    assert "u0" not in [one.content for one in rest]
    assert "All so far." not in str(again.events) + str(runs[-1].events)
    # The same one after the next reload, and for a client that has it already.
    assert dumped(activities(await reload(agent))) == dumped([told])
    assert activities(await reload(agent, *again.messages)) == []


@both
async def test_a_client_that_sends_it_back(build: Any) -> None:
    """It reaches no model, and is not told again while the same summary stands."""
    model = Scripted(["a0"], ["a1"], ["a2"], ["a3"])
    agent = LangGraphAgent(build(model))
    await talk(agent, 3)
    shown = (await reload(agent)).messages
    last = await record_run(agent, run_input(*shown, user("u3", "u3"), thread="t"))
    assert last.last.type.value == "RUN_FINISHED"
    assert "summed up" not in str(model.seen)
    kept = [one for one in last.messages if not isinstance(one, ActivityMessage)]
    assert [one.content for one in kept][-2:] == ["u3", "a3"]
    ids = [one.id for one in last.messages]
    assert len(ids) == len(set(ids))


async def test_without_a_summary_nothing_is_said() -> None:
    async def answer(state: Any) -> Any:
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), AIMessage("all forgotten")]}

    agent = LangGraphAgent(chain_of(answer, checkpointer=InMemorySaver()))
    (run,) = await talk(agent, 1)
    assert activities(run) == activities(await reload(agent)) == []
