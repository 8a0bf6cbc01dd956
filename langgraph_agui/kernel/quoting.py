"""Texts of clients, models and servers, as they can stand in a log record or an error: one line,
printable, short.
"""

from collections.abc import Collection
from itertools import islice

# Characters that are shown of one text.
_MOST = 80


def printable(text: str, most: int = 300) -> str:
    """Return a text with escapes for unprintable characters, and cut behind `most` characters."""
    cut = _cut(text, most)
    return cut if cut.isprintable() else repr(cut)[1:-1]


def quoted(text: object, most: int = _MOST) -> str:
    """Return a text in quotes, with escapes for unprintable characters, and cut behind `most`
    characters.
    """
    return repr(_cut(str(text), most))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def quoted_list(texts: Collection[object], most: int = 5) -> str:
    """Return the first texts in quotes, and how many there are if there are more."""
    first = ", ".join(map(quoted, islice(texts, most)))
    return first if len(texts) <= most else f"{first}, … ({len(texts)} in all)"
