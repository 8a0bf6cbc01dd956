"""``python -m benchmarks [--rounds 9] [--only W1,S,H,R] [--write]`` or ``python -m benchmarks
--profile W1``."""

import argparse
import asyncio
from collections.abc import Callable, Coroutine, Sequence
from time import perf_counter
from typing import Any, NamedTuple

from .client import KEY as CLIENT
from .client import client_goals, client_markdown, measure_client
from .goals import Goal, goals_markdown
from .growth import KEY as GROWTH
from .growth import growth_goals, growth_markdown, measure_growth
from .handler import KEY as HANDLER
from .handler import handler_goals, handler_markdown, measure_handler
from .largest import KEY as LARGEST
from .largest import largest_markdown, measure_largest
from .measure import Result, measure
from .profiling import print_profile, profiles, profiles_markdown
from .remote import KEY as REMOTE
from .remote import measure_remote, remote_goals, remote_markdown
from .report import PAGE, markdown, workload_goals, write
from .shared import KEY as SHARED
from .shared import measure_shared, shared_goals, shared_markdown
from .stalled import KEY as STALLED
from .stalled import measure_stalled, stalled_markdown
from .state_size import KEY as STATE
from .state_size import Cell, measure_state, state_markdown
from .subjects import SUBJECTS, subjects_for
from .workloads import BUILDERS, build


class Section(NamedTuple):
    """What a section shows, as Markdown, and its goals, which are printed and not written."""

    parts: list[str]
    goals: Sequence[Goal] = ()


async def _handler(rounds: int, scale: float) -> Section:
    found = await measure_handler(rounds, scale)
    return Section(handler_markdown(found), handler_goals(found))


async def _largest(rounds: int, scale: float) -> Section:
    return Section(largest_markdown(await asyncio.to_thread(measure_largest, rounds, scale)))


async def _stalled(rounds: int, scale: float) -> Section:
    return Section(stalled_markdown(await measure_stalled(rounds, scale)))


async def _remote(rounds: int, scale: float) -> Section:
    found = await measure_remote(rounds, scale)
    return Section(remote_markdown(found), remote_goals(found))


async def _shared(rounds: int, scale: float) -> Section:
    found = await measure_shared(rounds, scale)
    return Section(shared_markdown(found), shared_goals(found))


async def _client(rounds: int, scale: float) -> Section:
    found = await measure_client(rounds, scale)
    return Section(client_markdown(found), client_goals(found))


async def _growth(rounds: int, scale: float) -> Section:
    found = await measure_growth(rounds, scale)
    return Section(growth_markdown(found), growth_goals(found))


SECTIONS: dict[str, Callable[[int, float], Coroutine[Any, Any, Section]]] = {
    HANDLER: _handler,
    LARGEST: _largest,
    STALLED: _stalled,
    REMOTE: _remote,
    SHARED: _shared,
    CLIENT: _client,
    GROWTH: _growth,
}
"""Measure a section. Workloads and the section of the state compare subjects."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="CPU over consuming a graph raw."
    )
    keys = [subject.key for subject in SUBJECTS]
    everything = ",".join([*BUILDERS, STATE, *SECTIONS])
    parser.add_argument("--rounds", type=int, default=9, help="counted rounds (9)")
    parser.add_argument("--only", default=everything, help=f"of {everything}")
    parser.add_argument(
        "--subjects", default=",".join(keys), help=f"of {','.join(keys)}; raw is always there"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="smaller workloads, to try things out"
    )
    parser.add_argument(
        "--write",
        action="store_true",
        help="put the tables into benchmarks/README.md",
    )
    parser.add_argument(
        "--profile", metavar="W1", help="print where the CPU of one workload goes instead"
    )
    parser.add_argument("--profile-subject", default="sse", choices=keys)
    return parser.parse_args()


def main() -> None:
    """Measure, print each part's tables as they come, and the whole with the goals at the end."""
    arguments = _arguments()
    if arguments.profile:
        asyncio.run(
            print_profile(build(arguments.profile, arguments.scale), arguments.profile_subject)
        )
        return
    keys, chosen = arguments.only.split(","), arguments.subjects.split(",")
    rounds, scale = arguments.rounds, arguments.scale
    results: list[Result] = []
    cells: list[Cell] = []
    sections: list[str] = []
    goals: list[Goal] = []
    for key in keys:
        begun = perf_counter()
        if key == STATE:
            cells = asyncio.run(measure_state(chosen, rounds, scale))
            parts = state_markdown(cells)
        elif key in SECTIONS:
            parts, found = asyncio.run(SECTIONS[key](rounds, scale))
            goals += found
        else:
            results.append(asyncio.run(_workload(key, chosen, rounds, scale)))
            parts = markdown(results[-1:], rounds).split("\n\n")[1:]
        sections += parts if key == STATE or key in SECTIONS else []
        print(
            "\n\n".join([*parts, f"({key}: {perf_counter() - begun:.0f} s)"]),
            end="\n\n",
            flush=True,
        )
    # Profiling comes last: it slows what runs after it.
    sections = [*profiles_markdown(asyncio.run(profiles(results))), *sections]
    text = markdown(results, rounds, cells, sections)
    print("=" * 80, text, goals_markdown([*workload_goals(results), *goals]), sep="\n\n")
    if arguments.write:
        write(PAGE, text)


async def _workload(key: str, chosen: list[str], rounds: int, scale: float) -> Result:
    workload = build(key, scale)
    subjects = [
        subject
        for subject in subjects_for(workload)
        if subject.key in chosen or not subject.adapter
    ]
    return await measure(workload, subjects, rounds)


if __name__ == "__main__":
    main()
