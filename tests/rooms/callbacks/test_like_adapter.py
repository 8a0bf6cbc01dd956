"""A graph says the same through the handler as through `LangGraphAgent`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import Event, Message
from langchain.agents import create_agent
from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking, used
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input
from tests.kit.run.handlers import ReceivedEvents, call_by, into_client, ways

ASKED: Any = {"messages": [("user", "hi")]}
modes = pytest.mark.parametrize("mode", ["attributed", "inline", "hidden"])


@tool
def look(q: int) -> str:
    """Look something up."""
    return f"found {q}"


def named(message_id: str, *chunks: AIMessageChunk) -> list[AIMessageChunk]:
    return [chunk.model_copy(update={"id": message_id}) for chunk in chunks]


def looking() -> Any:
    first = named(
        "m1",
        thinking("hm", 0),
        thinking(signature="SIG"),
        text_chunk("Look"),
        call("look", "c1", 2, q=7),
        used(3, 4),
    )
    return create_agent(
        Scripted(first, named("m2", text_chunk("An", 0), text_chunk("swer", 0), used(5, 6))), [look]
    )


def asking(sync: bool) -> Any:
    """An agent whose tool asks an agent with a tool of its own."""
    first = named(
        "i1", thinking("inner?", 0), text_chunk("inner"), call("look", "i-c1", 2, q=8), used(1, 1)
    )
    helper = create_agent(
        Scripted(first, named("i2", text_chunk("found", 0), used(2, 2))), [look], name="helper"
    )

    @tool
    async def ask(description: str) -> str:
        """Ask the helper."""
        answer = await helper.ainvoke({"messages": [("user", description)]})
        return str(answer["messages"][-1].text)

    @tool("ask")
    def ask_sync(description: str) -> str:
        """Ask the helper."""
        answer = helper.invoke({"messages": [("user", description)]})
        return str(answer["messages"][-1].text)

    boss = Scripted(
        named(
            "b1",
            text_chunk("Wait", 0),
            call("ask", "b-c1", 1, description="look it up"),
            used(3, 3),
        ),
        named("b2", text_chunk("Done", 0), used(4, 4)),
    )
    return create_agent(boss, [ask_sync if sync else ask])


def known(messages: Sequence[Message], subagent_ids: dict[str, str]) -> list[dict[str, Any]]:
    """The messages without the ids that LangGraph makes up: those of tool results, and those of
    subagents."""
    dumps = dumped(messages)
    for dump in dumps:
        if dump["role"] == "tool":
            dump["id"] = ""
        if dump.get("subagentRunId"):
            dump["subagentRunId"] = subagent_ids[dump["subagentRunId"]]
    return dumps


def subagent_ids_of(events: Sequence[Event]) -> dict[str, str]:
    return {
        event.subagent_run_id: event.name
        for event in events
        if event.type.value == "SUBAGENT_STARTED"
    }


def recorded_by(events: Sequence[Event]) -> dict[str, list[tuple[str, ...]]]:
    """By subagent: what is told of messages and of the subagent itself, in order. State and steps
    are the adapter's.

    A value that a node changes at once may be told once or twice: the messages say what came of it.
    """
    subagent_ids, recorded = subagent_ids_of(events), dict[str, list[tuple[str, ...]]]()
    for event in events:
        kind = event.type.value
        if (
            kind.startswith(("TEXT_", "REASONING_", "TOOL_", "SUBAGENT_"))
            and kind != "REASONING_ENCRYPTED_VALUE"
        ):
            subagent_id = subagent_ids.get(getattr(event, "subagent_run_id", None) or "", "")
            about = [
                str(getattr(event, name, None))
                for name in ("delta", "name", "description", "parent_tool_call_id")
            ]
            recorded.setdefault(subagent_id, []).append((kind, *about))
    return recorded


async def both(way: str, make: Any, mode: str = "attributed") -> tuple[ReceivedEvents, RecordedRun]:
    received = ReceivedEvents(subagents=mode)
    await call_by(way, make(), ASKED, received.config)
    received.check()
    return received, await record_run(
        LangGraphAgent(graph=make(), clients=ClientOptions(subagents=mode)), run_input("hi")
    )


@ways
async def test_the_same_messages_ids_values_and_usage(way: str) -> None:
    received, recorded = await both(way, looking)
    assert known(received.check(), {}) == known(recorded.messages[1:], {})
    assert [message.id for message in received.check() if message.role == "assistant"] == [
        "m1",
        "m2",
    ]
    assert (
        received.of("REASONING_ENCRYPTED_VALUE") == recorded.of("REASONING_ENCRYPTED_VALUE") != []
    )
    assert received.last.usage == recorded.last.usage
    assert received.last.usage


@ways
@modes
async def test_the_same_subagents(way: str, mode: str) -> None:
    sync = not way.startswith("a")
    received, recorded = await both(way, lambda: asking(sync), mode)
    assert recorded_by(received.events) == recorded_by(recorded.events)
    assert known(received.check(), subagent_ids_of(received.events)) == known(
        recorded.messages[1:], subagent_ids_of(recorded.events)
    )
    assert received.last.usage == recorded.last.usage
    spoken = [message.content for message in received.check() if message.role == "assistant"]
    assert spoken == (["Wait", "Done"] if mode == "hidden" else ["Wait", "inner", "found", "Done"])
    assert list(subagent_ids_of(received.events).values()) == (
        ["helper"] if mode == "attributed" else []
    )


async def test_a_subagent_hangs_on_the_call_that_began_it() -> None:
    received, _ = await both("ainvoke", lambda: asking(sync=False))
    (started,) = received.of("SUBAGENT_STARTED")
    assert (started.parent_tool_call_id, started.description) == ("b-c1", "look it up")
    assert started.subagent_run_id.startswith("tools:")
    (finished,) = received.of("SUBAGENT_FINISHED")
    assert finished.subagent_run_id == started.subagent_run_id


@modes
async def test_subagents_in_the_reference_client(mode: str, node_client: NodeClient) -> None:
    received, _ = await both("ainvoke", lambda: asking(sync=False), mode)
    held = into_client(node_client, received.events).messages
    assert [message["id"] for message in held] == [message.id for message in received.check()]
