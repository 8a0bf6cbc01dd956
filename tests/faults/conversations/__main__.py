"""Has conversations and counts them: `python -m tests.faults.conversations memory 1000 7`.

The arguments are where threads are kept ("memory", "sqlite" or "postgres"), how many conversations,
and a number that chooses them. The first broken rule ends it, with the shortest script that was
found.
"""

from __future__ import annotations

import logging
import sys

from tests.faults.conversations.houses import house_in
from tests.faults.conversations.talking import converse

if __name__ == "__main__":
    where, count, number = sys.argv[1:]
    logging.disable()
    with house_in(where) as house:
        played = converse(house, int(count), int(number))
    sys.stdout.write(f"{dict(sorted(played.items()))}\n")
