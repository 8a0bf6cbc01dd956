"""What a `text` block of a page says of an output: all of it, line by line.

A line that is `…` alone stands for lines that the page leaves out. `…` within a line stands for any
characters there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

LEFT_OUT = "…"


def is_whole(shown: str, printed: str) -> bool:
    """Say whether a page shows the whole of what was printed, but for what it marks as left out.

    Spaces at the end of a line do not count, nor do empty lines around the whole.

    Raises:
        ValueError: The block says nothing, or marks the same lines twice.
    """
    first, *others = _parts(shown)
    lines = _lines(printed)
    if not others:
        return len(first) == len(lines) and _stands(first, lines, 0)
    if not _stands(first, lines, 0):
        return False
    end = len(first)
    *middle, last = others
    for part in middle:
        # The first place is the best one: it leaves most lines for the parts behind.
        places = range(_behind_a_line(lines, end), len(lines))
        place = next((place for place in places if _stands(part, lines, place)), None)
        if place is None:
            return False
        end = place + len(part)
    place = len(lines) - len(last)
    return place >= _behind_a_line(lines, end) and _stands(last, lines, place)


def _parts(shown: str) -> list[list[str]]:
    """The lines before, between and behind the marks."""
    lines = _lines(shown)
    said = [line.strip() for line in lines if line.strip()]
    if set(said) <= {LEFT_OUT}:
        raise ValueError(f"A block shows more than what it leaves out: {shown!r}")
    if (LEFT_OUT, LEFT_OUT) in pairwise(said):
        raise ValueError(f"One `{LEFT_OUT}` stands for all lines that are left out there:\n{shown}")
    parts: list[list[str]] = [[]]
    for line in lines:
        if line.strip() == LEFT_OUT:
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def _stands(part: Sequence[str], lines: Sequence[str], place: int) -> bool:
    """Whether the lines of a part are those at a place."""
    there = lines[place : place + len(part)]
    return len(there) == len(part) and all(map(_is_line, part, there))


def _is_line(shown: str, line: str) -> bool:
    return re.fullmatch(re.escape(shown).replace(LEFT_OUT, ".*?"), line) is not None


def _behind_a_line(lines: Sequence[str], place: int) -> int:
    """The place behind the next line that is not empty: where nothing is left out, a page does not
    say so."""
    return next(
        (number + 1 for number in range(place, len(lines)) if lines[number]), len(lines) + 1
    )


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]
