"""Fragments that wait together for a reader leave as one event, and what they add up to is the
same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pytest
from ag_ui import core as agui
from ag_ui.core import BaseEvent
from hypothesis import given
from hypothesis import strategies as st

from langgraph_agui.messages.assistant_turn import Block
from langgraph_agui.messages.blocks import BlockKind
from langgraph_agui.protocol import decode
from langgraph_agui.readers import subscription
from langgraph_agui.readers.sinks import PIECE
from langgraph_agui.readers.subscription import Subscription
from tests.kit.graphs.small import agent_of, talker
from tests.kit.models.scripted import Scripted, calling, part, thinking
from tests.kit.run.agents import record_run, run_input
from tests.kit.waiting import PATIENCE

KINDS: tuple[BlockKind, ...] = ("text", "reasoning", "call")
CONTENTS = ("TEXT_MESSAGE_CONTENT", "REASONING_MESSAGE_CONTENT", "TOOL_CALL_ARGS")


def contents(events: Sequence[Any]) -> list[Any]:
    return [event for event in events if event.type.value in CONTENTS]


def merged(events: Sequence[Any]) -> list[tuple[str, str]]:
    """Type and text of the events, with neighbours of one block as one."""
    pieces = [
        (f"{event.type.value} {block_of(event)}", getattr(event, "delta", "")) for event in events
    ]
    return [
        (name, "".join(text for _, text in group))
        for name, group in groupby(pieces, key=lambda one: one[0])
    ]


def block_of(event: Any) -> str:
    return str(
        getattr(event, "message_id", None)
        or getattr(event, "tool_call_id", None)
        or event.type.value
    )


ACTIONS = st.lists(
    st.one_of(
        st.just("take"),
        st.just("event"),
        st.tuples(st.sampled_from(KINDS), st.text(min_size=1, max_size=3)),
    )
)


@given(ACTIONS)
async def test_the_order_stays_and_no_character_is_lost(actions: Sequence[Any]) -> None:
    reader = Subscription(10**9)
    blocks = {kind: Block(kind, f"id-{kind}", kind) for kind in KINDS}
    received: list[BaseEvent] = []
    expected: list[tuple[str, str]] = []
    for action in actions:
        match action:
            case "take" if len(reader):
                received += await reader.take()
            case "event":
                reader.event(agui.CustomEvent(name="n", value=len(expected)))
                expected.append(("CUSTOM CUSTOM", ""))
            case (kind, text):
                reader.fragment(blocks[kind], text)
                names = {"text": "TEXT_MESSAGE_CONTENT", "reasoning": "REASONING_MESSAGE_CONTENT"}
                expected.append((f"{names.get(kind, 'TOOL_CALL_ARGS')} id-{kind}", text))
    reader.close()
    received += await reader.take()

    grouped = [
        (name, "".join(text for _, text in group))
        for name, group in groupby(expected, key=lambda one: one[0])
    ]
    assert merged(received) == grouped


@pytest.mark.parametrize("sse", [False, True])
async def test_what_waits_together_leaves_as_one_event(sse: bool) -> None:
    agent = agent_of(talker(Scripted([f"{number} " for number in range(1000)])))
    if sse:
        events: Any = [*decode([chunk async for chunk in agent.stream_sse(run_input("hi"))])]
    else:
        events = (await record_run(agent, run_input("hi"))).events

    found = contents(events)
    assert "".join(event.delta for event in found) == "".join(
        f"{number} " for number in range(1000)
    )
    assert len(found) < 1000 / 5


async def test_at_full_speed_a_token_takes_less_than_60_bytes() -> None:
    agent = agent_of(talker(Scripted(["word  "] * 5000)))

    size = sum([len(chunk) async for chunk in agent.stream_sse(run_input("hi"))])

    assert size < 5000 * 60


async def test_where_the_reader_keeps_up_each_fragment_leaves_alone() -> None:
    """As at a provider's pace: the model sends a fragment when the reader has the one before."""
    arrived = asyncio.Semaphore(1)

    class Paced(Scripted):
        async def _astream(self, *args: Any, **kwargs: Any) -> Any:
            async for chunk in super()._astream(*args, **kwargs):
                await arrived.acquire()
                yield chunk

    words = [f"{number} " for number in range(100)]
    found: list[str] = []
    async for event in agent_of(talker(Paced(words))).run(run_input("hi")):
        if event.type.value == "TEXT_MESSAGE_CONTENT":
            found.append(event.delta)
            arrived.release()

    assert found == words


async def test_blocks_are_not_mixed() -> None:
    turn = [
        thinking("I "),
        thinking("think"),
        "So ",
        "be it",
        calling(part("look", '{"a"', "c1")),
        calling(part(None, ":1}")),
    ]
    recorded = await record_run(agent_of(talker(Scripted(turn))), run_input("hi"))

    assert [event.delta for event in contents(recorded.events)] == [
        "I think",
        "So be it",
        '{"a":1}',
    ]


async def test_the_first_content_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run begins with leaves at once, also where the next batches would wait for long."""
    monkeypatch.setattr(subscription, "INTERVAL", 1000.0)
    hold = asyncio.Event()

    class Held(Scripted):
        async def _astream(self, *args: Any, **kwargs: Any) -> Any:
            async for chunk in super()._astream(*args, **kwargs):
                yield chunk
                await hold.wait()

    agent = agent_of(talker(Held(["first", " second"])))
    received: list[Any] = []

    async with asyncio.timeout(PATIENCE):
        async for event in agent.run(run_input("hi")):
            received.append(event)
            if event.type.value == "TEXT_MESSAGE_CONTENT" and event.delta == "first":
                hold.set()

    assert [event.delta for event in contents(received)] == ["first", " second"]


async def test_after_a_burst_batches_wait_for_the_interval() -> None:
    reader, block = Subscription(10**9), Block("text", "m", 0)
    batches = 0

    async def read() -> None:
        nonlocal batches
        while await reader.take():
            batches += 1

    reading = asyncio.create_task(read())
    for _ in range(500):
        reader.fragment(block, "x")
        await asyncio.sleep(0)
    reader.close()
    await reading

    assert 3 <= batches < 250


async def test_merged_text_is_cut_where_clients_would_refuse_it() -> None:
    reader, block = Subscription(10**9), Block("text", "m", 0)
    for _ in range(5):
        reader.fragment(block, "x" * (PIECE // 2))
    reader.close()

    deltas = [event.delta for event in decode([await reader.take_frames()])]

    assert [len(delta) for delta in deltas] == [PIECE, PIECE, PIECE // 2]


async def test_pairs_that_a_fragment_cuts_are_whole() -> None:
    reader, block = Subscription(10**9), Block("text", "m", 0)
    for half in ("\ud83d", "\ude00"):
        reader.fragment(block, half)
    reader.close()

    assert [event.delta for event in decode([await reader.take_frames()])] == ["😀"]


@pytest.mark.parametrize("how", ["left", "too slow"])
async def test_nothing_is_kept_for_a_reader_that_is_gone(how: str) -> None:
    limit = 1000 if how == "too slow" else 10**9
    reader, block = Subscription(limit), Block("text", "m", 0)
    reader.fragment(block, "x")
    if how == "left":
        async with reader:
            pass
    for _ in range(1000):
        reader.fragment(block, "more")

    held = (
        [event.delta for event in contents(await asyncio.wait_for(reader.take(), PATIENCE))]
        if how != "left"
        else []
    )
    assert (held, len(reader), reader.waiting) == ([], 0, 0)
