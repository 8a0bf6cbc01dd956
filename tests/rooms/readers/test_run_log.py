"""The log of a run: clients that join get it, so it says in few bytes all that the run has emitted,
however long the run is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import pytest
from ag_ui.core import BaseEvent, Event, RunAgentInput, RunStartedEvent, TextMessageStartEvent
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent, RunLimits, emit_result
from langgraph_agui.graphs.past import PastMessages
from langgraph_agui.messages.assistant_turn import Block
from langgraph_agui.protocol import Verifier, fold, parse_event
from langgraph_agui.readers.run_log import RunLog, fold_settled, thread_before
from langgraph_agui.readers.sinks import weight
from langgraph_agui.runs.run import Run
from tests.behaviour.threads.test_join import EVENTS, check, held_after, ordered
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, dumped, run_input, user
from tests.kit.run.joining import agent_of, join_after, read, turns
from tests.kit.run.wire_events import event as wire_event
from tests.kit.waiting import PATIENCE

LIMIT = 20_000


def run_of(agent: LangGraphAgent) -> Run:
    (run,) = agent._running
    return run


def long_turns(count: int) -> list[Any]:
    """Turns that each say 3 kB, and change the state."""
    made: list[Any] = []
    for number in range(count):
        said = [text_chunk(f"{number}: " + "word " * 50, 1)] * 10
        reasons = [thinking("Hm. " * 50, 0), thinking(index=0, signature=f"s{number}")]
        look = calling(part("look", '{"place": "a"}', f"c{number}-1", 2))
        feel = calling(part("feel", f'{{"mood": "m{number}"}}', f"c{number}-2", 3))
        made.append([0.0, *reasons, *said, look, feel])
    return [*made, [0.0, text_chunk("All done.", 1)]]


async def test_the_log_of_a_long_run_stays_small() -> None:
    """And who joins has in the end what the run's own client has, wherever it joined."""
    model = Scripted(*long_turns(40))
    agent = agent_of(InMemorySaver(), model, limits=RunLimits(unread=LIMIT))
    agent.config = {"recursion_limit": 200}
    given = run_input(user("go", "u1"), thread="t", run="live")
    received: list[BaseEvent] = []
    sizes: list[int] = []
    joins: list[asyncio.Task[RecordedRun]] = []

    async def join(own: RunAgentInput) -> RecordedRun:
        return RecordedRun(await read(agent.subscribe(own)), own)

    owns = run_input(thread="t"), run_input(thread="t", protocol_version=None)
    async with await agent.begin(given) as reader:
        while batch := await reader.take():
            received += batch
            if agent._running and not run_of(agent).finished:
                sizes.append(sum(map(weight, run_of(agent).log())))
                if len(sizes) % 10 == 0 and len(joins) < 12:
                    for own in (*owns, held_after(received, given, owns[0])):
                        joins.append(asyncio.create_task(join(own)))
                        await asyncio.sleep(0)
    live = RecordedRun(received, given)  # type: ignore[arg-type]
    assert sum(map(weight, live.events)) > 8 * LIMIT
    assert LIMIT / 2 < max(sizes) < 3 * LIMIT
    assert len(joins) > 6
    for joined in await asyncio.gather(*joins):
        assert ordered(joined.messages) == ordered(live.messages)
        assert joined.state == live.state == {"mood": "m39"}


def test_a_block_of_any_length_is_in_the_log() -> None:
    """What is open cannot be folded away; it is not looked at for each token either."""
    log, block = RunLog(list, 1_000), Block("text", "m", 0)
    log.event(RunStartedEvent(thread_id="t", run_id="r"))
    log.event(TextMessageStartEvent(message_id="m", role="assistant"))
    for _ in range(10_000):
        log.fragment(block, "word ")
    events: Any = [event for event in log.events() if event.type.value == "TEXT_MESSAGE_CONTENT"]
    assert "".join(event.delta for event in events) == "word " * 10_000
    assert len(events) < 10
    assert log._bytes < 2 * len("word ") * 10_000


