"""Messages of a graph on a LangGraph server that are held back until its guardrails have run."""

from __future__ import annotations

from uuid import uuid4

import pytest
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.behaviour.threads.test_connect import connect
from tests.behaviour.wrap.test_stream_transformers import said
from tests.kit.expect.canary import check_events
from tests.kit.run.agents import RecordedRun, record_run, run_input

pytestmark = pytest.mark.xdist_group("remote")


async def held(server: str, name: str) -> RecordedRun:
    """A run that tells nothing, and a thread that looks the same after a reload."""
    agent = LangGraphAgent(RemoteGraph(name, url=server), clients=ClientOptions(hold_messages=True))
    thread = str(uuid4())
    recorded = await record_run(agent, run_input("Hi", thread=thread))
    check_events(recorded.events)
    shown = await connect(agent, thread=thread)
    assert shown.messages == [
        message for message in recorded.messages if message.subagent_run_id is None
    ]
    return recorded


async def test_answers_and_results(server: str) -> None:
    recorded = await held(server, "guarded")
    assert said(recorded) == "I look. Found ***"
    assert [event.content for event in recorded.of("TOOL_CALL_RESULT")] == ["Ann is ***."] * 2


async def test_a_subagent(server: str) -> None:
    recorded = await held(server, "guarded_inside")
    assert said(recorded) == "I am ***Thanks."
    assert recorded.of("SUBAGENT_STARTED")
