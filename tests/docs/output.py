"""What a `text` block of a page says of an output: all of it, line by line.

A line that is `…` alone stands for lines that the page leaves out. `…` within a line stands for any characters there.
"""

from __future__ import annotations

import re
from itertools import pairwise

LEFT_OUT = "…"
# At least one line is left out, and not only empty ones: where nothing is left out, a page does not say so.
_LINES = r"(?:.*\n)*?.*\S.*\n(?:.*\n)*?"


def is_whole(shown: str, printed: str) -> bool:
    """Say whether a page shows the whole of what was printed, but for what it marks as left out.

    Spaces at the end of a line do not count, nor do empty lines around the whole.

    Raises:
        ValueError: The block says nothing, or marks the same lines twice.
    """
    return _pattern(shown).fullmatch("".join(f"{line}\n" for line in _lines(printed))) is not None


def _pattern(shown: str) -> re.Pattern[str]:
    lines = _lines(shown)
    said = [line.strip() for line in lines if line.strip()]
    if set(said) <= {LEFT_OUT}:
        raise ValueError(f"A block shows more than what it leaves out: {shown!r}")
    if (LEFT_OUT, LEFT_OUT) in pairwise(said):
        raise ValueError(f"One `{LEFT_OUT}` stands for all lines that are left out there:\n{shown}")
    return re.compile("".join(map(_line, lines)))


def _line(shown: str) -> str:
    if shown.strip() == LEFT_OUT:
        return _LINES
    return re.escape(shown).replace(LEFT_OUT, ".*?") + "\n"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]
