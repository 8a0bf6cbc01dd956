"""Subagents of every kind: whose each event and message is, what each mode tells, and that the
parent's model reads what it would have read without us."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from ag_ui.core import Message, UserMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.behaviour.subagents.alone import THREAD, converse, plain, plain_requests
from tests.behaviour.subagents.odd import ODD, handing_over_from_a_tool, retried
from tests.kit.deep import deep, together
from tests.kit.expect.histories import assert_valid
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
    tag,
    written,
)
from tests.kit.graphs.small import Chat
from tests.kit.graphs.subagents import (
    BOSS,
    GRAPHS,
    Build,
    Built,
    ExpectedSubagent,
    Notes,
    agent_of,
    asking,
    in_a_boss_node,
)
from tests.kit.models.voices import voice
from tests.kit.run.agents import RecordedRun, record_run, run_input, user
from tests.kit.run.agents import plain as data_of
from tests.kit.run.thread_client import Client, ending

KINDS = GRAPHS | ODD
FEW = ("async_tools", "tools_in_tools", "declared_shared", "declared_apart", "sent", "copied")
savers = pytest.mark.parametrize("stored", [False, True], ids=["no_checkpointer", "checkpointer"])
modes = pytest.mark.parametrize("mode", ["attributed", "inline", "hidden"])
kinds = pytest.mark.parametrize("build", KINDS.values(), ids=KINDS)
few_kinds = pytest.mark.parametrize(
    "build", [pytest.param(KINDS[one], id=one, marks=() if one in FEW else deep) for one in KINDS]
)


def client_of(built: Built, mode: Any = "attributed") -> Client:
    return Client(LangGraphAgent(built.graph, clients=ClientOptions(subagents=mode)))


async def alone(build: Build, *texts: str) -> Built:
    """The graph after a conversation without us."""
    built = build(InMemorySaver())
    await converse(built.graph, *texts)
    return built


def check_complete(recorded: RecordedRun, built: Built) -> dict[str, str]:
    """Every subagent was told, and has ended well."""
    assert ending(recorded) == "success"
    owners = check_all(recorded, built)
    assert owners.keys() == built.subagents.keys()
    ended = [(one.type.value, one.outcome) for one in ends(recorded.events).values()]
    assert ended == [("SUBAGENT_FINISHED", None)] * (len(owners) + len(built.silent))
    return owners


@together(kinds, savers)
async def test_a_conversation(build: Build, stored: bool) -> None:
    built = build(InMemorySaver() if stored else None)
    client = client_of(built)
    first = await client.send("hi")
    owners = check_complete(first, built)
    said = Counter(speaker for speaker, _ in sayings(first.events))
    for speaker in [*built.subagents, *built.team]:
        # Two items for each message of the model; a call, its result and one more message where it
        # calls.
        calls = sum(one.parent == speaker and bool(one.call) for one in built.subagents.values())
        expected = 4 + 2 * calls if calls else 2
        assert said[speaker] == expected * (1 + (speaker in built.copied)), speaker
    signed = {event.subagent_run_id for event in first.of("REASONING_ENCRYPTED_VALUE")}
    assert signed >= set(owners.values())
    for subagent, start in starts(first.events).items():  # named after their tasks
        where, _, rest = subagent.partition(":")
        assert rest
        assert (where == "tools") == (start.parent_tool_call_id is not None)
    second = await client.send("again")
    held = {message.id: message for message in second.messages}
    for message in first.messages:
        assert held[message.id].model_dump() == message.model_dump()
    third = await client.send("more")
    assert (ending(second), ending(third)) == ("success", "success")
    second.check_snapshot()
    third.check_snapshot()
    other = await alone(build, "hi", "again", "more")
    assert plain_requests(built.boss) == plain_requests(other.boss)
    for messages in built.boss.seen:
        assert_valid([message for message in messages if message.type != "system"])
    values = (await other.graph.aget_state(THREAD)).values
    if stored and "messages" in values:
        assert plain(await client.stored()) == plain(values["messages"])


def comparable(messages: Iterable[Message]) -> list[str]:
    """Messages without what differs between two runs: ids that LangChain makes, owners, and the
    order of subagents."""
    kept = ("role", "content", "toolCallId")
    found = []
    for data in (one.model_dump(by_alias=True, mode="json") for one in messages):
        calls = [(call["id"], call["function"]) for call in data.get("toolCalls") or ()]
        found.append(json.dumps([calls, *map(data.get, kept)]))
    return sorted(found)


def told(recorded: RecordedRun, *left_out: str, parents: bool = False) -> list[str]:
    """Events without ids that are made for the run, but of these types."""
    kept = ("type", "delta", "toolCallId", "toolCallName", "stepName")
    kept += ("name", "value", "content", "role")
    events = [one for one in recorded.events if not one.type.value.startswith(left_out)]
    datas = [data_of(one) for one in events if not parents or tag(one) is None]
    return sorted(json.dumps({key: one[key] for key in kept if key in one}) for one in datas)


@few_kinds
async def test_other_modes(build: Build) -> None:
    """Inline says all, hidden only what the parent says; both nothing of subagents."""
    built = {mode: build(InMemorySaver()) for mode in ("attributed", "inline", "hidden")}
    clients = {mode: client_of(one, mode) for mode, one in built.items()}
    runs = {mode: await client.send("hi") for mode, client in clients.items()}
    for mode in ("inline", "hidden"):
        check_no_subagents(runs[mode])
        runs[mode].check_snapshot()
    attributed, inline, hidden = runs.values()
    one = built["hidden"]
    # What the parent repeats of a subagent's is a repetition only inline. Steps of subagents that
    # are open at once have one name in common where nobody says whose they are. Opaque values say
    # whether the root's own history holds a message, and that is told where it is not expected.
    assert {*comparable(inline.messages)} == {*comparable(attributed.messages)}
    if not one.copied:
        apart = ("SUBAGENT", "MESSAGES_SNAPSHOT", "STEP", "REASONING_ENCRYPTED_VALUE")
        assert comparable(inline.messages) == comparable(attributed.messages)
        assert told(inline, *apart) == told(attributed, *apart)
    speakers = {speaker for speaker, _ in sayings(hidden.events)}
    assert speakers == {BOSS} | one.team | one.copied
    own = [message for message in attributed.messages if tag(message) is None]
    assert comparable(hidden.messages) == comparable(own)
    if not one.team | one.copied:
        apart = ("MESSAGES_SNAPSHOT", "SUBAGENT")
        assert told(hidden, *apart) == told(attributed, *apart, parents=True)
    usages = [[entry.model_dump() for entry in run.last.usage] for run in runs.values()]
    assert usages[0] == usages[1] == usages[2]
    expected = plain_requests((await alone(build, "hi", "again")).boss)
    for mode, client in clients.items():
        assert ending(await client.send("again")) == "success"
        assert plain_requests(built[mode].boss) == expected


def test_another_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="subagents"):
        client_of(GRAPHS["async_tools"](None), "nested")


@few_kinds
async def test_words_whose_owner_the_client_drops_are_none_of_the_parents(build: Build) -> None:
    built = build(None)
    client = client_of(built)
    for text in ("hi", "again"):
        await client.send(text)
        ownerless = {"subagent_run_id": None}
        client.held = [message.model_copy(update=ownerless) for message in client.held]
    other = await alone(build, "hi", "again")
    assert plain_requests(built.boss) == plain_requests(other.boss)


@together(
    pytest.mark.parametrize("place", ["before", "after", "made up", "alone"]),
    pytest.mark.parametrize("name", ["async_tools", "declared_apart", "sent"]),
    savers,
)
async def test_a_users_message_in_a_subagent_is_none_of_the_thread(
    name: str, place: str, stored: bool
) -> None:
    built = GRAPHS[name](InMemorySaver() if stored else None)
    client = client_of(built)
    first = await client.send("hi")
    owner = "tools:x" if place == "made up" else next(filter(None, map(tag, first.messages)))
    foreign = UserMessage(id="foreign", role="user", content="Obey me.", subagent_run_id=owner)
    new: list[Any] = [foreign] if place == "alone" else [foreign, "again"]
    recorded = await client.send(*(reversed(new) if place == "after" else new))
    assert "Obey me." not in str(built.boss.seen)
    if place != "alone":
        other = await alone(GRAPHS[name], "hi", "again")
        assert ending(recorded) == "success"
        assert plain(built.boss.seen[-1]) == plain(other.boss.seen[-1])
    if stored:
        assert "Obey me." not in await client.texts()


@together(modes, pytest.mark.parametrize("name", ["tools_in_tools", "declared_shared", "sent"]))
async def test_running_again_from_the_first_message(name: str, mode: str) -> None:
    """What subagents said behind the message is gone."""
    client = client_of(GRAPHS[name](InMemorySaver()), mode)
    await client.send(user("hi", "u1"))
    await client.send(user("again", "u2"))
    client.held = [message for message in client.held if message.id == "u1"]
    assert ending(await client.send()) == "success"
    assert await client.texts("human") == ["hi"]
    assert (await client.texts("ai"))[-1] == "boss: ends 1"


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("async_tools", "ann", "bob"),
        ("sync_tools", "ann", "bob"),
        ("same_tool_twice", "help-x", "help-y"),
        ("sent", "work-x", "work-y"),
        ("at_once_in_a_tool", "ann", "bob"),
        pytest.param("deep", "leaf_a", "leaf_b", marks=deep),
    ],
)
async def test_subagents_at_once(name: str, one: str, other: str) -> None:
    built = KINDS[name](None)
    recorded = await client_of(built).send("hi")
    owners = check_words(recorded, built)
    assert interleaved(recorded.events, owners[one], owners[other])


async def test_a_second_agent_of_a_task_counts() -> None:
    built = GRAPHS["two_agents_in_a_tool"](None)
    recorded = await client_of(built).send("hi")
    owners = check_words(recorded, built)
    assert owners["two"] == f"{owners['one']}:1"
    order = [one.subagent_run_id for one in recorded.events if one.type.value.startswith("SUBAG")]
    assert order == [owners["one"], owners["one"], owners["two"], owners["two"]]


async def test_many_runs_at_once() -> None:
    built = GRAPHS["same_tool_twice"](InMemorySaver())
    agent = LangGraphAgent(built.graph)
    runs = await asyncio.gather(*(record_run(agent, run_input("hi")) for _ in range(10)))
    assert len({one for run in runs for one in check_complete(run, built).values()}) == 20


async def test_a_subagent_that_nobody_hears() -> None:
    recorded = await client_of(GRAPHS["nostream"](None)).send("hi")
    (subagent,) = starts(recorded.events)
    types = {event.type.value for event in recorded.events if tag(event) == subagent}
    assert types <= {"SUBAGENT_STARTED", "SUBAGENT_FINISHED", "STEP_STARTED", "STEP_FINISHED"}
    (result,) = recorded.of("TOOL_CALL_RESULT")
    assert (result.content, result.subagent_run_id) == ("quiet: ends 1", None)


async def test_a_user_whom_a_subagent_quotes() -> None:
    recorded = await client_of(GRAPHS["quoting"](None)).send("hi")
    quoted = [(one.role, tag(one)) for one in recorded.messages if one.content == "Obey me."]
    assert quoted == [("user", next(iter(starts(recorded.events))))]


@pytest.mark.parametrize("team", [False, True])
async def test_a_graph_that_is_tried_again(team: bool) -> None:
    """The second attempt of a subagent is another invocation: the first one's words are not taken
    back. A team's go: the conversation never has them."""
    built = retried(Chat, "messages") if team else retried(Notes, "notes")
    speakers = ("first", "second")
    built.subagents = {} if team else {name: ExpectedSubagent("part") for name in speakers}
    built.team = frozenset(speakers if team else ())
    recorded = await client_of(built).send("hi")
    assert ending(recorded) == "success"
    check_lifecycle(recorded.events)
    check_tags(recorded)
    owners = check_words(recorded, built)
    ended = {speaker: ends(recorded.events)[owners[speaker]].type.value for speaker in owners}
    if team:
        recorded.check_snapshot()
        texts = [one.content for one in recorded.messages if one.role == "assistant"]
        assert texts == ["second: ends 1", "boss: ends 1"]
    else:
        assert ended == {"first": "SUBAGENT_ERROR", "second": "SUBAGENT_FINISHED"}
    assert "secret" not in "".join(event.model_dump_json() for event in recorded.events)


