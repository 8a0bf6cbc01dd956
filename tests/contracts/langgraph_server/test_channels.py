"""A graph on a LangGraph server: results stand in any channel, and an agent may end by a call; no
tool has failed."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui import LangGraphAgent
from tests.contracts.langgraph_server.kit_graphs import CHANNELS
from tests.kit.deep import deep
from tests.kit.run.agents import RecordedRun, collect, dumped, record_run, run_input, user
from tests.rooms.translate.test_unfailed_tools import TOLD, check_told

FIRST, *OTHERS = CHANNELS

pytestmark = pytest.mark.xdist_group("remote")


@pytest.mark.parametrize("name", [FIRST, *(pytest.param(name, marks=deep) for name in OTHERS)])
async def test_no_tool_is_shown_as_failed(name: str, server: str) -> None:
    agent, thread = LangGraphAgent(RemoteGraph(name, url=server)), str(uuid4())
    recorded = await record_run(agent, run_input(user("hi"), thread=thread))
    check_told(recorded, TOLD[CHANNELS[name]])
    given = run_input(*recorded.messages, thread=thread)
    again = RecordedRun(await collect(agent.connect(given)), given)
    assert dumped(again.messages) == dumped(recorded.messages)
    second = await record_run(agent, run_input(*recorded.messages, user("more"), thread=thread))
    failed: list[Any] = [
        one for one in second.messages if one.role == "tool" and one.error is not None
    ]
    assert (second.last.type, failed) == ("RUN_FINISHED", [])
