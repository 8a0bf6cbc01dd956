"""A thread of a LangGraph server remembers which messages it has had."""

from __future__ import annotations

from uuid import uuid4

import pytest
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui import LangGraphAgent
from tests.kit.run.agents import dumped, record_run, run_input, user

pytestmark = pytest.mark.xdist_group("remote")


async def test_a_message_that_its_graph_has_removed_does_not_come_back(server: str) -> None:
    agent, thread = LangGraphAgent(RemoteGraph("moderated", url=server)), str(uuid4())
    first = await record_run(agent, run_input(user("one", "u1"), thread=thread))
    secret = [*first.messages, user("my pin is 1234", "secret")]
    removed = await record_run(agent, run_input(*secret, thread=thread))
    assert dumped(removed.messages) == dumped(first.messages)
    again = await record_run(agent, run_input(*secret, user("two", "u2"), thread=thread))
    assert [message.content for message in again.messages] == ["one", "1 left", "two", "3 left"]
