"""What one run delivered, and when. Taking it down is what is timed, so it does as little as it
can."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from time import perf_counter
from typing import Any

from ag_ui.core import RunAgentInput

Stream = Callable[[RunAgentInput], AsyncIterator[Any]]
MARKS = (b'_CONTENT"', b'"TOOL_CALL_ARGS"')
TIMED = 1000
"""How many pieces of a stream have their time noted. The first content is one of them."""


@dataclass
class Recording:
    """One run. ``started``, ``first`` (the first piece) and ``content`` (the first content) are by
    ``perf_counter``.

    Over HTTP a client took it down and says the times; ``stored`` is where it put the bytes.
    """

    run_input: RunAgentInput
    chunks: list[bytes] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    started: float = 0.0
    first: float = 0.0
    content: float | None = None
    stored: Path | None = None

    def finish(self) -> None:
        """Find what was not looked for while the time ran."""
        if self.stored is not None:
            self.chunks = [self.stored.read_bytes()]
            self.stored.unlink()
        elif self.times:
            self.first, self.content = self.times[0], content_time(self.chunks, self.times)

    @property
    def events(self) -> int:
        """The number of frames. JSON has no empty line, so that one ends a frame."""
        return sum(chunk.count(b"\n\n") for chunk in self.chunks)


Drive = Callable[[Recording], Awaitable[None]]


async def keep(stream: Stream, recording: Recording) -> None:
    """Consume the run of an adapter. Where its content begins is looked up later, by ``finish``."""
    recording.started = perf_counter()
    pieces = stream(recording.run_input)
    chunks, times = recording.chunks, recording.times
    async for piece in pieces:
        chunks.append(piece)
        times.append(perf_counter())
        if len(times) == TIMED:
            break
    async for piece in pieces:
        chunks.append(piece)


async def drop(
    stream: Stream, is_content: Callable[[Any], bool] | None, recording: Recording
) -> None:
    """Consume a run and drop what comes. The parts are looked at until the first with content."""
    recording.started = perf_counter()
    pieces = stream(recording.run_input)
    async for piece in pieces:
        recording.first = recording.first or perf_counter()
        if is_content is None:
            break
        if is_content(piece):
            recording.content = perf_counter()
            break
    async for _ in pieces:
        pass


def content_time(chunks: Iterable[bytes], times: Iterable[float]) -> float:
    """The time of the first piece with an event of text, reasoning or arguments. A piece holds
    whole events."""
    for chunk, time in zip(chunks, times, strict=False):
        if any(mark in chunk for mark in MARKS):
            return time
    raise AssertionError(f"no content in the first {TIMED:,} pieces")


def content_time_of_reads(reads: list[bytes], times: list[float]) -> float:
    """The same where a piece is what one read gave, which may end anywhere."""
    body = b"".join(reads)
    ends = [at + len(mark) for mark in MARKS if (at := body.find(mark)) >= 0]
    if not ends:
        raise AssertionError("no content")
    return next(
        time
        for end, time in zip(accumulate(map(len, reads)), times, strict=True)
        if end >= min(ends)
    )
