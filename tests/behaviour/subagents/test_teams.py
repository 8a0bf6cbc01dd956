"""Agents that share the conversation speak in it: live, after a reload, in the next turn, and
around a pause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from ag_ui.core import Message
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt
from langgraph_supervisor import create_supervisor
from langgraph_swarm import create_handoff_tool, create_swarm

from langgraph_agui import ClientOptions, LangGraphAgent
from langgraph_agui.client import AGUISession
from tests.behaviour.subagents.alone import converse, plain
from tests.kit.deep import deep, together
from tests.kit.expect.owners import check_no_subagents
from tests.kit.graphs.small import Chat, talker
from tests.kit.graphs.subagents import agent_of, asking, graph_of, named_in
from tests.kit.graphs.teams import TEAMS, BuildTeam, member
from tests.kit.processes.client_agents import remote
from tests.kit.run.agents import RecordedRun, dumped
from tests.kit.run.dialogues import resolved
from tests.kit.run.handlers import ReceivedEvents
from tests.kit.run.thread_client import Client, asked, ending

teams = pytest.mark.parametrize("build", TEAMS.values(), ids=TEAMS)
modes = pytest.mark.parametrize("mode", ["attributed", "inline", "hidden"])
QUESTIONS = ("hi", "again")


def without_emptied(messages: Sequence[Message]) -> list[Any]:
    """A client's messages, but what is left of reasoning that was taken back: no snapshot removes
    that."""
    return dumped([one for one in messages if one.role != "reasoning" or one.content])


def spoken_words(messages: Iterable[Any]) -> list[tuple[Any, ...]]:
    """What a client's list says, but reasoning."""
    return [
        (
            one.role,
            one.content or "",
            [(call.id, call.function.name) for call in getattr(one, "tool_calls", None) or ()],
            getattr(one, "tool_call_id", None),
        )
        for one in messages
        if one.role != "reasoning"
    ]


def kept_words(messages: Iterable[BaseMessage]) -> list[tuple[Any, ...]]:
    """The same of the graph's messages."""
    roles = {"human": "user", "ai": "assistant", "tool": "tool"}
    return [
        (
            roles[one.type],
            one.text,
            [(call["id"], call["name"]) for call in getattr(one, "tool_calls", ())],
            getattr(one, "tool_call_id", None),
        )
        for one in messages
    ]


def check_conversation(recorded: RecordedRun, answer: str) -> None:
    """A turn of a team: everything is the conversation's, nothing is open, nothing has failed."""
    check_no_subagents(recorded)
    assert ending(recorded) == "success"
    assert not recorded.last.outcome.pending_tool_call_ids
    recorded.check_snapshot()
    assert recorded.messages[-1].content == answer
    assert not [one for one in recorded.messages if getattr(one, "error", None)]
    for event in recorded.of("TOOL_CALL_RESULT"):
        assert (event.metadata or {}).get("status") != "error"


def requests(model: Any) -> list[str]:
    """What a model was sent; ids of calls that a library makes up are numbered."""
    sent = [str(plain(messages)) for messages in model.seen]
    messages = [message for each in model.seen for message in each]
    ids = [call["id"] for one in messages for call in getattr(one, "tool_calls", ())]
    for number, call_id in enumerate(dict.fromkeys(ids)):
        sent = [one.replace(call_id, f"call {number}") for one in sent]
    return sent


@together(teams, modes)
async def test_the_conversation_is_what_the_graph_keeps(build: BuildTeam, mode: Any) -> None:
    """And the models read what they would have read."""
    team, alone = build(InMemorySaver()), build(InMemorySaver())
    client = Client(LangGraphAgent(team.graph, clients=ClientOptions(subagents=mode)))
    for question, answer in zip(QUESTIONS, team.answers, strict=True):
        recorded = await client.send(question)
        check_conversation(recorded, answer)
        spoken, kept = spoken_words(recorded.messages), kept_words(await client.stored())
        # Those who speak at once are told as they speak.
        assert spoken == kept or (team.at_once and sorted(spoken) == sorted(kept))
        shown = await client.connect()
        if not team.at_once:
            assert without_emptied(shown.messages) == without_emptied(recorded.messages)
    await converse(alone.graph, *QUESTIONS)
    assert all(model.seen for model in team.models)
    assert [*map(requests, team.models)] == [*map(requests, alone.models)]


@pytest.mark.parametrize(
    "name", ["supervisor", *(pytest.param(name, marks=deep) for name in [*TEAMS][1:])]
)
def test_a_sessions_text_is_the_answer(name: str) -> None:
    team = TEAMS[name](InMemorySaver())
    with remote(LangGraphAgent(team.graph)) as agent:
        session = AGUISession[Any](agent.url, thread_id="t")
        for question, answer in zip(QUESTIONS, team.answers, strict=True):
            before = len(session.messages)
            turn = session.send(question).wait()
            new = session.messages[before:]
            texts = [one.content for one in new if one.role == "assistant" and one.content]
            assert texts[-1] == answer
            assert turn.text == "\n\n".join(texts)
            assert not session.pending_tool_calls


@teams
async def test_a_handler_is_told_of_no_subagents(build: BuildTeam) -> None:
    team, received = build(None), ReceivedEvents()
    await team.graph.ainvoke(asking("hi"), received.config)
    messages = received.check()
    assert not received.of("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR")
    assert {message.subagent_run_id for message in messages} == {None}
    assert messages[-1].content == team.answers[0]
    assert ending(received) == "success"
    assert not received.last.outcome.pending_tool_call_ids


