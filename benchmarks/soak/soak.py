"""The soak: clients come in rounds; after each, when the server is idle, what it holds is
counted."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.processes import started

from .clients import Crowd
from .connection import ask

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

WORKERS = {"threads": AT_ONCE}
"""What comes on top of that: an executor has no more threads than it had work at once."""


@dataclass
class Soaked:
    """What a soak has found: a row per round, how the visits ended, what went wrong."""

    rows: list[dict[str, float]] = field(default_factory=list)
    tally: Counter[str] = field(default_factory=Counter)
    complaints: list[str] = field(default_factory=list)
    seconds: float = 0.0


async def soak(
    runs: int, seed: int = 1, *, say: Callable[[str], object] = lambda _: None
) -> Soaked:
    """Let clients come until there were so many runs."""
    result, begun = Soaked(), time.monotonic()
    with TemporaryDirectory() as directory:
        async with started("benchmarks.soak.server", directory) as port:
            crowd = Crowd(port, seed)
            result.tally, result.complaints = crowd.tally, crowd.complaints
            idle = await _warm_up(port, crowd)
            names: dict[str, int] = {}
            rounds = max(FEWEST_ROUNDS, min(MOST_ROUNDS, runs // AT_ONCE))
            for number in range(1, rounds + 1):
                await _round(crowd, runs * number // rounds)
                row = {"run": crowd.runs, **await _count(port, idle)}
                result.rows.append(row)
                say(_line(row))
                if number == rounds // 2:
                    names = await ask(port, "GET", "/entries")
            if grown := _grown(names, await ask(port, "GET", "/entries")):
                say(f"grown since half-time: {grown}")
    result.seconds = time.monotonic() - begun
    return result


async def _warm_up(port: int, crowd: Crowd) -> int:
    """Let every kind of client come; return how much goes on in a server without clients."""
    idle = int(await ask(port, "GET", "/busy"))
    await asyncio.gather(*(crowd.visit(kind) for kind in crowd.kinds()))
    await _round(crowd, crowd.runs + AT_ONCE)
    await _until_idle(port, idle)
    crowd.runs = 0
    return idle


async def _round(crowd: Crowd, until: int) -> None:
    async def come() -> None:
        while crowd.runs < until:
            await crowd.visit()

    await asyncio.gather(*(come() for _ in range(min(AT_ONCE, until - crowd.runs))))


async def _until_idle(port: int, idle: int) -> None:
    end = time.monotonic() + PATIENCE
    while (left := await ask(port, "GET", "/busy") - idle) > 0:
        if time.monotonic() > end:
            raise TimeoutError(f"{left} runs and tasks are left in a server without clients")
        await asyncio.sleep(0.01)


async def _count(port: int, idle: int) -> dict[str, float]:
    await _until_idle(port, idle)
    row: dict[str, float] = await ask(port, "GET", "/census")
    return row


def judge(result: Soaked, *, memory: bool = True) -> list[str]:
    """Return what grew, and what went wrong. Memory can be left out: that of the first runs
    grows."""
    found = result.complaints[:20]
    quarter = len(result.rows) // 4
    early, late = result.rows[quarter : 2 * quarter], result.rows[-quarter:]
    for name, share in GROWTH.items() if memory else list(GROWTH.items())[1:]:
        before, after = (mean(row[name] for row in rows) for rows in (early, late))
        if after > before * (1 + share) + WORKERS.get(name, 0.5):
            found.append(f"{name} grew from {before:,.1f} to {after:,.1f}")
    for name in NOTHING:
        if left := max(row[name] for row in result.rows):
            found.append(f"{name}: {left:,.0f} in an idle server")
    return found


def table(result: Soaked) -> str:
    """The rows of the soak and how its visits ended, as text."""
    visits = "\n".join(f"{times:7,} {name}" for name, times in sorted(result.tally.items()))
    rows = "\n".join(map(_line, result.rows))
    return f"{rows}\n\n{visits}\n\n{result.rows[-1]['run']:,.0f} runs in {result.seconds:,.0f} s"


def _line(row: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:,.{int(name == 'memory MB')}f}" for name, value in row.items())


def _grown(before: dict[str, Any], after: dict[str, Any]) -> dict[str, str]:
    changed = {
        name: (before.get(name, 0), size)
        for name, size in after.items()
        if size > before.get(name, 0)
    }
    return {name: f"{old} to {new}" for name, (old, new) in changed.items()}
