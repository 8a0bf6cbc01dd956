"""The soak: a number of runs goes in; what the idle server holds after each round comes out."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import mean
from tempfile import TemporaryDirectory

from benchmarks.processes import started
from benchmarks.report import table

from .clients import Crowd

AT_ONCE = 16
FEWEST_ROUNDS, MOST_ROUNDS = 8, 40
PATIENCE = 50.0

NOTHING = ("runs", "thread locks", "kept tasks", "repeated transfers")
GROWTH = {
    "memory MB": 0.06,
    "objects": 0.02,
    "cache entries": 0.02,
    "tasks": 0,
    "descriptors": 0,
    "threads": 0,
}
"""By which share the mean of the last quarter may be above that of the second."""

MORE = {"threads": AT_ONCE}
"""What comes on top: an executor has no more threads than it had work at once."""


@dataclass
class Soaked:
    """A row per round, how the visits ended, and what went wrong."""

    rows: list[dict[str, float]] = field(default_factory=list)
    tally: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)


async def soak(
    runs: int, seed: int = 1, *, say: Callable[[str], object] = lambda _: None
) -> Soaked:
    """Let clients come until there were so many runs."""
    result = Soaked()
    with TemporaryDirectory() as directory:
        async with started("benchmarks.soak.server", directory) as port:
            crowd = Crowd(port, seed)
            result.tally, result.complaints = crowd.tally, crowd.complaints
            idle = await _warm_up(crowd)
            rounds = max(FEWEST_ROUNDS, min(MOST_ROUNDS, runs // AT_ONCE))
            for number in range(1, rounds + 1):
                await _come(crowd, runs * number // rounds)
                await _until_idle(crowd, idle)
                result.rows.append({"run": crowd.runs, **await crowd.ask("GET", "/census")})
                say(line(result.rows[-1]))
    return result


async def _warm_up(crowd: Crowd) -> int:
    """Let every kind of client come; return how much goes on in a server without clients."""
    idle = int(await crowd.ask("GET", "/busy"))
    await asyncio.gather(*(crowd.visit(kind) for kind in crowd.kinds()))
    await _come(crowd, crowd.runs + AT_ONCE)
    await _until_idle(crowd, idle)
    crowd.runs = 0
    return idle


async def _come(crowd: Crowd, until: int) -> None:
    async def come() -> None:
        while crowd.runs < until:
            await crowd.visit()

    await asyncio.gather(*(come() for _ in range(min(AT_ONCE, until - crowd.runs))))


async def _until_idle(crowd: Crowd, idle: int) -> None:
    end = time.monotonic() + PATIENCE
    while (left := await crowd.ask("GET", "/busy") - idle) > 0:
        if time.monotonic() > end:
            raise TimeoutError(f"{left} runs and tasks are left in a server without clients")
        await asyncio.sleep(0.01)


def judge(result: Soaked, *, memory: bool = True) -> list[str]:
    """What grew, and what went wrong. Memory of the first runs grows, so it can be left out."""
    found = result.complaints[:20]
    quarter = len(result.rows) // 4
    early, late = result.rows[quarter : 2 * quarter], result.rows[-quarter:]
    for name, share in GROWTH.items() if memory else list(GROWTH.items())[1:]:
        before, after = (mean(row[name] for row in rows) for rows in (early, late))
        if after > before * (1 + share) + MORE.get(name, 0.5):
            found.append(f"{name} grew from {before:,.1f} to {after:,.1f}")
    for name in NOTHING:
        if left := max(row[name] for row in result.rows):
            found.append(f"{name}: {left:,.0f} in an idle server")
    return found


def line(row: dict[str, float]) -> str:
    """A row as text."""
    return "  ".join(f"{name} {value:,.{int(name == 'memory MB')}f}" for name, value in row.items())


def rows_table(rows: list[dict[str, float]]) -> str:
    """The first row, those at each quarter, and the last one, as Markdown."""
    quarter = len(rows) // 4
    shown = [rows[0], *(rows[number * quarter - 1] for number in (1, 2, 3, 4))]
    names = ["memory MB", *(name for name in GROWTH if name != "memory MB")]
    return table(["runs", *names], [[f"{row[n]:,.0f}" for n in ("run", *names)] for row in shown])
