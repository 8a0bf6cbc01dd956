"""Section S: what a step costs that changes one small field, while the state around it grows.

Each cell is one shape of graph at one size. Of it each subject runs two sizes of work: one small
step, which holds what the size alone costs (writing the state, telling it once), and all steps. The
difference, by the number of further steps, is what one more step costs.
"""

import gc
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from . import graphs
from .figures import short, table
from .measure import SLOW, slow_rounds, take, verify
from .subjects import SUBJECTS, Subject
from .workloads import STEPS, Workload, scaled, stateful

KEY = "S"
SIZES = (250_000, 1_000_000, 4_000_000)
SHAPES: dict[str, graphs.Stateful] = {
    "channels": graphs.big_state,
    "one channel": graphs.big_document,
}
COMPARED = tuple(
    subject for subject in SUBJECTS if subject.key in ("raw", "shipped", "no-raw", "sse")
)
SLOW_ROUNDS = 3
STATE = (b'data: {"type":"STATE_SNAPSHOT"', b'data: {"type":"STATE_DELTA"')


@dataclass(frozen=True)
class Taken:
    """One subject's round: CPU of the run with one step, CPU per further step, bytes in all and per
    step."""

    one: float
    step: float
    size: float
    event_bytes: float


@dataclass
class Cell:
    """One shape at one size, and what each subject took round by round."""

    shape: str
    size: int
    short: Workload
    long: Workload
    steps: int
    taken: dict[str, list[Taken]] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)

    def median(self, key: str, name: str) -> float | None:
        """The median of one figure; None if the subject was left out."""
        values: list[float] = [getattr(taken, name) for taken in self.taken.get(key, ())]
        return median(values) if values else None


async def measure_state(chosen: Collection[str], rounds: int, scale: float = 1.0) -> list[Cell]:
    """All shapes at all sizes, after one round each that is not counted."""
    cells = []
    for shape in SHAPES:
        for size in SIZES:
            cell = _cell(shape, size, scale)
            subjects = [
                s for s in COMPARED if (s.key in chosen or not s.adapter) and not _too_much(s, size)
            ]
            await _fill(cell, subjects, rounds)
            cells.append(cell)
    return cells


def _cell(shape: str, size: int, scale: float) -> Cell:
    steps, size, make = scaled(STEPS, scale), scaled(size, scale), SHAPES[shape]
    key = f"{KEY}, {shape}, {_megabytes(size)}"
    return Cell(shape, size, stateful(key, make, 1, size), stateful(key, make, steps, size), steps)


def _too_much(subject: Subject, size: int) -> bool:
    """As shipped, the incumbent sends over a gigabyte at the largest size."""
    return subject.key == "shipped" and size == max(SIZES)


def _rounds_of(subject: Subject, rounds: int) -> int:
    if subject.key in SLOW:
        return slow_rounds(rounds)
    return min(rounds, SLOW_ROUNDS) if subject.adapter and not subject.ours else rounds


async def _fill(cell: Cell, subjects: Sequence[Subject], rounds: int) -> None:
    cell.taken = {subject.key: [] for subject in subjects}
    gc.collect()
    gc.freeze()
    try:
        for number in range(rounds + 1):
            turn = number % len(subjects)
            for subject in [*subjects[turn:], *subjects[:turn]]:
                if number <= _rounds_of(subject, rounds):
                    taken = await _round(cell, subject, first=not number)
                    cell.taken[subject.key] += [taken] if number else []
    finally:
        gc.unfreeze()


async def _round(cell: Cell, subject: Subject, first: bool) -> Taken:
    """One run of one step and one of all; ours are checked each time, the others the first time."""
    one, recordings = await take(cell.short, subject, subject.drive(cell.short))
    event_bytes, notes = 0.0, cell.notes.setdefault(subject.key, [])
    if subject.ours:
        verify(cell.short, subject, recordings, notes)
    whole, recordings = await take(cell.long, subject, subject.drive(cell.long))
    if subject.ours or (subject.adapter and first):
        verify(cell.long, subject, recordings, notes)
    if subject.adapter:
        event_bytes = sum(after_whole(recordings[0].chunks, _least(cell))) / cell.steps
    return Taken(one.cpu, (whole.cpu - one.cpu) / (cell.steps - 1), whole.size, event_bytes)


def after_whole(chunks: Iterable[bytes], whole: int) -> list[int]:
    """The bytes of each frame of a state event, but for those that tell the ``whole`` state first:
    one or some."""
    frames = (len(frame) + 2 for frame in _frames(chunks) if frame.startswith(STATE))
    sent = 0
    while sent < whole:
        length = next(frames, None)
        if length is None:
            raise AssertionError(f"{sent:,} bytes of state events for a state of {whole:,}")
        sent += length
    return list(frames)


def _least(cell: Cell) -> int:
    """The bytes of the state as it is before the steps, which are a digit or two fewer than after
    them."""
    return len(json.dumps(cell.long.expected.state, separators=(",", ":"))) - 8


def _frames(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n\n")
        yield from whole


def _megabytes(size: int) -> str:
    return f"{size / 1e6:g} MB"


def state_markdown(cells: Sequence[Cell]) -> list[str]:
    """Section S: bytes, then time, each size in a column of its own."""
    steps, sizes = cells[0].steps, list(dict.fromkeys(cell.size for cell in cells))
    labels = [f"{size / 1e6:g} MB" for size in sizes]
    of_bytes = [
        "",
        "subject",
        *(f"in all, {at}" for at in labels),
        *(f"per step, {at}" for at in labels),
    ]
    of_time = [
        "",
        "subject",
        *(f"one step, {at}" for at in labels),
        *(f"per step, {at}" for at in labels),
    ]
    about = (
        f"**S** {steps} steps that each change one small field, while the state around it grows. "
        f"Bytes in all, and "
        "bytes of the state events after the whole state was sent once, divided by the steps:"
    )
    times = (
        "CPU ms of a run of one step, which holds what the size alone costs, and of each further "
        "step; growth is the "
        f"latter at {labels[-1]} over {labels[0]}. One channel is written whole at each step, and "
        f"costs accordingly. "
        f"The incumbent has {SLOW_ROUNDS} rounds at most, and as shipped none at {labels[-1]}:"
    )
    return [
        about,
        table(of_bytes, _rows(cells, sizes, "size", "event_bytes", _count), left=2),
        times,
        table([*of_time, "growth"], _rows(cells, sizes, "one", "step", _ms, growth=True), left=2),
    ]


def _rows(
    cells: Sequence[Cell],
    sizes: Sequence[int],
    whole: str,
    each: str,
    say: Callable[[float | None], str],
    growth: bool = False,
) -> list[list[str]]:
    rows = []
    for shape in dict.fromkeys(cell.shape for cell in cells):
        at = {cell.size: cell for cell in cells if cell.shape == shape}
        for subject in COMPARED:
            if subject.key not in at[sizes[0]].taken or not (growth or subject.adapter):
                continue
            steps = [at[size].median(subject.key, each) for size in sizes]
            row = [
                shape,
                subject.label,
                *(say(at[size].median(subject.key, whole)) for size in sizes),
            ]
            rows.append(
                row
                + [say(value) for value in steps]
                + ([_growth(steps[0], steps[-1])] if growth else [])
            )
    return rows


def _growth(small: float | None, large: float | None) -> str:
    return f"{short(large / small)}x" if small and large and min(small, large) > 0 else ""


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value * 1e3:,.2f}"
