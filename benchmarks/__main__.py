"""`python -m benchmarks [--rounds 9] [--only W1,G] [--write] [--record]`: prints tables, and fails
if a workload is slower than recorded."""

import argparse
import asyncio
import sys

from .growth import measure_growth
from .largest import measure_largest
from .measure import Result
from .recorded import Session, read, record
from .report import PAGE, machine, workloads, write
from .shared import measure_shared
from .subjects import SUBJECTS
from .workloads import BUILDERS

SECTIONS = {"G": measure_growth, "L": measure_largest, "SR": measure_shared}


def _arguments() -> argparse.Namespace:
    everything = ",".join([*BUILDERS, *SECTIONS])
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="rounds that count (9)")
    parser.add_argument("--only", default=everything, help=f"of {everything}")
    parser.add_argument("--write", action="store_true", help="put the tables into the README")
    parser.add_argument("--record", action="store_true", help="record the ratios, do not compare")
    return parser.parse_args()


async def measure_all(session: Session, keys: list[str]) -> str:
    """Measure, and print each part when it is there."""
    results: list[Result] = []
    sections: list[str] = []
    for key in keys:
        if key in SECTIONS:
            parts = await SECTIONS[key](session)
            sections += parts
        else:
            workload = BUILDERS[key](session.scale)
            results.append(await session.measure(workload, SUBJECTS))
            parts = workloads(results[-1:])[:1]
        print(*parts, sep="\n\n", end="\n\n", flush=True)
    return "\n\n".join([machine(session.rounds), *workloads(results), *sections])


def main() -> None:
    """Measure; write, record or compare."""
    arguments = _arguments()
    session = Session(arguments.rounds, recorded={} if arguments.record else read())
    text = asyncio.run(measure_all(session, arguments.only.split(",")))
    if arguments.write:
        write(PAGE, "figures", text)
    if arguments.record:
        record(session.found)
    if session.unknown:
        print("Not compared, because others had the CPU:", *session.unknown)
    if session.slow:
        sys.exit("Slower than recorded:\n" + "\n".join(session.slow))


if __name__ == "__main__":
    main()
