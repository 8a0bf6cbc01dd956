"""Model calls on a LangGraph server whose messages no node keeps: clients lose them when the node
has ended."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui import ClientOptions, LangGraphAgent
from langgraph_agui.graphs import adapt_graph
from tests.contracts.langgraph_server.inner_graphs import GRAPHS
from tests.kit.deep import deep
from tests.kit.run.agents import RecordedRun, record_run, run_input, user
from tests.rooms.translate.test_unkept_messages import shown

pytestmark = [pytest.mark.xdist_group("remote"), deep]

ROLES = {"human": "user", "ai": "assistant", "tool": "tool"}


def position(recorded: RecordedRun, delta: str) -> int:
    """Where a fragment is; those behind it may have merged with it."""
    deltas = [str(getattr(event, "delta", None)) for event in recorded.events]
    return [text.startswith(delta) for text in deltas].index(True)


def agent_of(server: str, name: str, **options: Any) -> LangGraphAgent:
    return LangGraphAgent(RemoteGraph(name, url=server), **options)


async def kept(server: str, name: str, thread: str) -> list[Any]:
    """What the server keeps of a thread."""
    stored = await adapt_graph(RemoteGraph(name, url=server)).load_state(
        {"configurable": {"thread_id": thread}}
    )
    return [(ROLES[message.type], message.text) for message in stored.values["messages"]]


async def recorded(agent: LangGraphAgent, *messages: Any, thread: str) -> RecordedRun:
    run = await record_run(agent, run_input(*messages, thread=thread))
    assert run.last.type == "RUN_FINISHED", run.last
    run.check_snapshot()
    return run


PLAIN = ("in_a_tool", "retried")


@pytest.mark.parametrize(
    "name", [*PLAIN, *(pytest.param(name, marks=deep) for name in GRAPHS if name not in PLAIN)]
)
async def test_the_client_holds_what_the_server_keeps(name: str, server: str) -> None:
    agent, thread = agent_of(server, name), str(uuid4())
    first = await recorded(agent, user("hi"), thread=thread)
    assert shown(first) == await kept(server, name, thread)
    assert not first.last.outcome.pending_tool_call_ids
    second = await recorded(agent, *first.messages, user("more"), thread=thread)
    assert shown(second) == await kept(server, name, thread)
    heard = " / ".join(f"{kind}:{text}" for kind, text in _heard(shown(second)[:-1]))
    assert str(second.messages[-1].content).lower() == f"i heard {heard}".lower()


def _heard(messages: list[Any]) -> list[Any]:
    types = {role: kind for kind, role in ROLES.items()}
    return [(types[role], text) for role, text in messages]


async def test_a_tools_model_is_seen_live_and_gone_when_its_node_has_ended(server: str) -> None:
    agent = agent_of(server, "in_a_tool")
    stream = await recorded(agent, user("hi"), thread=str(uuid4()))
    words, snapshot = position(stream, "Inner words"), stream.types.index("MESSAGES_SNAPSHOT")
    assert words < snapshot < position(stream, "I heard ")
    assert "Inner words" not in str(stream.events[snapshot])


async def test_inner_models_can_be_hidden(server: str) -> None:
    stream = await recorded(
        agent_of(server, "in_a_tool", clients=ClientOptions(models_in_tools="hidden")),
        user("hi"),
        thread=str(uuid4()),
    )
    assert "Inner" not in str(stream.events)
    assert not stream.of("REASONING_START")


@deep
async def test_a_structured_answer_is_a_call_until_its_node_has_ended(server: str) -> None:
    """A server does not tell that it is structured. So its call is answered, and taken back."""
    stream = await recorded(agent_of(server, "in_a_router"), user("hi"), thread=str(uuid4()))
    [started] = stream.of("TOOL_CALL_START")
    [result] = stream.of("TOOL_CALL_RESULT")
    assert (started.tool_call_name, result.tool_call_id) == ("Route", started.tool_call_id)
    after = stream.events[stream.types.index("MESSAGES_SNAPSHOT") :]
    assert "Route" not in str(after)
    assert position(stream, "I heard ") > stream.types.index("MESSAGES_SNAPSHOT")
