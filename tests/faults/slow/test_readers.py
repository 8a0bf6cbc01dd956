"""Readers that do not read: what waits for them is bounded, and then they have left."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import (
    RunFinishedEvent,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from fastapi import FastAPI
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, RunLimits, agui_router
from langgraph_agui.protocol.sse import decode
from langgraph_agui.readers.subscription import Subscription
from tests.kit.deep import deep
from tests.kit.models.endless import Talker, flat
from tests.kit.processes.raw_http import Connection, body_of
from tests.kit.processes.serving import serving
from tests.kit.run.agents import RecordedRun, collect, run_input
from tests.kit.waiting import PATIENCE, eventually

pytestmark = deep

WORDS = 1_000


class Loud(Talker):
    """A talker with words of `length` characters."""

    length: int = 500

    def _word(self, number: int) -> str:
        return "x" * self.length


def loud(length: int = 500, unread: int = 100_000, **options: Any) -> tuple[Loud, LangGraphAgent]:
    model, limits = Loud(words=WORDS, pause=0, length=length, said_as="m"), RunLimits(unread=unread)
    return model, LangGraphAgent(flat(model, InMemorySaver()), limits=limits, **options)


def end(recorded: RecordedRun) -> str:
    return str(getattr(recorded.last, "code", recorded.last.type.value))


@pytest.mark.parametrize("on_disconnect", ["cancel", "continue"])
def test_a_client_that_does_not_read_is_let_go(on_disconnect: Any) -> None:
    # more in the whole than the buffers of kernel and server hold for a reader, by far
    model, agent = loud(20_000, 1_000_000, on_disconnect=on_disconnect)
    app, given = FastAPI(), run_input("go", thread="t")
    app.include_router(agui_router(agent, "/agent"))
    with serving(app) as served, Connection(served.port, 65_536) as connection:
        connection.send("POST", "/agent", body_of(given))
        assert connection.head()[0] == 200
        assert model.meter.ended.wait(PATIENCE)
        assert (model.meter.produced == WORDS) == (on_disconnect == "continue")
        # Who reads at last gets what was under way, and learns what has happened.
        recorded = RecordedRun(list(decode(connection.pieces())), given)
        assert end(recorded) == "reader_too_slow"
        assert len(recorded.of("TEXT_MESSAGE_CONTENT")) < WORDS
        served.wait_idle()


async def test_who_joins_and_does_not_read_disturbs_nobody() -> None:
    """A reader gets more in the whole than may wait for it."""
    (_, agent), given, own = loud(), run_input("go", thread="t"), run_input(thread="t")
    events, joined = agent.run(given), agent.connect(own)
    received, seen = [await anext(events)], [await anext(joined)]
    received += await collect(events)
    assert end(RecordedRun(received, given)) == "RUN_FINISHED"
    assert end(RecordedRun([*seen, *await collect(joined)], own)) == "reader_too_slow"


@pytest.mark.parametrize(
    ("until", "length", "unread", "most"),
    [
        ("TEXT_MESSAGE_START", 500, 100_000, WORDS - 1),
        pytest.param("RUN_STARTED", 200_000, 1_000_000, 20, id="large events count at once"),
    ],
)
async def test_a_program_that_does_not_read_is_let_go(
    until: str, length: int, unread: int, most: int
) -> None:
    """What is open is closed before."""
    (model, agent), given, received = loud(length, unread), run_input("go"), list[Any]()
    events = agent.run(given)
    while not received or received[-1].type.value != until:
        received.append(await anext(events))
    await eventually(model.meter.ended.is_set, "the run stops")
    assert model.meter.produced <= most
    recorded = RecordedRun([*received, *await collect(events)], given)
    assert end(recorded) == "reader_too_slow"
    if until == "TEXT_MESSAGE_START":
        assert recorded.types[-3:] == ["TEXT_MESSAGE_END", "STEP_FINISHED", "RUN_ERROR"]


async def test_what_was_closed_is_not_closed_again() -> None:
    """Whoever takes what waits, beside what comes, has it in one stream."""
    given, reader = run_input(thread="t", run="r"), Subscription(10_000)
    reader.event(RunStartedEvent(thread_id="t", run_id="r", protocol_version="1.0"))
    reader.event(TextMessageStartEvent(message_id="m", role="assistant"))
    events = await reader.take()
    reader.event(TextMessageEndEvent(message_id="m"))
    events += reader.take_waiting()
    outcome = RunFinishedSuccessOutcome(pending_tool_call_ids=[])
    reader.event(RunFinishedEvent(thread_id="t", run_id="r", outcome=outcome))
    events += await reader.take()
    kinds = ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_END", "RUN_FINISHED"]
    assert RecordedRun(events, given).types == kinds
