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

from langgraph_agui import LangGraphAgent, ReasoningOptions, ReasoningSeal
from langgraph_agui.protocol import compact
from tests.kit.expect.canary import (
    CANARY,
    HIDDEN,
    SEAL,
    THOUGHT,
    UNSEALED,
    check_events,
    receive_event,
    texts,
    thoughts,
)
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.provider_models import make_model
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.models.server import ProviderServer
from tests.kit.models.shapes import decoded
from tests.kit.models.turns import Reasoning, Text, turn
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input


def reasoned(message_id: str | None = None, **fields: Any) -> AIMessage:
    """A message that a node builds."""
    blocks = [
        {"type": "thinking", "thinking": CANARY, "signature": "s"},
        {"type": "text", "text": "Built"},
    ]
    return AIMessage(blocks, id=message_id, **fields)  # type: ignore[arg-type]


async def test_by_default_all_of_it_is_shown() -> None:
    recorded = await record_run(agent_of(talker(Scripted(THOUGHT))), run_input("hi"))
    recorded.check_snapshot()
    assert thoughts(recorded) == [f"so {CANARY}"]


@pytest.mark.parametrize("visibility", ["summary", "hidden"])
def test_raw_events_are_refused(visibility: Any) -> None:
    with pytest.raises(ValueError, match="emit_raw"):
        LangGraphAgent(
            graph=chain_of(talker(Scripted(THOUGHT))),
            emit_raw_events=True,
            reasoning=ReasoningOptions(visibility=visibility),
        )


def test_other_words_for_visibility_are_refused() -> None:
    with pytest.raises(ValueError, match="visibility"):
        ReasoningOptions(visibility="none")  # type: ignore[arg-type]


@pytest.mark.parametrize("whole", [False, True])
async def test_hidden_reasoning_is_an_empty_message(whole: bool) -> None:
    model = Scripted(THOUGHT, ["More"], disable_streaming=whole)
    graph = chain_of(talker(model))
    first = await receive_event(graph)
    first.check_snapshot()
    assert thoughts(first) == [""]
    assert texts(first) == ["Answer"]
    await receive_event(graph, *first.messages, "more")
    assert f"so {CANARY}" in str(model.seen[-1])
    assert model.seen[-1][1].content[0]["signature"] == "s"


async def test_each_hidden_block_is_announced() -> None:
    recorded = await receive_event(
        chain_of(
            talker(
                Scripted(
                    [
                        thinking(CANARY, 0),
                        text_chunk("a", 1),
                        thinking(CANARY, 2),
                        text_chunk("b", 3),
                    ]
                )
            )
        )
    )
    assert thoughts(recorded) == ["", ""]


async def test_a_message_that_a_node_builds() -> None:
    async def node(state: Chat) -> Any:
        return Command(update={"messages": [reasoned("m1")]})

    recorded = await receive_event(chain_of(node))
    recorded.check_snapshot()
    assert thoughts(recorded) == [""]
    assert texts(recorded) == ["Built"]


async def test_a_message_that_a_node_changes() -> None:
    """What it has become is not what was streamed: the snapshot tells it, and the values are
    written once more."""
    model = Scripted(["Answer"])

    async def node(state: Chat) -> Any:
        reply = await model.ainvoke(state["messages"])
        return {"messages": [reasoned(reply.id)]}

    for options in (HIDDEN, UNSEALED):
        recorded = await receive_event(chain_of(node), reasoning=options)
        assert texts(recorded) == ["Built"]


async def test_a_thread_from_the_server() -> None:
    """Messages that the client does not hold: built, streamed, and answered in another run."""
    saver = InMemorySaver()
    model = Scripted(THOUGHT, ["More"])

    async def build(state: Chat) -> Any:
        return {"messages": [reasoned(f"built-{len(state['messages'])}")]}

    graph = chain_of(build, talker(model), checkpointer=saver)
    await receive_event(graph)
    recorded = await receive_event(
        chain_of(talker(Scripted(["More"]), "model"), checkpointer=saver), "more"
    )
    assert [message.content for message in recorded.snapshot] == [
        "hi",
        "",
        "Built",
        "",
        "Answer",
        "more",
        "More",
    ]
    assert CANARY in str((await graph.aget_state({"configurable": {"thread_id": "t"}})).values)


