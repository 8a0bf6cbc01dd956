"""Each call of the checkpointer fails once, and hangs once, in each kind of run.

After each: one terminal event; what is guarded has run at most once for an approval; the next turn
works.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from langgraph_agui.runs import run
from tests.kit.deep import DEPTH, others_deep
from tests.kit.graphs.broken_checkpointer import FAULTS, Fault, World, go_on
from tests.kit.graphs.pauses import happened
from tests.kit.run.agents import RecordedRun
from tests.kit.waiting import eventually


async def calls_of(fault: Fault, home: Path) -> list[int]:
    """The numbers of the calls of a run that has no trouble; if not deep, of the first read, list,
    write and so on."""
    world = World(home / "well", fault.kind)
    world.home.mkdir()
    run = await fault.prepare(world)
    world.saver.calls.clear()
    assert (await run()).last.type.value == "RUN_FINISHED"
    names = world.saver.calls
    first = {names.index(name) + 1 for name in names}
    return [*range(1, len(names) + 1)] if DEPTH else sorted(first)


async def prepared(
    fault: Fault, home: Path, at: int
) -> tuple[World, Callable[[], Awaitable[RecordedRun]]]:
    world = World(home / f"at{at}", fault.kind)
    world.home.mkdir()
    run = await fault.prepare(world)
    world.saver.calls.clear()
    world.saver.at = at
    return world, run


async def check_after(world: World, fault: Fault) -> None:
    """What was approved once has happened at most once, and the next turn works."""
    world.saver.well()
    await eventually(
        lambda: asyncio.all_tasks() == {asyncio.current_task()}, "what the run has left has ended"
    )
    ran = happened(world.file)
    assert len(ran) == len(set(ran))
    file = world.home / "next.9"
    await go_on(world, file)
    assert happened(file) == ([1] if fault.kind == "breakpoint" else [1, 2])
    assert happened(world.file) == ran


@pytest.mark.parametrize(
    "fault", others_deep(FAULTS, lambda fault: fault.kind), ids=lambda fault: fault.run
)
async def test_a_call_that_fails(fault: Fault, tmp_path: Path) -> None:
    for at in await calls_of(fault, tmp_path):
        world, run = await prepared(fault, tmp_path, at)
        recorded = await run()
        assert world.saver.met.is_set()
        assert recorded.last.code == "state_error", world.saver.calls
        try:
            await check_after(world, fault)
        except BaseException as error:
            error.add_note(f"after call {at}: {world.saver.calls[at - 1]}")
            raise


@pytest.mark.parametrize(
    "fault", others_deep(FAULTS, lambda fault: fault.kind), ids=lambda fault: fault.run
)
async def test_a_call_that_hangs(
    fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_WRITE_TIMEOUT", 0.1)
    for at in (await calls_of(fault, tmp_path))[None if DEPTH else -1 :]:
        world, begin = await prepared(fault, tmp_path, at)
        world.saver.hangs = True
        running = asyncio.create_task(begin())
        await eventually(world.saver.met.is_set, "the call hangs")
        assert not running.done()
        if fault.run == "connect":
            running.cancel()
            await asyncio.wait({running})
        else:
            assert await world.agent.cancel("t", "r")
            assert (await running).last.type.value == "RUN_FINISHED"
        try:
            await check_after(world, fault)
        except BaseException as error:
            error.add_note(f"after call {at}: {world.saver.calls[at - 1]}")
            raise
