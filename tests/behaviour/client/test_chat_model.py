"""`AGUIChatModel`: what an answer holds, however it is asked for, and what a call sends."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import Context
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.load import dumps
from langchain_core.messages import HumanMessage
from langchain_core.runnables import ConfigurableField
from langchain_core.tracers.context import collect_runs

from langgraph_agui.client import (
    AgentStatusError,
    AgentUnreachableError,
    AGUIChatModel,
    RunFailedError,
    ToolNotCalledError,
)
from langgraph_agui.client.langchain.to_agui_request import agent_key
from tests.kit.graphs.small import chain_of, talker
from tests.kit.models.scripted import Scripted, add, used
from tests.kit.models.tools import get_weather
from tests.kit.processes.client_agents import WAYS, Ask, Remote, remote, tooled
from tests.kit.processes.scripted_servers import Endless, answering, server
from tests.kit.run.wire_events import (
    ERROR,
    FINISHED,
    STARTED,
    encrypted,
    in_run,
    reasoning,
    result,
    text,
)
from tests.kit.run.wire_events import call as called
from tests.kit.waiting import PATIENCE

NOBODY = "http://127.0.0.1:9/agent"


@pytest.fixture(scope="module")
def echo() -> Iterator[Remote]:
    """An agent that says how many messages it was given, and what the last one said."""

    def script(messages: list[Any]) -> list[Any]:
        return [f"{len(messages)}: ", messages[-1].text, used(2, 1)]

    with remote(tooled(Scripted(script=script))) as agent:
        yield agent


USAGE = [
    {"model": "b", "inputTokens": 3, "outputTokens": 4, "cachedInputTokens": 2},
    {"model": "a", "inputTokens": 10, "outputTokens": 1, "totalTokens": 11, "reasoningTokens": 1},
    {"provider": "p", "cachedInputTokens": 5, "cacheWriteInputTokens": 6},
]


def test_every_way_gives_the_same() -> None:
    wires = [STARTED, *reasoning("q", "hm"), encrypted("q"), *text("m", "a", "b")]
    wires += called("c", '{"x":', "1}", parentMessageId="m")
    wires += [result("c", "o", "sunny"), encrypted("o"), *called("d", '{"y": 1}', name="mine")]
    mine = {"name": "mine", "description": "Mine."}
    with server(*[[*wires, {**FINISHED, "usage": USAGE}]] * len(WAYS)) as agent:
        model = AGUIChatModel(url=agent.url, thread_id="t").bind_tools([mine])
        one, *others = [ask(model, "hi").model_copy(update={"id": None}) for ask in WAYS]
    assert others == [one] * 3
    assert one.response_metadata["model_provider"] == "ag-ui"
    assert one.tool_calls == [{"type": "tool_call", "id": "d", "name": "mine", "args": {"y": 1}}]
    assert one.additional_kwargs["agui"]["results"] == {"c": {"encrypted_value": "E"}}
    about = [one.response_metadata[key] for key in ("finish_reason", "model_name")]
    assert about == ["tool_calls", "a, b"]
    sums = {"input_tokens": 13, "output_tokens": 5, "total_tokens": 18}
    details = {"cache_read": 7, "cache_creation": 6}, {"reasoning": 1}
    about = zip(("input_token_details", "output_token_details"), details, strict=True)
    assert one.usage_metadata == sums | dict(about)


@pytest.mark.parametrize("ask", WAYS[:2], ids=["invoke", "ainvoke"])
def test_a_run_that_fails_is_an_error(ask: Ask) -> None:
    received: list[str] = []
    run = [STARTED, *text("m", "so far"), ERROR]
    with server(run) as agent, pytest.raises(RunFailedError) as caught:
        ask(AGUIChatModel(url=agent.url), "hi", on_event=lambda one: received.append(one.type))
    assert received == [one["type"] for one in run]
    assert [message.content for message in caught.value.messages] == ["hi", "so far"]


def test_leaving_a_stream_stops_the_agent() -> None:
    async def read(url: str) -> None:
        chunks: Any = AGUIChatModel(url=url).astream("hi")
        while not (await anext(chunks)).text:
            pass
        await chunks.aclose()

    first, second = Endless(), Endless()
    with server(first, second) as agent:
        chunks: Any = AGUIChatModel(url=agent.url).stream("hi")
        assert next(chunk.text for chunk in chunks if chunk.text) == "a"
        chunks.close()
        assert first.left.wait(PATIENCE)
        asyncio.run(read(agent.url))
        assert second.left.wait(PATIENCE)


def test_what_a_call_sends(echo: Remote) -> None:
    about, received = Context(description="page", value="start"), list[str]()
    model = echo.model(thread_id="own", context=[about], forwarded_props={"a": 1})
    model.invoke("hi")
    sent = echo.inputs[-1]
    assert (sent.thread_id, sent.context) == ("own", [about])
    assert (sent.forwarded_props, sent.state) == ({"a": 1}, {})
    more = {"thread_id": "other", "context": [], "forwarded_props": {"b": 2}, "state": {"n": [1]}}
    answer = model.bind(**more).invoke("hi", on_event=lambda one: received.append(one.type.value))
    sent = echo.inputs[-1]
    assert (answer.id, answer.additional_kwargs["agui"]["thread"]) == (sent.run_id, "other")
    assert {key: getattr(sent, key) for key in more} == more
    assert (sent.tools, sent.resume) == ([], None)
    assert received == [one.type.value for one in echo.recorded().events]
    for one in (model, echo.model()):
        one.invoke([HumanMessage("hi"), answer, HumanMessage("ho")])
    assert [one.thread_id for one in echo.inputs[-2:]] == ["own", "other"]


def test_what_ag_ui_has_no_place_for_is_left_out_aloud(
    echo: Remote, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "langgraph_agui")
    echo.model().invoke("hi", state={}, tools=None)
    echo.model().invoke("hi", stop=["x"], temperature=0)
    for choice in (None, "auto", "none", False):
        echo.model().bind_tools([get_weather], tool_choice=choice).invoke("hi")
    assert caplog.messages == ["AG-UI has no field for stop, temperature, which was left out."]
    assert [len(one.tools) for one in echo.inputs[-4:]] == [1, 1, 0, 1]
    with pytest.raises(ValueError, match="web_search"):
        echo.model().bind_tools([{"type": "web_search"}])


@pytest.mark.parametrize(
    "choice", ["any", "required", True, "get_weather", {"function": {"name": "get_weather"}}]
)
def test_an_agent_that_does_not_call_what_it_is_to_call(echo: Remote, choice: Any) -> None:
    """Nobody can make it; whoever relies on the call, as structured output does, must not go on
    without it."""
    model = echo.model().bind_tools([get_weather], tool_choice=choice)
    for ask in WAYS[:2]:
        with pytest.raises(ToolNotCalledError, match="get_weather") as caught:
            ask(model, "hi")
        assert [one.role for one in caught.value.messages] == ["user", "assistant"]


def test_secrets_are_shown_nowhere() -> None:
    with server(in_run(*text("m", "hi")), answering(500, "no")) as agent:
        url = agent.url.replace("//", "//user:canary-p@") + "?key=canary-q"
        secret: Any = {"headers": {"X-Key": "canary-h"}, "forwarded_props": {"token": "canary-f"}}
        model = AGUIChatModel(url=url, retries=0, **secret)
        with collect_runs() as runs:
            answer = model.with_config(tags=["x"]).invoke("hi")
            with pytest.raises(AgentStatusError) as caught:
                model.invoke("hi")
        assert agent.asked[0].header("x-key") == "canary-h"
        assert agent.asked[0].json["forwardedProps"] == {"token": "canary-f"}
    shown = [f"{model!r} {model}", dumps(model), dumps(answer), f"{caught.value} {caught.value!r}"]
    shown += [json.dumps(run.dict(), default=str) for run in runs.traced_runs]
    assert "127.0.0.1" in shown[0]
    assert "ls_model_name" in shown[-1]
    wrong: list[dict[str, Any]] = [{"url": "ftp://u:canary@host/"}, {"headers": "canary"}]
    for given in [*wrong, {"url": "http://host/", "headers": {"a": "canary\n"}}]:
        with pytest.raises(ValueError, match="AGUIChatModel") as invalid:
            AGUIChatModel(**given)
        shown.append(str(invalid.value))
    assert not [text for text in shown if "canary" in text]


def test_an_agent_is_always_asked(echo: Remote) -> None:
    before = len(echo.exchanges)
    set_llm_cache(InMemoryCache())
    try:
        assert [echo.model().invoke("again").text for _ in range(2)] == ["1: again"] * 2
    finally:
        set_llm_cache(None)
    assert len({one.thread_id for one in echo.inputs[before:]}) == 2


def test_copies_of_a_model_are_models(echo: Remote) -> None:
    model = echo.model(headers={"X-Test": "yes"}, thread_id="t0")
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), model.model_copy()]
    copies += [model.bind(state={"n": 1}), model.with_config(tags=["t"]), model.with_retry()]
    assert [one.invoke("hi").text for one in copies] == ["1: hi"] * len(copies)
    chosen = model.configurable_fields(thread_id=ConfigurableField("thread"))
    answer = chosen.with_config(configurable={"thread": "t1"}).invoke("hi")
    assert answer.additional_kwargs["agui"]["thread"] == "t1"


def test_what_is_changed_in_a_model_counts_from_the_next_call() -> None:
    """Tokens expire: an old one must not be sent on."""
    with server(*[in_run()] * 5) as agent, server(in_run()) as other:
        model = AGUIChatModel(url=agent.url, headers={"X-Token": "old"})
        model.invoke("hi")
        model.model_copy(update={"headers": {"X-Token": "copied"}}).invoke("hi")
        chosen = model.configurable_fields(headers=ConfigurableField("headers"))
        chosen.with_config(configurable={"headers": {"X-Token": "chosen"}}).invoke("hi")
        model.headers = {"X-Token": "assigned"}
        model.invoke("hi")
        asyncio.run(model.ainvoke("hi"))
        model.url = other.url
        moved = model.invoke("hi")
        sent = [one.header("x-token") for one in agent.asked]
    assert sent == ["old", "copied", "chosen", "assigned", "assigned"]
    assert moved.additional_kwargs["agui"]["agent"] == agent_key(other.url)
    with pytest.raises(AgentUnreachableError):
        AGUIChatModel(url=NOBODY, retries=0).invoke("hi")


async def test_graphs_show_the_tokens(echo: Remote) -> None:
    graph: Any = chain_of(talker(echo.model()))
    given = {"messages": [HumanMessage("hi")]}
    tokens = [chunk async for chunk, _ in graph.astream(given, stream_mode="messages")]
    assert "".join(chunk.text for chunk in tokens) == "1: hi"
    assert len({chunk.id for chunk in tokens}) == 1
    events = [one async for one in graph.astream_events(given, version="v2")]
    received = [one["data"]["chunk"] for one in events if one["event"] == "on_chat_model_stream"]
    assert (add(received).text, add(received).usage_metadata["total_tokens"]) == ("1: hi", 3)