# Pauses. Each graph has a checkpointer; beside it are the answer and what is said last.

Paused = Callable[[Any], tuple[Any, Any, str]]
PAUSED: dict[str, Paused] = {}


_pausing = named_in(PAUSED)


@tool
def ask(question: str) -> str:
    """Ask the user."""
    return f"they said {interrupt(question)}"


def asking_agent() -> Any:
    return create_agent(member("ann", ("ask", {"question": "why"})), [ask], name="ann")


def speaking(who: str) -> Any:
    return talker(member(who), who)


@_pausing
def agent_node_with_approval(saver: Any) -> tuple[Any, Any, str]:
    guard = HumanInTheLoopMiddleware({"ask": True})
    model = member("ann", ("ask", {"question": "why"}))
    free = tool("ask", description="Ask.")(lambda question: "seen")
    agent = create_agent(model, [free], middleware=[guard], name="ann")
    return graph_of(Chat, saver, ann=agent), {"approved": True}, "ann: answers 1"


@_pausing
def agent_node_in_between(saver: Any) -> tuple[Any, Any, str]:
    """Others speak before it and after it."""
    around = speaking("before"), speaking("after")
    graph = graph_of(Chat, saver, before=around[0], ann=asking_agent(), after=around[1])
    return graph, "so", "after: answers 1"


@_pausing
def team_in_a_team(saver: Any) -> tuple[Any, Any, str]:
    inner = graph_of(Chat, first=speaking("first"), ann=asking_agent())
    return graph_of(Chat, saver, inner=inner, last=speaking("last")), "so", "last: answers 1"


@_pausing
def called_by_a_node(saver: Any) -> tuple[Any, Any, str]:
    agent = asking_agent()

    async def consult(state: Any) -> dict[str, Any]:
        return {"messages": (await agent.ainvoke({"messages": state["messages"]}))["messages"]}

    return graph_of(Chat, saver, consult=consult), "so", "ann: answers 1"


@_pausing
def supervised(saver: Any) -> tuple[Any, Any, str]:
    boss = member("boss", ("transfer_to_ann", {}))
    graph = create_supervisor([asking_agent()], model=boss, output_mode="full_history")
    return graph.compile(checkpointer=saver), "so", "boss: answers 1"


@_pausing
def in_a_swarm(saver: Any) -> tuple[Any, Any, str]:
    leave = create_handoff_tool(agent_name="ann")
    bob = create_agent(member("bob", ("transfer_to_ann", {})), [leave], name="bob")
    graph = create_swarm([bob, asking_agent()], default_active_agent="bob")
    return graph.compile(checkpointer=saver), "so", "ann: answers 1"


@_pausing
def before_it_speaks(saver: Any) -> tuple[Any, Any, str]:
    async def question(state: Any) -> dict[str, Any]:
        interrupt("why")
        return {}

    inner = graph_of(Chat, question=question, speak=speaking("ann"))
    return graph_of(Chat, saver, inner=inner), "so", "ann: answers 1"


@_pausing
def breakpoint_inside(saver: Any) -> tuple[Any, Any, str]:
    inner = graph_of(Chat, ann=speaking("ann"), bob=speaking("bob"))
    inner.interrupt_before_nodes = ["bob"]
    return graph_of(Chat, saver, inner=inner), {"approved": True}, "bob: answers 1"


@_pausing
def beside_another(saver: Any) -> tuple[Any, Any, str]:
    """The other one comes to its end."""
    builder: Any = StateGraph(Chat)
    builder.add_node("ann", asking_agent())
    builder.add_node("bob", agent_of(member("bob"), name="bob"))
    builder.add_node("boss", speaking("boss"))
    fan: Any = lambda state: [Send(name, state) for name in ("ann", "bob")]  # noqa: E731
    builder.add_conditional_edges(START, fan, ["ann", "bob"])
    builder.add_edge(["ann", "bob"], "boss")
    return builder.compile(checkpointer=saver), "so", "boss: answers 1"


@together(
    pytest.mark.parametrize("kind", PAUSED),
    pytest.mark.parametrize("back", [False, True], ids=["live", "reloaded"]),
)
async def test_a_pause(kind: str, back: bool) -> None:
    """Ask, look at the open question with an empty client, answer, and look again."""
    saver = InMemorySaver()
    graph, answer, last = PAUSED[kind](saver)
    client = Client(LangGraphAgent(graph))
    first = await client.send("hi")
    first.check_snapshot()
    (question,) = asked(first)
    assert question.subagent_run_id is None
    shown = await client.connect()
    assert asked(shown) == [question]
    if kind != "beside_another":
        assert without_emptied(shown.messages) == without_emptied(first.messages)
    calls = [call.id for one in shown.messages for call in getattr(one, "tool_calls", None) or ()]
    approval = kind == "agent_node_with_approval"
    assert question.tool_call_id == ("ann.1.0" if approval else None)
    assert question.tool_call_id in [None, *calls]
    if back:  # in another process too
        client.agent = LangGraphAgent(PAUSED[kind](saver)[0])
        client.held, client.state = shown.messages, shown.state
    recorded = await client.send(resume=resolved((question.id, answer)))
    check_conversation(recorded, last)
    spoken, kept = spoken_words(recorded.messages), kept_words(await client.stored())
    after = await client.connect()
    if kind == "beside_another":
        spoken, kept = sorted(spoken), sorted(kept)
    else:
        assert without_emptied(after.messages) == without_emptied(recorded.messages)
    assert spoken == kept
