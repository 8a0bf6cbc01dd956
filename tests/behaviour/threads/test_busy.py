"""One run per thread at a time: who comes meanwhile is refused or waits, and who hears the end may
go on at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent
from langgraph_agui.workers.locks_for import locks_for
from tests.kit.graphs.small import Chat, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, collect, run_input
from tests.kit.run.dialogues import resolved
from tests.kit.run.talking import Talk, chat, talk
from tests.kit.waiting import PATIENCE, eventually

BUSY = ["RUN_STARTED", "RUN_ERROR"]


def held(**options: Any) -> tuple[Talk, asyncio.Event]:
    """A thread whose first answer waits."""
    gate, model = asyncio.Event(), Scripted(["One"], ["Two"], ["Three"])

    async def wait(state: Chat) -> None:
        await gate.wait()

    saver = InMemorySaver()
    return chat(wait, talker(model), model=model, checkpointer=saver, **options), gate


async def begin(agent: LangGraphAgent, text: str, thread: str = "t") -> asyncio.Task[RecordedRun]:
    """A run that has begun."""
    given, started = run_input(text, thread=thread, run=text), asyncio.Event()

    async def read() -> RecordedRun:
        events = []
        async for event in agent.run(given):
            events.append(event)
            started.set()
        return RecordedRun(events, given)

    task = asyncio.create_task(read())
    await asyncio.wait_for(started.wait(), PATIENCE)
    return task


async def test_a_second_run_is_refused_and_no_checkpoint_read_for_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By all agents of one checkpointer."""
    thread, gate = held()
    first = await begin(thread.agent, "one")
    other = await begin(thread.agent, "other", thread="u")  # other threads are not blocked

    async def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("a checkpoint was read")

    with monkeypatch.context() as patch:
        patch.setattr(thread.agent.graph.checkpointer, "aget_tuple", fail)
        for agent in (thread.agent, LangGraphAgent(graph=thread.agent.graph), thread.agent):
            second = await Talk(agent, thread.model).say("two", outcome="thread_busy")
            assert second.types == BUSY
            assert second.last.message == "Another run is active in this thread."
    gate.set()
    assert [(await run).last.outcome.type for run in (first, other)] == ["success"] * 2
    assert await thread.texts() == ["one", "One"]
    await thread.say("two")


async def test_waiting_runs_come_one_after_the_other() -> None:
    """Who stops waiting lets the next one in."""
    thread, gate = held(on_busy="wait")
    first = await begin(thread.agent, "one")
    locks: Any = locks_for(thread.agent.graph.checkpointer)
    gone, *others = [asyncio.create_task(thread.say(text)) for text in ("gone", "two", "three")]
    await eventually(lambda: len(locks._queues["t"]) == 4, "they wait")
    gone.cancel()
    gate.set()
    await asyncio.gather(first, *others)
    assert await thread.texts() == ["one", "One", "two", "Two", "three", "Three"]


@pytest.mark.parametrize("end", ["RUN_FINISHED", "RUN_ERROR"])
async def test_the_thread_is_free_when_the_end_is_heard(end: str) -> None:
    turn = [RuntimeError("down") if end == "RUN_ERROR" else "Yes."]
    thread = talk(InMemorySaver(), Scripted(turn))
    for number in range(6):
        async for event in thread.agent.run(run_input(f"{number}", thread="t")):
            if event.type.value in ("RUN_FINISHED", "RUN_ERROR"):
                break  # the next input is sent before the stream has ended
        assert (event.type, getattr(event, "code", "")) != ("RUN_ERROR", "thread_busy")
        assert event.type == end
    assert len(await thread.stored()) == (12 if end == "RUN_FINISHED" else 6)


async def test_a_run_that_goes_on_unread_keeps_its_thread() -> None:
    thread, gate = held(on_disconnect="continue")
    events = thread.agent.run(run_input("one", thread="t"))
    await anext(events)
    await events.aclose()
    await thread.say("two", outcome="thread_busy")
    joined = asyncio.create_task(collect(thread.agent.connect(run_input(thread="t"))))
    await asyncio.sleep(0)
    gate.set()
    assert (await joined)[-1].type.value == "RUN_FINISHED"
    await thread.say("two")
    assert await thread.texts() == ["one", "One", "two", "Two"]


async def test_also_after_what_was_refused() -> None:
    """An answer to no question or that the application refuses, and a config of no use."""

    async def ask(state: Chat) -> Any:
        return {"messages": [("user", str(interrupt({"question": "Which?"})))]}

    def refuse(_: Any) -> None:
        raise ValueError("no")

    saver, approvals = InMemorySaver(), ApprovalOptions(on_answer=refuse)
    thread = chat(ask, checkpointer=saver, approvals=approvals)
    [open_] = (await thread.say("go", outcome="interrupt")).last.outcome.interrupts
    for name, code in [("nobody's", "interrupt_unknown"), (open_.id, "approval_refused")] * 2:
        assert (await thread.say(resume=resolved((name, "b")), outcome=code)).types == BUSY
    thread = talk(saver)
    for config in [{"callbacks": 3}, {"configurable": 3}, {"metadata": "x"}] * 2:
        given: Any = {"config": config}
        try:
            events = await collect(thread.agent.run(run_input("go", thread="u"), **given))
        except (TypeError, ValueError, AttributeError):
            continue
        assert getattr(events[-1], "code", "") != "thread_busy"
    thread.thread = "u"
    await thread.say("go")
