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


def grouped(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Kind and text, with neighbours of one kind as one."""
    return [
        (name, "".join(text for _, text in group))
        for name, group in groupby(pieces, key=lambda one: one[0])
    ]


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
    blocks = {kind: Block(kind, kind, kind) for kind in KINDS}
    received: list[BaseEvent] = []
    expected: list[tuple[str, str]] = []
    for action in actions:
        match action:
            case "take" if len(reader):
                received += await reader.take()
            case "event":
                reader.event(agui.CustomEvent(name="n", value=len(expected)))
                expected.append(("CUSTOM", ""))
            case (kind, text):
                reader.fragment(blocks[kind], text)
                expected.append((CONTENTS[KINDS.index(kind)], text))
    reader.close()
    received += await reader.take()
    found = [(event.type.value, getattr(event, "delta", "")) for event in received]
    assert grouped(found) == grouped(expected)


async def test_what_waits_together_leaves_as_one_event() -> None:
    """At full speed, a token takes less than 60 bytes."""
    words = [f"{number}  " for number in range(1000)]
    agent, given = agent_of(talker(Scripted(words))), run_input("hi")
    frames = [chunk async for chunk in agent.stream_sse(given)]
    assert sum(map(len, frames)) < 60 * len(words)
    for events in ([*decode(frames)], (await record_run(agent, given)).events):
        found = contents(events)
        assert "".join(event.delta for event in found) == "".join(words)
        assert len(found) < len(words) / 5


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
    calls = [calling(part("look", '{"a"', "c1")), calling(part(None, ":1}"))]
    turn = [thinking("I "), thinking("think"), "So ", "be it", *calls]
    recorded = await record_run(agent_of(talker(Scripted(turn))), run_input("hi"))
    deltas = [event.delta for event in contents(recorded.events)]
    assert deltas == ["I think", "So be it", '{"a":1}']


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


@pytest.mark.parametrize(
    ("fragments", "deltas"),
    [
        pytest.param(["x" * (PIECE // 2)] * 3, ["x" * PIECE, "x" * (PIECE // 2)], id="too long"),
        pytest.param(["\ud83d", "\ude00"], ["😀"], id="halves of a pair"),
    ],
)
async def test_merged_text_is_what_clients_take(fragments: list[str], deltas: list[str]) -> None:
    reader, block = Subscription(10**9), Block("text", "m", 0)
    for fragment in fragments:
        reader.fragment(block, fragment)
    reader.close()
    events: Any = decode([await reader.take_frames()])
    assert [event.delta for event in events] == deltas


@pytest.mark.parametrize("limit", [10**9, 1000], ids=["left", "too slow"])
async def test_nothing_is_kept_for_a_reader_that_is_gone(limit: int) -> None:
    reader, block = Subscription(limit), Block("text", "m", 0)
    reader.fragment(block, "x")
    if limit > 1000:
        async with reader:
            pass
    for _ in range(1000):
        reader.fragment(block, "more")
    if limit == 1000:
        assert contents(await asyncio.wait_for(reader.take(), PATIENCE)) == []
    assert (len(reader), reader.waiting) == (0, 0)
