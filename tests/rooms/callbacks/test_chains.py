"""What chains are made of: branches, second tries, fallbacks, tools, custom events."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import tool

from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.handlers import ReceivedEvents, call_by, contents, deltas, into_client, ways


@ways
async def test_branches_speak_side_by_side(way: str, node_client: NodeClient) -> None:
    received = ReceivedEvents()
    pieces = {
        name: [thinking(f"{name}?", 0), text_chunk(f"{name}1"), 0.01, text_chunk(f"{name}2")]
        for name in "abc"
    }
    branches: Any = RunnableParallel(
        {name: Scripted(turn) | StrOutputParser() for name, turn in pieces.items()}
    )
    await call_by(way, branches, "hi", received.config)
    assert sorted(contents(received.check())) == sorted(
        [f"{n}?" for n in "abc"] + [f"{n}1{n}2" for n in "abc"]
    )
    into_client(node_client, received.events)


def bounds(received: ReceivedEvents) -> list[str]:
    """Where text messages start and end."""
    types = [event.type.value for event in received.of("TEXT_MESSAGE_START", "TEXT_MESSAGE_END")]
    return [type_.rpartition("_")[2] for type_ in types]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_a_second_try_says_its_own_message(way: str) -> None:
    received = ReceivedEvents()
    model = Scripted(["a", ConnectionError("CANARY")], ["b"])
    chain = (
        model.with_retry(stop_after_attempt=2, wait_exponential_jitter=False) | StrOutputParser()
    )
    await call_by(way, chain, "hi", received.config)
    assert contents(received.check()) == ["a", "b"]
    assert bounds(received) == ["START", "END", "START", "END"]
    assert received.last.outcome.type == "success"


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_a_fallback_says_its_own_message(way: str) -> None:
    received = ReceivedEvents()
    chain = Scripted(["a", ConnectionError("CANARY")]).with_fallbacks([Scripted(["b"])])
    await call_by(way, chain, "hi", received.config)
    assert contents(received.check()) == ["a", "b"]
    assert bounds(received) == ["START", "END", "START", "END"]
    assert received.last.outcome.type == "success"


@ways
async def test_a_fallback_of_a_model_that_says_nothing(way: str) -> None:
    received = ReceivedEvents()
    chain = Scripted([ConnectionError("CANARY")]).with_fallbacks([Scripted(["b"])])
    await call_by(way, chain, "hi", received.config)
    assert contents(received.check()) == ["b"]
    assert "CANARY" not in "".join(event.model_dump_json() for event in received.events)


@ways
async def test_a_run_whose_every_try_fails(way: str) -> None:
    received = ReceivedEvents()
    chain = Scripted([ConnectionError("CANARY")]).with_fallbacks(
        [Scripted(["b", ConnectionError("CANARY")])]
    )
    with pytest.raises(ConnectionError):
        await call_by(way, chain, "hi", received.config)
    received.check()
    assert (received.last.type.value, received.last.code) == ("RUN_ERROR", "model_error")


class LampError(Exception):
    """What the tool raises."""


@tool
def lamp(q: int) -> str:
    """Break."""
    raise LampError("CANARY")


@ways
async def test_a_tool_that_raises(way: str) -> None:
    received = ReceivedEvents()
    agent = create_agent(
        Scripted([text_chunk("Look"), call("lamp", "c1", 2, q=7)], ["never"]), [lamp]
    )
    with pytest.raises(LampError):
        await call_by(way, agent, {"messages": [("user", "hi")]}, received.config)
    (message,) = received.check()
    assert isinstance(message.tool_calls, list)
    assert (received.last.type.value, received.last.code) == ("RUN_ERROR", "tool_error")
    assert "CANARY" not in received.last.model_dump_json()


@ways
async def test_a_tool_in_a_chain_answers_its_call(way: str) -> None:
    @tool
    def look(q: int) -> str:
        """Look something up."""
        return f"found {q}"

    def use(message: AIMessage) -> Any:
        return look.invoke(message.tool_calls[0])

    received = ReceivedEvents()
    chain = ChatPromptTemplate.from_messages([("user", "{q}")]) | Scripted(
        [call("look", "c1", q=7)]
    )
    await call_by(way, chain | RunnableLambda(use), {"q": "hi"}, received.config)
    asked, answered = received.check()
    assert (asked.role, answered.role, answered.content) == ("assistant", "tool", "found 7")


@pytest.mark.parametrize(("way", "stream_tokens", "recorded"), [
    ("invoke", False, ["Hello"]),
    ("ainvoke", False, ["Hello"]),
    ("invoke", True, ["Hel", "lo"]),
    ("ainvoke", True, ["Hel", "lo"]),
    ("stream", False, ["Hel", "lo"]),
    ("astream", False, ["Hel", "lo"]),
])  # fmt: skip
async def test_models_stream_under_invoke_only_if_they_are_made_to(
    way: str, stream_tokens: bool, recorded: list[str]
) -> None:
    received = ReceivedEvents(stream_tokens=stream_tokens)
    await call_by(way, Scripted(["Hel", "lo"]), "hi", received.config)
    assert deltas(received.events) == recorded
    assert contents(received.check()) == ["Hello"]


@pytest.mark.parametrize("stream_tokens", [False, True])
async def test_a_whole_message_is_told_like_a_streamed_one(stream_tokens: bool) -> None:
    received = ReceivedEvents(stream_tokens=stream_tokens)
    turn = [thinking("hm", 0, signature="SIG"), text_chunk("Look"), call("look", "c1", 2, q=7)]
    await Scripted(turn).ainvoke("hi", received.config)
    thought, answer = received.check()
    assert (thought.content, answer.content) == ("hm", "Look")
    assert answer.tool_calls[0].function.arguments == '{"q": 7}'
    assert received.of("REASONING_ENCRYPTED_VALUE")
