"""`encryptedValue` strings: envelopes, written and read for one thread.

An envelope is a JSON object `{"v": 1, "p": <provider>, ...}` (docs/reasoning.md). It travels as base64url of its
JSON, or, with a `ReasoningSeal`, as base64url of that JSON sealed and bound to the thread and to the message or call
that carries it.
"""

from __future__ import annotations

import json
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.messages.seal import SEALED, ReasoningSeal, SealError

logger = logging.getLogger(__name__)

Envelope: TypeAlias = Mapping[str, object]
Holder: TypeAlias = Literal["user", "assistant", "tool", "reasoning", "call"]

VERSION = 1

OF_THREAD = "t"
"""Key in the envelope of a subagent's message: whether it is of the agent's own history too (1), or only an account of
what the subagent said (0), which the agent's model never hears. Without it, what is tagged is an account."""

_OWN = "eyJ2Ijo"
"""How every envelope that is not sealed begins: the base64 of `{"v":`."""


class RejectReason(StrEnum):
    """Why a value is not used."""

    BARE = "no value of ours"
    TOO_LARGE = "longer than max_bytes"
    MALFORMED = "malformed"
    NEWER = "of a newer version"
    UNSEALED = "not sealed"
    NO_SEAL = "sealed, and this agent has no seal"
    UNKNOWN_KEY = "sealed with an unknown key"
    ALTERED = "altered, or of another thread or message"
    DAMAGED = "at odds with the message that it came with"


class EncryptedValueCodec:
    """Writes and reads the opaque values of one thread.

    Args:
        options: The agent's.
        thread_id: The thread that sealed values are bound to.
    """

    def __init__(self, options: ReasoningOptions | None = None, thread_id: str = "") -> None:
        self.options = options or ReasoningOptions()
        self._thread_id = thread_id
        self._sealed: dict[bytes, tuple[bytes, bytes]] = {}

    def write(self, holder: Holder, entity_id: str, envelope: Envelope) -> str | None:
        """Return the value of the message or call `entity_id`; None if it would be too long."""
        try:
            text = json.dumps(envelope, separators=(",", ":"), ensure_ascii=False)
        except (RecursionError, ValueError):  # nested too deeply, or an integer that Python refuses to print
            return None
        try:
            data = text.encode()
        except UnicodeEncodeError:  # half a surrogate pair: JSON has escapes for it, UTF-8 has not
            data = json.dumps(envelope, separators=(",", ":")).encode()
        if self.options.seal is not None:
            data = self._seal(self.options.seal, data, self._context(holder, entity_id))
        value = urlsafe_b64encode(data).rstrip(b"=").decode()
        return value if len(value) <= self.options.max_bytes else None

    def _seal(self, seal: ReasoningSeal, data: bytes, context: bytes) -> bytes:
        """Seal `data`, the same way again: a run's closing snapshot says what its stream has said."""
        known = self._sealed.get(context)
        if known is None or known[0] != data:
            known = self._sealed[context] = (data, seal.seal(data, context))
        return known[1]

    def read(self, holder: Holder, entity_id: str, value: str) -> Envelope | RejectReason:
        """Return the envelope of a value that came with the message or call `entity_id`, or why there is none."""
        if len(value) > self.options.max_bytes:
            return RejectReason.TOO_LARGE
        data = _decoded(value)
        if self.options.seal is not None:
            return self._open(data, self._context(holder, entity_id))
        if data[:1] == bytes([SEALED]):
            return RejectReason.NO_SEAL
        envelope = _parsed(data)
        if isinstance(envelope, dict) and "v" in envelope:
            return _of_version(envelope)
        return RejectReason.MALFORMED if value.startswith(_OWN) else RejectReason.BARE

    def _open(self, data: bytes, context: bytes) -> Envelope | RejectReason:
        assert self.options.seal is not None  # noqa: S101
        if data[:1] != bytes([SEALED]):
            return RejectReason.UNSEALED
        try:
            envelope = _parsed(self.options.seal.open(data, context))
        except SealError as error:
            return _FAULTS[error.reason]
        return _of_version(envelope) if isinstance(envelope, dict) else RejectReason.MALFORMED

    def _context(self, holder: Holder, entity_id: str) -> bytes:
        """What a sealed value is bound to: the lengths keep ("a", "bc") and ("ab", "c") apart."""
        told = (self._thread_id, f"{holder}:{entity_id}")
        thread, entity = (text.encode("utf-8", "surrogatepass") for text in told)
        return len(thread).to_bytes(4, "big") + thread + entity


_FAULTS = {
    "unknown_key": RejectReason.UNKNOWN_KEY,
    "altered": RejectReason.ALTERED,
    "malformed": RejectReason.MALFORMED,
}


class MessageSource(NamedTuple):
    """A subagent, as the one who says a message.

    Attributes:
        lane: Its id.
        tagged: Whether its words carry that (`subagentRunId`), rather than being shown as the agent's own.
        of_thread: Whether the agent's own history holds the message too.
    """

    lane: str
    tagged: bool = True
    of_thread: bool = False

    @property
    def tag(self) -> str | None:
        """The `subagentRunId` of its words."""
        return self.lane if self.tagged else None

    def marked(self, envelope: Envelope | None) -> Envelope:
        """The envelope of the message, with the mark of whose it is: a client may drop the tag."""
        return {"v": VERSION, **(envelope or {}), OF_THREAD: int(self.of_thread)}


def subagent_of(speaker: MessageSource | None) -> str | None:
    """The lane of the subagent that says a message; None is the agent itself."""
    return speaker.lane if speaker is not None else None


def visible_subagent_of(speaker: MessageSource | None) -> str | None:
    """The `subagentRunId` of a message that `speaker` says; None is the agent itself."""
    return speaker.tag if speaker is not None else None


def is_subagent_only(tag: str | None, envelope: Envelope | RejectReason | None) -> bool:
    """Whether a message that came back with this tag and envelope is only an account of what a subagent said."""
    mark = envelope.get(OF_THREAD) if isinstance(envelope, Mapping) else None
    return mark == 0 if mark is not None else tag is not None


def is_mark(envelope: Envelope) -> bool:
    """Whether the envelope says only whose its message is."""
    return OF_THREAD in envelope and "h" not in envelope


def _decoded(value: str) -> bytes:
    """The bytes of a base64url value, padded or not; none for what no encoder writes, spare bits included."""
    value = value.rstrip("=")
    try:
        data = urlsafe_b64decode(value + "=" * (-len(value) % 4))
    except ValueError:
        return b""
    return data if urlsafe_b64encode(data).rstrip(b"=").decode() == value else b""


def _parsed(data: bytes) -> object:
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value


def _of_version(envelope: Envelope) -> Envelope | RejectReason:
    version = envelope.get("v")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        return RejectReason.MALFORMED
    return envelope if version <= VERSION else RejectReason.NEWER
