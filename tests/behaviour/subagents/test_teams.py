"""Agents that share the conversation speak in it: live, after a reload, and in the next turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from ag_ui.core import Message
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ClientOptions, LangGraphAgent
from langgraph_agui.client import AGUISession
from tests.behaviour.subagents.test_next_turn import plain
from tests.kit.deep import together
from tests.kit.expect.owners import check_no_subagents
from tests.kit.graphs.teams import TEAMS, BuildTeam
from tests.kit.processes.client_agents import remote
from tests.kit.run.agents import RecordedRun, dumped
from tests.kit.run.handlers import ReceivedEvents
from tests.kit.run.thread_client import Client

teams = pytest.mark.parametrize("build", TEAMS.values(), ids=TEAMS)
modes = pytest.mark.parametrize("mode", ["attributed", "inline", "hidden"])
QUESTIONS = ("hi", "again")
THREAD: Any = {"configurable": {"thread_id": "t"}}


def without_emptied(messages: Sequence[Message]) -> list[Any]:
    """A client's messages, but what is left of reasoning that was taken back: no snapshot removes
    that."""
    return dumped([one for one in messages if one.role != "reasoning" or one.content])


def spoken_words(messages: Iterable[Any]) -> list[tuple[Any, ...]]:
    """What a client's list says, but reasoning."""
    return [
        (
            message.role,
            message.content or "",
            [(call.id, call.function.name) for call in getattr(message, "tool_calls", None) or ()],
            getattr(message, "tool_call_id", None),
        )
        for message in messages
        if message.role != "reasoning"
    ]


def kept_words(messages: Iterable[BaseMessage]) -> list[tuple[Any, ...]]:
    """The same of the graph's messages."""
    roles = {"human": "user", "ai": "assistant", "tool": "tool"}
    return [
        (
            roles[message.type],
            message.text,
            [(call["id"], call["name"]) for call in getattr(message, "tool_calls", ())],
            getattr(message, "tool_call_id", None),
        )
        for message in messages
    ]


def check_conversation(recorded: RecordedRun, answer: str) -> None:
    """A turn of a team: everything is the conversation's, nothing is open, nothing has failed."""
    check_no_subagents(recorded)
    assert recorded.last.outcome.type == "success"
    assert not recorded.last.outcome.pending_tool_call_ids
    recorded.check_snapshot()
    assert recorded.messages[-1].content == answer
    for message in recorded.messages:
        assert getattr(message, "error", None) is None
    for event in recorded.of("TOOL_CALL_RESULT"):
        assert (event.metadata or {}).get("status") != "error"


@together(teams, modes)
async def test_the_conversation_is_what_the_graph_keeps(build: BuildTeam, mode: Any) -> None:
    team = build(InMemorySaver())
    client = Client(LangGraphAgent(graph=team.graph, clients=ClientOptions(subagents=mode)))
    for question, answer in zip(QUESTIONS, team.answers, strict=True):
        recorded = await client.send(question)
        check_conversation(recorded, answer)
        spoken, kept = spoken_words(recorded.messages), kept_words(await client.stored())
        # Those who speak at once are told as they speak.
        assert spoken == kept or (team.at_once and sorted(spoken) == sorted(kept))
        shown = await client.connect()
        if not team.at_once:
            assert without_emptied(shown.messages) == without_emptied(recorded.messages)


def with_numbers(messages: Sequence[BaseMessage], seen: dict[str, str]) -> list[Any]:
    """Messages as a provider is sent them; ids of calls that a library makes up are numbered."""
    for message in messages:
        for call in getattr(message, "tool_calls", ()):
            seen.setdefault(str(call["id"]), f"call {len(seen)}")
    named = str(plain(list(messages)))
    for call_id, number in seen.items():
        named = named.replace(call_id, number)
    return [named]


@teams
async def test_the_models_read_what_they_would_have_read(build: BuildTeam) -> None:
    team, alone = build(InMemorySaver()), build(InMemorySaver())
    client = Client(LangGraphAgent(graph=team.graph))
    for question in QUESTIONS:
        await client.send(question)
        await alone.graph.ainvoke({"messages": [HumanMessage(question)]}, THREAD)
    for model, other in zip(team.models, alone.models, strict=True):
        assert model.seen
        ours, theirs = dict[str, str](), dict[str, str]()
        assert [with_numbers(messages, ours) for messages in model.seen] == [
            with_numbers(messages, theirs) for messages in other.seen
        ]


@teams
def test_a_sessions_text_is_the_answer(build: BuildTeam) -> None:
    team = build(InMemorySaver())
    with remote(LangGraphAgent(graph=team.graph)) as agent:
        session = AGUISession[Any](agent.url, thread_id="t")
        for question, answer in zip(QUESTIONS, team.answers, strict=True):
            before = len(session.messages)
            turn = session.send(question).wait()
            texts = [
                message.content
                for message in session.messages[before:]
                if message.role == "assistant" and message.content
            ]
            assert texts[-1] == answer
            assert turn.text == "\n\n".join(texts)
            assert not session.pending_tool_calls


@teams
async def test_a_handler_is_told_of_no_subagents(build: BuildTeam) -> None:
    team, received = build(None), ReceivedEvents()
    await team.graph.ainvoke({"messages": [HumanMessage("hi")]}, received.config)
    messages = received.check()
    assert not received.of("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR")
    assert {message.subagent_run_id for message in messages} == {None}
    assert messages[-1].content == team.answers[0]
