"""``python -m benchmarks [--rounds 9] [--only W1,S,H,R] [--write]`` or ``python -m benchmarks --profile W1``."""

import argparse
import asyncio

from .handler import KEY as HANDLER
from .handler import Ride, measure_handler
from .largest import KEY as LARGEST
from .largest import measure_largest
from .measure import Result, measure
from .profiling import profile
from .report import PAGE, README, handler_markdown, largest_markdown, markdown, state_markdown, summary, write
from .stalled import KEY as STALLED
from .stalled import Stall, measure_stalled, stalled_markdown
from .state_size import KEY as STATE
from .state_size import Cell, measure_state
from .subjects import SUBJECTS, subjects_for
from .workloads import BUILDERS, build

SECTIONS = (STATE, HANDLER, LARGEST, STALLED)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="CPU over consuming a graph raw.")
    keys = [subject.key for subject in SUBJECTS]
    parser.add_argument("--rounds", type=int, default=9, help="counted rounds (9)")
    parser.add_argument("--only", default=",".join([*BUILDERS, *SECTIONS]), help="workloads, for example W1,S,H,R")
    parser.add_argument("--subjects", default=",".join(keys), help=f"of {','.join(keys)}; raw is always there")
    parser.add_argument("--scale", type=float, default=1.0, help="smaller workloads, to try things out")
    parser.add_argument(
        "--write", action="store_true", help="put the tables into docs/operations/performance.md and the README"
    )
    parser.add_argument("--profile", metavar="W1", help="print where the CPU of one workload goes instead")
    parser.add_argument("--profile-subject", default="sse", choices=keys)
    return parser.parse_args()


async def _run(keys: list[str], chosen: list[str], rounds: int, scale: float) -> list[Result]:
    results = []
    for key in keys:
        workload = build(key, scale)
        subjects = [s for s in subjects_for(workload) if s.key in chosen or not s.adapter]
        result = await measure(workload, subjects, rounds)
        print(markdown([result], rounds).split("\n\n", 1)[1], end="\n\n", flush=True)
        results.append(result)
    return results


async def _run_state(chosen: list[str], rounds: int, scale: float) -> list[Cell]:
    cells = await measure_state(chosen, rounds, scale)
    print("\n\n".join(state_markdown(cells)), end="\n\n", flush=True)
    return cells


async def _run_handler(rounds: int, scale: float) -> list[Ride]:
    rides = await measure_handler(rounds, scale)
    print("\n\n".join(handler_markdown(rides)), end="\n\n", flush=True)
    return rides


async def _run_stalled(rounds: int, scale: float) -> list[Stall]:
    stalls = await measure_stalled(rounds, scale)
    print("\n\n".join(stalled_markdown(stalls)), end="\n\n", flush=True)
    return stalls


def main() -> None:
    """Measure, print each workload's tables as they come, and the whole at the end."""
    arguments = _arguments()
    if arguments.profile:
        asyncio.run(profile(build(arguments.profile, arguments.scale), arguments.profile_subject))
        return
    keys, chosen = arguments.only.split(","), arguments.subjects.split(",")
    rounds, scale = arguments.rounds, arguments.scale
    results = asyncio.run(_run([key for key in keys if key not in SECTIONS], chosen, rounds, scale))
    cells = asyncio.run(_run_state(chosen, rounds, scale)) if STATE in keys else []
    rides = asyncio.run(_run_handler(rounds, scale)) if HANDLER in keys else []
    waits = measure_largest(rounds, scale) if LARGEST in keys else []
    print("\n\n".join(largest_markdown(waits)), end="\n\n", flush=True)
    stalls = asyncio.run(_run_stalled(rounds, scale)) if STALLED in keys else []
    text = markdown(results, rounds, cells, rides, waits, stalls)
    print("=" * 80, text, sep="\n")
    if arguments.write:
        write(PAGE, text)
        write(README, summary(results))


if __name__ == "__main__":
    main()
