"""`AGUIMiddleware`: each model is sent what its own provider made, whoever holds the history."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelFallbackMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer, Reply
from tests.kit.models.turns import Reasoning, Text, turn
from tests.kit.run.agents import record_run, run_input

SIGNATURE = "EqQBCkYIARgCKkBsaWduZWQ="
THOUGHT = turn(Reasoning("Clothes depend on weather.", signature=SIGNATURE), Text("A jacket."))
PLAIN = turn(Text("And an umbrella."))


async def signed_thread(server: ProviderServer) -> InMemorySaver:
    """A thread in which Claude has thought."""
    saver = InMemorySaver()
    server.script("anthropic", THOUGHT)
    agent = LangGraphAgent(
        graph=create_agent(make_model("anthropic", server), [], checkpointer=saver)
    )
    recorded = await record_run(agent, run_input("What should I wear?", thread="t"))
    assert recorded.last.type.value == "RUN_FINISHED"
    return saver


async def follow_up(saver: InMemorySaver, model: Any, middleware: list[Any]) -> LangGraphAgent:
    graph = create_agent(model, [], middleware=middleware, checkpointer=saver)
    agent = LangGraphAgent(graph=graph)
    recorded = await record_run(agent, run_input("Anything else?", thread="t"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    return agent


@pytest.mark.parametrize("target", ["openai-chat", "openai", "ollama", "openrouter", "google"])
async def test_another_provider_is_not_sent_what_the_thread_holds(
    target: str, provider_server: ProviderServer
) -> None:
    saver = await signed_thread(provider_server)
    provider_server.script(target, PLAIN)
    agent = await follow_up(saver, make_model(target, provider_server), [AGUIMiddleware()])
    asked = json.dumps(provider_server.bodies[-1])
    assert SIGNATURE not in asked
    assert "A jacket." in asked
    state: Any = await agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    assert SIGNATURE in str(state.values["messages"][1].content)


async def test_its_own_provider_is_sent_everything(provider_server: ProviderServer) -> None:
    saver = await signed_thread(provider_server)
    provider_server.script("anthropic", PLAIN)
    await follow_up(saver, make_model("anthropic", provider_server), [AGUIMiddleware()])
    assert SIGNATURE in json.dumps(provider_server.bodies[-1])


async def test_a_fallback_model_is_filtered_for_by_itself(provider_server: ProviderServer) -> None:
    saver = await signed_thread(provider_server)
    provider_server.script("anthropic", Reply(status=529))
    provider_server.script("ollama", PLAIN)
    fallback = ModelFallbackMiddleware(make_model("ollama", provider_server))
    await follow_up(saver, make_model("anthropic", provider_server), [fallback, AGUIMiddleware()])
    claude, ollama = (json.dumps(body) for body in provider_server.bodies[-2:])
    assert SIGNATURE in claude
    assert SIGNATURE not in ollama
    assert "A jacket." in ollama
