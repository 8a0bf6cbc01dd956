"""The messages that a thread has had: a client may still show them when the graph has removed them.

A thread's messages and the metadata of its last checkpoint enter; the metadata of the next run's
checkpoints leave.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import takewhile
from typing import Final

from langchain_core.messages import BaseMessage
from langgraph.constants import START
from langgraph.types import StateSnapshot

# Key in the metadata of checkpoints: the messages that the thread had before the run, and those
# that the run took. Both are digests with spaces between, in a JSON list, because LangGraph keeps
# only plain values there.
PAST: Final = "agui_past"

# How many messages a thread remembers. Clients choose ids, so each is remembered by a digest of
# fixed length.
_MOST: Final = 256
_DIGEST_BYTES: Final = 6


@dataclass(frozen=True, slots=True)
class PastMessages:
    """The messages that a thread has or has had, as far as it remembers them.

    Attributes:
        had: Digests of their ids, oldest first.
        taken: Digests of the ids of the messages that the last run took.
        is_read: Whether the graph has read these; not if its run was killed before.
    """

    had: Mapping[str, None] = field(default_factory=dict)
    taken: Collection[str] = ()
    is_read: bool = True

    @classmethod
    def of(cls, state: StateSnapshot, messages: Sequence[BaseMessage]) -> PastMessages:
        """Return the past that a state of a thread remembers.

        Args:
            state: The state.
            messages: Its messages.
        """
        had, taken = _read((state.metadata or {}).get(PAST))
        is_read = START not in state.next
        before = had + taken if is_read else had
        return cls(_newest(before + _digests(messages)), taken, is_read)

    def __contains__(self, message_id: object) -> bool:
        """Return whether the thread has or has had a message."""
        return isinstance(message_id, str) and _digest(message_id) in self.had

    def is_unread(self, message_id: str) -> bool:
        """Return whether a killed run took a message that the graph never read."""
        return not self.is_read and self.was_taken(message_id)

    def was_taken(self, message_id: str) -> bool:
        """Return whether the last run took a message."""
        return _digest(message_id) in self.taken

    def joined(self, later: PastMessages) -> PastMessages:
        """Return this past with a later one behind it."""
        return PastMessages(_newest([*self.had, *later.had]), later.taken, later.is_read)

    def having(self, message_ids: Iterable[str]) -> PastMessages:
        """Return this past with messages that the thread will not keep."""
        return replace(self, had=_newest([*self.had, *map(_digest, message_ids)]))

    def without(self, message_id: str) -> PastMessages:
        """Return this past without a message: its user has changed it, so it is new."""
        digest = _digest(message_id)
        return replace(self, had={one: None for one in self.had if one != digest})

    def before(self, taken: Sequence[BaseMessage]) -> PastMessages:
        """Return the past of a run that takes these messages, maybe once more, without them."""
        again = _digests(taken)
        return PastMessages({digest: None for digest in self.had if digest not in again}, again)

    def metadata(self) -> dict[str, object]:
        """Return the metadata for the checkpoints of a run."""
        return {PAST: json.dumps([" ".join(self.had), " ".join(self.taken)])}


def removed_from_end(
    before: Sequence[BaseMessage], after: Sequence[BaseMessage]
) -> list[BaseMessage]:
    """Return the messages that a graph has removed behind the last one that it kept.

    All messages, if it kept none. Messages before one that stays were trimmed, which shortens the
    model's input and not the conversation.

    Args:
        before: The thread's messages.
        after: Its messages now.
    """
    if not before or (len(after) >= len(before) and after[len(before) - 1].id == before[-1].id):
        return []
    kept = {message.id for message in after}
    return [*takewhile(lambda message: message.id not in kept, reversed(before))]


def is_replaced(before: Sequence[BaseMessage], after: Sequence[BaseMessage]) -> bool:
    """Return whether a graph has replaced messages that it removed, or removed all messages.

    Then it may have summed them up, or moved them elsewhere.
    """
    known = {message.id for message in before}
    return not after or any(message.id not in known for message in after)


def _read(value: object) -> tuple[list[str], list[str]]:
    had, taken = json.loads(value) if isinstance(value, str) else ("", "")
    return had.split(), taken.split()


def _newest(digests: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(list(dict.fromkeys(digests))[-_MOST:])


def _digests(messages: Sequence[BaseMessage]) -> list[str]:
    return [_digest(message.id) for message in messages[-_MOST:] if message.id]


def _digest(message_id: str) -> str:
    data = message_id.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()
