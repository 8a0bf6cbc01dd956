"""Clients that hold half of a message, because their connection broke while the run went on."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, Message, ReasoningMessage, RunAgentInput, Tool
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from langgraph_agui.protocol import Fold
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, record_run, run_input, user


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


def halved(messages: list[Message]) -> list[Message]:
    """The messages with half of their words and arguments, and without values."""
    half: list[Message] = []
    for message in messages:
        if isinstance(message, ReasoningMessage):
            message = message.model_copy(
                update={"content": message.content[:2], "encrypted_value": None}
            )
        elif isinstance(message, AssistantMessage):
            message = message.model_copy(deep=True, update={"encrypted_value": None})
            message.content = (message.content or "")[:3] or None
            for made in message.tool_calls or ():
                made.function.arguments = made.function.arguments[:4]
        half.append(message)
    return half


@pytest.mark.parametrize("how", ["connect", "run", "the same again"])
async def test_the_whole_message_comes_back(how: str) -> None:
    turn = [
        thinking("hmmm", 0),
        thinking(index=0, signature="S"),
        text_chunk("Let me look", 1),
        call("look", "c1", 2, q="x"),
    ]
    model = Scripted(turn, [text_chunk("It is x.", 0)], ["Bye."])
    agent = LangGraphAgent(create_agent(model, [look], checkpointer=InMemorySaver()))
    first = await record_run(agent, run_input(user("hi"), thread="t"))
    more = [user("bye")] if how == "run" else []
    given = run_input(*halved(first.messages), *more, thread="t")
    events: Any = agent.connect(given) if how == "connect" else agent.run(given)
    again = RecordedRun([event async for event in events], given)
    assert again.messages[: len(first.messages)] == first.messages


async def broken_off(agent: LangGraphAgent, given: RunAgentInput) -> list[Message]:
    """What a client holds that leaves in the middle of a call's arguments."""
    fold = Fold(given.messages)
    async with aclosing(agent.run(given)) as events:
        async for event in events:
            fold.feed(event)
            if event.type == "TOOL_CALL_ARGS":
                break
    return fold.messages


@pytest.mark.parametrize("words", [[], [text_chunk("Let me", 0)]])
@pytest.mark.parametrize("name", ["look", "pick"])
@pytest.mark.parametrize("how", ["connect", "run"])
async def test_a_call_that_broke_off_goes(how: str, name: str, words: list[Any]) -> None:
    """The thread has never kept its message, so nobody would ever answer it; be it a tool of the
    agent or of the client. The words before it stay."""
    half = [*words, calling(part(name, '{"q": "x', "c1", 1)), 60.0]
    model = Scripted(["Hello."], half, ["Bye."])
    agent = LangGraphAgent(
        create_agent(model, [look], middleware=[AGUIMiddleware()], checkpointer=InMemorySaver())
    )
    pick = Tool(name="pick", description="Pick.", parameters={"type": "object"})
    first = await record_run(agent, run_input(user("hi"), thread="t", tools=[pick]))
    asked = run_input(*first.messages, user("go"), thread="t", tools=[pick])
    held = await broken_off(agent, asked)
    assert held[-1].tool_calls
    more = [user("bye")] if how == "run" else []
    given = run_input(*held, *more, thread="t", tools=[pick])
    events: Any = agent.connect(given) if how == "connect" else agent.run(given)
    again = RecordedRun([event async for event in events], given)
    texts = ["hi", "Hello.", "go", *(["Let me"] if words else [])]
    texts += ["bye", "Bye."] if how == "run" else []
    assert [message.content for message in again.messages] == texts
    assert not any(getattr(message, "tool_calls", None) for message in again.messages)
