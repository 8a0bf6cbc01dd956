"""What clients may hold that is neither the graph's state nor their doing: previews, of runs that they have left.

A client that stops reading keeps what it was shown last, and sends it with its next input. What it was left with, and
which state of the thread was heard to its end, enters; whether a client's value is such a preview leaves. It is known
in this process only, and of the threads that ran last.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Final

from langgraph_agui.protocol.json_equal import json_equal
from langgraph_agui.protocol.sse import canonical

_THREADS: Final = 2_000
"""How many threads are remembered."""

_LAST: Final = 50
"""How many previews of a key a client may be behind."""


class Previews:
    """The last previews of one run, by key: JSON data that nobody changes."""

    def __init__(self) -> None:
        self._values: dict[str, deque[object]] = {}

    def add(self, key: str, value: object) -> None:
        """Take note of a preview."""
        self._values.setdefault(key, deque(maxlen=_LAST)).append(value)

    def has(self, key: str, value: object) -> bool:
        """Whether this is one of them."""
        return any(json_equal(value, one) for one in self._values.get(key, ()))

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """The same, so that nothing need be held."""
        for key, values in self._values.items():
            for value in values:
                yield key, _digest(value)


class ClientStateCache:
    """What a thread's clients know of it, and what they were left with.

    Attributes:
        version: Which state of the thread was told last here, see `Thread.version`; None if none was.
        heard: Whether it is known what the client has heard of that: all, or all until it left.
    """

    def __init__(self) -> None:
        self.version: object = None
        self.heard = False
        self._left: dict[str, set[bytes]] = {}

    def leave(self, version: object, previews: Previews, copy: Mapping[str, object] | None) -> None:
        """Note that a reader has left before the end.

        Args:
            version: What it was being told.
            previews: What that had previewed.
            copy: The state as it was told by then; None if the reader has not taken all that there was.
        """
        self.version, self.heard = version, copy is not None
        for key, digest in (*previews.digests(), *((key, _digest(value)) for key, value in (copy or {}).items())):
            self._left.setdefault(key, set()).add(digest)

    def hear(self, version: object) -> None:
        """Note that the state was told to the end: what a client was left with before is not held any more."""
        self.version, self.heard = version, True
        self._left.clear()

    def holds(self, key: str, value: object) -> bool:
        """Whether a client's value of a key is what it was left with, rather than its doing."""
        return key in self._left and _digest(value) in self._left[key]


class ClientStateCaches:
    """What is known of threads, by id."""

    def __init__(self) -> None:
        self._threads: OrderedDict[str, ClientStateCache] = OrderedDict()

    def of(self, thread_id: str) -> ClientStateCache:
        """What is known of a thread."""
        return self._threads.get(thread_id) or ClientStateCache()

    def keep(self, thread_id: str) -> ClientStateCache:
        """The same, to take note of more."""
        shown = self._threads.setdefault(thread_id, ClientStateCache())
        self._threads.move_to_end(thread_id)
        if len(self._threads) > _THREADS:
            self._threads.popitem(last=False)
        return shown


def _digest(value: object) -> bytes:
    return blake2b(canonical(_counted(value)), digest_size=16).digest()


def _counted(value: object) -> object:
    """The value with whole numbers as integers: JavaScript sends 10.0 back as 10."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _counted(inner) for key, inner in value.items()}
    return [_counted(inner) for inner in value] if isinstance(value, list) else value
