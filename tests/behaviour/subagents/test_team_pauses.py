"""A pause inside an agent that shares the conversation: what is shown while the question is open,
and after the answer, in the graph's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

from langgraph_agui import LangGraphAgent
from tests.behaviour.subagents.test_teams import (
    check_conversation,
    kept_words,
    spoken_words,
    without_emptied,
)
from tests.kit.graphs.small import Chat, talker
from tests.kit.graphs.subagents import graph_of
from tests.kit.graphs.teams import member
from tests.kit.run.dialogues import resolved
from tests.kit.run.thread_client import Client, asked

Paused = Callable[[Any], tuple[Any, Any, str]]
"""Makes a graph with a checkpointer that pauses; with the answer to its question, and what it says
last."""

WHY = ("ask", {"question": "why"})


@tool
def ask(question: str) -> str:
    """Ask the user."""
    return f"they said {interrupt(question)}"


@tool
def look(place: str) -> str:
    """Look."""
    return "seen"


def asking_agent() -> Any:
    return create_agent(member("ann", WHY), [ask], name="ann")


def agent_node(saver: Any) -> tuple[Any, Any, str]:
    return graph_of(Chat, saver, ann=asking_agent()), "so", "ann: answers 1"


def agent_node_with_approval(saver: Any) -> tuple[Any, Any, str]:
    guard = HumanInTheLoopMiddleware({"look": True})
    model = member("ann", ("look", {"place": "here"}))
    agent = create_agent(model, [look], middleware=[guard], name="ann")
    return graph_of(Chat, saver, ann=agent), {"approved": True}, "ann: answers 1"


def agent_node_in_between(saver: Any) -> tuple[Any, Any, str]:
    """Others speak before it and after it."""
    before, after = talker(member("before"), "before"), talker(member("after"), "after")
    graph = graph_of(Chat, saver, before=before, ann=asking_agent(), after=after)
    return graph, "so", "after: answers 1"


def team_in_a_team(saver: Any) -> tuple[Any, Any, str]:
    inner = graph_of(Chat, first=talker(member("first"), "first"), ann=asking_agent())
    graph = graph_of(Chat, saver, inner=inner, last=talker(member("last"), "last"))
    return graph, "so", "last: answers 1"


def called_by_a_node(saver: Any) -> tuple[Any, Any, str]:
    agent = asking_agent()

    async def consult(state: Any) -> dict[str, Any]:
        answer = await agent.ainvoke({"messages": state["messages"]})
        return {"messages": answer["messages"]}

    return graph_of(Chat, saver, consult=consult), "so", "ann: answers 1"


def supervised(saver: Any) -> tuple[Any, Any, str]:
    boss = member("boss", ("transfer_to_ann", {}))
    graph = create_supervisor([asking_agent()], model=boss, output_mode="full_history")
    return graph.compile(checkpointer=saver), "so", "boss: answers 1"


def in_a_swarm(saver: Any) -> tuple[Any, Any, str]:
    leave = create_handoff_tool(agent_name="ann")
    bob = create_agent(member("bob", ("transfer_to_ann", {})), [leave], name="bob")
    graph = create_swarm([bob, asking_agent()], default_active_agent="bob")
    return graph.compile(checkpointer=saver), "so", "ann: answers 1"


def silent(saver: Any) -> tuple[Any, Any, str]:
    """It asks before it says anything."""

    async def question(state: Any) -> dict[str, Any]:
        interrupt("why")
        return {}

    inner = graph_of(Chat, question=question, speak=talker(member("ann"), "speak"))
    return graph_of(Chat, saver, inner=inner), "so", "ann: answers 1"


def routed(saver: Any) -> tuple[Any, Any, str]:
    builder: Any = StateGraph(Chat)
    builder.add_node("ann", asking_agent())
    builder.add_node("bob", create_agent(member("bob"), [], name="bob"))
    builder.add_conditional_edges(START, lambda state: "ann", ["ann", "bob"])
    return builder.compile(checkpointer=saver), "so", "ann: answers 1"


KINDS: dict[str, Paused] = {
    kind.__name__: kind
    for kind in (
        agent_node,
        agent_node_with_approval,
        agent_node_in_between,
        team_in_a_team,
        called_by_a_node,
        supervised,
        in_a_swarm,
        silent,
        routed,
    )
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
comes_back = pytest.mark.parametrize("back", [False, True], ids=["live", "reloaded"])


async def check_dialogue(kind: Paused, saver: Any, back: bool) -> None:
    """Ask, look at the open question with an empty client, answer, and look again."""
    graph, answer, last = kind(saver)
    client = Client(LangGraphAgent(graph=graph))
    first = await client.send("hi")
    first.check_snapshot()
    (question,) = asked(first)
    assert question.subagent_run_id is None
    shown = await client.connect()
    assert [one.model_dump() for one in asked(shown)] == [question.model_dump()]
    assert without_emptied(shown.messages) == without_emptied(first.messages)
    calls = [call.id for one in shown.messages for call in getattr(one, "tool_calls", None) or ()]
    assert question.tool_call_id in [None, *calls]
    if back:  # in another process too
        client.agent = LangGraphAgent(graph=kind(saver)[0])
        client.held, client.state = shown.messages, shown.state
    recorded = await client.send(resume=resolved((question.id, answer)))
    check_conversation(recorded, last)
    assert spoken_words(recorded.messages) == kept_words(await client.stored())
    after = await client.connect()
    assert without_emptied(after.messages) == without_emptied(recorded.messages)


@kinds
@comes_back
async def test_a_question(kind: Paused, back: bool) -> None:
    await check_dialogue(kind, InMemorySaver(), back)


async def test_an_approval_names_a_call_that_a_client_has_after_a_reload() -> None:
    graph, _, _ = agent_node_with_approval(InMemorySaver())
    client = Client(LangGraphAgent(graph=graph))
    await client.send("hi")
    shown = await client.connect()
    (question,) = asked(shown)
    calls = [call.id for one in shown.messages for call in getattr(one, "tool_calls", None) or ()]
    assert [question.tool_call_id] == calls == ["ann.1.0"]
