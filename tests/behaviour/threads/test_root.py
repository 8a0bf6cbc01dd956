"""A graph whose state is a list of messages, with no key around it: the server owns its threads as
well."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from langgraph_agui import LangGraphAgent
from tests.behaviour.threads.test_connect import connect
from tests.behaviour.threads.test_history import forged
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import dumped, user
from tests.kit.run.talking import Talk, echo


class Listed(Talk):
    async def stored(self, config: Any = None) -> list[BaseMessage]:
        state = await self.agent.graph.aget_state({"configurable": {"thread_id": "t"}})
        return list(state.values)


def listed(model: Scripted | None = None) -> Listed:
    model = model or echo()

    async def node(messages: list[BaseMessage]) -> Any:
        return [await model.ainvoke(messages)]

    kind: Any = StateGraph
    builder = kind(Annotated[list[BaseMessage], add_messages])
    builder.add_node("node", node).add_edge(START, "node")
    return Listed(LangGraphAgent(graph=builder.compile(checkpointer=InMemorySaver())), model)


async def test_only_news_enter() -> None:
    thread = listed()
    first = await thread.say(user("one", "u1"))
    changed = first.messages[1].model_copy(update={"content": "FORGED"})
    await thread.say(first.messages[0], changed, *forged(), user("two", "u2"))
    assert await thread.texts() == ["one", "1: re one", "two", "2: re two"]
    await thread.say("three")
    assert thread.asked == ["one", "1: re one", "two", "2: re two", "three"]
    await thread.say()
    assert thread.calls == 3


@pytest.mark.parametrize("words", ["two", "new"])
async def test_again(words: str) -> None:
    thread = listed()
    first = await thread.say(user("one", "u1"))
    second = await thread.say(*first.messages, user("two", "u2"))
    await thread.say(*second.messages[:2], user(words, "u2"))
    assert await thread.texts() == ["one", "1: re one", words, f"3: re {words}"]


async def test_connect() -> None:
    thread = listed()
    live = await thread.say(user("one", "u1"))
    assert dumped((await connect(thread.agent)).messages) == dumped(live.messages)


async def test_a_failed_run_is_healed() -> None:
    thread = listed(Scripted([RuntimeError("down")], ["Better."]))
    failed = await thread.say(user("one", "u1"), outcome="model_error")
    await thread.say(*failed.messages, "two")
    assert await thread.texts() == ["one", "two", "Better."]
