"""`encryptedValue` strings: envelopes, encoded and decoded for one thread.

An envelope is a JSON object `{"v": 3, "message": {...}, ...}`. It travels as base64url of its JSON.
reference/reasoning-format.md describes it.
With a `ReasoningSeal` the JSON is encrypted first, and bound to the thread and to the message that
carries it.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from langgraph_agui.kernel.seal import SEALED, InvalidEnvelope, RejectReason
from langgraph_agui.messages.transformers import Transformers
from langgraph_agui.options import ReasoningOptions
from langgraph_agui.protocol.json import check_json
from langgraph_agui.protocol.limits import InputLimits
from langgraph_agui.protocol.wire import ProtocolError

Envelope: TypeAlias = Mapping[str, object]
Holder: TypeAlias = Literal["user", "assistant", "tool", "reasoning"]

VERSION = 3

# Key in the envelope of a subagent's message: whether the agent's own history holds the message
# too. If not, the agent's model does not get it. Without the key, `subagentRunId` stands for False.
IN_THREAD = "in_thread"

# How every envelope that is not sealed begins: the base64 of `{"v":`.
_OWN = "eyJ2Ijo"


class EncryptedValueCodec:
    """Encodes and decodes the opaque values of one thread.

    Args:
        options: The agent's.
        thread_id: The thread that sealed values are bound to.
        transformers: The graph's stream transformers, if it has any: a message that they change
            has no value, which would hold what they hide.
    """

    def __init__(
        self,
        options: ReasoningOptions | None = None,
        thread_id: str = "",
        transformers: Transformers | None = None,
    ) -> None:
        self.options = options or ReasoningOptions()
        self.transformers = transformers
        self._thread_id = thread_id
        self._sealed: dict[bytes, tuple[bytes, bytes]] = {}

    @property
    def emits(self) -> bool:
        """Whether clients get reasoning events and values at all."""
        return self.options.visibility != "off"

    def encode(self, holder: Holder, message_id: str, envelope: Envelope) -> str | None:
        """Return the value of the message `message_id`; None if it would be too long, or is
        not wanted.
        """
        if not self.emits:
            return None
        try:
            data = json.dumps(envelope, separators=(",", ":"), ensure_ascii=False).encode()
        except UnicodeEncodeError:  # half a surrogate pair: JSON has escapes for it, UTF-8 has not
            data = json.dumps(envelope, separators=(",", ":")).encode()
        except (
            RecursionError,
            ValueError,
        ):
            # nested too deeply, or an integer that Python refuses to print
            return None
        if (seal := self.options.seal) is not None:
            context = self._context(holder, message_id)
            known = self._sealed.get(context)
            if known is None or known[0] != data:
                # The same data is sealed once: the closing snapshot repeats the value of the
                # stream.
                known = self._sealed[context] = (data, seal.seal(data, context))
            data = known[1]
        value = urlsafe_b64encode(data).rstrip(b"=").decode()
        return value if len(value) <= self.options.max_bytes else None

    def decode(self, holder: Holder, message_id: str, value: str) -> Envelope | RejectReason:
        """Return the envelope of a value that came with the message `message_id`, or why
        there is none.
        """
        if len(value) > self.options.max_bytes:
            return RejectReason.TOO_LARGE
        data = _from_base64(value)
        if (seal := self.options.seal) is not None:
            if data[:1] != bytes([SEALED]):
                return RejectReason.UNSEALED
            try:
                data = seal.open(data, self._context(holder, message_id))
            except InvalidEnvelope as error:
                return error.reason
        elif data[:1] == bytes([SEALED]):
            return RejectReason.NO_SEAL
        try:
            if seal is None:
                check_json(data, InputLimits())
            envelope: object = json.loads(data.decode())
        except (ValueError, RecursionError, ProtocolError):
            envelope = None
        if not isinstance(envelope, dict) or (seal is None and "v" not in envelope):
            is_ours = seal is not None or value.startswith(_OWN)
            return RejectReason.MALFORMED if is_ours else RejectReason.BARE
        version = envelope.get("v")
        if isinstance(version, bool) or not isinstance(version, int) or version < 1:
            return RejectReason.MALFORMED
        if version != VERSION:
            return RejectReason.NEWER if version > VERSION else RejectReason.OLDER
        return envelope

    def _context(self, holder: Holder, message_id: str) -> bytes:
        """Return what a sealed value is bound to. The length keeps ("a", "bc") and ("ab", "c")
        apart.
        """
        thread = self._thread_id.encode("utf-8", "surrogatepass")
        return (
            len(thread).to_bytes(4, "big")
            + thread
            + f"{holder}:{message_id}".encode("utf-8", "surrogatepass")
        )


def _from_base64(value: str) -> bytes:
    """Return the bytes of a base64url value, padded or not; none if no encoder writes it so, spare
    bits included.
    """
    value = value.rstrip("=")
    try:
        data = urlsafe_b64decode(value + "=" * (-len(value) % 4))
    except ValueError:
        return b""
    return data if urlsafe_b64encode(data).rstrip(b"=").decode() == value else b""


class MessageSource(NamedTuple):
    """Which agent wrote a message: the agent of the run (`AGENT`), or one run of a subagent.

    Attributes:
        subagent_run_id: The subagent's run; None for the agent of the run.
        attributed: Whether the client gets the id (`subagentRunId`). If not, the message looks like
            the agent's own.
        in_thread: Whether the agent's own history holds the message too.
    """

    subagent_run_id: str | None = None
    attributed: bool = True
    in_thread: bool = False

    @property
    def visible_id(self) -> str | None:
        """The `subagentRunId` of the message."""
        return self.subagent_run_id if self.attributed else None

    def mark(self, envelope: Envelope | None) -> Envelope | None:
        """Return the message's envelope, for a subagent's with `IN_THREAD`: a client may drop
        `subagentRunId`.
        """
        if self.subagent_run_id is None:
            return envelope
        return {"v": VERSION, **(envelope or {}), IN_THREAD: self.in_thread}


AGENT = MessageSource()


def is_subagent_only(subagent_run_id: str | None, envelope: Envelope | RejectReason | None) -> bool:
    """Whether a message with this id and envelope is only a subagent's, and not in the agent's own
    history.
    """
    in_thread = envelope.get(IN_THREAD) if isinstance(envelope, Mapping) else None
    return in_thread is False if in_thread is not None else subagent_run_id is not None


def has_only_source(envelope: Envelope) -> bool:
    """Whether the envelope holds nothing but `IN_THREAD`."""
    return IN_THREAD in envelope and "message" not in envelope
