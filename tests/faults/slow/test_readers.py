"""Readers that do not read: what waits for them is bounded, and then they have left."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from ag_ui.core import (
    RunFinishedEvent,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from fastapi import FastAPI
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, RunLimits, agui_router
from langgraph_agui.protocol import Verifier
from langgraph_agui.protocol.sse import decode
from langgraph_agui.readers.subscription import Subscription
from tests.kit.models.endless import Talker, flat
from tests.kit.processes.raw_http import Connection, body_of
from tests.kit.processes.serving import serving
from tests.kit.run.agents import RecordedRun, collect, run_input
from tests.kit.waiting import PATIENCE, eventually

WORDS = 1_000


class Loud(Talker):
    """A talker with words of `length` characters."""

    length: int = 500

    def _word(self, number: int) -> ChatGenerationChunk:
        self.meter.produced += 1
        return ChatGenerationChunk(message=AIMessageChunk(content="x" * self.length, id="m"))


def loud(length: int = 500) -> Loud:
    return Loud(words=WORDS, pause=0, length=length)


def left(events: list[Any]) -> list[tuple[str, str | None]]:
    return [(event.type.value, getattr(event, "code", None)) for event in events[-1:]]


LET_GO = [("RUN_ERROR", "reader_too_slow")]


@pytest.mark.parametrize("on_disconnect", ["cancel", "continue"])
def test_a_client_that_does_not_read_is_let_go(
    on_disconnect: Literal["cancel", "continue"],
) -> None:
    # more in the whole than the buffers of kernel and server hold for a reader, by far
    model = loud(20_000)
    app, given = FastAPI(), run_input("go", thread="t")
    agent = LangGraphAgent(
        flat(model, InMemorySaver()),
        limits=RunLimits(unread=1_000_000),
        on_disconnect=on_disconnect,
    )
    app.include_router(agui_router(agent, "/agent"))
    with serving(app) as served, Connection(served.port, receive_buffer=65_536) as connection:
        connection.send("POST", "/agent", body_of(given))
        assert connection.head()[0] == 200
        assert model.meter.ended.wait(PATIENCE)
        assert (model.meter.produced == WORDS) == (on_disconnect == "continue")
        # Who reads at last gets what was under way, and learns what has happened.
        verifier, events = Verifier(strict=True, input=given), list(decode(connection.pieces()))
        for event in events:
            verifier.feed(event)
        verifier.finish()
        assert left(events) == LET_GO
        assert sum(event.type.value == "TEXT_MESSAGE_CONTENT" for event in events) < WORDS
        served.wait_idle()


async def test_who_joins_and_does_not_read_disturbs_nobody() -> None:
    agent = LangGraphAgent(flat(loud(), InMemorySaver()), limits=RunLimits(unread=100_000))
    events = agent.run(given := run_input("go", thread="t"))
    received = [await anext(events)]
    joined = agent.connect(joiner := run_input(thread="t"))
    seen = [await anext(joined)]
    received += await collect(events)
    assert left(RecordedRun(received, given).events) == [("RUN_FINISHED", None)]
    RecordedRun([*seen, *(rest := await collect(joined))], joiner)
    assert left(rest) == LET_GO


async def test_a_program_that_does_not_read_is_let_go() -> None:
    model = loud()
    events = LangGraphAgent(flat(model), limits=RunLimits(unread=100_000)).run(
        given := run_input("go")
    )
    received = [await anext(events)]
    await eventually(model.meter.ended.is_set, "the run stops")
    assert model.meter.produced < WORDS
    assert left(RecordedRun([*received, *await collect(events)], given).events) == LET_GO


async def test_what_is_open_is_closed_before_a_reader_is_let_go() -> None:
    """In the middle of a text, of which it has got the beginning."""
    events = LangGraphAgent(flat(model := loud()), limits=RunLimits(unread=100_000)).run(
        given := run_input("go")
    )
    received = [await anext(events)]
    while received[-1].type.value != "TEXT_MESSAGE_START":
        received.append(await anext(events))
    await eventually(model.meter.ended.is_set, "the run stops")
    recorded = RecordedRun([*received, *await collect(events)], given)
    assert recorded.types[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_ERROR"]


async def test_large_events_count_at_once() -> None:
    model = loud(200_000)
    events = LangGraphAgent(flat(model), limits=RunLimits(unread=1_000_000)).run(run_input("go"))
    await anext(events)
    await eventually(model.meter.ended.is_set, "the run stops")
    assert model.meter.produced < 20
    await events.aclose()


async def test_what_waits_is_counted_anew_for_who_reads() -> None:
    """A reader gets more in the whole than may wait for it."""
    given = run_input("go")
    recorded = RecordedRun(
        await collect(LangGraphAgent(flat(loud()), limits=RunLimits(unread=100_000)).run(given)),
        given,
    )
    assert left(recorded.events) == [("RUN_FINISHED", None)]


async def test_what_was_closed_is_not_closed_again() -> None:
    """Whoever takes what waits, beside what comes, has it in one stream."""
    given, reader = run_input(thread="t", run="r"), Subscription(10_000)
    reader.event(RunStartedEvent(thread_id="t", run_id="r", protocol_version="1.0"))
    reader.event(TextMessageStartEvent(message_id="m", role="assistant"))
    events = await reader.take()
    reader.event(TextMessageEndEvent(message_id="m"))
    events += reader.take_waiting()
    end = RunFinishedEvent(
        thread_id="t", run_id="r", outcome=RunFinishedSuccessOutcome(pending_tool_call_ids=[])
    )
    reader.event(end)
    events += await reader.take()
    assert [event.type for event in RecordedRun(events, given).events] == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
