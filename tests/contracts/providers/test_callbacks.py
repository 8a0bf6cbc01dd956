"""Real provider packages through the handler: reasoning, text, calls and opaque values."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent

from langgraph_agui import LangGraphAgent, agui_messages_to_langchain
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Call, Reasoning, Text, Turn, turn
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.agents import record_run, run_input
from tests.kit.run.handlers import ReceivedEvents, call_by, contents, into_client, ways, without_ids

providers = pytest.mark.parametrize("provider", ["anthropic", "openai"])
WARM = turn(Text("It is warm."))
ASKED = {"messages": [("user", "hi")]}


def first(call_id: str = "call_1") -> Turn:
    thought = Reasoning("Rome is warm, or is it?", signature="SIG-1", encrypted="SIG-1")
    return turn(thought, Text("Let me look."), Call("get_weather", {"city": "Rome"}, call_id))


def agent(provider: str, server: ProviderServer) -> Any:
    server.script(provider, first(), WARM)
    return create_agent(make_model(provider, server), [get_weather])


@providers
@ways
async def test_all_that_a_model_says(
    provider: str, way: str, provider_server: ProviderServer, node_client: NodeClient
) -> None:
    received = ReceivedEvents()
    await call_by(way, agent(provider, provider_server), ASKED, received.config)
    messages: list[Any] = received.check()
    assert [message.role for message in messages] == ["reasoning", "assistant", "tool", "assistant"]
    assert contents(messages)[:2] == ["Rome is warm, or is it?", "Let me look."]
    assert messages[1].tool_calls[0].function.name == "get_weather"
    assert messages[3].content == "It is warm."
    assert len(received.of("TEXT_MESSAGE_CONTENT")) > 2
    assert received.of("REASONING_ENCRYPTED_VALUE")
    assert received.last.usage
    into_client(node_client, received.events)
    graph = agent(provider, provider_server)
    recorded = await record_run(LangGraphAgent(graph=graph), run_input("hi"))
    heard, told = without_ids(messages), without_ids(recorded.messages[1:])
    assert [one["content"] for one in heard] == [one["content"] for one in told]


async def test_a_batch_of_a_real_model(provider_server: ProviderServer) -> None:
    received = ReceivedEvents()
    provider_server.respond("anthropic", lambda got: first(f"call_{got.seq}"))
    model: Any = make_model("anthropic", provider_server)
    await model.abatch(["hi"] * 4, received.config)
    assert contents(received.check()) == ["Rome is warm, or is it?", "Let me look."] * 4
    await asyncio.to_thread(model.batch, ["hi"] * 4, received.config)
    assert contents(received.check()) == ["Rome is warm, or is it?", "Let me look."] * 8


@providers
async def test_what_was_heard_is_what_the_provider_gets_back(
    provider: str, provider_server: ProviderServer
) -> None:
    received = ReceivedEvents()
    await agent(provider, provider_server).ainvoke(ASKED, received.config)
    history = agui_messages_to_langchain(received.check()[:3])
    provider_server.script(provider, WARM)
    model: Any = make_model(provider, provider_server)
    await model.bind_tools([get_weather]).ainvoke([("user", "hi"), *history])
    key = "messages" if provider == "anthropic" else "input"
    sent, again = provider_server.bodies[-2:]
    assert again[key] == sent[key]
