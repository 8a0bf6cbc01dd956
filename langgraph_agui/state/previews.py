"""The previews that the runs of this process have shown, by thread: a client that has stopped a run
may send one back.

Previewed values enter; whether a value may be left of them leaves.
"""

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from langgraph_agui.protocol.json import same_for_clients

# How many names of previewed keys are remembered. A graph has fewer, but may make names up.
_MAX_KEYS: Final = 1_000

# How many threads have their previews remembered, and how many previews of each key.
_MAX_THREADS: Final = 200
_MAX_VALUES: Final = 50

_recent = partial(deque[object], maxlen=_MAX_VALUES)


class Previews:
    """The previews that runs have shown. One per agent.

    Args:
        predicted: The keys that tool arguments predict.
    """

    def __init__(self, predicted: Iterable[str] = ()) -> None:
        self._keys = set(predicted)
        self._of_thread: OrderedDict[str, defaultdict[str, deque[object]]] = OrderedDict()

    def __contains__(self, key: object) -> bool:
        """Return whether runs preview this key: tool arguments predict it, or a run has shown a
        preview of it.
        """
        return key in self._keys

    def begin(self, thread_id: str) -> None:
        """A run begins in a thread whose last run has ended: no preview is left."""
        self._of_thread.pop(thread_id, None)
        self._of_thread[thread_id] = defaultdict(_recent)
        if len(self._of_thread) > _MAX_THREADS:
            self._of_thread.popitem(last=False)

    def note(self, thread_id: str, values: Mapping[str, object]) -> None:
        """Note that a run shows these previews."""
        if len(self._keys) < _MAX_KEYS:
            self._keys.update(values)
        known = self._of_thread.get(thread_id)
        if known is None:
            return
        for key in values.keys() & self._keys:
            if known[key] and _is_beginning(known[key][-1], values[key]):
                known[key].pop()
            known[key].append(values[key])

    def may_be_left(self, thread_id: str, key: str, value: object) -> bool:
        """Return whether a client may hold this value only because a run that was stopped has shown
        it, or a beginning of it.

        True for every value if the thread's previews are not known: another process may have run
        it.
        """
        if key not in self._keys:
            return False
        known = self._of_thread.get(thread_id)
        return known is None or any(_is_beginning(value, shown) for shown in known.get(key, ()))


def _is_beginning(value: object, whole: object) -> bool:
    """Return whether a client may have seen `value` while `whole` was still being written."""
    if isinstance(value, str) and isinstance(whole, str):
        return whole.startswith(value)
    if isinstance(value, Mapping) and isinstance(whole, Mapping):
        return all(
            key in whole and _is_beginning(inner, whole[key]) for key, inner in value.items()
        )
    if isinstance(value, list) and isinstance(whole, list):
        return len(value) <= len(whole) and all(map(_is_beginning, value, whole))
    return same_for_clients(value, whole)
