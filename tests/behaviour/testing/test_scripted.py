"""`ScriptedChatModel`: what it streams of each piece, when it is used up, and how it goes through
an agent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langgraph.graph import MessagesState
from pydantic import BaseModel

from langgraph_agui import LangGraphAgent
from langgraph_agui.testing import Reply, ScriptedChatModel, call, reasoning, record_run
from tests.behaviour.testing.checking import checked
from tests.kit.graphs.small import agent_of

GREETING = [reasoning("They greet me. "), "Hello! ", "What is it?"]
IMAGE = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
CITED = {"type": "text", "annotations": [{"type": "citation"}]}
MIXED = [reasoning("They greet. "), reasoning("Well."), IMAGE, "Hello! ", reasoning("c")]


def blocks(*pairs: tuple[str, str, int]) -> list[Any]:
    return [[{"type": kind, kind: text, "index": index}] for kind, text, index in pairs]


THOUGHT = blocks(*(("reasoning", text, 0) for text in ("They ", "greet. ", "Well.")))


@pytest.mark.parametrize(
    ("reply", "chunks"),
    [
        ("Hello you. ", ["Hello ", "you. "]),
        ("  \n", ["  \n"]),
        ("", [""]),
        (["<thi", "nk> ", "so"], ["<thi", "nk> ", "so"]),
        (
            MIXED,
            [
                *THOUGHT,
                [{**IMAGE, "index": 1}],
                *blocks(("text", "Hello! ", 2), ("reasoning", "c", 3)),
            ],
        ),
        (["I look. ", call("now", at="Rome")], ["I ", "look. ", "", '{"at": ', '"Rome"}']),
        (call("now"), ["", "{}"]),
        (IMAGE, [[{**IMAGE, "index": 0}]]),
        (
            {**CITED, "text": "It is."},
            [[{**CITED, "text": "It ", "index": 0}], *blocks(("text", "is.", 0))],
        ),
        (AIMessageChunk("As it is."), ["As it is."]),
    ],
)
def test_pieces(reply: Reply, chunks: list[Any]) -> None:
    *said, last = ScriptedChatModel(reply).stream("Hello")
    assert last.chunk_position == "last"
    pieces = [
        one.tool_call_chunks[0]["args"] if one.tool_call_chunks else one.content for one in said
    ]
    assert pieces == chunks


@pytest.mark.parametrize("reply", [GREETING, ["I look. ", call("a", x=1), call("b")], [IMAGE]])
async def test_invoke_returns_the_joined_stream(reply: Reply) -> None:
    def plain(message: Any) -> Any:
        calls = [{**one, "id": ""} for one in message.tool_calls]
        return message.content, calls, message.usage_metadata, message.response_metadata

    model = ScriptedChatModel(lambda _: reply)
    chunks: list[Any] = [chunk async for chunk in model.astream("Hello")]
    joined = plain(chunks[0].__add__(chunks[1:]))
    assert [plain(model.invoke("Hello")), plain(await model.ainvoke("Hello"))] == [joined] * 2


def test_usage_counts_words() -> None:
    usage = ScriptedChatModel([reasoning("They ask."), call("add", a=1)]).invoke("One two three")
    counts = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    assert usage.usage_metadata == {**counts, "output_token_details": {"reasoning": 2}}


def test_each_use_of_a_call_or_chunk_has_an_id_of_its_own() -> None:
    model = ScriptedChatModel(lambda _: [call("a"), call("b"), call("c", "call_1")])
    ids = [one["id"] for _ in range(2) for one in model.invoke("Hello").tool_calls]
    assert (ids[2], ids[5], len(set(ids))) == ("call_1", "call_1", 5)
    chunk = AIMessageChunk("Hello")
    model = ScriptedChatModel(lambda _: chunk)
    first, second = (next(model.stream("Hello")).id for _ in range(2))
    assert (first != second, chunk.id) == (True, None)


def test_arguments_have_any_name() -> None:
    args: Any = {"name": "Ada", "call_id": 3}
    assert call("greet", **args)["args"] == args
    with pytest.raises(TypeError, match=r"write call\('add', name=value\)"):
        call("add", args)


def test_replies_come_in_order_and_a_last_function_goes_on() -> None:
    def echo(messages: list[BaseMessage]) -> Iterator[Any]:
        yield from (reasoning("Hm."), f"Echo: {messages[-1].text}")

    model = ScriptedChatModel("One", echo, "Three")
    assert [model.invoke("Hello").text for _ in range(3)] == ["One", "Echo: Hello", "Three"]
    with pytest.raises(RuntimeError, match=r"call 4 .* are 3\. .* human message 'Hello'"):
        model.invoke("Hello")
    last = ScriptedChatModel("One", echo)
    assert [last.invoke(text).text for text in "abc"] == ["One", "Echo: b", "Echo: c"]
    with pytest.raises(RuntimeError, match="call 1 of the model has no reply; there are 0"):
        ScriptedChatModel().invoke("Hello")
    texts = [str(number) for number in range(20)]
    answers = ScriptedChatModel(*texts).batch(["Hello"] * 20)  # in threads
    assert sorted(answer.text for answer in answers) == sorted(texts)


async def test_errors_come_behind_what_was_said() -> None:
    model = ScriptedChatModel(lambda _: ["Let me ", ConnectionError("The provider is down.")])
    with pytest.raises(ConnectionError, match="is down"):
        list(model.stream("Hello"))
    stream = model.astream("Hello")
    assert [(await anext(stream)).text for _ in range(2)] == ["Let ", "me "]
    with pytest.raises(ConnectionError, match="is down"):
        await anext(stream)


@pytest.mark.parametrize("wrong", [None, AIMessage("Hello"), {"text": "Hello"}, ["Hello", None]])
def test_something_else_is_refused(wrong: Any) -> None:
    for invoke in (
        lambda: ScriptedChatModel("Hello", wrong),
        lambda: ScriptedChatModel(lambda _: wrong).invoke("Hello"),
        lambda: ScriptedChatModel(iter([wrong])).invoke("Hello"),
    ):
        with pytest.raises(TypeError, match="A reply is made of texts, calls, content blocks"):
            invoke()


def test_a_cache_of_the_application_has_no_say(request: pytest.FixtureRequest) -> None:
    set_llm_cache(InMemoryCache())
    request.addfinalizer(lambda: set_llm_cache(None))
    model = ScriptedChatModel("One", "Two")
    assert [model.invoke("Hello").text for _ in range(2)] == ["One", "Two"]


async def test_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    model = ScriptedChatModel(lambda _: ["Hello you ", 2, "there."], delay=0.5)
    list(model.stream("Hello"))
    _ = [chunk async for chunk in model.astream("Hello")]
    assert slept == [0.5, 0.5, 2, 0.5] * 2
    with pytest.raises(ValueError, match="delay"):
        ScriptedChatModel("Hello", delay=-1)


class Weather(BaseModel):
    """The weather of a city."""

    celsius: int


async def test_structured_output_is_not_shown() -> None:
    """As that of any model that passes on what LangChain says of the call."""
    model = ScriptedChatModel(call("Weather", celsius=21)).with_structured_output(Weather)

    async def answer(state: MessagesState) -> dict[str, Any]:
        assert await model.ainvoke(state["messages"]) == Weather(celsius=21)
        return {"messages": [AIMessage("It is warm.", id="answer")]}

    run = checked(await record_run(agent_of(answer), "How warm is it?"))
    assert run.text == "It is warm."
    assert "TOOL_CALL_START" not in {event.type for event in run.events}


def test_a_subclass_sees_the_names_of_tools() -> None:
    def get_weather(city: str) -> str:
        """Get the weather."""
        return city

    class Model(ScriptedChatModel):
        def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
            return f"{messages[-1].text} {', '.join(tools)}"

    page = {"type": "function", "function": {"name": "paint", "parameters": {"type": "object"}}}
    model = Model().bind_tools([get_weather, page, {"type": "web_search"}])
    assert model.invoke("Tools:").text == "Tools: get_weather, paint"
    assert Model().invoke("Tools:").text == "Tools: "


async def test_reasoning_goes_through_an_agent_and_comes_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As that of a provider: streamed, kept by the client, and sent again. Where the script has run
    out, the run ends with an error."""
    seen: list[Any] = []

    def script(messages: list[BaseMessage]) -> Reply:
        seen.append([one.content_blocks for one in messages if isinstance(one, AIMessage)])
        return GREETING

    agent = LangGraphAgent(create_agent(ScriptedChatModel("Well.", script, script, "Bye.")))
    first = checked(await record_run(agent, "Hello"))
    second = checked(await first.then("Hello again"))
    assert [one.role for one in second.messages[2:]] == ["user", "reasoning", "assistant"]
    assert second.text == "Hello! What is it?"
    last = checked(await (await second.then("So?")).then("Bye"))
    blocks = [{key: one[key] for key in ("type", one["type"])} for one in seen[1][1]]
    text = {"type": "text", "text": "Hello! What is it?"}
    assert blocks == [{"type": "reasoning", "reasoning": "They greet me. "}, text]
    ended = checked(await last.then("And now?"))
    assert (ended.outcome, ended.error and ended.error.code) == ("error", "model_error")
    assert "The script has run out: call 5 of the model has no reply" in caplog.text
