"""Where our CPU goes: ``python -m benchmarks --profile W1``."""

import cProfile
import pstats
from contextlib import AsyncExitStack

from .measure import open_stream, run_all
from .subjects import SUBJECTS, Recording, Stream
from .workloads import Workload


async def profile(workload: Workload, key: str, lines: int = 40) -> None:
    """Print the functions that take the most time of their own in one run, after a run to warm up."""
    subject = next(subject for subject in SUBJECTS if subject.key == key)
    async with AsyncExitStack() as stack:
        stream = await open_stream(workload, subject, stack)
        await _once(workload, stream, subject.adapter)
        with cProfile.Profile() as profiler:
            await _once(workload, stream, subject.adapter)
    pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(lines)


async def _once(workload: Workload, stream: Stream, keep: bool) -> None:
    recordings = [Recording(await workload.prepare()) for _ in range(workload.runs_per_sample)]
    await run_all(workload, stream, recordings, keep)
    for recording in recordings:
        await workload.clean(recording.run_input)
