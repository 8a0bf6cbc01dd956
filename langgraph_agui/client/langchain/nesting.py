"""How deep JSON is nested, as far as it has come."""

from __future__ import annotations

import re
from typing import Final

MAX_DEPTH: Final = 200
"""What is nested deeper is left unread: parsers give up some hundred levels later, where the stack ends."""

_MARKS = re.compile(r'\\.|["\[\]{}]', re.DOTALL)


class Nesting:
    """Counts the brackets of a text that comes in pieces."""

    __slots__ = ("_depth", "_held", "_quoted")

    def __init__(self) -> None:
        self._depth, self._quoted, self._held = 0, False, ""

    def exceeded(self, text: str) -> bool:
        """Take the next piece; return whether it goes deeper than `MAX_DEPTH`."""
        text, deepest = self._held + text, 0
        for mark in _MARKS.findall(text):
            if mark == '"':
                self._quoted = not self._quoted
            elif not self._quoted and mark in "[{":
                self._depth += 1
                deepest = max(deepest, self._depth)
            elif not self._quoted and mark in "]}":
                self._depth -= 1
        # A backslash at the end belongs to what comes next, unless it is itself escaped.
        self._held = "\\" if (len(text) - len(text.rstrip("\\"))) % 2 else ""
        return deepest > MAX_DEPTH
