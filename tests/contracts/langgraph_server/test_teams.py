"""Teams of a graph on a LangGraph server speak in the conversation, as those of a graph here do."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import pytest
from langchain_core.messages import BaseMessage
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.messages.extract import decode_message
from tests.behaviour.subagents.test_teams import (
    QUESTIONS,
    check_conversation,
    kept_words,
    spoken_words,
    without_emptied,
)
from tests.contracts.langgraph_server.kit_graphs import MODES
from tests.kit.deep import deep
from tests.kit.expect.owners import check_no_subagents, starts
from tests.kit.graphs.teams import TEAMS
from tests.kit.run.agents import dumped
from tests.kit.run.dialogues import resolved
from tests.kit.run.thread_client import Client, asked

pytestmark = [pytest.mark.xdist_group("remote"), deep]

Clients = Callable[[str], Client]


@pytest.fixture
def client_of(server: str) -> Clients:
    def make(name: str) -> Client:
        return Client(LangGraphAgent(graph=RemoteGraph(name, url=server)), thread=str(uuid4()))

    return make


async def kept(client: Client) -> list[BaseMessage]:
    """The messages of the thread."""
    messages = [decode_message(one) for one in await client.stored()]
    return [one for one in messages if one is not None]


@pytest.mark.parametrize("name", TEAMS)
async def test_the_conversation_is_what_the_graph_keeps(client_of: Clients, name: str) -> None:
    team, client = TEAMS[name](None), client_of(f"team_{name}")
    for question, answer in zip(QUESTIONS, team.answers, strict=True):
        recorded = await client.send(question)
        check_conversation(recorded, answer)
        spoken, stored = spoken_words(recorded.messages), kept_words(await kept(client))
        assert spoken == stored or (team.at_once and sorted(spoken) == sorted(stored))
        shown = await client.connect()
        if not team.at_once:
            assert without_emptied(shown.messages) == without_emptied(recorded.messages)


@pytest.mark.parametrize("mode", MODES)
async def test_a_pause_in_a_team(client_of: Clients, mode: str) -> None:
    client = client_of(f"declared_{mode}")
    first = await client.send("hi")
    first.check_snapshot()
    check_no_subagents(first)
    (question,) = asked(first)
    assert (question.subagent_run_id, question.tool_call_id) == (None, "leaf.0")
    shown = await client.connect()
    assert [one.model_dump() for one in asked(shown)] == [question.model_dump()]
    assert dumped(shown.messages) == dumped(first.messages)
    recorded = await client.send(resume=resolved((question.id, {"approved": True})))
    check_conversation(recorded, "boss: ends 1")
    assert spoken_words(recorded.messages) == kept_words(await kept(client))


@pytest.mark.parametrize("mode", MODES)
async def test_a_pause_in_a_graph_with_another_state(client_of: Clients, mode: str) -> None:
    client = client_of(f"declared_apart_{mode}")
    first = await client.send("hi")
    assert [one.name for one in starts(first.events).values()] == ["part", "leaf"]
    (question,) = asked(first)
    owners = list(starts(first.events))
    assert (question.subagent_run_id, question.tool_call_id) == (owners[1], "leaf.0")
    recorded = await client.send(resume=resolved((question.id, {"approved": True})))
    assert list(starts(recorded.events)) == owners
    assert recorded.messages[-1].content == "boss: ends 1"
