"""A graph whose state is a list of messages, with no key around it."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from langgraph_agui import LangGraphAgent
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import record_run, run_input


@pytest.mark.parametrize("stored", [False, True])
async def test_a_list_of_messages_is_the_input(stored: bool) -> None:
    model = Scripted(["Hello"])

    async def node(messages: list[BaseMessage]) -> Any:
        return [await model.ainvoke(messages)]

    builder = StateGraph(Annotated[list, add_messages])  # type: ignore[type-var]
    saver = InMemorySaver() if stored else None
    agent = LangGraphAgent(
        graph=builder.add_node("node", node).add_edge(START, "node").compile(checkpointer=saver)
    )

    first = await record_run(agent, run_input("hi", thread="t"))
    first.check_snapshot()
    second = await record_run(agent, run_input(*first.messages, "more", thread="t"))

    assert [message.content for message in second.messages] == ["hi", "Hello", "more", "Hello"]
    assert [[message.content for message in seen] for seen in model.seen] == [
        ["hi"],
        ["hi", "Hello", "more"],
    ]
