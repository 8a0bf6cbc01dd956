"""Where our CPU goes: a list for each workload, and ``python -m benchmarks --profile W1``."""

import cProfile
import gc
import pstats
import re
import sysconfig
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from .measure import Result, open_drive, run_all
from .recording import Drive, Recording
from .subjects import OURS, SUBJECTS
from .workloads import Workload

LINES = 10
ROOT = Path(__file__).parent.parent
PLACES = [*(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib", "stdlib")), ROOT]
BUILT_IN = "~"
METHOD = re.compile("<method '(.+)' of '(.+)' objects>")


@dataclass(frozen=True)
class Hot:
    """A function, and the time of its own as a share of the whole run."""

    name: str
    place: str
    share: float


@dataclass(frozen=True)
class Profile:
    """Where the time of a workload goes: its functions with the most time of their own."""

    workload: Workload
    functions: Sequence[Hot]


async def profiles(results: Sequence[Result], lines: int = LINES) -> list[Profile]:
    """Profile `stream_sse` where it was measured. Do so after all that is measured: it slows what
    follows."""
    workloads = [result.workload for result in results if result.samples.get(OURS.key)]
    return [
        Profile(workload, _hottest(await _profile(workload, OURS.key), lines))
        for workload in workloads
    ]


def profiles_markdown(found: Sequence[Profile]) -> list[str]:
    """The functions of each workload; nothing if there are none."""
    if not found:
        return []
    about = (
        f"Where the time of {OURS.label} goes: the {LINES} functions with the most time of their "
        f"own, under "
        "`cProfile`, as a share of all. It makes every call slower, so the shares are rough. It "
        "sees no other threads: "
        "the event loop waits for them in `poll`."
    )
    lines = [f"- **{one.workload.key}** {', '.join(map(_said, one.functions))}" for one in found]
    return [about, "\n".join(lines)]


def _said(hot: Hot) -> str:
    return f"{hot.share:.1%} `{hot.name}`" + (f" (`{hot.place}`)" if hot.place else "")


async def print_profile(workload: Workload, key: str, lines: int = 40) -> None:
    """Print the functions that take the most time of their own in one run."""
    (await _profile(workload, key)).sort_stats("tottime").print_stats(lines)


async def _profile(workload: Workload, key: str) -> pstats.Stats:
    """Profile one sample, after one to warm up."""
    subject = next(subject for subject in SUBJECTS if subject.key == key)
    gc.collect()
    gc.freeze()  # else a collection of all that was there before counts as time of some function
    async with AsyncExitStack() as stack:
        stack.callback(gc.unfreeze)
        drive = await open_drive(workload, subject, stack)
        await _once(workload, drive, None)
        profiler = cProfile.Profile()
        await _once(workload, drive, profiler)
    return pstats.Stats(profiler)


async def _once(workload: Workload, drive: Drive, profiler: cProfile.Profile | None) -> None:
    recordings = [Recording(await workload.prepare()) for _ in range(workload.runs_per_sample)]
    if profiler is not None:
        profiler.enable()
    await run_all(workload, drive, recordings)
    if profiler is not None:
        profiler.disable()
    for recording in recordings:
        recording.finish()
        await workload.clean(recording.run_input)


def _hottest(stats: pstats.Stats, lines: int) -> list[Hot]:
    entries = stats.stats.items()  # type: ignore[attr-defined]
    whole = sum(own for _, (_, _, own, *_) in entries)
    found = [
        Hot(_name(name) if file == BUILT_IN else name, _place(file, line, name), own / whole)
        for (file, line, name), (_, _, own, *_) in entries
    ]
    return sorted(found, key=lambda hot: hot.share, reverse=True)[:lines]


def _name(name: str) -> str:
    """What is built in has a description for a name."""
    if method := METHOD.fullmatch(name):
        return f"{method[2].rpartition('.')[2]}.{method[1]}"
    return name.strip("<>").removeprefix("built-in method ").removeprefix("builtins.")


def _place(file: str, line: int, name: str) -> str:
    """The file as it is imported; with the line where the name is none, as of a lambda."""
    if file == BUILT_IN:
        return ""
    short = next(
        (
            str(Path(file).relative_to(place))
            for place in PLACES
            if Path(file).is_relative_to(place)
        ),
        file,
    )
    return f"{short}:{line}" if name.startswith("<") else short
