"""Hidden reasoning in a graph's own data: state, results, custom events, interrupts, and without a
graph adapter."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from ag_ui.core import ResumeEntry
from langchain.agents import create_agent
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from pydantic import BaseModel

from langgraph_agui import ReasoningOptions, StateOptions
from tests.kit.deep import together
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
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.handlers import ReceivedEvents
from tests.kit.waiting import PATIENCE

Messages = Annotated[list[AnyMessage], add_messages]
sealed_or_not = pytest.mark.parametrize("reasoning", [HIDDEN, UNSEALED], ids=["sealed", "unsealed"])


class Kept(Chat):
    kept: Any
    log: Messages


@dataclass
class KeptData:
    messages: Messages = field(default_factory=list)
    kept: Any = None


class KeptModel(BaseModel):
    messages: Messages = []
    kept: Any = None


class Wrapped(BaseModel):
    inner: Any


@together(
    pytest.mark.parametrize("state", [Kept, KeptData, KeptModel]),
    pytest.mark.parametrize(
        "keep",
        [
            pytest.param(lambda reply: reply, id="message"),
            pytest.param(lambda reply: {"deep": [(reply,)]}, id="deep"),
            pytest.param(lambda reply: Wrapped(inner=reply), id="model"),
            pytest.param(lambda reply: reply.content, id="content"),
            pytest.param(lambda reply: {"a": reply.content[0], "b": reply.text}, id="block"),
            pytest.param(
                lambda _: [AIMessage("Answer", additional_kwargs={"reasoning_content": CANARY})],
                id="beside",
            ),
        ],
    ),
)
async def test_other_channels(state: Any, keep: Any) -> None:
    async def node(state: Any) -> Any:
        reply = await Scripted(THOUGHT).ainvoke("hi")
        return {"messages": [reply], "kept": keep(reply)}

    recorded = await receive_event(chain_of(node, state=state))
    assert "Answer" in json.dumps(recorded.state["kept"])


@sealed_or_not
async def test_a_tool_that_returns_what_a_model_said(reasoning: ReasoningOptions) -> None:
    """LangGraph writes the blocks as JSON into the tool's result; the outer model is sent them as
    they were."""
    inner = chain_of(talker(Scripted(THOUGHT)))

    @tool
    async def ask() -> Any:
        """Ask."""
        return (await inner.ainvoke({"messages": [("user", "go")]}))["messages"][-1].content

    model = Scripted([call("ask", "c1")], ["Done"], ["More"])
    graph = create_agent(model, [ask])
    first = await receive_event(graph, reasoning=reasoning)
    first.check_snapshot()
    said = model.seen[1][-1].content
    assert CANARY in str(said)
    await receive_event(graph, *first.messages, "more", reasoning=reasoning)
    (result,) = [message for message in model.seen[-1] if message.type == "tool"]
    assert "Answer" in result.content
    assert (result.content == said) == (reasoning is HIDDEN)


async def test_what_the_client_does_not_see_of_a_channel_stays_in_it() -> None:
    """A client sends back the state that it was shown: that is no change."""

    async def node(state: Kept) -> Any:
        if state.get("kept"):
            return {}
        reply = await Scripted(THOUGHT).ainvoke("hi")
        return {"kept": reply, "log": [reply]}

    graph = chain_of(node, state=Kept, checkpointer=InMemorySaver())
    shown = StateOptions(include={"kept", "log"})
    first = await receive_event(graph, shown=shown)
    assert set(first.state) == {"kept", "log"}
    second = await receive_event(graph, "more", state=first.state, shown=shown)
    assert not second.of("STATE_SNAPSHOT", "STATE_DELTA")
    values = (await graph.aget_state({"configurable": {"thread_id": "t"}})).values
    assert [CANARY in str(one.content) for one in (values["kept"], *values["log"])] == [True, True]


async def test_what_only_looks_like_reasoning_is_the_applications_own() -> None:
    schema = {"type": ["string", "null"]}
    own = {"reasoning": "Because.", "thinking": "Yes.", "type": "verdict", "schema": schema}

    async def node(state: Kept) -> Any:
        return {"kept": [own, {"type": None}]}

    recorded = await receive_event(chain_of(node, state=Kept))
    assert recorded.state["kept"] == [own, {"type": None}]


@together(
    pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["stateless", "stored"]),
    pytest.mark.parametrize(
        "give",
        [
            pytest.param(lambda reply: reply, id="message"),
            pytest.param(lambda reply: reply.content, id="content"),
            pytest.param(lambda reply: [reply], id="list"),
            pytest.param(lambda reply: {"answer": reply}, id="dict"),
            pytest.param(lambda reply: {"messages": [reply]}, id="messages"),
            pytest.param(lambda reply: [{"answer": reply}], id="deep"),
            pytest.param(lambda reply: (reply, 1), id="tuple"),
            pytest.param(lambda reply: Wrapped(inner=[reply]), id="model"),
        ],
    ),
)
async def test_a_functional_graph(give: Any, saver: Any) -> None:
    @entrypoint(checkpointer=saver)
    async def graph(given: Any) -> Any:
        return give(await Scripted(THOUGHT).ainvoke("hi"))

    assert texts(await receive_event(graph)) == ["Answer"]


async def test_a_message_is_no_state() -> None:
    """A functional graph that returns a message says it; its fields are no channels."""

    @entrypoint()
    async def graph(given: Any) -> Any:
        return await Scripted(["Answer"]).ainvoke("hi")

    recorded = await receive_event(graph, reasoning=ReasoningOptions())
    assert (recorded.state, texts(recorded)) == ({}, ["Answer"])


async def test_custom_events_and_interrupts() -> None:
    async def draft(state: Kept) -> Any:
        reply = await Scripted(THOUGHT).ainvoke("hi")
        get_stream_writer()({"draft": reply})
        await adispatch_custom_event("draft", [reply, reply.content])
        await adispatch_custom_event("thought", reply.content[0])
        return {"kept": reply}

    async def review(state: Kept) -> Any:
        interrupt({"question": "Is it right?", "draft": state["kept"]})
        return {"messages": [state["kept"]]}

    graph = chain_of(draft, review, state=Kept, checkpointer=InMemorySaver())
    recorded = await receive_event(graph)
    told = [json.dumps(event.value) for event in recorded.of("CUSTOM")]
    assert sorted("Answer" in one for one in told) == [False, True, True]
    (asked,) = recorded.last.outcome.interrupts
    assert "Answer" in json.dumps(asked.metadata)
    yes = ResumeEntry(interrupt_id=asked.id, status="resolved", payload="yes")
    assert texts(await receive_event(graph, *recorded.messages, resume=[yes])) == ["Answer"]


async def test_beside_a_summary_the_whole_thought_is_hidden() -> None:
    """Servers of open models speak OpenAI's Responses and send what the model thought, word for
    word."""
    verbatim = [{"type": "reasoning_text", "text": CANARY}]
    blocks = [{"type": "reasoning", "summary": [], "content": verbatim}, "Built"]
    message = AIMessage(blocks, id="m1", response_metadata={"model_provider": "openai"})

    async def node(state: Kept) -> Any:
        return {"messages": [message], "kept": message}

    for seal in (None, SEAL):
        options = ReasoningOptions(visibility="summary", seal=seal)
        recorded = await receive_event(chain_of(node, state=Kept), reasoning=options)
        assert thoughts(recorded) == [""]


def remember(reply: Any) -> Any:
    return {"reply": reply, "words": reply.content}


@pytest.mark.parametrize(
    "runnable",
    [
        pytest.param(Scripted(THOUGHT), id="model"),
        pytest.param(Scripted(THOUGHT, disable_streaming=True), id="whole"),
        pytest.param(Scripted(THOUGHT) | StrOutputParser(), id="text"),
        pytest.param(Scripted(THOUGHT) | RunnableLambda(lambda one: [{"a": one}]), id="result"),
        pytest.param(Scripted(THOUGHT) | RunnableLambda(remember), id="dict"),
        pytest.param(chain_of(talker(Scripted(THOUGHT))), id="graph"),
    ],
)
async def test_the_callback_handler(runnable: Any) -> None:
    given = {"messages": [("user", "hi")]} if hasattr(runnable, "aget_state") else "hi"
    for reasoning in (HIDDEN, UNSEALED):
        received = ReceivedEvents(reasoning=reasoning)
        await asyncio.wait_for(runnable.ainvoke(given, received.config), PATIENCE)
        assert [message.content for message in received.check()] == ["", "Answer"]
        check_events(received.events)