async def test_what_is_folded_says_the_same() -> None:
    """At any event, and folded twice; the rest follows the order of AG-UI."""
    live = (await join_after(agent_of(InMemorySaver()), 1000)).live
    truth = fold(live.events, live.input.messages)
    assert fold_settled(live.events)[1] == []
    start, *emitted = live.events
    events = [*thread_before(live.input.messages, PastMessages(), {}), *emitted]
    for at in range(1, len(events), 4):
        before, rest = fold_settled(events[: at // 2])
        before, rest = fold_settled([*before, *rest, *events[at // 2 : at]])
        whole: list[Any] = [start, *before, *rest, *events[at:]]
        folded = fold(whole)
        assert folded.state == truth.state
        assert ordered(folded.messages) == ordered(truth.messages)
        verifier = Verifier(strict=True)
        for event in whole:
            verifier.feed(event)
        verifier.finish()


def parsed(*wires: Any) -> list[Any]:
    return [parse_event(wire_event(kind, **members)) for kind, members in wires]


def test_a_message_whose_calls_are_open_keeps_its_value() -> None:
    value = {"subtype": "message", "entityId": "m", "encryptedValue": "secret"}
    events = parsed(
        ("TOOL_CALL_START", {"toolCallId": "c", "toolCallName": "look", "parentMessageId": "m"}),
        ("TOOL_CALL_ARGS", {"toolCallId": "c", "delta": "{}"}),
        ("TOOL_CALL_END", {"toolCallId": "c"}),
        ("REASONING_ENCRYPTED_VALUE", value),
    )
    before, rest = fold_settled(events)
    assert rest == events
    assert dumped(fold(cast("list[Event]", [*before, *rest])).messages) == dumped(
        fold(events).messages
    )


def test_patches_that_add_up_to_much_are_folded() -> None:
    """A run of any length may have changed its state by more than a client would take at once."""
    whole = [{"a": "x" * 4_000_000, "b": number} for number in range(12)]
    patches = [[{"op": "replace", "path": "", "value": value}] for value in whole]
    deltas = [("STATE_DELTA", {"delta": patch}) for patch in patches]
    before, rest = fold_settled(parsed(("STATE_SNAPSHOT", {"snapshot": {}}), *deltas))
    assert (fold(cast("list[Event]", before)).state, rest) == (whole[-1], [])


@pytest.mark.parametrize("protocol", ["1.0", None])
@pytest.mark.parametrize("after", range(3, EVENTS, 12))
async def test_whatever_a_client_holds_of_the_run(after: int, protocol: str | None) -> None:
    """Its connection broke earlier than it comes back; it is of AG-UI 1.0 or older."""
    given = run_input(user("go", "u1"), thread="t", run="live")
    own = run_input(thread="t").model_copy(update={"protocol_version": protocol})
    for held in range(0, EVENTS, 7):
        agent = agent_of(InMemorySaver(), Scripted(*turns()))
        holding = partial(holds, held, given, own)
        joined = await join_after(agent, after, holding, given=given)
        if after <= len(joined.live.events):
            check(joined)


def holds(held: int, given: Any, own: Any, received: Sequence[Any]) -> RunAgentInput:
    return held_after(received[:held], given, own)


async def test_an_event_that_is_too_large_drops_one_reader() -> None:
    """The run goes on, and so does a reader that needs no bytes."""

    async def node(state: Chat) -> Any:
        return {"messages": [AIMessage("Well.", id="a")]}

    async def large(state: Chat) -> None:
        emit_result("x" * 12_000_000)

    agent = LangGraphAgent(graph=chain_of(node, large, checkpointer=InMemorySaver()))
    given = run_input(user("go", "u1"), thread="t", run="live")
    async with await agent.begin(given) as reader:
        own = run_input(thread="t")
        events = asyncio.create_task(read(agent.subscribe(own)))
        frames = b""
        async with asyncio.timeout(PATIENCE):
            while more := await reader.take_frames():
                frames += more
            heard = RecordedRun(await events, own)
    assert b'"code":"event_too_large"' in frames
    assert b"RUN_FINISHED" not in frames
    assert heard.last.type.value == "RUN_FINISHED"
    assert heard.last.result == "x" * 12_000_000


async def test_what_code_does_with_an_event_is_its_own_affair() -> None:
    """The log keeps what the run has emitted, and so gets the next client."""
    model = Scripted([text_chunk("Well", 1), 0.05, text_chunk(", yes.", 1)])
    agent = LangGraphAgent(graph=chain_of(talker(model), checkpointer=InMemorySaver()))
    own = run_input(thread="t")
    joined: list[asyncio.Task[list[Any]]] = []
    async for event in agent.run(run_input(user("go", "u1"), thread="t", run="live")):
        some: Any = event
        some.metadata = {"mine": True}
        if hasattr(some, "delta"):
            some.delta = "?"
            if not joined:
                joined.append(asyncio.create_task(read(agent.subscribe(own))))
    events = await joined[0]
    words = [message.content for message in RecordedRun(events, own).messages]
    assert words == ["go", "Well, yes."]
    assert all(not event.metadata for event in events if event.type.value != "MESSAGES_SNAPSHOT")