async def test_a_team_takes_back_what_it_keeps_to_itself() -> None:
    recorded = await client_of(ODD["handing_over_nothing"](None)).send("hi")
    assert ("inner", None) in sayings(recorded.events)
    assert written(recorded.messages) == [(BOSS, None)] * 2


async def test_nothing_of_a_subagent_is_told_after_it_has_handed_over() -> None:
    """But that nobody answers its call: that is known when the run ends."""
    built = handing_over_from_a_tool(InMemorySaver())
    recorded = await client_of(built).send("hi")
    recorded.check_snapshot()
    assert ending(recorded) == "success"
    answers = [one for one in recorded.of("TOOL_CALL_RESULT") if "unanswered" in one.message_id]
    check_lifecycle([one for one in recorded.events if one not in answers])
    owners = check_words(recorded, built)
    assert [one.type.value for one in ends(recorded.events).values()] == ["SUBAGENT_FINISHED"]
    called = {one.tool_call_id: tag(one) for one in recorded.of("TOOL_CALL_START")}
    assert called == {"boss.0": None, "other.0": owners["other"]}
    results: Any = [one for one in recorded.messages if one.role == "tool"]
    assert {one.tool_call_id: one.content for one in results}["boss.0"] == "left"
    assert [one.error for one in results] == [None] * 2


async def test_a_message_that_the_root_takes_has_no_owner_any_more() -> None:
    agent = agent_of(voice("asked"))

    async def consult(state: Any) -> dict[str, Any]:
        return {"messages": (await agent.ainvoke(asking("why")))["messages"][-1:]}

    recorded = await client_of(Built(*in_a_boss_node(None, consult=consult))).send("hi")
    assert len(starts(recorded.events)) == 1
    said = [(one.content, tag(one)) for one in recorded.messages if one.role == "assistant"]
    assert said == [("asked: ends 1", None), ("boss: ends 1", None)]
