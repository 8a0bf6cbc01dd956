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


async def follow_up(server: ProviderServer, provider: str, *middleware: Any) -> str:
    """What is sent of a thread in which Claude has thought; its state keeps all of it."""
    saver, more = InMemorySaver(), turn(Text("And an umbrella."))
    server.script("anthropic", turn(Reasoning("Hm.", signature=SIGNATURE), Text("A jacket.")))
    for name, with_these in (("anthropic", ()), (provider, (*middleware, AGUIMiddleware()))):
        model = make_model(name, server)
        graph = create_agent(model, [], middleware=with_these, checkpointer=saver)
        recorded = await record_run(LangGraphAgent(graph=graph), run_input("Hi", thread="t"))
        assert recorded.last.type.value == "RUN_FINISHED", recorded.last
        server.script(provider, *([Reply(status=529)] if middleware else [more]))
        server.script("ollama", more)
    state: Any = await graph.aget_state({"configurable": {"thread_id": "t"}})
    assert SIGNATURE in str(state.values["messages"][1].content)
    return json.dumps(server.bodies[-1])


@pytest.mark.parametrize(
    "target", ["anthropic", "openai-chat", "openai", "ollama", "openrouter", "google"]
)
async def test_another_provider_is_not_sent_what_the_thread_holds(
    target: str, provider_server: ProviderServer
) -> None:
    sent = await follow_up(provider_server, target)
    assert (SIGNATURE in sent, "A jacket." in sent) == (target == "anthropic", True)


async def test_a_fallback_model_is_filtered_for_by_itself(provider_server: ProviderServer) -> None:
    fallback = ModelFallbackMiddleware(make_model("ollama", provider_server))
    ollama = await follow_up(provider_server, "anthropic", fallback)
    assert SIGNATURE in json.dumps(provider_server.bodies[-2])
    assert (SIGNATURE in ollama, "A jacket." in ollama) == (False, True)
