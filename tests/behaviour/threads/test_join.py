"""Joining a run while it goes on: what there is so far, what is open once more, then the rest as it
comes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import BaseEvent, Message, RunAgentInput, ToolMessage
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import decode, fold
from langgraph_agui.readers.subscription import Subscription
from tests.kit.deep import others_deep
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, collect, dumped, plain, record_run, run_input, user
from tests.kit.run.joining import Joined, agent_of, gaps, join_after, read, turns
from tests.kit.waiting import PATIENCE

EVENTS = 50
"""More than the run has events."""


def ordered(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages with the calls of a turn, and their results, in one order.

    A client has results as they came, the thread as it called; and calls that are answered before
    those that are not.
    """
    dumps = dumped(messages)
    for dump in dumps:
        if dump.get("toolCalls"):
            dump["toolCalls"].sort(key=lambda call: str(call["id"]))
    for place in range(len(dumps)):
        end = next(
            (at for at in range(place, len(dumps)) if dumps[at]["role"] != "tool"), len(dumps)
        )
        dumps[place:end] = sorted(
            dumps[place:end], key=lambda message: str(message.get("toolCallId"))
        )
    return dumps


def check(joined: Joined) -> None:
    assert joined.joined
    for recorded in joined.joined:
        assert recorded.last.run_id == recorded.input.run_id
        if recorded.input.protocol_version is not None:
            assert recorded.last.outcome == joined.live.last.outcome
        assert ordered(recorded.messages) == ordered(joined.live.messages)
        assert recorded.state == joined.live.state
        if recorded.types.count("MESSAGES_SNAPSHOT") > 1:  # the closing one has nothing to mend
            last = max(
                place for place, kind in enumerate(recorded.types) if kind == "MESSAGES_SNAPSHOT"
            )
            said_ = fold(
                [*recorded.events[:last], *recorded.events[last + 1 :]],
                recorded.input.messages,
                recorded.input.state,
            )
            assert ordered(said_.messages) == ordered(joined.live.messages)


