"""Who thought, with which model and for how long: the metadata of reasoning messages, for who asks
for them."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Message, ReasoningMessage
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, ReasoningOptions
from tests.kit.expect.canary import SEAL
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.provider_models import make_model
from tests.kit.models.scripted import Scripted, text_chunk, thinking
from tests.kit.models.server import ProviderServer
from tests.kit.models.turns import Reasoning, Text, turn
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input

ASKED = ReasoningOptions(metadata=True)
TURN = [
    thinking("hm", 0),
    0.05,
    thinking(index=0, signature="s"),
    thinking("so", 1),
    text_chunk("Answer", 2),
]


def thoughts(messages: list[Message]) -> list[ReasoningMessage]:
    return [message for message in messages if isinstance(message, ReasoningMessage)]


async def receive_event(
    *turn: Any, reasoning: ReasoningOptions | None = ASKED, **fields: Any
) -> RecordedRun:
    recorded = await record_run(
        agent_of(talker(Scripted(turn, **fields)), reasoning=reasoning), run_input("hi")
    )
    recorded.check_snapshot()
    return recorded


async def test_a_thought_tells_who_and_how_long() -> None:
    recorded = await receive_event(*TURN)
    one, other = (message.metadata or {} for message in thoughts(recorded.messages))
    assert (one["provider"], one["model"]) == ("scripted", "scripted-1")
    assert 40 <= one["durationMs"] < 5_000
    assert other["durationMs"] < 40
    assert set(one) == {"provider", "model", "durationMs"}
    (start, _), (end, _) = map(recorded.of, ("REASONING_MESSAGE_START", "REASONING_MESSAGE_END"))
    assert start.metadata == {"provider": "scripted", "model": "scripted-1"}
    assert [*end.metadata] == ["durationMs"]


async def test_by_default_there_is_none() -> None:
    recorded = await receive_event(*TURN, reasoning=None)
    assert [message.metadata for message in thoughts(recorded.messages)] == [None, None]
    assert [
        event.metadata for event in recorded.of("REASONING_MESSAGE_START", "REASONING_MESSAGE_END")
    ] == [None] * 4


async def test_only_reasoning_has_it() -> None:
    recorded = await receive_event("Answer")
    assert [message.metadata for message in recorded.messages] == [None, None]


async def test_hidden_reasoning_has_it_too() -> None:
    recorded = await receive_event(
        *TURN, reasoning=ReasoningOptions(visibility="hidden", seal=SEAL, metadata=True)
    )
    assert [
        (message.content, set(message.metadata or ())) for message in thoughts(recorded.messages)
    ] == [("", {"provider", "model", "durationMs"})] * 2


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    ("provider", "name", "model"),
    [
        ("anthropic", "anthropic", "claude-sonnet-4-5"),
        ("openai", "openai", "gpt-5.1"),
        ("google", "google_genai", "gemini-3-pro-preview"),
        ("bedrock", "bedrock_converse", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("deepseek", "deepseek", "deepseek-reasoner"),
        ("openrouter", "openrouter", "anthropic/claude-sonnet-4.5"),
        ("ollama", "ollama", "qwen3"),
        ("groq", "groq", "qwen/qwen3-32b"),
        ("mistral", "mistralai", "magistral-medium-latest"),
    ],
)
async def test_it_survives_a_second_turn(
    provider: str, name: str, model: str, whole: bool, provider_server: ProviderServer
) -> None:
    thought = Reasoning(
        "Clothes depend on weather.", signature="c2lnMQ==", encrypted="gAAAAABcipher"
    )
    provider_server.script(
        provider, turn(thought, Text("A jacket.")), turn(thought, Text("An umbrella."))
    )
    graph = create_agent(make_model(provider, provider_server, disable_streaming=whole), [])
    agent = LangGraphAgent(graph=graph, reasoning=ASKED)
    first = await record_run(agent, run_input("What should I wear?"))
    first.check_snapshot()
    second = await record_run(agent, run_input(*first.messages, "Anything else?"))
    second.check_snapshot()
    assert dumped(second.messages)[: len(first.messages)] == dumped(first.messages)
    found = [message.metadata or {} for message in thoughts(second.messages)]
    assert [(metadata["provider"], metadata["model"]) for metadata in found] == [(name, model)] * 2
    streamed = not whole or provider == "ollama"  # its package streams in any case
    assert ["durationMs" in metadata for metadata in found] == [streamed] * 2


async def test_a_thread_from_the_server_tells_who() -> None:
    """How long it took is not stored; who it was is in the message."""
    saver = InMemorySaver()
    recorded = {"model_provider": "anthropic", "model_name": "claude"}
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "Built"},
    ]

    async def node(state: Chat) -> Any:
        return {"messages": [AIMessage(blocks, response_metadata=recorded)]}  # type: ignore[arg-type]

    await record_run(agent_of(node, checkpointer=saver), run_input("hi", thread="t"))
    other = agent_of(talker(Scripted(["More"]), "node"), checkpointer=saver, reasoning=ASKED)
    second = await record_run(other, run_input("more", thread="t"))
    (thought,) = thoughts(second.snapshot)
    assert thought.metadata == {"provider": "anthropic", "model": "claude"}