def below(way: str, model: Scripted) -> Any:
    """Graphs that call a model somewhere below."""
    inner = chain_of(talker(model))
    if way == "subgraph":
        builder = StateGraph(Chat)
        builder.add_node("inner", inner)
        builder.add_edge(START, "inner")
        return builder.compile()
    if way == "tool":

        @tool
        async def ask() -> str:
            """Ask."""
            return str((await inner.ainvoke({"messages": [("user", "go")]}))["messages"][-1].text)

        return create_agent(Scripted([call("ask", "c1")], ["Done"]), [ask])

    async def node(state: Chat) -> Any:
        if way == "node":
            await model.ainvoke(state["messages"])
            return {"messages": [AIMessage("Other", id="m1")]}
        return await inner.ainvoke(state)  # type: ignore[arg-type]

    return chain_of(node)


@pytest.mark.parametrize("way", ["node", "nested", "subgraph", "tool"])
@pytest.mark.parametrize("whole", [False, True])
async def test_a_model_below(way: str, whole: bool) -> None:
    recorded = await receive_event(below(way, Scripted(THOUGHT, disable_streaming=whole)))
    assert "Answer" in [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")]
    assert ("Answer" in texts(recorded)) == (way != "node")  # that node does not keep it


async def test_parallel_models() -> None:
    builder = StateGraph(Chat)
    for number in range(3):
        model = Scripted(
            [
                thinking(CANARY[:5], 0),
                0.001,
                thinking(CANARY[5:], 0),
                0.001,
                text_chunk(f"Answer {number}", 1),
            ]
        )
        builder.add_node(f"model{number}", talker(model))
        builder.add_edge(START, f"model{number}")
    recorded = await receive_event(builder.compile())
    recorded.check_snapshot()
    assert sorted(texts(recorded)) == ["Answer 0", "Answer 1", "Answer 2"]
    assert thoughts(recorded) == ["", "", ""]


def repeated(kind: str) -> list[Any]:
    """What a node makes of a model's message for the next agent: a user's or a tool's."""
    reply = reasoned()
    if kind == "user":
        return [HumanMessage(reply.content, name="researcher", id="r1")]
    if kind == "beside":
        return [HumanMessage("Built", additional_kwargs={"reasoning_content": CANARY}, id="r1")]
    asked = AIMessage("", tool_calls=[{"name": "ask", "args": {}, "id": "c1"}], id="a1")
    return [asked, ToolMessage(reply.content, tool_call_id="c1", name="ask", id="r1")]


@pytest.mark.parametrize("kind", ["user", "beside", "tool"])
@pytest.mark.parametrize("reasoning", [HIDDEN, UNSEALED], ids=["sealed", "unsealed"])
async def test_a_users_or_a_tools_message_that_repeats_it(
    kind: str, reasoning: ReasoningOptions
) -> None:
    model = Scripted(["Answer"])

    async def node(state: Chat) -> Any:
        return {"messages": repeated(kind) if len(state["messages"]) == 1 else []}

    graph = chain_of(node, talker(model))
    first = await receive_event(graph, reasoning=reasoning)
    first.check_snapshot()
    assert "Built" in [message.content for message in first.messages]
    await receive_event(graph, *first.messages, "more", reasoning=reasoning)
    (sent,) = [message for message in model.seen[-1] if message.id == "r1"]
    assert (CANARY in str(sent)) == (reasoning is HIDDEN)
    assert sent.text == "Built"


async def test_without_a_seal_nothing_opaque_is_sent(caplog: pytest.LogCaptureFixture) -> None:
    model = Scripted([*THOUGHT, call("look", "c1", 2)], ["More"])
    graph = chain_of(talker(model))
    first = await receive_event(graph, reasoning=UNSEALED)
    first.check_snapshot()
    assert not first.of("REASONING_ENCRYPTED_VALUE")
    await receive_event(graph, *first.messages, "more", reasoning=UNSEALED)
    sent = model.seen[-1][1]
    assert sent.content == "Answer"
    assert [call["name"] for call in sent.tool_calls] == ["look"]


async def test_without_a_seal_plain_messages_keep_what_is_opaque() -> None:
    """Of what providers' packages read, only reasoning has to be sealed; what an application keeps
    is not sent."""
    model = Scripted(
        [AIMessageChunk("Answer", additional_kwargs={"refusal": "", "phase": "final"})], ["More"]
    )
    graph = chain_of(talker(model))
    first = await receive_event(graph, reasoning=UNSEALED)
    await receive_event(graph, *first.messages, "more", reasoning=UNSEALED)
    assert "phase" not in decoded(str(first.messages[-1].encrypted_value)).decode()
    assert model.seen[-1][1].additional_kwargs == {"refusal": ""}


@pytest.mark.parametrize(
    ("provider", "whole"),
    [(one, False) for one in ("openai", "openai-v0", "openai-v1", "google", "google-v1")]
    + [("openai", True), ("google", True)],
)
async def test_a_providers_summary_is_shown(
    provider: str, whole: bool, provider_server: ProviderServer
) -> None:
    recorded, sent = await summed(provider, whole, provider_server)
    assert thoughts(recorded) == [f"{CANARY} summed up"]
    assert CANARY in sent


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
@pytest.mark.parametrize(
    "provider",
    ["anthropic", "anthropic-v1", "bedrock", "deepseek", "ollama", "openrouter", "mistral"],
)
async def test_what_is_no_summary_is_not(
    provider: str, whole: bool, provider_server: ProviderServer
) -> None:
    recorded, sent = await summed(provider, whole, provider_server)
    check_events(recorded.events)
    assert thoughts(recorded) == [""]
    if provider.startswith(("anthropic", "bedrock", "ollama", "openrouter")):
        assert CANARY in sent


async def summed(provider: str, whole: bool, server: ProviderServer) -> tuple[RecordedRun, str]:
    """A first turn under `"summary"`, and what the provider was sent on the second one."""
    thought = Reasoning(f"{CANARY} summed up", signature="c2lnbmF0dXJl", encrypted="gAAAAABcipher")
    server.script(provider, turn(thought, Text("A jacket.")), turn(Text("And an umbrella.")))
    graph = create_agent(make_model(provider, server, disable_streaming=whole), [])
    agent = LangGraphAgent(graph=graph, reasoning=ReasoningOptions(visibility="summary", seal=SEAL))
    first = await record_run(agent, run_input("What should I wear?", thread="t"))
    first.check_snapshot()
    second = await record_run(agent, run_input(*first.messages, "Anything else?", thread="t"))
    second.check_snapshot()
    assert dumped(second.messages)[: len(first.messages)] == dumped(first.messages)
    return first, json.dumps(server.bodies[-1])


async def test_plain_text_has_no_opaque_values() -> None:
    recorded = await record_run(agent_of(talker(Scripted(["Hel", "lo"]))), run_input("hi"))
    kinds = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    steps = ["STEP_STARTED", *kinds, "STEP_FINISHED"]
    types = [event.type.value for event in compact(recorded.events)]
    assert types == ["RUN_STARTED", *steps, "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert not any(message.encrypted_value for message in recorded.messages)


async def test_calls_and_results_have_none_either() -> None:
    @tool
    async def look(q: int) -> str:
        """Look."""
        return "found"

    recorded = await record_run(
        LangGraphAgent(
            graph=create_agent(Scripted(["Look", call("look", "c1", q=1)], ["Done"]), [look])
        ),
        run_input("hi"),
    )
    assert "encryptedValue" not in json.dumps(dumped(recorded.messages))
    assert not recorded.of("REASONING_ENCRYPTED_VALUE")


async def test_the_name_of_an_agent_reaches_the_provider(provider_server: ProviderServer) -> None:
    provider_server.script("openai-chat", turn(Text("A jacket.")), turn(Text("And an umbrella.")))
    agent = LangGraphAgent(
        graph=create_agent(make_model("openai-chat", provider_server), [], name="ada")
    )
    first = await record_run(agent, run_input("What should I wear?"))
    first.check_snapshot()
    await record_run(agent, run_input(*first.messages, "Anything else?"))
    (answer,) = [
        message
        for message in provider_server.bodies[-1]["messages"]
        if message["role"] == "assistant"
    ]
    assert answer == {"role": "assistant", "content": "A jacket.", "name": "ada"}


@pytest.mark.parametrize("seal", [None, ReasoningSeal([b"k" * 32])], ids=["open", "sealed"])
async def test_off_sends_no_reasoning_events_at_all(seal: ReasoningSeal | None) -> None:
    @tool
    def look(q: str) -> str:
        """Look something up."""
        return "found"

    thought = [
        thinking(CANARY, 0),
        thinking(index=0, signature="S"),
        text_chunk("<think>so</think>Yes", 1),
    ]
    model = Scripted([*thought, call("look", "c1", 2, q="x")], [text_chunk("Done", 0)])
    options = ReasoningOptions(visibility="off", seal=seal, think_tags=True)
    agent = LangGraphAgent(create_agent(model, [look]), reasoning=options)
    recorded = await record_run(agent, run_input("hi"))
    assert not [kind for kind in recorded.types if kind.startswith("REASONING")]
    assert CANARY not in "".join(event.model_dump_json() for event in recorded.events)
    assert [one.content for one in recorded.messages if one.role == "assistant"] == ["Yes", "Done"]
    recorded.check_snapshot()