after_any_event = pytest.mark.parametrize(
    "after", others_deep(range(1, EVENTS), lambda after: after // 4)
)


async def test_the_run_that_is_joined() -> None:
    live = (await join_after(agent_of(InMemorySaver()), 1000)).live
    assert 40 < len(live.events) < EVENTS
    assert live.state == {"mood": "fine"}
    roles = ["user", "reasoning", "assistant", "tool", "tool", "reasoning", "assistant"]
    assert [message.role for message in live.messages] == roles
    live.check_snapshot()


@after_any_event
async def test_joined_after_any_event(after: int) -> None:
    """One who holds nothing, one of before AG-UI 1.0, one who holds the question, one who has a
    state of its own."""
    inputs = [
        run_input(thread="t"),
        run_input(thread="t", protocol_version=None),
        run_input(user("go", "u1"), thread="t"),
        run_input(user("go", "u1"), thread="t", state={"mood": "old"}),
    ]
    joined = await join_after(agent_of(InMemorySaver()), after, *inputs)
    if after <= len(joined.live.events):
        check(joined)


@after_any_event
async def test_who_was_cut_off_joins_with_what_it_has(after: int) -> None:
    """A client whose connection broke in the middle of a word says what it holds of it, and gets
    all of it once."""
    given = run_input(user("go", "u1"), thread="t", run="live")
    agent, own = agent_of(InMemorySaver()), run_input(thread="t")
    recorded = await join_after(
        agent, after, lambda received: held_after(received, given, own), given=given
    )
    if after <= len(recorded.live.events):
        check(recorded)


def held_after(received: Sequence[Any], given: RunAgentInput, own: RunAgentInput) -> RunAgentInput:
    client = fold(received, given.messages)
    return own.model_copy(update={"messages": client.messages, "state": client.state}, deep=True)


@pytest.mark.parametrize("forgetful", [True, False])
@pytest.mark.parametrize("after", [1, 2, 3, 5, 12, 22, 30, 38, 40])
async def test_a_second_turn_is_joined(after: int, forgetful: bool) -> None:
    """By one who has nothing, one who has the turn before, and one who has a part of that."""
    agent = agent_of(InMemorySaver(), Scripted(*turns(), *second()))
    first = (await join_after(agent, 1000)).live
    given = run_input(
        *([] if forgetful else first.messages), user("more", "u2"), thread="t", run="live2"
    )
    holding = [[], first.messages, first.messages[:3], [*first.messages, user("more", "u2")]]
    joined = await join_after(
        agent, after, *(run_input(*held, thread="t") for held in holding), given=given
    )
    truth = {message["id"]: message for message in dumped(joined.live.messages)}
    for recorded in joined.joined:
        assert {message["id"]: message for message in dumped(recorded.messages)} == truth
    if not forgetful:
        for recorded in (joined.joined[1], joined.joined[3]):
            assert ordered(recorded.messages) == ordered(joined.live.messages)


def second() -> list[Any]:
    """The turns of a second run: as the first, under other ids."""
    renamed = {"c1": "c3", "c2": "c4"}
    pieces = []
    for piece in turns()[0]:
        if getattr(piece, "tool_call_chunks", None):
            parts = [
                {**one, "id": renamed.get(one["id"], one["id"])} for one in piece.tool_call_chunks
            ]
            piece = piece.model_copy(update={"tool_call_chunks": parts})
        pieces.append(piece)
    return [pieces, turns()[1]]


@pytest.mark.parametrize("after", [1, 4, 11, 17, 26, 40])
async def test_bytes_and_events_are_the_same(after: int) -> None:
    agent, own = agent_of(InMemorySaver()), run_input(thread="t", run="mine")
    events: list[Any] = []
    pieces: list[bytes] = []

    async def follow() -> Joined:
        return await join_after(agent, after, own)

    async def listen(reader: Subscription) -> None:
        async with reader as outlet:
            while frames := await outlet.take_frames():
                pieces.append(frames)

    original = agent.subscribe
    both: list[asyncio.Task[None]] = []

    def look(given: RunAgentInput) -> Any:
        both.append(asyncio.create_task(listen(original(given))))
        return original(given)

    agent.subscribe = look  # type: ignore[method-assign, assignment]
    (recorded,) = (await follow()).joined
    await asyncio.gather(*both)
    events = list(decode(pieces))
    assert neighbours_joined(events) == neighbours_joined(recorded.events)


def neighbours_joined(events: Sequence[BaseEvent]) -> list[dict[str, Any]]:
    """The events as dicts, with fragments of one block that follow each other as one.

    How many a reader gets depends on when it looks.
    """
    joined: list[dict[str, Any]] = []
    for event in map(plain, events):
        before = joined[-1] if joined else {}
        if "delta" in before and before | {"delta": None} == event | {"delta": None}:
            before["delta"] += event["delta"]
        else:
            joined.append(event)
    return joined


# -- readers who leave ---------------------------------------------------------------------------


def slow(*turns: list[Any], fails: bool = False) -> tuple[Scripted, asyncio.Event]:
    """A model that stops in the middle of its answer until it is told to go on."""
    gate = asyncio.Event()

    class Waiting(Scripted):
        async def _astream(self, *args: Any, **kwargs: Any) -> Any:
            async for chunk in super()._astream(*args, **kwargs):
                yield chunk
                if chunk.message.text == "Well":
                    self.hung.set()
                    await gate.wait()

    end: list[Any] = (
        [RuntimeError("down")] if fails else [text_chunk(", yes", 1), text_chunk(".", 1)]
    )
    kind: Any = Waiting
    turn = [thinking("Hm.", 0), thinking(index=0, signature="s"), text_chunk("Well", 1), *end]
    return kind(*(turns or [turn])), gate


async def begun(agent: LangGraphAgent, model: Scripted) -> Subscription:
    """A run that has stopped in the middle of its answer."""
    reader: Subscription = await agent.begin(run_input(user("go", "u1"), thread="t", run="live"))
    await asyncio.wait_for(model.hung.wait(), PATIENCE)
    return reader


def joining(agent: LangGraphAgent) -> tuple[Subscription, RunAgentInput]:
    own = run_input(thread="t")
    return agent.subscribe(own), own


async def test_a_run_whose_reader_has_left_is_joined() -> None:
    model, gate = slow()
    agent = agent_of(InMemorySaver(), model, on_disconnect="continue")
    live = await begun(agent, model)
    async with live:
        pass
    for _ in range(2):  # a joiner comes and goes: nothing changes
        async with joining(agent)[0] as outlet:
            assert (await outlet.take())[0].type.value == "RUN_STARTED"
    reader, own = joining(agent)
    gate.set()
    recorded = RecordedRun(await read(reader), own)
    assert [message.content for message in recorded.messages] == ["go", "Hm.", "Well, yes."]
    assert recorded.last.outcome.type == "success"
    stored = await agent.graph.aget_state({"configurable": {"thread_id": "t"}})
    assert [message.text for message in stored.values["messages"]] == ["go", "Well, yes."]


async def test_a_joiner_that_leaves_changes_nothing() -> None:
    model, gate = slow()
    agent = agent_of(InMemorySaver(), model)  # on_disconnect="cancel" is about the run's own reader
    live = await begun(agent, model)
    (gone, _), (stays, own) = joining(agent), joining(agent)
    assert len(await read(gone, limit=3)) == 3
    gate.set()
    received, recorded = await asyncio.gather(read(live), read(stays))
    for events, given in (
        (received, run_input(user("go", "u1"), thread="t", run="live")),
        (recorded, own),
    ):
        texts = [message.content for message in RecordedRun(events, given).messages]
        assert texts == ["go", "Hm.", "Well, yes."]


async def test_a_run_whose_own_reader_leaves_while_it_is_joined() -> None:
    """The reader who began the run decides: it leaves, and who has joined hears that it was
    cancelled."""
    model, _ = slow()
    agent = agent_of(InMemorySaver(), model)
    live = await begun(agent, model)
    reader, own = joining(agent)
    hearing = asyncio.create_task(read(reader))
    await asyncio.sleep(0.01)
    async with live:
        pass
    recorded = RecordedRun(await asyncio.wait_for(hearing, PATIENCE), own)
    assert recorded.last.outcome.type == "cancelled"


async def test_a_joiner_gets_nothing_that_only_the_tab_of_the_run_holds() -> None:
    """That tab still shows a turn that was removed: it is stale, and the thread is the truth."""
    turn = [text_chunk("Well", 1), text_chunk(", yes.", 1)]
    model, gate = slow(turn, turn)
    agent = agent_of(InMemorySaver(), model)
    gate.set()
    before = run_input(user("my pin is 1234", "u1"), thread="t", run="first")
    held = RecordedRun(await read(await agent.begin(before)), before).messages
    await forget(agent)
    gate.clear()
    model.hung.clear()
    given = run_input(*held, user("go", "u2"), thread="t", run="live")
    live = await agent.begin(given)
    await asyncio.wait_for(model.hung.wait(), PATIENCE)
    reader, own = joining(agent)
    gate.set()
    received, heard = await asyncio.gather(read(live), read(reader))
    assert [one.content for one in RecordedRun(heard, own).messages] == ["go", "Well, yes."]
    assert "1234" not in str([plain(event) for event in heard])
    fresh, fresh_input = joining(agent)
    shown = RecordedRun(await read(fresh), fresh_input).messages
    assert dumped(RecordedRun(heard, own).messages) == dumped(shown)
    assert RecordedRun(received, given).messages[: len(held)] == held


@pytest.mark.parametrize("own", ["", "one", "two"])
@pytest.mark.parametrize("holds", [0, 3, 6])
@pytest.mark.parametrize(
    ("cut", "left"), [(slice(0, 2), ["one", "two", "three"]), (slice(2, None), ["one"])]
)
async def test_a_joiner_keeps_what_the_run_trims_and_loses_what_it_removes(
    cut: slice, left: list[str], holds: int, own: str
) -> None:
    """Whatever its tab holds, and that of the run."""

    async def shorten(state: Any) -> dict[str, Any]:
        messages = state["messages"] if len(state["messages"]) == 6 else []
        return {"messages": [RemoveMessage(id=str(one.id)) for one in messages[cut]]}

    turns = [[thinking("Hm.", 0), text_chunk("Well", 1), text_chunk(", yes", 1)]] * 3
    model, gate = slow(*turns)
    chat = chain_of(talker(model), shorten, checkpointer=InMemorySaver())
    agent, held = LangGraphAgent(chat), list[Message]()
    gate.set()
    for text in ("one", "two"):
        held = (await record_run(agent, run_input(*held, user(text, text), thread="t"))).messages
    gate.clear()
    model.hung.clear()
    known = {"": 0, "one": 3, "two": 6}[own]
    given = run_input(*held[:known], user("three", "three"), thread="t", run="live")
    live = await agent.begin(given)
    await asyncio.wait_for(model.hung.wait(), PATIENCE)
    joined = run_input(*held[:holds], thread="t")
    reader = agent.subscribe(joined)
    gate.set()
    _, heard = await asyncio.gather(read(live), read(reader))
    shown = RecordedRun(heard, joined).messages
    said = [one.content for one in shown if one.role == "user"]
    thought = [one.content for one in shown if one.role == "reasoning" and one.content]
    assert said == left
    assert thought == ["Hm."] * len(left)
    assert len([one for one in shown if one.role == "assistant"]) == len(left)


@pytest.mark.parametrize("after", [1, 3, 12, 40])
@pytest.mark.parametrize("is_told", [True, False])
async def test_a_result_of_the_joiners_own_makes_room_for_that_of_the_run(
    after: int, is_told: bool
) -> None:
    """The run answers a call of an earlier one, whose tab has the call or has nothing."""
    agent = agent_of(InMemorySaver())
    call = {"name": "look", "args": {"place": "b"}, "id": "c0"}
    before = [
        HumanMessage("hi", id="u0"),
        AIMessage("", id="a0", tool_calls=[call]),
        AIMessage("So.", id="a1"),
    ]
    thread = {"configurable": {"thread_id": "t"}}
    await agent.graph.aupdate_state(thread, {"messages": before}, as_node="model")
    held = fold(await collect(agent.connect(run_input(thread="t")))).messages
    said, called, _, answered = held
    own = ToolMessage(id="own", role="tool", tool_call_id="c0", content="seen b")
    given = run_input(
        *([said, called, answered] if is_told else []), user("go", "u1"), thread="t", run="live"
    )
    joined = await join_after(
        agent, after, run_input(said, called, own, answered, thread="t"), given=given
    )
    for recorded in [joined.live, *joined.joined]:
        results = [one for one in recorded.messages if getattr(one, "tool_call_id", "") == "c0"]
        assert [one.id for one in results] == ["a0:c0:unanswered"]


async def forget(agent: LangGraphAgent) -> None:
    """Remove all messages of the thread, one by one."""
    config: Any = {"configurable": {"thread_id": "t"}}
    stored = await agent.graph.aget_state(config)
    removed = [RemoveMessage(id=message.id) for message in stored.values["messages"]]
    await agent.graph.aupdate_state(config, {"messages": removed})


# -- how a run ends ------------------------------------------------------------------------------


async def test_a_joiner_hears_that_the_run_was_cancelled() -> None:
    model, _ = slow()
    agent = agent_of(InMemorySaver(), model)
    live = await begun(agent, model)
    reader, own = joining(agent)
    assert await agent.cancel("t", "live")
    received, recorded = await asyncio.gather(read(live), read(reader))
    assert received[-1].outcome.type == "cancelled"
    assert RecordedRun(recorded, own).last.outcome.type == "cancelled"
    assert [message.content for message in RecordedRun(recorded, own).messages] == [
        "go",
        "Hm.",
        "Well",
    ]


async def test_a_joiner_cancels_the_run_by_its_own_id() -> None:
    model, _ = slow()
    agent = agent_of(InMemorySaver(), model, on_disconnect="continue")
    live = await begun(agent, model)
    reader, own = joining(agent)
    assert not await agent.cancel("other", own.run_id)
    async with reader:
        pass
    assert await agent.cancel("t", own.run_id)
    assert (await read(live))[-1].outcome.type == "cancelled"


async def test_a_joiner_by_the_id_of_a_run_that_waits() -> None:
    """The id stops the run that has it, and not the one that was joined by it."""
    model, gate = slow()
    agent = agent_of(InMemorySaver(), model, on_busy="wait")
    live = await begun(agent, model)
    reader = agent.subscribe(run_input(thread="t", run="same"))
    waiting = await agent.begin(run_input(user("and", "u2"), thread="t", run="same"))
    assert await agent.cancel("t", "same")
    assert (await read(waiting))[-1].outcome.type == "cancelled"
    gate.set()
    for received in await asyncio.gather(read(live), read(reader)):
        assert received[-1].outcome.type == "success"
    assert not await agent.cancel("t", "same")


async def test_a_joiner_hears_that_the_run_has_failed() -> None:
    model, gate = slow(fails=True)
    agent = agent_of(InMemorySaver(), model)
    live = await begun(agent, model)
    reader, own = joining(agent)
    gate.set()
    received, recorded = await asyncio.gather(read(live), read(reader))
    assert plain(RecordedRun(recorded, own).last) == plain(received[-1])
    assert RecordedRun(recorded, own).last.code == "model_error"


async def test_a_joiner_hears_that_the_run_pauses() -> None:
    model = Scripted(gaps(*"Well."))

    async def ask(state: Chat) -> Any:
        return {"messages": [("user", str(interrupt({"question": "Which?"})))]}

    for after in range(1, 12):
        graph = chain_of(talker(model), ask, checkpointer=InMemorySaver())
        joined = await join_after(LangGraphAgent(graph=graph), after, run_input(thread="t"))
        if after <= len(joined.live.events):
            check(joined)
            assert joined.joined[0].last.outcome.type == "interrupt"
