"""Samples of several contestants in turn, and their figures as Markdown."""

import gc
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from statistics import median
from time import process_time
from typing import TypeVar

K = TypeVar("K")
T = TypeVar("T")

Taker = Callable[[], Awaitable[T]]


async def in_turn(takers: Mapping[K, Taker[T]], rounds: int, warming: int = 1) -> dict[K, list[T]]:
    """A sample of each contestant per round, in an order that is rotated by one; the first
    `warming` do not count."""
    taken: dict[K, list[T]] = {name: [] for name in takers}
    names = list(takers)
    gc.collect()
    gc.freeze()
    try:
        for number in range(rounds + warming):
            turn = number % len(names)
            for name in [*names[turn:], *names[:turn]]:
                sample = await takers[name]()
                taken[name] += [sample] if number >= warming else []
    finally:
        gc.unfreeze()
    return taken


async def cpu_of(work: Callable[[], Awaitable[T]]) -> tuple[float, T]:
    """The CPU seconds of this process while it works, and what comes of the work."""
    gc.collect()
    begun = process_time()
    result = await work()
    return process_time() - begun, result


def minus(some: Iterable[float], others: Iterable[float]) -> list[float]:
    """The differences, round by round."""
    return [one - other for one, other in zip(some, others, strict=True)]


def over(some: Iterable[float], others: Iterable[float]) -> list[float]:
    """The ratios, round by round."""
    return [one / other for one, other in zip(some, others, strict=True)]


def short(value: float) -> str:
    """A number with three digits or so."""
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def spread(values: Sequence[float], say: Callable[[float], str] = short) -> str:
    """The median of the rounds, with the lowest and the highest."""
    return f"{say(median(values))} ({say(min(values))}..{say(max(values))})" if values else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; so many columns are text, the others are numbers."""
    rule = ["---" if column < left else "--:" for column in range(len(head))]
    filled = [[*row, *[""] * (len(head) - len(row))] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *filled))
