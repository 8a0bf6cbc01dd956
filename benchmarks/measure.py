"""Taking samples: every subject in turn, round after round, in one process."""

import asyncio
import gc
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from statistics import fmean, median
from time import perf_counter, process_time

from .check import check
from .over_http import serve
from .recording import Drive, Recording
from .subjects import RAW, Subject
from .workloads import Workload

SLOW = frozenset({"shipped"})
"""Subjects that take seconds where a workload is heavy, and have fewer rounds there."""


def slow_rounds(rounds: int) -> int:
    """The rounds of the slow subjects."""
    return max(1, min(rounds // 2, 3))


@dataclass(frozen=True)
class Sample:
    """One measurement; all but the CPU and wall time are means over its runs.

    ``first`` and ``content`` are the seconds until the first piece and the first content.
    """

    cpu: float
    wall: float
    first: float
    content: float | None
    size: float
    events: float
    writes: float


@dataclass
class Result:
    """All samples of one workload, and what the streams got wrong (incumbents only: ours must be
    right)."""

    workload: Workload
    subjects: Sequence[Subject]
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)

    def ratios(self, key: str) -> list[float]:
        """The CPU of ``key`` over the CPU of the baseline, round by round."""
        return [mine.cpu / base.cpu for mine, base in self._pairs(key)]

    def later(self, key: str) -> list[float]:
        """The seconds by which the first content of ``key`` is later than that of the baseline,
        round by round."""
        pairs = [(mine.content, base.content) for mine, base in self._pairs(key)]
        return [mine - base for mine, base in pairs if mine is not None and base is not None]

    def _pairs(self, key: str) -> list[tuple[Sample, Sample]]:
        """The samples of ``key``, which may have fewer rounds, with those of the baseline of the
        same rounds."""
        return list(zip(self.samples[key], self.samples[RAW.key], strict=False))

    def median(self, key: str, name: str) -> float:
        """The median of one figure of the samples."""
        values: list[float] = [getattr(sample, name) for sample in self.samples[key]]
        return median(values)

    def noise(self) -> float:
        """The spread of the baseline's own CPU: the highest over the lowest, less one."""
        values = [sample.cpu for sample in self.samples[RAW.key]]
        return max(values) / min(values) - 1


async def measure(workload: Workload, subjects: Sequence[Subject], rounds: int) -> Result:
    """Sample every subject ``rounds`` times, after one round that is not counted.

    The order of the subjects is rotated by one each round. Streams of ours are checked in every
    round, those of the incumbent once, because parsing what it sends takes longer than all the
    rest.
    """
    result = Result(
        workload, subjects, {s.key: [] for s in subjects}, {s.key: [] for s in subjects}
    )
    gc.collect()
    gc.freeze()  # what this process did before is no part of the samples, nor of their collections
    async with AsyncExitStack() as stack:
        stack.callback(gc.unfreeze)
        drives = {subject.key: await open_drive(workload, subject, stack) for subject in subjects}
        for number in range(rounds + 1):
            turn = number % len(subjects)
            for subject in [*subjects[turn:], *subjects[:turn]]:
                if workload.heavy and subject.key in SLOW and number > slow_rounds(rounds):
                    continue
                sample, recordings = await take(workload, subject, drives[subject.key])
                if number:
                    result.samples[subject.key].append(sample)
                if subject.ours or (subject.adapter and not number):
                    verify(workload, subject, recordings, result.notes[subject.key])
    return result


async def open_drive(workload: Workload, subject: Subject, stack: AsyncExitStack) -> Drive:
    """The subject's way to run the workload; over HTTP its server runs until ``stack`` ends."""
    if workload.http and subject.mount:
        return await stack.enter_async_context(serve(workload, subject.mount))
    return subject.drive(workload)


async def run_all(workload: Workload, drive: Drive, recordings: Sequence[Recording]) -> None:
    """The runs of one sample."""
    if workload.concurrent:
        await asyncio.gather(*map(drive, recordings))
        return
    for recording in recordings:
        await drive(recording)


async def take(
    workload: Workload, subject: Subject, drive: Drive
) -> tuple[Sample, list[Recording]]:
    """One sample, and the runs it consists of; their threads are forgotten."""
    recordings = [Recording(await workload.prepare()) for _ in range(workload.runs_per_sample)]
    gc.collect()
    wall, cpu = perf_counter(), process_time()
    await run_all(workload, drive, recordings)
    cpu, wall = process_time() - cpu, perf_counter() - wall
    for recording in recordings:
        recording.finish()
        await workload.clean(recording.run_input)
    contents = [r.content - r.started for r in recordings if r.content is not None]
    if subject.adapter and len(contents) < len(recordings):
        raise AssertionError(f"{workload.key}, {subject.key}: a run without content")
    sample = Sample(
        cpu,
        wall,
        first=fmean(r.first - r.started for r in recordings),
        content=fmean(contents) if contents else None,
        size=fmean(sum(map(len, r.chunks)) for r in recordings),
        events=fmean(r.events for r in recordings),
        writes=fmean(len(r.chunks) for r in recordings),
    )
    return sample, recordings


def verify(
    workload: Workload, subject: Subject, recordings: list[Recording], notes: list[str]
) -> None:
    """Check the runs of one sample: raise if one of ours is wrong, else put it down."""
    for recording in recordings:
        found = check(workload, recording)
        if found and subject.ours:
            raise AssertionError(f"{workload.key}, {subject.key}: {'; '.join(found)}")
        notes.extend(note for note in found if note not in notes)
