"""Who thought, with which model and for how long: the metadata of reasoning messages, for who asks
for them."""

from __future__ import annotations

from typing import Any

from ag_ui.core import Message, ReasoningMessage
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ReasoningOptions
from tests.kit.expect.canary import SEAL
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.scripted import Scripted, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, record_run, run_input

ASKED = ReasoningOptions(metadata=True)
TURN = [
    *(thinking("hm", 0), 0.05, thinking(index=0, signature="s"), thinking("so", 1)),
    text_chunk("Answer", 2),
]


def metadata(messages: list[Message]) -> list[Any]:
    return [one.metadata for one in messages if isinstance(one, ReasoningMessage)]


async def said(*turn: Any, reasoning: ReasoningOptions | None = ASKED) -> RecordedRun:
    agent = agent_of(talker(Scripted(turn)), reasoning=reasoning)
    recorded = await record_run(agent, run_input("hi"))
    recorded.check_snapshot()
    return recorded


async def test_a_thought_tells_who_and_how_long() -> None:
    recorded = await said(*TURN)
    one, other = metadata(recorded.messages)
    who = {"provider": "scripted", "model": "scripted-1"}
    assert one == {**who, "durationMs": one["durationMs"]}
    assert 40 <= one["durationMs"] < 5_000
    assert other["durationMs"] < 40
    (start, _), (end, _) = map(recorded.of, ("REASONING_MESSAGE_START", "REASONING_MESSAGE_END"))
    assert (start.metadata, [*end.metadata]) == (who, ["durationMs"])
    assert [message.metadata for message in (await said("Answer")).messages] == [None, None]


async def test_by_default_there_is_none() -> None:
    recorded = await said(*TURN, reasoning=None)
    events = recorded.of("REASONING_MESSAGE_START", "REASONING_MESSAGE_END")
    assert metadata(recorded.messages) == [None, None]
    assert [event.metadata for event in events] == [None] * 4


async def test_hidden_reasoning_has_it_too() -> None:
    options = ReasoningOptions(visibility="hidden", seal=SEAL, metadata=True)
    found = metadata((await said(*TURN, reasoning=options)).messages)
    assert [set(one) for one in found] == [{"provider", "model", "durationMs"}] * 2


async def test_a_thread_from_the_server_tells_who() -> None:
    """How long it took is not stored; who it was is in the message."""
    saver = InMemorySaver()
    recorded = {"model_provider": "anthropic", "model_name": "claude"}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}

    async def node(state: Chat) -> Any:
        return {"messages": [AIMessage([thought, "Built"], response_metadata=recorded)]}

    await record_run(agent_of(node, checkpointer=saver), run_input("hi", thread="t"))
    other = agent_of(talker(Scripted(["More"]), "node"), checkpointer=saver, reasoning=ASKED)
    second = await record_run(other, run_input("more", thread="t"))
    assert metadata(second.snapshot) == [{"provider": "anthropic", "model": "claude"}]
