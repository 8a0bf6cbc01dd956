"""`ScriptedChatModel`: what it streams of each piece, when it is used up, and how it goes through
an agent."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

from langgraph_agui import LangGraphAgent
from langgraph_agui.testing import Reply, ScriptedChatModel, call, reasoning, record_run
from tests.behaviour.testing.checking import checked

GREETING = [reasoning("They greet me. "), "Hello! ", "What is it?"]
IMAGE = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}


def said(reply: Reply) -> list[Any]:
    """Return the content or the tool call of each streamed chunk but the last one."""
    chunks = list(ScriptedChatModel(reply).stream("Hello"))
    assert chunks[-1].chunk_position == "last"
    return [
        chunk.tool_call_chunks[0]["args"] if chunk.tool_call_chunks else chunk.content
        for chunk in chunks[:-1]
    ]


def blocks(*pairs: tuple[str, str, int]) -> list[Any]:
    return [[{"type": kind, kind: text, "index": index}] for kind, text, index in pairs]


@pytest.mark.parametrize(
    ("reply", "chunks"),
    [
        ("Hello you. ", ["Hello ", "you. "]),
        ("  \n", ["  \n"]),
        ("", [""]),
        (["<thi", "nk> ", "so"], ["<thi", "nk> ", "so"]),
        (
            GREETING,
            blocks(
                ("reasoning", "They ", 0),
                ("reasoning", "greet ", 0),
                ("reasoning", "me. ", 0),
                ("text", "Hello! ", 1),
                ("text", "What ", 1),
                ("text", "is ", 1),
                ("text", "it?", 1),
            ),
        ),
        (call("get_weather", city="Rome"), ["", '{"city": ', '"Rome"}']),
        (call("now"), ["", "{}"]),
        (["I look. ", call("now")], ["I ", "look. ", "", "{}"]),
        (IMAGE, [[{**IMAGE, "index": 0}]]),
        (
            [reasoning("a"), reasoning("b"), IMAGE, reasoning("c")],
            [
                *blocks(("reasoning", "a", 0), ("reasoning", "b", 0)),
                [{**IMAGE, "index": 1}],
                *blocks(("reasoning", "c", 2)),
            ],
        ),
        (
            {"type": "text", "text": "It is so.", "annotations": [{"type": "citation"}]},
            [
                [
                    {
                        "type": "text",
                        "text": "It ",
                        "annotations": [{"type": "citation"}],
                        "index": 0,
                    }
                ],
                *blocks(("text", "is ", 0), ("text", "so.", 0)),
            ],
        ),
        (AIMessageChunk("As it is."), ["As it is."]),
    ],
)
def test_pieces(reply: Reply, chunks: list[Any]) -> None:
    assert said(reply) == chunks


@pytest.mark.parametrize(
    "reply", [GREETING, "Hello!", ["I look. ", call("a", x=1), call("b")], [call("a"), IMAGE]]
)
async def test_invoke_returns_the_joined_stream(reply: Reply) -> None:
    def model() -> ScriptedChatModel:
        return ScriptedChatModel(reply)

    def plain(message: AIMessage) -> Any:
        calls = [{**one, "id": ""} for one in message.tool_calls]
        return message.content, calls, message.usage_metadata, message.response_metadata

    joined: Any = None
    async for chunk in model().astream("Hello"):
        joined = chunk if joined is None else joined + chunk
    for message in (model().invoke("Hello"), await model().ainvoke("Hello")):
        assert plain(message) == plain(joined)
    assert joined.usage_metadata["input_tokens"] == 1


def test_usage_counts_words() -> None:
    usage = ScriptedChatModel([reasoning("They ask."), call("add", a=1)]).invoke("One two three")
    assert usage.usage_metadata == {
        "input_tokens": 3,
        "output_tokens": 4,
        "total_tokens": 7,
        "output_token_details": {"reasoning": 2},
    }


def test_each_use_of_a_call_has_an_id_of_its_own() -> None:
    model = ScriptedChatModel(lambda _: [call("a"), call("b"), call("c", "call_1")])
    first, second = (model.invoke("Hello").tool_calls for _ in range(2))
    ids = [one["id"] for one in [*first, *second]]
    assert ids[2] == ids[5] == "call_1"
    assert len(set(ids)) == 5


def test_arguments_of_any_name() -> None:
    args = {"name": "Ada", "call_id": 3}
    assert call("greet", **args)["args"] == args


def test_the_same_chunk_can_be_sent_again() -> None:
    chunk = AIMessageChunk("Hello")
    model = ScriptedChatModel(lambda _: chunk)
    first, second = (next(model.stream("Hello")).id for _ in range(2))
    assert first != second
    assert chunk.id is None


def test_replies_come_in_order_and_a_last_function_goes_on() -> None:
    model = ScriptedChatModel("One", lambda messages: f"Two: {messages[-1].text}", "Three")
    assert [model.invoke("Hello").text for _ in range(3)] == ["One", "Two: Hello", "Three"]
    with pytest.raises(RuntimeError, match=r"call 4 .* are 3\. .* human message 'Hello'"):
        model.invoke("Hello")
    echo = ScriptedChatModel("One", lambda messages: messages[-1].text)
    assert [echo.invoke(text).text for text in ("Hello", "Two", "Three")] == ["One", "Two", "Three"]


def test_a_generator_function() -> None:
    def script(messages: list[BaseMessage]) -> Iterator[Any]:
        yield reasoning("Hm.")
        yield f"You said: {messages[-1].text}"

    assert ScriptedChatModel(script).invoke("Hello").text == "You said: Hello"


def test_an_empty_script() -> None:
    with pytest.raises(RuntimeError, match="call 1 of the model has no reply; there are 0"):
        ScriptedChatModel().invoke("Hello")


async def test_errors_come_behind_what_was_said() -> None:
    reply = ["Let me ", ConnectionError("The provider is down.")]
    heard: list[str] = []
    with pytest.raises(ConnectionError, match="is down"):
        heard.extend(chunk.text for chunk in ScriptedChatModel(reply).stream("Hello"))
    stream = ScriptedChatModel(reply).astream("Hello")
    assert [(await anext(stream)).text for _ in range(2)] == ["Let ", "me "]
    with pytest.raises(ConnectionError, match="is down"):
        await anext(stream)


@pytest.mark.parametrize("wrong", [None, AIMessage("Hello"), {"text": "Hello"}, ["Hello", None]])
def test_something_else_is_refused(wrong: Any) -> None:
    refused = pytest.raises(TypeError, match="A reply is made of texts, calls, content blocks")
    with refused:
        ScriptedChatModel("Hello", wrong)
    with refused:
        ScriptedChatModel(lambda _: wrong).invoke("Hello")
    with refused:
        ScriptedChatModel(iter([wrong])).invoke("Hello")


def test_a_cache_of_the_application_has_no_say(request: pytest.FixtureRequest) -> None:
    set_llm_cache(InMemoryCache())
    request.addfinalizer(lambda: set_llm_cache(None))
    model = ScriptedChatModel("One", "Two")
    assert [model.invoke("Hello").text for _ in range(2)] == ["One", "Two"]


def test_a_delay_is_not_negative() -> None:
    with pytest.raises(ValueError, match="delay"):
        ScriptedChatModel("Hello", delay=-1)


def test_arguments_have_names() -> None:
    args: Any = {"a": 1}
    with pytest.raises(TypeError, match=r"write call\('add', name=value\)"):
        call("add", args)


async def test_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    reply = ["Hello you ", 2, "there."]
    for _ in ScriptedChatModel(reply, delay=0.5).stream("Hello"):
        pass
    async for _ in ScriptedChatModel(reply, delay=0.5).astream("Hello"):
        pass
    assert slept == [0.5, 0.5, 2, 0.5] * 2


class Weather(BaseModel):
    """The weather of a city."""

    celsius: int


def test_structured_output() -> None:
    model = ScriptedChatModel(call("Weather", celsius=21)).with_structured_output(Weather)
    assert model.invoke("How warm is it?") == Weather(celsius=21)


async def test_structured_output_is_not_shown() -> None:
    """As that of any model that passes on what LangChain says of the call."""
    model = ScriptedChatModel(call("Weather", celsius=21)).with_structured_output(Weather)

    async def answer(state: MessagesState) -> dict[str, Any]:
        weather = await model.ainvoke(state["messages"])
        return {"messages": [AIMessage(f"It is {weather.celsius} degrees.", id="answer")]}

    graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
    run = checked(await record_run(LangGraphAgent(graph), "How warm is it?"))
    assert run.text == "It is 21 degrees."
    assert "TOOL_CALL_START" not in {event.type for event in run.events}


def test_a_subclass_sees_the_names_of_tools() -> None:
    def get_weather(city: str) -> str:
        """Get the weather."""
        return city

    class Model(ScriptedChatModel):
        def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
            return f"{messages[-1].text} {', '.join(tools)}"

    page = {"type": "function", "function": {"name": "paint", "parameters": {"type": "object"}}}
    search = {"type": "web_search"}
    assert Model().bind_tools([get_weather, page, search]).invoke("Tools:").text == (
        "Tools: get_weather, paint"
    )
    assert Model().invoke("Tools:").text == "Tools: "


@pytest.mark.parametrize("checkpointer", [True, False])
async def test_reasoning_goes_through_an_agent_and_comes_back(checkpointer: bool) -> None:
    """As that of a provider: streamed, kept by the graph or by its client, and sent again."""
    seen: list[str] = []

    def script(messages: list[BaseMessage]) -> Reply:
        seen.append(json.dumps([one.content for one in messages if isinstance(one, AIMessage)]))
        return GREETING

    saver = InMemorySaver() if checkpointer else None
    agent = LangGraphAgent(create_agent(ScriptedChatModel(script), checkpointer=saver))
    first = checked(await record_run(agent, "Hello"))
    assert [message.role for message in first.messages] == ["user", "reasoning", "assistant"]
    assert first.text == "Hello! What is it?"
    second = checked(await first.then("Hello again"))
    assert len(second.messages) == 6
    assert seen[0] == "[]"
    [again] = json.loads(seen[1])
    assert [block["type"] for block in again] == ["reasoning", "text"]
    assert again[0]["reasoning"] == "They greet me. "


async def test_an_unanswered_call_is_an_error_of_the_run(caplog: pytest.LogCaptureFixture) -> None:
    agent = LangGraphAgent(create_agent(ScriptedChatModel("Hello!"), checkpointer=InMemorySaver()))
    first = checked(await record_run(agent, "Hello"))
    second = checked(await first.then("And now?"))
    assert (second.outcome, second.error and second.error.code) == ("error", "model_error")
    assert "The script has run out: call 2 of the model has no reply" in caplog.text
    assert "human message 'And now?'" in caplog.text


def test_parallel_calls_get_a_reply_each() -> None:
    texts = [str(number) for number in range(20)]
    model = ScriptedChatModel(*texts)
    answers = model.batch([[HumanMessage("Hello")]] * 20)
    assert sorted(answer.text for answer in answers) == sorted(texts)
