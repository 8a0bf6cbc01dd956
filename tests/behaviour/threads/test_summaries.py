"""A thread whose earlier messages were summed up says so to its clients."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, dumped, user
from tests.kit.run.talking import Talk, chat, said


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

    return chain_of(sum_up, talker(model), checkpointer=InMemorySaver())


def activities(recorded: RecordedRun) -> list[Any]:
    return recorded.of("ACTIVITY_SNAPSHOT")


@pytest.mark.parametrize("build", [with_middleware, by_hand])
async def test_the_run_and_a_reload_say_so(build: Any) -> None:
    model = Scripted(["a0"], ["a1"], ["a2"], ["a3"])
    thread, held = Talk(LangGraphAgent(build(model)), model), list[Any]()
    for number, told in enumerate([0, 0, 1]):
        run = await thread.say(*held, user(f"u{number}", f"u{number}"))
        held = run.messages
        assert len(activities(run)) == told
    (told,) = activities(run)
    assert told.activity_type == "langgraph:summary"
    assert told.content == {"text": "Earlier messages were summarized."}
    assert run.types[-3:] == ["ACTIVITY_SNAPSHOT", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    # The client that was there keeps all messages.
    assert said(held) == ["u0", "a0", "u1", "a1", "u2", "a2"]
    for _ in range(2):  # the same one after each reload
        again = await thread.connect()
        assert dumped(activities(again)) == dumped([told])
    first, *rest = again.messages
    assert first.id == told.message_id
    assert "u0" not in said(rest)
    assert said(rest) == said(held)[-len(rest) :]
    assert "All so far." not in str(again.events) + str(run.events)
    # A client that has it already is not told again; it reaches no model.
    assert activities(await thread.connect(*again.messages)) == []
    last = await thread.say(*again.messages, user("u3", "u3"))
    assert "summarized" not in str(model.seen)
    assert said(last.messages)[-2:] == ["u3", "a3"]
    assert len({one.id for one in last.messages}) == len(last.messages)


async def test_without_a_summary_nothing_is_said() -> None:
    async def answer(state: Any) -> Any:
        return {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), AIMessage("all forgotten")]}

    thread = chat(answer, checkpointer=InMemorySaver())
    assert activities(await thread.say("u0")) == activities(await thread.connect()) == []
