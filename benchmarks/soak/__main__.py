"""`python -m benchmarks.soak [--runs 10000] [--seed 1] [--write]`: fails if anything grew."""

import argparse
import asyncio
import sys

from benchmarks.report import PAGE, write

from .soak import judge, rows_table, soak


def main() -> None:
    """Soak, and print how the visits ended."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000, help="runs at the least (10,000)")
    parser.add_argument("--seed", type=int, default=1, help="other random clients")
    parser.add_argument("--write", action="store_true", help="put the table into the README")
    arguments = parser.parse_args()
    result = asyncio.run(soak(arguments.runs, arguments.seed, say=print))
    for name, times in sorted(result.tally.items()):
        print(f"{times:7,} {name}")
    if arguments.write:
        write(PAGE, "soak", rows_table(result.rows))
    if complaints := judge(result):
        sys.exit("\n".join(complaints))


if __name__ == "__main__":
    main()
