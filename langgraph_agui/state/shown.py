"""What clients may hold that is neither the graph's state nor their doing: previews, of runs that they have left.

A client that stops reading keeps what it was shown last, and sends it with its next input. What it was left with, and
whether the thread's last run was heard to its end, enters; whether a client's value is such a preview leaves. It is
known in this process only, and of the threads that ran last.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Final

from langgraph_agui.protocol.sse import canonical

_THREADS: Final = 2_000
"""How many threads are remembered."""

_PREVIEWS: Final = 1_000
"""How many previews of one key are."""


class Previews:
    """The previews of one run, by key: digests of JSON data."""

    def __init__(self) -> None:
        self.digests: dict[str, OrderedDict[bytes, None]] = {}

    def add(self, key: str, value: object) -> None:
        """Take note of a preview."""
        self._keep(key, [_digest(value)])

    def merge(self, others: Previews) -> None:
        """Take note of more of them."""
        for key, digests in others.digests.items():
            self._keep(key, digests)

    def _keep(self, key: str, digests: Iterable[bytes]) -> None:
        known = self.digests.setdefault(key, OrderedDict())
        known.update(dict.fromkeys(digests))
        while len(known) > _PREVIEWS:
            known.popitem(last=False)


class Shown:
    """What a thread's clients were left with.

    Attributes:
        heard: Whether the last run that told its state was read to its end; None if that is not known.
    """

    def __init__(self) -> None:
        self.heard: bool | None = None
        self._left = Previews()
        self._met: set[str] = set()

    def leave(self, previews: Previews) -> None:
        """Note that a reader has left a run that had previewed these."""
        self.heard = False
        self._left.merge(previews)

    def hear(self) -> None:
        """Note that a run was read to its end: what its client was left with before, it holds no more."""
        self.heard = True
        for key in self._met:
            self._left.digests.pop(key, None)
        self._met.clear()

    def holds(self, key: str, value: object) -> bool:
        """Whether a client's value of a key is a preview that it was left with."""
        digests = self._left.digests.get(key)
        if not digests or _digest(value) not in digests:
            return False
        self._met.add(key)
        return True


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


def begins(value: object, whole: object) -> bool:
    """Whether `value` is what `whole` may have been while it was being written; nothing empty is."""
    return bool(value) and _begins(value, whole)


def _begins(value: object, whole: object) -> bool:
    if isinstance(value, str) and isinstance(whole, str):
        return whole.startswith(value)
    if isinstance(value, Mapping) and isinstance(whole, Mapping):
        return all(key in whole and _begins(inner, whole[key]) for key, inner in value.items())
    if isinstance(value, list) and isinstance(whole, list):
        return len(value) <= len(whole) and all(map(_begins, value, whole))
    return type(value) is type(whole) and value == whole


def _digest(value: object) -> bytes:
    return blake2b(canonical(value), digest_size=16).digest()
