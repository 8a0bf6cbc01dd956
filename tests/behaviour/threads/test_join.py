"""Joining a run while it goes on: what there is so far, what is open once more, then the rest as it
comes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import Message, RunAgentInput
from langchain_core.messages import RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import fold
from langgraph_agui.readers.subscription import Subscription
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted, text_chunk
from tests.kit.run.agents import RecordedRun, dumped, plain, record_run, run_input, user
from tests.kit.run.joining import Joined, agent_of, gaps, join_after, read
from tests.kit.run.talking import connect, thought
from tests.kit.waiting import PATIENCE

EVENTS = 50
"""More than the run has events."""
SAID = ["go", "Hm.", "Well, yes."]


def ordered(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages with the calls of a turn, and their results, in one order.

    A client has results as they came, the thread as it called; and calls that are answered before
    those that are not.
    """
    dumps, turn = dumped(messages), 0
    for dump in dumps:
        turn += dump["role"] != "tool"
        dump["turn"] = turn
        if dump.get("toolCalls"):
            dump["toolCalls"].sort(key=lambda call: str(call["id"]))
    return sorted(dumps, key=lambda one: (one.pop("turn"), str(one.get("toolCallId", ""))))


def check(joined: Joined) -> None:
    """Who has joined holds the same as who was there, also without the closing snapshot."""
    assert joined.joined
    for recorded in joined.joined:
        assert recorded.last.run_id == recorded.input.run_id
        if recorded.input.protocol_version is not None:
            assert recorded.last.outcome == joined.live.last.outcome
        assert ordered(recorded.messages) == ordered(joined.live.messages)
        assert recorded.state == joined.live.state
        if recorded.types.count("MESSAGES_SNAPSHOT") > 1:
            assert ordered(recorded.streamed) == ordered(joined.live.messages)


def held_after(received: Sequence[Any], given: RunAgentInput, own: RunAgentInput) -> RunAgentInput:
    client = fold(received, given.messages)
    return own.model_copy(update={"messages": client.messages, "state": client.state}, deep=True)


@pytest.mark.parametrize("after", range(1, EVENTS, 4))
async def test_joined_after_any_event(after: int) -> None:
    """One who holds nothing, one of before AG-UI 1.0, one who holds the question, one who has a
    state of its own; and one who was cut off in the middle of a word, and says what it holds."""
    given, own = run_input(user("go", "u1"), thread="t", run="live"), run_input(thread="t")
    inputs: list[Any] = [
        own,
        run_input(thread="t", protocol_version=None),
        run_input(user("go", "u1"), thread="t"),
        run_input(user("go", "u1"), thread="t", state={"mood": "old"}),
        lambda received: held_after(received, given, run_input(thread="t")),
    ]
    joined = await join_after(agent_of(InMemorySaver()), after, *inputs, given=given)
    live = joined.live
    if after <= len(live.events):
        check(joined)
    assert (40 < len(live.events) < EVENTS, live.state) == (True, {"mood": "fine"})
    roles = ["user", "reasoning", "assistant", "tool", "tool", "reasoning", "assistant"]
    assert [message.role for message in live.messages] == roles
    live.check_snapshot()


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

    end: list[Any] = [RuntimeError("down")] if fails else [text_chunk(", yes"), text_chunk(".")]
    kind: Any = Waiting
    return kind(*(turns or [[*thought("Hm."), text_chunk("Well"), *end]])), gate


class Live:
    """A run that has stopped in the middle of its answer."""

    def __init__(self, fails: bool = False, **options: Any) -> None:
        self.model, self.gate = slow(fails=fails)
        self.agent = agent_of(InMemorySaver(), self.model, **options)
        self.given = run_input(user("go", "u1"), thread="t", run="live")

    async def begin(self) -> Subscription:
        return await begun(self.agent, self.model, self.given)

    def join(self, **fields: Any) -> tuple[Subscription, RunAgentInput]:
        own = run_input(thread="t", **fields)
        return self.agent.subscribe(own), own


async def begun(agent: LangGraphAgent, model: Scripted, given: RunAgentInput) -> Subscription:
    reader: Subscription = await agent.begin(given)
    await asyncio.wait_for(model.hung.wait(), PATIENCE)
    return reader


async def test_a_run_whose_reader_has_left_is_joined() -> None:
    run = Live(on_disconnect="continue")
    async with await run.begin():
        pass
    for _ in range(2):  # a joiner comes and goes: nothing changes
        async with run.join()[0] as outlet:
            assert (await outlet.take())[0].type.value == "RUN_STARTED"
    reader, own = run.join()
    run.gate.set()
    recorded = RecordedRun(await read(reader), own)
    assert [message.content for message in recorded.messages] == SAID
    assert recorded.last.outcome.type == "success"
    assert dumped((await connect(run.agent)).messages) == dumped(recorded.messages)


