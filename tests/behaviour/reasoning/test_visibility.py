"""Who sees reasoning: what is hidden leaves by no way out of a run, and still comes back to the
provider."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command

from langgraph_agui import LangGraphAgent, ReasoningOptions
from langgraph_agui.protocol import compact
from tests.behaviour.reasoning.two_turns import agent_with, two_turns
from tests.contracts.providers.playing import assistant_messages
from tests.kit.expect.canary import (
    CANARY,
    HIDDEN,
    SEAL,
    THOUGHT,
    UNSEALED,
    receive_event,
    texts,
    thoughts,
)
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.models.server import ProviderServer
from tests.kit.models.shapes import decoded
from tests.kit.models.turns import Text, turn
from tests.kit.run.agents import dumped, record_run, run_input

BLOCKS = [
    {"type": "thinking", "thinking": CANARY, "signature": "s"},
    {"type": "text", "text": "Built"},
]
sealed_or_not = pytest.mark.parametrize("reasoning", [HIDDEN, UNSEALED], ids=["sealed", "unsealed"])


def reasoned(message_id: str | None = None) -> AIMessage:
    """A message that a node builds."""
    return AIMessage(BLOCKS, id=message_id)


async def test_by_default_all_of_it_is_shown() -> None:
    recorded = await record_run(agent_of(talker(Scripted(THOUGHT))), run_input("hi"))
    recorded.check_snapshot()
    assert thoughts(recorded) == [f"so {CANARY}"]


@pytest.mark.parametrize("visibility", ["summary", "hidden", "none"])
def test_raw_events_and_other_words_are_refused(visibility: Any) -> None:
    with pytest.raises(ValueError, match="visibility" if visibility == "none" else "emit_raw"):
        agent_of(
            talker(Scripted(THOUGHT)),
            emit_raw_events=True,
            reasoning=ReasoningOptions(visibility=visibility),
        )


@pytest.mark.parametrize("whole", [False, True])
async def test_each_hidden_block_is_an_empty_message(whole: bool) -> None:
    said = [*THOUGHT, thinking(CANARY, 2), text_chunk("b", 3)]
    model = Scripted(said, ["More"], disable_streaming=whole)
    graph = chain_of(talker(model))
    first = await receive_event(graph)
    first.check_snapshot()
    assert (thoughts(first), texts(first)) == (["", ""], ["Answerb"])
    await receive_event(graph, *first.messages, "more")
    sent = model.seen[-1][1].content[0]
    assert (sent["thinking"], sent["signature"]) == (f"so {CANARY}", "s")


async def test_messages_that_a_node_builds_or_changes() -> None:
    """What one has become is not what was streamed: the snapshot tells it, and the values are
    written once more."""

    async def build(state: Chat) -> Any:
        return Command(update={"messages": [reasoned("m1")]})

    async def change(state: Chat) -> Any:
        reply = await Scripted(["Answer"]).ainvoke(state["messages"])
        return {"messages": [reasoned(reply.id)]}

    recorded = await receive_event(chain_of(build))
    recorded.check_snapshot()
    assert (thoughts(recorded), texts(recorded)) == ([""], ["Built"])
    for options in (HIDDEN, UNSEALED):
        assert texts(await receive_event(chain_of(change), reasoning=options)) == ["Built"]


async def test_a_thread_from_the_server() -> None:
    """Messages that the client does not hold: built, streamed, and answered in another run."""
    saver = InMemorySaver()

    async def build(state: Chat) -> Any:
        return {"messages": [reasoned(f"built-{len(state['messages'])}")]}

    graph = chain_of(build, talker(Scripted(THOUGHT)), checkpointer=saver)
    await receive_event(graph)
    other = chain_of(talker(Scripted(["More"]), "model"), checkpointer=saver)
    held = [message.content for message in (await receive_event(other, "more")).snapshot]
    assert held == ["hi", "", "Built", "", "Answer", "more", "More"]
    assert CANARY in str((await graph.aget_state({"configurable": {"thread_id": "t"}})).values)


def below(way: str, model: Scripted) -> Any:
    """Graphs that call a model somewhere below."""
    inner = chain_of(talker(model))
    if way == "subgraph":
        return StateGraph(Chat).add_node("inner", inner).add_edge(START, "inner").compile()

    @tool
    async def ask() -> str:
        """Ask."""
        return str((await inner.ainvoke({"messages": [("user", "go")]}))["messages"][-1].text)

    async def node(state: Chat) -> Any:
        if way == "node":
            await model.ainvoke(state["messages"])
            return {"messages": [AIMessage("Other", id="m1")]}
        return await inner.ainvoke(state)

    if way == "tool":
        return create_agent(Scripted([call("ask", "c1")], ["Done"]), [ask])
    return chain_of(node)


@pytest.mark.parametrize("way", ["node", "nested", "subgraph", "tool"])
async def test_a_model_below(way: str) -> None:
    for whole in (False, True):
        recorded = await receive_event(below(way, Scripted(THOUGHT, disable_streaming=whole)))
        assert "Answer" in [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")]
        assert ("Answer" in texts(recorded)) == (way != "node")  # that node does not keep it


async def test_parallel_models() -> None:
    builder = StateGraph(Chat)
    for number in range(3):
        said = [thinking(CANARY[:5]), 0.001, thinking(CANARY[5:]), 0.001, text_chunk(str(number))]
        builder.add_node(f"model{number}", talker(Scripted(said)))
        builder.add_edge(START, f"model{number}")
    recorded = await receive_event(builder.compile())
    recorded.check_snapshot()
    assert (sorted(texts(recorded)), thoughts(recorded)) == (["0", "1", "2"], ["", "", ""])


ASKED = AIMessage("", tool_calls=[{"name": "ask", "args": {}, "id": "c1"}], id="a1")
BESIDE = {"reasoning_content": CANARY}
REPEATED = {
    "user": [HumanMessage(BLOCKS, name="researcher", id="r1")],
    "beside": [HumanMessage("Built", additional_kwargs=BESIDE, id="r1")],
    "tool": [ASKED, ToolMessage(BLOCKS, tool_call_id="c1", name="ask", id="r1")],
}
"""What a node makes of a model's message for the next agent."""


