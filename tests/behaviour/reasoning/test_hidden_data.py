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

from langgraph_agui import AGUICallbackHandler, ReasoningOptions, StateOptions
from langgraph_agui.protocol import Verifier, fold
from tests.kit.expect.agreement import record_stream
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
from tests.kit.waiting import PATIENCE


class Kept(Chat):
    kept: Any
    log: Annotated[list[AnyMessage], add_messages]


@dataclass
class KeptData:
    messages: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)
    kept: Any = None


class KeptModel(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = []
    kept: Any = None


class Wrapped(BaseModel):
    inner: Any


@pytest.mark.parametrize("state", [Kept, KeptData, KeptModel])
@pytest.mark.parametrize(
    "keep",
    [
        lambda reply: reply,
        lambda reply: {"deep": [(reply,)]},
        lambda reply: Wrapped(inner=reply),
        lambda reply: reply.content,
        lambda reply: {"thought": reply.content[0], "text": reply.text},
        lambda reply: [AIMessage("Answer", additional_kwargs={"reasoning_content": CANARY})],
    ],
    ids=["message", "deep", "model", "content", "block", "beside"],
)
async def test_other_channels(state: Any, keep: Any) -> None:
    model = Scripted(THOUGHT)

    async def node(state: Any) -> Any:
        reply = await model.ainvoke("hi")
        return {"messages": [reply], "kept": keep(reply)}

    recorded = await receive_event(chain_of(node, state=state))
    assert "Answer" in json.dumps(recorded.state["kept"])


@pytest.mark.parametrize("reasoning", [HIDDEN, UNSEALED], ids=["sealed", "unsealed"])
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
    assert CANARY in str(model.seen[1][-1].content)
    await receive_event(graph, *first.messages, "more", reasoning=reasoning)
    (result,) = [message for message in model.seen[-1] if message.type == "tool"]
    assert "Answer" in result.content
    assert (result.content == model.seen[1][-1].content) == (reasoning is HIDDEN)


async def test_what_the_client_does_not_see_of_a_channel_stays_in_it() -> None:
    """A client sends back the state that it was shown: that is no change."""
    model = Scripted(THOUGHT)

    async def node(state: Kept) -> Any:
        return (
            {}
            if state.get("kept")
            else {"kept": (reply := await model.ainvoke("hi")), "log": [reply]}
        )

    graph = chain_of(node, state=Kept, checkpointer=InMemorySaver())
    shown = StateOptions(include={"kept", "log"})
    first = await receive_event(graph, shown=shown)
    assert set(first.state) == {"kept", "log"}
    second = await receive_event(graph, "more", state=first.state, shown=shown)
    assert not second.of("STATE_SNAPSHOT", "STATE_DELTA")
    values = (await graph.aget_state({"configurable": {"thread_id": "t"}})).values
    assert CANARY in str(values["kept"].content)
    assert CANARY in str(values["log"][0].content)


async def test_what_only_looks_like_reasoning_is_the_applications_own() -> None:
    own = {
        "reasoning": "Because.",
        "thinking": "Yes.",
        "type": "verdict",
        "schema": {"type": ["string", "null"]},
    }

    async def node(state: Kept) -> Any:
        return {"kept": [own, {"type": None}]}

    recorded = await receive_event(chain_of(node, state=Kept))
    assert recorded.state["kept"] == [own, {"type": None}]


@pytest.mark.parametrize(
    "give",
    [
        lambda reply: reply,
        lambda reply: reply.content,
        lambda reply: [reply],
        lambda reply: {"answer": reply},
        lambda reply: {"messages": [reply]},
        lambda reply: [{"answer": reply}],
        lambda reply: (reply, 1),
        lambda reply: Wrapped(inner=[reply]),
    ],
    ids=["message", "content", "list", "dict", "messages", "deep", "tuple", "model"],
)
@pytest.mark.parametrize("saver", [None, InMemorySaver()], ids=["stateless", "stored"])
async def test_a_functional_graph(give: Any, saver: Any) -> None:
    model = Scripted(THOUGHT)

    @entrypoint(checkpointer=saver)
    async def graph(given: Any) -> Any:
        return give(await model.ainvoke("hi"))

    recorded = await receive_event(graph)
    assert texts(recorded) == ["Answer"]


async def test_a_message_is_no_state() -> None:
    """A functional graph that returns a message says it; its fields are no channels."""

    @entrypoint()
    async def graph(given: Any) -> Any:
        return await Scripted(["Answer"]).ainvoke("hi")

    recorded = await receive_event(graph, reasoning=ReasoningOptions())
    assert recorded.state == {}
    assert texts(recorded) == ["Answer"]


async def test_custom_events() -> None:
    model = Scripted(THOUGHT)

    async def node(state: Chat) -> Any:
        reply = await model.ainvoke("hi")
        get_stream_writer()({"draft": reply})
        await adispatch_custom_event("draft", [reply, reply.content])
        return {}

    recorded = await receive_event(chain_of(node))
    assert len(recorded.of("CUSTOM")) == 2
    assert all("Answer" in json.dumps(event.value) for event in recorded.of("CUSTOM"))


async def test_interrupts() -> None:
    model = Scripted(THOUGHT)

    async def draft(state: Kept) -> Any:
        return {"kept": await model.ainvoke("hi")}

    async def review(state: Kept) -> Any:
        interrupt({"question": "Is it right?", "draft": state["kept"]})
        return {"messages": [state["kept"]]}

    graph = chain_of(draft, review, state=Kept, checkpointer=InMemorySaver())
    recorded = await receive_event(graph)
    (asked,) = recorded.last.outcome.interrupts
    assert "Answer" in json.dumps(asked.metadata)
    resumed = await receive_event(
        graph,
        *recorded.messages,
        resume=[ResumeEntry(interrupt_id=asked.id, status="resolved", payload="yes")],
    )
    assert texts(resumed) == ["Answer"]


async def test_beside_a_summary_the_whole_thought_is_hidden() -> None:
    """Servers of open models speak OpenAI's Responses and send what the model thought, word for
    word."""
    item = {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": CANARY}],
    }
    message = AIMessage(
        [item, {"type": "text", "text": "Built"}],
        id="m1",
        response_metadata={"model_provider": "openai"},
    )

    async def node(state: Kept) -> Any:
        return {"messages": [message], "kept": message}

    for options in (
        ReasoningOptions(visibility="summary"),
        ReasoningOptions(visibility="summary", seal=SEAL),
    ):
        recorded = await receive_event(chain_of(node, state=Kept), reasoning=options)
        assert thoughts(recorded) == [""]


def remember(reply: Any) -> Any:
    return {"reply": reply, "words": reply.content}


@pytest.mark.parametrize(
    "runnable",
    [
        Scripted(THOUGHT),
        Scripted(THOUGHT, disable_streaming=True),
        Scripted(THOUGHT) | StrOutputParser(),
        Scripted(THOUGHT) | RunnableLambda(lambda reply: [{"reply": reply}]),
        Scripted(THOUGHT) | RunnableLambda(remember),
        chain_of(talker(Scripted(THOUGHT))),
    ],
    ids=["model", "whole", "text", "result", "dict", "graph"],
)
@pytest.mark.parametrize("reasoning", [HIDDEN, UNSEALED], ids=["sealed", "unsealed"])
async def test_the_callback_handler(runnable: Any, reasoning: ReasoningOptions) -> None:
    events: list[Any] = []
    handler = AGUICallbackHandler(events.append, reasoning=reasoning)
    given = {"messages": [("user", "hi")]} if hasattr(runnable, "aget_state") else "hi"
    await asyncio.wait_for(runnable.ainvoke(given, {"callbacks": [handler]}), PATIENCE)
    verifier = Verifier(strict=True)
    for event in events:
        verifier.feed(event)
    verifier.finish()
    record_stream(events)
    check_events(events)
    assert [message.content for message in fold(events, [], {}).messages] == ["", "Answer"]