@pytest.mark.parametrize("fails", [False, True])
async def test_a_joiner_that_leaves_changes_nothing(fails: bool) -> None:
    run = Live(fails)  # on_disconnect="cancel" is about the run's own reader
    live = await run.begin()
    (gone, _), (stays, own) = run.join(), run.join()
    assert len(await read(gone, limit=3)) == 3
    run.gate.set()
    received, heard = await asyncio.gather(read(live), read(stays))
    first, second = RecordedRun(received, run.given), RecordedRun(heard, own)
    assert plain(second.last) | {"runId": 0} == plain(first.last) | {"runId": 0}
    if fails:
        assert second.last.code == "model_error"
    else:
        for recorded in (first, second):
            assert [message.content for message in recorded.messages] == SAID


@pytest.mark.parametrize("how", ["its reader leaves", "cancel", "cancel by the joiner's id"])
async def test_a_joiner_hears_that_the_run_was_cancelled(how: str) -> None:
    """The reader who began the run decides with its leaving."""
    run = Live()
    live = await run.begin()
    reader, own = run.join()
    hearing = asyncio.create_task(read(reader))
    await asyncio.sleep(0)
    if how == "its reader leaves":
        async with live:
            pass
    else:
        assert not await run.agent.cancel("other", own.run_id)
        assert await run.agent.cancel("t", "live" if how == "cancel" else own.run_id)
        assert (await read(live))[-1].outcome.type == "cancelled"
    recorded = RecordedRun(await asyncio.wait_for(hearing, PATIENCE), own)
    assert recorded.last.outcome.type == "cancelled"
    assert [message.content for message in recorded.messages] == ["go", "Hm.", "Well"]


async def test_the_id_of_a_joiner_that_has_left_and_that_of_a_run_that_waits() -> None:
    """An id stops the run that has it, and not the one that was joined by it."""
    run = Live(on_disconnect="continue", on_busy="wait")
    live = await run.begin()
    gone, own = run.join()
    async with gone:
        pass
    reader, _ = run.join(run="same")
    waiting = await run.agent.begin(run_input(user("and", "u2"), thread="t", run="same"))
    assert await run.agent.cancel("t", "same")
    assert (await read(waiting))[-1].outcome.type == "cancelled"
    assert await run.agent.cancel("t", own.run_id)
    for received in await asyncio.gather(read(live), read(reader)):
        assert received[-1].outcome.type == "cancelled"
    assert not await run.agent.cancel("t", "same")


@pytest.mark.parametrize("after", [1, 4, 8])
async def test_a_joiner_hears_that_the_run_pauses(after: int) -> None:
    async def ask(state: Chat) -> Any:
        return {"messages": [("user", str(interrupt({"question": "Which?"})))]}

    model = Scripted(gaps(*"Well."))
    graph = chain_of(talker(model), ask, checkpointer=InMemorySaver())
    joined = await join_after(LangGraphAgent(graph=graph), after, run_input(thread="t"))
    check(joined)
    assert joined.joined[0].last.outcome.type == "interrupt"


async def test_a_joiner_gets_nothing_that_only_the_tab_of_the_run_holds() -> None:
    """That tab still shows a turn that was removed: it is stale, and the thread is the truth."""
    turn = [text_chunk("Well"), text_chunk(", yes.")]
    model, gate = slow(turn, turn)
    agent = agent_of(InMemorySaver(), model)
    gate.set()
    held = (await record_run(agent, run_input("my pin is 1234", thread="t"))).messages
    config: Any = {"configurable": {"thread_id": "t"}}
    stored = (await agent.graph.aget_state(config)).values["messages"]
    removed = [RemoveMessage(id=message.id) for message in stored]
    await agent.graph.aupdate_state(config, {"messages": removed})
    gate.clear()
    model.hung.clear()
    given, own = run_input(*held, user("go", "u2"), thread="t"), run_input(thread="t")
    live = await begun(agent, model, given)
    reader = agent.subscribe(own)
    gate.set()
    received, heard = await asyncio.gather(read(live), read(reader))
    shown = RecordedRun(heard, own).messages
    assert [one.content for one in shown] == ["go", "Well, yes."]
    assert "1234" not in str([plain(event) for event in heard])
    assert dumped(shown) == dumped((await connect(agent)).messages)
    assert RecordedRun(received, given).messages[: len(held)] == held
