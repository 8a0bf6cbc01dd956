"""Samples of a workload: subjects go in, their CPU, round by round, comes out.

Every subject has a turn in each round, in one process, and the order is rotated by one. Streams are
checked outside of what is timed: ours in each round, those of others once.
"""

import asyncio
import gc
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from math import inf
from statistics import fmean, median
from time import perf_counter, process_time

from .check import check
from .over_http import served
from .recording import Drive, Recording, Stream, content_time, drop, keep
from .subjects import Subject
from .workloads import Workload


@dataclass(frozen=True)
class Sample:
    """CPU and wall seconds of all runs together; means of the seconds until the first content, and
    of the bytes."""

    cpu: float
    wall: float
    content: float
    size: float


@dataclass
class Result:
    """The samples of a workload, and what was wrong with the streams of others."""

    workload: Workload
    subjects: Sequence[Subject]
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def ratios(self, subject: Subject, base: Subject, busy: float = inf) -> list[float]:
        """The CPU of a subject over that of a base, round by round. Rounds do not count in which
        the base took more than `busy` times its CPU, because others had it."""
        pairs = self._pairs(subject, base)
        return [one.cpu / other.cpu for one, other in pairs if other.wall <= busy * other.cpu]

    def later(self, subject: Subject, base: Subject) -> list[float]:
        """The seconds by which its first content is later, round by round."""
        return [one.content - other.content for one, other in self._pairs(subject, base)]

    def cpu(self, subject: Subject) -> float:
        """The CPU seconds of a run."""
        return median(sample.cpu for sample in self.samples[subject.key]) / self.workload.runs

    def size(self, subject: Subject) -> float:
        """The bytes of a run."""
        return median(sample.size for sample in self.samples[subject.key])

    def _pairs(self, one: Subject, other: Subject) -> Iterable[tuple[Sample, Sample]]:
        return zip(self.samples[one.key], self.samples[other.key], strict=True)


async def measure(workload: Workload, subjects: Sequence[Subject], rounds: int) -> Result:
    """Sample every subject in each round, after one that does not count."""
    result = Result(workload, subjects, {subject.key: [] for subject in subjects})
    gc.collect()
    gc.freeze()  # what this process did before is no part of the samples
    async with AsyncExitStack() as stack:
        stack.callback(gc.unfreeze)
        drives = {subject.key: await _open(workload, subject, stack) for subject in subjects}
        for number in range(rounds + 1):
            turn = number % len(subjects)
            for subject in [*subjects[turn:], *subjects[:turn]]:
                sample, recordings = await _take(workload, subject, drives[subject.key])
                if number:
                    result.samples[subject.key].append(sample)
                if subject.ours or not (number or subject.base):
                    _check(result, subject, recordings)
    return result


async def _open(workload: Workload, subject: Subject, stack: AsyncExitStack) -> Drive:
    if workload.http and subject.mount:
        return await stack.enter_async_context(served(workload, subject.mount))
    return partial(_run_all, workload, subject, subject.bind(workload))


async def _run_all(
    workload: Workload, subject: Subject, stream: Stream, recordings: Sequence[Recording]
) -> None:
    one = partial(keep, stream)
    if subject.is_content:
        one = partial(drop, stream, subject.is_content)
    if workload.at_once:
        await asyncio.gather(*map(one, recordings))
        return
    for recording in recordings:
        await one(recording)


async def _take(
    workload: Workload, subject: Subject, drive: Drive
) -> tuple[Sample, list[Recording]]:
    recordings = [Recording(await workload.prepare()) for _ in range(workload.runs)]
    gc.collect()
    wall, cpu = perf_counter(), process_time()
    await drive(recordings)
    cpu, wall = process_time() - cpu, perf_counter() - wall
    for one in recordings:
        await workload.clean(one.run_input)
        one.content = one.content or content_time(one.pieces)
    content = fmean(one.content - one.started for one in recordings)
    size = sum(len(chunk) for one in recordings for chunk in one.chunks()) / len(recordings)
    return Sample(cpu, wall, content, size), recordings


def _check(result: Result, subject: Subject, recordings: Sequence[Recording]) -> None:
    """Raise if a stream of ours is wrong, else note it."""
    for one in recordings:
        found = check(result.workload, one.run_input, one.chunks(), strict=subject.ours)
        if found and subject.ours:
            raise AssertionError(f"{result.workload.key}, {subject.label}: {'; '.join(found)}")
        result.notes += [note for note in found if note not in result.notes]
