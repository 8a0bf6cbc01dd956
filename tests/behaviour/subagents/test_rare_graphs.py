"""The rarer graphs, by the same rules as the others."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.behaviour.subagents.test_next_turn import client_of, plain, without_us
from tests.kit.expect.owners import (
    check_all,
    check_lifecycle,
    check_no_subagents,
    check_tags,
    check_words,
    ends,
    interleaved,
    sayings,
    starts,
    written,
)
from tests.kit.graphs.odd_subagents import ODD, handing_over_from_a_tool, retried
from tests.kit.graphs.small import Chat
from tests.kit.graphs.subagents import BOSS, Build, ExpectedSubagent, Notes
from tests.kit.run.agents import record_run, run_input

odd = pytest.mark.parametrize("build", ODD.values(), ids=ODD)


@odd
@pytest.mark.parametrize("stored", [False, True], ids=["no_checkpointer", "checkpointer"])
async def test_owners(build: Build, stored: bool) -> None:
    built = build(InMemorySaver() if stored else None)
    recorded = await record_run(LangGraphAgent(graph=built.graph), run_input("hi", thread="t"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    owners = check_all(recorded, built)
    assert set(owners) == set(built.subagent_ids)
    assert set(starts(recorded.events)) == set(owners.values())
    assert [(event.type.value, event.outcome) for event in ends(recorded.events).values()] == [
        ("SUBAGENT_FINISHED", None)
    ] * len(starts(recorded.events))


@odd
async def test_hidden(build: Build) -> None:
    built = build(InMemorySaver())
    recorded = await record_run(
        LangGraphAgent(graph=built.graph, clients=ClientOptions(subagents="hidden")),
        run_input("hi", thread="t"),
    )
    recorded.check_snapshot()
    check_no_subagents(recorded)
    assert {speaker for speaker, _ in sayings(recorded.events)} == {BOSS} | built.team


@odd
@pytest.mark.parametrize("mode", ["attributed", "inline", "hidden"])
async def test_the_next_turn(build: Build, mode: str) -> None:
    built = build(InMemorySaver())
    client = client_of(built, mode)
    for text in ("hi", "again"):
        recorded = await client.send(text)
        assert recorded.last.outcome.type == "success"
    expected = await without_us(build, "hi", "again")
    assert [plain(messages) for messages in built.boss.seen] == [
        plain(messages) for messages in expected
    ]


async def test_two_agents_of_a_call_at_once() -> None:
    built = ODD["at_once_in_a_tool"](None)
    recorded = await record_run(LangGraphAgent(graph=built.graph), run_input("hi"))
    owners = check_words(recorded, built)
    assert interleaved(recorded.events, owners["ann"], owners["bob"])


async def test_a_subagent_that_is_tried_again() -> None:
    """The second attempt is another invocation: the first one's words are not taken back."""
    built = retried(Notes, "notes")
    built.subagent_ids = {name: ExpectedSubagent("part") for name in ("first", "second")}
    recorded = await record_run(LangGraphAgent(graph=built.graph), run_input("hi"))
    assert recorded.last.outcome.type == "success"
    check_lifecycle(recorded.events)
    check_tags(recorded)
    owners = check_words(recorded, built)
    ended: Any = {speaker: ends(recorded.events)[owners[speaker]].type.value for speaker in owners}
    assert ended == {"first": "SUBAGENT_ERROR", "second": "SUBAGENT_FINISHED"}
    assert "secret" not in "".join(event.model_dump_json() for event in recorded.events)


async def test_a_member_of_a_team_that_is_tried_again() -> None:
    """The first one's words go: the conversation never has them."""
    built = retried(Chat, "messages")
    built.team = frozenset({"first", "second"})
    recorded = await record_run(LangGraphAgent(graph=built.graph), run_input("hi"))
    assert recorded.last.outcome.type == "success"
    recorded.check_snapshot()
    check_no_subagents(recorded)
    assert check_words(recorded, built) == {}
    texts = [one.content for one in recorded.messages if one.role == "assistant"]
    assert texts == ["second: ends 1", "boss: ends 1"]


async def test_a_team_takes_back_what_it_keeps_to_itself() -> None:
    built = ODD["handing_over_nothing"](None)
    recorded = await record_run(LangGraphAgent(graph=built.graph), run_input("hi"))
    assert ("inner", None) in sayings(recorded.events)
    assert [speaker for speaker, _ in written(recorded.messages)] == [BOSS, BOSS]


async def test_nothing_of_a_subagent_is_told_after_it_has_handed_over() -> None:
    """But that nobody answers its call: that is known when the run ends."""
    built = handing_over_from_a_tool(InMemorySaver())
    recorded = await record_run(LangGraphAgent(graph=built.graph), run_input("hi", thread="t"))
    recorded.check_snapshot()
    assert recorded.last.outcome.type == "success"
    check_lifecycle(
        [
            event
            for event in recorded.events
            if not getattr(event, "message_id", "").endswith(":unanswered")
        ]
    )
    owners = check_words(recorded, built)
    assert {event.type.value for event in ends(recorded.events).values()} == {"SUBAGENT_FINISHED"}
    called = {event.tool_call_id: event.subagent_run_id for event in recorded.of("TOOL_CALL_START")}
    assert called == {"boss.0": None, "other.0": owners["other"]}
    results = {
        message.tool_call_id: message.content
        for message in recorded.messages
        if message.role == "tool"
    }
    assert results["boss.0"] == "left"
    assert [getattr(message, "error", None) for message in recorded.messages] == [None] * len(
        recorded.messages
    )
