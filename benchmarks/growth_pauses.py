"""Section G, part 5: for how long the event loop does nothing else."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from time import perf_counter, process_time
from typing import Any, Self
from uuid import uuid4

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

from langgraph_agui import LangGraphAgent

from . import growth_pause_graphs as loads
from .figures import in_turn, over, spread, table
from .folded import fold_stream, last_text
from .goals import Goal, at_most
from .growth_pause_graphs import Load, Make
from .subjects import RAW_MODES
from .workloads import scaled

RAW, OURS = "raw `astream`", "**`stream_sse`**"
TICK = 0.001
GOAL, LINEAR = 0.050, 2.5
"""Seconds of a pause beyond the raw stream's, and CPU over that of half the size."""


@dataclass(frozen=True)
class Sort:
    """A sort of load."""

    label: str
    make: Make
    size: int


SORTS = (
    Sort("a thread of {:,} messages, which the client sends", loads.history, 2000),
    Sort("a client's state of {:,} bytes, 50 changes", loads.state, 10_000_000),
    Sort("{:,} subagents at once", loads.subagents, 200),
)


@dataclass(frozen=True)
class Sample:
    """CPU seconds of a run, and seconds of its longest pause."""

    cpu: float
    pause: float


@dataclass
class Pauses:
    """One sort of load at a size and at half of it, in both ways, round by round."""

    label: str
    whole: dict[str, list[Sample]]
    half: dict[str, list[Sample]]

    def growth(self, way: str) -> list[float]:
        """CPU over that of half the size."""
        return over(*([sample.cpu for sample in taken[way]] for taken in (self.whole, self.half)))

    def longest(self, way: str) -> list[float]:
        """The longest pauses, in seconds."""
        return [sample.pause for sample in self.whole[way]]

    def own(self) -> float:
        """What the longest pause has beyond that of the raw stream, in the calmest rounds: others
        only add to it."""
        return min(self.longest(OURS)) - min(self.longest(RAW))


async def measure_pauses(rounds: int, scale: float) -> list[Pauses]:
    """All sorts of load, at both sizes, in both ways."""
    found = []
    for sort in SORTS:
        size = scaled(sort.size, scale) // 4 * 4 or 4
        ways: dict[tuple[str, int], Callable[[], Awaitable[Sample]]] = {
            (way, count): partial(_take, take, sort.make, count)
            for count in (size, size // 2)
            for way, take in TAKERS.items()
        }
        taken = await in_turn(ways, rounds)
        whole, half = ({way: taken[way, count] for way in TAKERS} for count in (size, size // 2))
        found.append(Pauses(sort.label.format(size), whole, half))
    return found


def pauses_markdown(found: list[Pauses]) -> list[str]:
    """Part 5 as Markdown."""
    about = (
        f"**G5** The longest pause of the event loop during a run, in ms: between two wake-ups of "
        f"a task that sleeps "
        f"for {TICK * 1e3:g} ms. LangGraph pauses the loop too. Ours is the difference of the "
        f"calmest rounds, because "
        "other processes can only add to a pause. Growth is the CPU of the run over that of one "
        "of half the size:"
    )
    head = ["", RAW, OURS, "ours", "CPU ms, raw", "growth", "CPU ms, ours", "growth"]
    rows = []
    for one in found:
        row = [one.label, *(spread([each * 1e3 for each in one.longest(way)]) for way in TAKERS)]
        row.append(f"{one.own() * 1e3:.0f}")
        for way in TAKERS:
            row += [
                spread([sample.cpu * 1e3 for sample in one.whole[way]]),
                spread(one.growth(way)),
            ]
        rows.append(row)
    return [about, table(head, rows)]


def pauses_goals(found: list[Pauses]) -> list[Goal]:
    """How long a pause of ours may be, and how CPU may grow with the size."""
    pauses = [
        at_most(
            f"G5: ms of our longest pause, {one.label}",
            [one.own() * 1e3],
            GOAL * 1e3,
            "{:.0f}".format,
        )
        for one in found
    ]
    growth = [
        at_most(f"G5: CPU over half the size, {one.label}", one.growth(OURS), LINEAR)
        for one in found
    ]
    return [*pauses, *growth]


class Ticker:
    """Wakes each `TICK`, and notes the longest time between."""

    def __init__(self) -> None:
        self.pause = 0.0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._tick())
        await asyncio.sleep(5 * TICK)
        self.pause = 0.0
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.sleep(2 * TICK)
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _tick(self) -> None:
        last = perf_counter()
        while True:
            await asyncio.sleep(TICK)
            now = perf_counter()
            self.pause, last = max(self.pause, now - last), now


async def _take(take: Callable[[Load, Ticker], Awaitable[float]], make: Make, size: int) -> Sample:
    load = await make(size)
    gc.collect()
    ticker = Ticker()
    cpu = await take(load, ticker)
    return Sample(cpu, ticker.pause)


async def _raw(load: Load, ticker: Ticker) -> float:
    config = RunnableConfig(configurable={"thread_id": load.sent.thread_id}, recursion_limit=1000)
    given: dict[str, Any] = {**load.values, "messages": [HumanMessage("Go.", id=str(uuid4()))]}
    values: Any = None
    async with ticker:
        begun = process_time()
        async for namespace, mode, data in load.graph.astream(
            given, config, stream_mode=RAW_MODES, subgraphs=True
        ):
            if mode == "values" and not namespace:
                values = data
        cpu = process_time() - begun
    _check(RAW, load.problem(last_text(values), values))
    return cpu


async def _ours(load: Load, ticker: Ticker) -> float:
    agent = LangGraphAgent(load.graph, config={"recursion_limit": 1000})
    async with ticker:
        begun = process_time()
        chunks = [chunk async for chunk in agent.stream_sse(load.sent)]
        cpu = process_time() - begun
    _check(OURS, load.problem_of_client(fold_stream("G5", chunks, load.sent)))
    return cpu


def _check(way: str, problem: str | None) -> None:
    if problem:
        raise AssertionError(f"G5, {way}: {problem}")


TAKERS: Mapping[str, Callable[[Load, Ticker], Awaitable[float]]] = {RAW: _raw, OURS: _ours}
