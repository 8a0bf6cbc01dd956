"""One run per thread at a time: who comes meanwhile is refused or waits, and who hears the end may
go on at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from ag_ui.core import ResumeEntry, RunErrorEvent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input, user
from tests.kit.run.talking import Talk, talk
from tests.kit.waiting import PATIENCE

BUSY = ["RUN_STARTED", "RUN_ERROR"]


def held(**options: Any) -> tuple[Talk, asyncio.Event]:
    """A thread whose first answer waits."""
    gate = asyncio.Event()
    model = Scripted(["One"], ["Two"], ["Three"])

    async def wait(state: Chat) -> None:
        await gate.wait()

    return Talk(agent_of(wait, talker(model), checkpointer=InMemorySaver(), **options), model), gate


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


async def test_a_second_run_is_refused() -> None:
    thread, gate = held()
    first = await begin(thread.agent, "one")
    for _ in range(3):
        second = await thread.say("two", outcome="thread_busy")
        assert second.types == BUSY
        assert second.last.message == "Another run is active in this thread."
    other = await begin(thread.agent, "other", thread="u")  # other threads are not blocked
    gate.set()
    assert (await first).last.outcome.type == "success"
    assert (await other).last.outcome.type == "success"
    assert await thread.texts() == ["one", "One"]
    await thread.say("two")


async def test_a_refusal_reads_no_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    thread, gate = held()
    first = await begin(thread.agent, "one")
    await asyncio.sleep(0.01)
    saver = getattr(thread.agent.graph, "checkpointer", None)

    async def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("a checkpoint was read")

    with monkeypatch.context() as patch:
        patch.setattr(saver, "aget_tuple", fail)
        await thread.say("two", outcome="thread_busy")
    gate.set()
    assert (await first).last.outcome.type == "success"


async def test_agents_of_one_checkpointer_share_their_threads() -> None:
    thread, gate = held()
    other = LangGraphAgent(graph=thread.agent.graph)
    first = await begin(thread.agent, "one")
    assert (await record_run(other, run_input("two", thread="t"))).types == BUSY
    gate.set()
    await first


async def test_waiting_runs_come_one_after_the_other() -> None:
    thread, gate = held(on_busy="wait")
    first = await begin(thread.agent, "one")
    others = [asyncio.create_task(thread.say(text)) for text in ("two", "three")]
    await asyncio.sleep(0.01)
    assert not any(other.done() for other in others)
    gate.set()
    for run in (first, *others):
        assert (await run).last.outcome.type == "success"
    assert await thread.texts() == ["one", "One", "two", "Two", "three", "Three"]


async def test_who_stops_waiting_lets_the_next_one_in() -> None:
    thread, gate = held(on_busy="wait")
    first = await begin(thread.agent, "one")
    gone, next_ = (asyncio.create_task(thread.say(text)) for text in ("two", "three"))
    await asyncio.sleep(0.01)
    gone.cancel()
    gate.set()
    await first
    await next_
    assert await thread.texts() == ["one", "One", "three", "Two"]


# -- free again ----------------------------------------------------------------------------------


async def test_the_thread_is_free_when_the_end_is_heard(saver: Any) -> None:
    thread = talk(saver, Scripted(["Yes."]))
    for number in range(50):
        events = thread.agent.run(run_input(f"{number}", thread="t"))
        async for event in events:
            assert event.type.value != "RUN_ERROR", (number, event)
            if event.type.value == "RUN_FINISHED":
                break  # the next input is sent before the stream has ended
    assert len(await thread.stored()) == 100


async def test_also_after_a_failure(saver: Any) -> None:
    thread = talk(saver, Scripted([RuntimeError("down")]))
    for _ in range(10):
        given = run_input("go", thread="t")
        async for event in thread.agent.run(given):
            if isinstance(event, RunErrorEvent):
                assert event.code == "model_error"
                break


async def test_also_after_a_cancellation() -> None:
    thread, gate = held()
    for number in range(5):
        text = f"go {number}"
        run = await begin(thread.agent, text)
        assert await thread.agent.cancel("t", text)
        assert (await run).last.outcome.type == "cancelled"
    gate.set()
    await thread.say("on")


async def test_also_when_its_reader_has_left() -> None:
    thread, gate = held()
    for number in range(5):
        events = thread.agent.run(run_input(f"go {number}", thread="t"))
        assert (await anext(events)).type.value == "RUN_STARTED"
        await asyncio.sleep(0.001 * number)
        await events.aclose()
    gate.set()
    await thread.say("on")


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


async def test_also_after_an_approval_that_raised() -> None:
    async def ask(state: Chat) -> Any:
        return {"messages": [("user", str(interrupt({"question": "Which?"})))]}

    def refuse(_: Any) -> None:
        raise ValueError("no")

    agent = agent_of(ask, checkpointer=InMemorySaver(), approvals=ApprovalOptions(on_answer=refuse))
    paused = await record_run(agent, run_input("go", thread="t"))
    answer = ResumeEntry(
        interrupt_id=paused.last.outcome.interrupts[0].id, status="resolved", payload="b"
    )
    for _ in range(3):
        recorded = await record_run(agent, run_input(thread="t", resume=[answer]))
        assert recorded.types == BUSY
        assert recorded.last.code != "thread_busy"


async def test_also_after_an_input_that_was_refused() -> None:
    thread = talk(InMemorySaver())
    for _ in range(3):
        unknown = ResumeEntry(interrupt_id="nobody's", status="resolved", payload=1)
        await thread.say(resume=[unknown], outcome="interrupt_unknown")
    await thread.say("go")


@pytest.mark.parametrize("config", [{"callbacks": 3}, {"configurable": 3}, {"metadata": "x"}])
async def test_also_after_a_config_that_cannot_be_used(config: Any) -> None:
    thread = talk(InMemorySaver())
    for _ in range(2):
        try:
            recorded = await record_run(
                thread.agent, run_input(user("go"), thread="t"), config=config
            )
        except (TypeError, ValueError, AttributeError):
            continue
        assert recorded.last.type.value == "RUN_FINISHED" or recorded.last.code != "thread_busy"
    await thread.say("go")
