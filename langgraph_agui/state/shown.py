"""What clients may hold that is neither the graph's state nor their doing: previews, of runs that they have left.

A client that stops reading keeps what it was shown last, and sends it with its next input. What runs have previewed,
and whether they were heard to their end, enters; whether a client's value is such a preview leaves. It is known in this
process only, and of the threads that ran last.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from hashlib import blake2b
from typing import Final

from langgraph_agui.protocol.jsonable import JsonValue
from langgraph_agui.protocol.sse import canonical

_THREADS: Final = 2_000
"""How many threads are remembered."""

_PREVIEWS: Final = 1_000
"""How many previews of a thread are."""


class Shown:
    """What a thread's clients were shown before it was true, and whether they have heard its last run to the end.

    Attributes:
        heard: Whether the last run that told its state was read to its end; None if that is not known.
    """

    def __init__(self) -> None:
        self.heard: bool | None = None
        self._digests: OrderedDict[bytes, None] = OrderedDict()
        self._guesses: list[tuple[str, object]] = []

    def add(self, key: str, value: JsonValue) -> None:
        """Take note of a preview."""
        self._digests[_digest(key, value)] = None
        if len(self._digests) > _PREVIEWS:
            self._digests.popitem(last=False)

    def with_guesses(self, guesses: list[tuple[str, object]]) -> Shown:
        """The same with what another process may have previewed: values that the last preview was the beginning of."""
        copy = Shown()
        copy.heard, copy._digests, copy._guesses = self.heard, self._digests, guesses
        return copy

    def holds(self, key: str, value: object) -> bool:
        """Whether a client's value of a key is a preview."""
        if self._digests and _digest(key, value) in self._digests:
            return True
        return any(key == guessed and bool(value) and _begins(value, whole) for guessed, whole in self._guesses)


class ShownThreads:
    """What is known of threads, by id."""

    def __init__(self) -> None:
        self._threads: OrderedDict[str, Shown] = OrderedDict()

    def of(self, thread_id: str) -> Shown:
        """What is known of a thread; it is remembered from now on."""
        shown = self._threads.setdefault(thread_id, Shown())
        self._threads.move_to_end(thread_id)
        if len(self._threads) > _THREADS:
            self._threads.popitem(last=False)
        return shown


def _digest(key: str, value: object) -> bytes:
    return blake2b(canonical([key, value]), digest_size=16).digest()


def _begins(value: object, whole: object) -> bool:
    """Whether `value` is what `whole` may have been while it was being written."""
    if isinstance(value, str) and isinstance(whole, str):
        return whole.startswith(value)
    if isinstance(value, Mapping) and isinstance(whole, Mapping):
        return all(key in whole and _begins(inner, whole[key]) for key, inner in value.items())
    if isinstance(value, list) and isinstance(whole, list):
        return len(value) <= len(whole) and all(map(_begins, value, whole))
    return type(value) is type(whole) and value == whole
