"""Taking samples: every subject in turn, round after round, in one process."""

import asyncio
import gc
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time

from .check import check
from .over_http import serve
from .subjects import RAW, Recording, Stream, Subject, drive
from .workloads import Workload


@dataclass(frozen=True)
class Sample:
    """One measurement; ``first``, ``size`` and ``writes`` are means over its runs."""

    cpu: float
    wall: float
    first: float
    size: float
    writes: float


@dataclass
class Result:
    """All samples of one workload, and what the streams got wrong (incumbents only: ours must be right)."""

    workload: Workload
    subjects: Sequence[Subject]
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)

    def ratios(self, key: str) -> list[float]:
        """The CPU of ``key`` over the CPU of the baseline, round by round."""
        pairs = zip(self.samples[key], self.samples[RAW.key], strict=True)
        return [mine.cpu / base.cpu for mine, base in pairs]

    def median(self, key: str, name: str) -> float:
        """The median of one figure of the samples."""
        values: list[float] = [getattr(sample, name) for sample in self.samples[key]]
        return median(values)


async def measure(workload: Workload, subjects: Sequence[Subject], rounds: int) -> Result:
    """Sample every subject ``rounds`` times, after one round that is not counted.

    The order of the subjects is rotated by one each round. Streams of ours are checked in every round, those
    of the incumbent once, because parsing what it sends takes longer than all the rest.
    """
    result = Result(workload, subjects, {s.key: [] for s in subjects}, {s.key: [] for s in subjects})
    gc.collect()
    gc.freeze()  # what this process did before is no part of the samples, nor of their collections
    async with AsyncExitStack() as stack:
        stack.callback(gc.unfreeze)
        streams = {subject.key: await open_stream(workload, subject, stack) for subject in subjects}
        for number in range(rounds + 1):
            turn = number % len(subjects)
            for subject in [*subjects[turn:], *subjects[:turn]]:
                sample, recordings = await take(workload, subject, streams[subject.key])
                if number:
                    result.samples[subject.key].append(sample)
                if subject.ours or (subject.adapter and not number):
                    verify(workload, subject, recordings, result.notes[subject.key])
    return result


async def open_stream(workload: Workload, subject: Subject, stack: AsyncExitStack) -> Stream:
    """The subject's way to run the workload; over HTTP its server runs until ``stack`` ends."""
    if workload.http and subject.mount:
        return await stack.enter_async_context(serve(workload, subject.mount))
    return subject.bind(workload)


async def run_all(workload: Workload, stream: Stream, recordings: list[Recording], keep: bool) -> None:
    """The runs of one sample; ``keep`` their bytes or drop what comes."""
    runs = [drive(stream, recording, keep) for recording in recordings]
    if workload.concurrent:
        await asyncio.gather(*runs)
        return
    for run in runs:
        await run


async def take(workload: Workload, subject: Subject, stream: Stream) -> tuple[Sample, list[Recording]]:
    """One sample, and the runs it consists of; their threads are forgotten."""
    recordings = [Recording(await workload.prepare()) for _ in range(workload.runs_per_sample)]
    gc.collect()
    wall, cpu = perf_counter(), process_time()
    await run_all(workload, stream, recordings, subject.adapter)
    cpu, wall = process_time() - cpu, perf_counter() - wall
    for recording in recordings:
        await workload.clean(recording.run_input)
    runs = len(recordings)
    sample = Sample(
        cpu,
        wall,
        first=sum(r.first - r.started for r in recordings) / runs,
        size=sum(sum(map(len, r.chunks)) for r in recordings) / runs,
        writes=sum(len(r.chunks) for r in recordings) / runs,
    )
    return sample, recordings


def verify(workload: Workload, subject: Subject, recordings: list[Recording], notes: list[str]) -> None:
    """Check the runs of one sample: raise if one of ours is wrong, else put it down."""
    for recording in recordings:
        found = check(workload, recording)
        if found and subject.ours:
            raise AssertionError(f"{workload.key}, {subject.key}: {'; '.join(found)}")
        notes.extend(note for note in found if note not in notes)