@pytest.mark.parametrize("kind", REPEATED)
@sealed_or_not
async def test_a_users_or_a_tools_message_that_repeats_it(kind: str, reasoning: Any) -> None:
    model = Scripted(["Answer"])

    async def node(state: Chat) -> Any:
        return {"messages": REPEATED[kind] if len(state["messages"]) == 1 else []}

    graph = chain_of(node, talker(model))
    first = await receive_event(graph, reasoning=reasoning)
    first.check_snapshot()
    assert "Built" in [message.content for message in first.messages]
    await receive_event(graph, *first.messages, "more", reasoning=reasoning)
    (sent,) = [message for message in model.seen[-1] if message.id == "r1"]
    assert (CANARY in str(sent)) == (reasoning is HIDDEN)
    assert sent.text == "Built"


async def test_without_a_seal_only_what_is_no_reasoning_comes_back() -> None:
    """Of what providers' packages read, only reasoning has to be sealed; what an application keeps
    is not sent."""
    model = Scripted([*THOUGHT, call("look", "c1", 2)], ["More"])
    graph = chain_of(talker(model))
    first = await receive_event(graph, reasoning=UNSEALED)
    first.check_snapshot()
    assert not first.of("REASONING_ENCRYPTED_VALUE")
    await receive_event(graph, *first.messages, "more", reasoning=UNSEALED)
    sent = model.seen[-1][1]
    assert (sent.content, [one["name"] for one in sent.tool_calls]) == ("Answer", ["look"])
    kept = AIMessageChunk("Answer", additional_kwargs={"refusal": "", "phase": "final"})
    model = Scripted([kept], ["More"])
    first, _ = await two_turns(agent_of(talker(model), reasoning=UNSEALED))
    assert "phase" not in decoded(str(first.messages[-1].encrypted_value)).decode()
    assert model.seen[-1][1].additional_kwargs == {"refusal": ""}


async def test_what_has_no_reasoning_has_no_opaque_values() -> None:
    recorded = await record_run(agent_of(talker(Scripted(["Hel", "lo"]))), run_input("hi"))
    kinds = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    types = [event.type.value for event in compact(recorded.events)]
    steps = ["STEP_STARTED", *kinds, "STEP_FINISHED"]
    assert types == ["RUN_STARTED", *steps, "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    model = Scripted(["Look", call("look", "c1", q="1")], ["Done"])
    called = await record_run(LangGraphAgent(create_agent(model, [look])), run_input("hi"))
    assert "encryptedValue" not in json.dumps(dumped([*recorded.messages, *called.messages]))
    assert not called.of("REASONING_ENCRYPTED_VALUE")


@tool
def look(q: str) -> str:
    """Look something up."""
    return "found"


async def test_the_name_of_an_agent_reaches_the_provider(provider_server: ProviderServer) -> None:
    provider_server.script("openai-chat", turn(Text("A jacket.")), turn(Text("And an umbrella.")))
    agent = agent_with("openai-chat", provider_server, named="ada")
    await two_turns(agent)
    said = {"role": "assistant", "content": "A jacket.", "name": "ada"}
    assert assistant_messages(provider_server.bodies[-1]) == [said]


@pytest.mark.parametrize("seal", [None, SEAL], ids=["open", "sealed"])
async def test_off_sends_no_reasoning_events_at_all(seal: Any) -> None:
    words = text_chunk("<think>so</think>Yes", 1)
    thought = [thinking(CANARY), thinking(signature="S"), words, call("look", "c1", 2, q="x")]
    options = ReasoningOptions(visibility="off", seal=seal, think_tags=True)
    graph = create_agent(Scripted(thought, [text_chunk("Done", 0)]), [look])
    recorded = await receive_event(graph, reasoning=options)
    assert not [kind for kind in recorded.types if kind.startswith("REASONING")]
    assert texts(recorded) == ["Yes", "Done"]
    recorded.check_snapshot()
