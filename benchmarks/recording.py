"""What a run delivered, and when: a stream goes in, timed pieces come out. This is inside of what
is timed, so it does little."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from time import perf_counter
from typing import Any

from ag_ui.core import RunAgentInput

Stream = Callable[[RunAgentInput], AsyncIterator[Any]]
Piece = tuple[float, bytes]
MARKS = (b'_CONTENT"', b'"TOOL_CALL_ARGS"')


@dataclass
class Recording:
    """One run. Times are by `perf_counter`, which is one clock for all processes."""

    run_input: RunAgentInput
    started: float = 0.0
    content: float = 0.0
    pieces: list[Piece] = field(default_factory=list)

    def chunks(self) -> Iterator[bytes]:
        """The bytes alone."""
        return (chunk for _, chunk in self.pieces)


Drive = Callable[[Sequence[Recording]], Awaitable[None]]
"""Carries out the runs of a sample."""


async def keep(stream: Stream, recording: Recording) -> None:
    """Read the bytes of a run."""
    pieces = recording.pieces
    recording.started = perf_counter()
    async for chunk in stream(recording.run_input):
        pieces.append((perf_counter(), chunk))


async def drop(stream: Stream, is_content: Callable[[Any], bool], recording: Recording) -> None:
    """Read a run and drop its parts. They are looked at until the first with content."""
    recording.started = perf_counter()
    parts = stream(recording.run_input)
    async for part in parts:
        if is_content(part):
            recording.content = perf_counter()
            break
    async for _ in parts:
        pass


def content_time(pieces: list[Piece]) -> float:
    """The time of the piece that ends the name of the first event of text, reasoning or
    arguments. Pieces may end anywhere."""
    body = b"".join(chunk for _, chunk in pieces)
    ends = [at + len(mark) for mark in MARKS if (at := body.find(mark)) >= 0]
    if not ends:
        raise AssertionError("a run without content")
    sizes = accumulate(len(chunk) for _, chunk in pieces)
    return next(time for (time, _), end in zip(pieces, sizes, strict=True) if end >= min(ends))
