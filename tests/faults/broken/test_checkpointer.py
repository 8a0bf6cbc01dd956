"""Each call of the checkpointer fails once, and hangs once, in each kind of run. After each: one
terminal event; what is guarded has run at most once for an approval; the next turn works."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from langgraph_agui.runs import run
from tests.kit.deep import DEPTH
from tests.kit.graphs.broken_checkpointer import FAULTS, Fault, World
from tests.kit.graphs.pauses import happened
from tests.kit.waiting import eventually


async def calls_of(fault: Fault, home: Path) -> list[int]:
    """The numbers of the calls of a run that has no trouble; if not deep, of the first read, list,
    write and so on."""
    world = World(home / "well", fault)
    begin = await world.prepare()
    assert (await begin()).last.type.value == "RUN_FINISHED"
    names = world.saver.calls
    return [at for at, name in enumerate(names, 1) if DEPTH or name not in names[: at - 1]]


async def check_after(world: World) -> None:
    """What was approved once has happened at most once, and the next turn works."""
    world.saver.well()
    current = {asyncio.current_task()}
    await eventually(lambda: asyncio.all_tasks() == current, "what the run has left has ended")
    ran, file = happened(world.file), world.home / "next.9"
    assert len(ran) == len(set(ran))
    await world.go_on(file)
    assert happened(file) == ([1] if world.fault.kind == "breakpoint" else [1, 2])
    assert happened(world.file) == ran


@pytest.mark.parametrize("hangs", [False, True], ids=["fails", "hangs"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.run)
async def test_a_call(
    fault: Fault, hangs: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_WRITE_TIMEOUT", 0.1)
    calls = await calls_of(fault, tmp_path)
    for at in calls[-1:] if hangs and not DEPTH else calls:
        world = World(tmp_path / f"at{at}", fault)
        begin = await world.prepare()
        world.saver.at, world.saver.hangs = at, hangs
        try:
            running = asyncio.create_task(begin())
            await eventually(world.saver.met.is_set, "the call is made")
            if not hangs:
                assert (await running).last.code == "state_error"
            elif fault.run == "connect":
                running.cancel()
                await asyncio.wait({running})
            else:
                assert await world.agent.cancel("t", "r")
                assert (await running).last.type.value == "RUN_FINISHED"
            await check_after(world)
        except BaseException as error:
            error.add_note(f"call {at}: {world.saver.calls[:at]}")
            raise
