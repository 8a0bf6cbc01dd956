"""``python -m benchmarks.soak [--runs 10000] [--seed 1] [--write]``"""

import argparse
import asyncio
import sys

from .chart import PICTURE, chart
from .soak import judge, soak, table


def main() -> None:
    """Soak, print the table, and fail if anything grew or went wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000, help="runs at the least (10,000)")
    parser.add_argument("--seed", type=int, default=1, help="other random clients")
    parser.add_argument("--write", action="store_true", help=f"draw {PICTURE.name} into docs")
    arguments = parser.parse_args()
    result = asyncio.run(soak(arguments.runs, arguments.seed, say=print))
    print(table(result))
    if arguments.write:
        title = f"What the server holds when it is idle, over {arguments.runs:,} runs"
        PICTURE.write_text(chart(result.rows, title), "utf-8")
    if complaints := judge(result):
        sys.exit("\n".join(complaints))


if __name__ == "__main__":
    main()
