"""Reasoning of every provider's own package under each visibility: what clients can read of it, and
what the provider is sent of it on the next turn."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import message_to_dict

from langgraph_agui import ReasoningOptions
from tests.behaviour.reasoning.two_turns import agent_with, two_turns
from tests.kit.expect.canary import (
    CANARY,
    HIDDEN,
    SEAL,
    UNSEALED,
    check_events,
    receive_event,
    thoughts,
)
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.provider_models import make_model
from tests.kit.models.server import ProviderServer, Reply
from tests.kit.models.tools import get_weather
from tests.kit.models.turns import Call, Reasoning, Text, Turn, turn
from tests.kit.run.agents import record_run, run_input

SHAPES = (
    *("anthropic", "anthropic-v1", "openai", "openai-v0", "openai-v1", "google", "google-v1"),
    *("bedrock", "bedrock-v1", "openrouter", "openrouter-v1", "ollama", "deepseek", "deepseek-v1"),
    *("groq", "mistral", "mistral-v1", "xai"),
)
"""A client of every shape that reasoning comes in."""

SENT_BACK = ("anthropic", "openai", "google", "bedrock", "openrouter", "ollama")
"""Providers whose packages send back what a model has thought."""

shapes = pytest.mark.parametrize(
    ("provider", "whole"), [(one, False) for one in SHAPES] + [(one, True) for one in SENT_BACK]
)
MORE = turn(Text("And take an umbrella."))


def thought(number: int) -> Reasoning:
    signature = b64encode(f"signature {number}".encode()).decode()
    words = f"{CANARY} number {number}"
    return Reasoning(words, signature=signature, encrypted=f"gAAAAABcipher{number}")


PARIS = Call("get_weather", {"city": "Paris"}, "callParis")
ANSWER = Turn((thought(2), Text("A jacket.")), chunk=1000)
LOOP = (Turn((thought(1), PARIS), chunk=1000), ANSWER)


@shapes
async def test_hidden(provider: str, whole: bool, provider_server: ProviderServer) -> None:
    """With a seal the provider gets it back; without one the message is plain."""
    for options in (HIDDEN, UNSEALED):
        provider_server.script(provider, *LOOP, MORE)
        agent = agent_with(
            provider, provider_server, options, [get_weather], disable_streaming=whole
        )
        first, second = await two_turns(agent)
        check_events([*first.events, *second.events])
        assert thoughts(first) == ["", ""]
        sent = json.dumps(provider_server.bodies[-1], ensure_ascii=False)
        if options is UNSEALED:
            assert CANARY not in sent
        elif provider.startswith(SENT_BACK):
            assert f"{CANARY} number 1" in sent
            assert f"{CANARY} number 2" in sent
        assert "A jacket." in sent
        assert "Sunny in Paris" in sent


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
async def test_the_text_of_a_failure_does_not_tell_it(
    provider: str, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, Reply(ANSWER, error_after=5, error=f"thinking of {CANARY}"))
    recorded = await record_run(agent_with(provider, provider_server, HIDDEN), run_input("hi"))
    check_events(recorded.events)
    assert recorded.last.code == "model_error"


class Kept(Chat):
    """A state that holds the model's message in other places than `messages`."""

    draft: Any
    words: Any
    dumped: Any


@shapes
async def test_hidden_in_other_channels(
    provider: str, whole: bool, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, ANSWER)
    model = make_model(provider, provider_server, disable_streaming=whole)

    async def node(state: Kept) -> Any:
        reply = await model.ainvoke(state["messages"])
        dumps = [message_to_dict(reply), dumpd(reply), reply.model_dump(), reply.content_blocks]
        words = {"a": (reply.content, reply)}
        return {"messages": [reply], "draft": [reply], "words": words, "dumped": dumps}

    recorded = await receive_event(chain_of(node, state=Kept))
    assert "A jacket." in json.dumps(recorded.state["draft"])
    assert "A jacket." in json.dumps(recorded.state["words"])


SUMMARIES = ("openai", "openai-v0", "openai-v1", "google", "google-v1")
OTHERS = ("anthropic", "anthropic-v1", "bedrock", "deepseek", "ollama", "openrouter", "mistral")


@pytest.mark.parametrize("provider", [*SUMMARIES, *OTHERS])
async def test_only_summaries_are_shown(provider: str, provider_server: ProviderServer) -> None:
    options = ReasoningOptions(visibility="summary", seal=SEAL)
    for whole in (False, True):
        provider_server.script(provider, ANSWER, MORE)
        agent = agent_with(provider, provider_server, options, disable_streaming=whole)
        first, second = await two_turns(agent)
        if provider not in SUMMARIES:
            check_events([*first.events, *second.events])
        assert thoughts(first) == [f"{CANARY} number 2" if provider in SUMMARIES else ""]
        if provider.startswith(SENT_BACK):
            assert CANARY in json.dumps(provider_server.bodies[-1])


MODELS = {
    "anthropic": ("anthropic", "claude-sonnet-4-5"),
    "openai": ("openai", "gpt-5.1"),
    "google": ("google_genai", "gemini-3-pro-preview"),
    "bedrock": ("bedrock_converse", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
    "deepseek": ("deepseek", "deepseek-reasoner"),
    "openrouter": ("openrouter", "anthropic/claude-sonnet-4.5"),
    "ollama": ("ollama", "qwen3"),
    "groq": ("groq", "qwen/qwen3-32b"),
    "mistral": ("mistralai", "magistral-medium-latest"),
}


@pytest.mark.parametrize("provider", MODELS)
async def test_metadata_survive_a_second_turn(
    provider: str, provider_server: ProviderServer
) -> None:
    options = ReasoningOptions(metadata=True)
    for whole in (False, True):
        provider_server.script(provider, ANSWER, ANSWER)
        agent = agent_with(provider, provider_server, options, disable_streaming=whole)
        _, second = await two_turns(agent)
        found = [one.metadata for one in second.messages if one.role == "reasoning"]
        assert [(one["provider"], one["model"]) for one in found] == [MODELS[provider]] * 2
        streamed = not whole or provider == "ollama"  # its package streams in any case
        assert ["durationMs" in one for one in found] == [streamed] * 2
