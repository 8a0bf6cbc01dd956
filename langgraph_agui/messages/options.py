"""What an agent decides about reasoning: who sees it, how it travels, and at which tags it stands in a text.

`ReasoningOptions` holds the decisions, `ReasoningSeal` the keys for values that travel through clients, and
`ThinkTagSplitter` splits the text of models that write their reasoning into it. The names of providers are here too.
"""

import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Final, Literal, get_args

from langgraph_agui.messages.blocks import BlockDelta

Visibility = Literal["full", "summary", "hidden", "off"]

# Providers whose reasoning blocks are summaries: their APIs never return the reasoning word for word. OpenAI:
# "Reasoning summaries" (`summary` of a reasoning item); Gemini: "Thought summaries" (`include_thoughts`). Claude is not
# among them: some of its models summarize, and a message does not show whether its model does.
SUMMARISING = frozenset({"openai", "azure", "google_genai", "google_vertexai"})

# The first byte of sealed data; plain data is JSON, which begins with `{`.
SEALED: Final = 0x01

_KEY_BYTES = 32
_KEY_TEXT = re.compile(r"[A-Za-z0-9_-]{43}=?", re.ASCII)
_HEADER = 5
_NONCE = 12
_TAG = 16


class RejectReason(StrEnum):
    """Why an opaque value of a client's message is not used."""

    BARE = "no value of ours"
    TOO_LARGE = "longer than max_bytes"
    MALFORMED = "malformed"
    NEWER = "of a newer version"
    UNSEALED = "not sealed"
    NO_SEAL = "sealed, and this agent has no seal"
    UNKNOWN_KEY = "sealed with an unknown key"
    ALTERED = "altered, or of another thread or message"
    DAMAGED = "at odds with the message that it came with"


class InvalidEnvelope(Exception):  # noqa: N818  # a state of the data, not a fault of the program
    """A sealed value does not open, or an envelope does not fit what the client sent with it; `reason` is why.

    It holds nothing of the data or the keys.
    """

    def __init__(self, reason: RejectReason = RejectReason.DAMAGED) -> None:
        super().__init__(reason)
        self.reason = reason


class ReasoningSeal:
    """Encrypts and authenticates the values that clients keep for the server. The first key seals, all keys open.

    AG-UI's `encryptedValue` is opaque to the client, but encoding alone hides nothing and proves nothing. A sealed
    value opens only with the key, and only in the context that it was sealed for. To rotate, put a new key first, and
    drop the old one when no client keeps values of it any more. Layout of a sealed value:

        offset  length  content
        0       1       version, 0x01
        1       4       key id: the first 4 bytes of SHA-256(the ASCII text "langgraph-agui key id" followed by the key)
        5       12      nonce, random
        17      n       ciphertext, as long as the plaintext
        17 + n  16      tag

    Ciphertext and tag are AES-256-GCM (NIST SP 800-38D) under a key of 32 bytes. The additional authenticated data are
    bytes 0 to 4 (version and key id) followed by the context. With random nonces one key should seal no more than 2**32
    values (SP 800-38D, 8.3); rotate it before.

    Args:
        keys: At least one key, each of 32 bytes, or base64url of 32 bytes with or without padding. A key may
            be given twice.

    Raises:
        ImportError: The extra `seal` is not installed.
        ValueError: There is no key, or one of another form. The text does not show it.
    """

    def __init__(self, keys: Sequence[bytes | str]) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError as error:
            raise ImportError('cryptography is missing: pip install "langgraph-agui[seal]"', name=error.name) from error
        if isinstance(keys, str | bytes):
            raise ValueError("ReasoningSeal takes a sequence of keys, such as [key], not a key.")
        checked = [_key(key, position) for position, key in enumerate(keys)]
        self._ciphers: list[tuple[bytes, AESGCM]] = [(_key_id(key), AESGCM(key)) for key in checked]
        if not self._ciphers:
            raise ValueError("ReasoningSeal needs at least one key.")

    @staticmethod
    def new_key() -> str:
        """Return a new random key, as text that fits an environment variable."""
        return urlsafe_b64encode(secrets.token_bytes(_KEY_BYTES)).rstrip(b"=").decode()

    def __repr__(self) -> str:
        """Show key ids only."""
        return f"ReasoningSeal(key ids: {', '.join(key_id.hex() for key_id in dict(self._ciphers))})"

    def seal(self, data: bytes, context: bytes) -> bytes:
        """Encrypt `data` so that it opens only with the same `context`, which is not part of the result."""
        key_id, cipher = self._ciphers[0]
        header = bytes([SEALED]) + key_id
        nonce = secrets.token_bytes(_NONCE)
        return header + nonce + cipher.encrypt(nonce, data, header + context)

    def open(self, data: bytes, context: bytes) -> bytes:
        """Return what was sealed as `data` with this `context`.

        Raises:
            InvalidEnvelope: It cannot be opened; `reason` is why.
        """
        from cryptography.exceptions import InvalidTag

        if len(data) < _HEADER + _NONCE + _TAG or data[0] != SEALED:
            raise InvalidEnvelope(RejectReason.MALFORMED)
        header, nonce, box = data[:_HEADER], data[_HEADER : _HEADER + _NONCE], data[_HEADER + _NONCE :]
        # 4 bytes may collide, so one id can stand for several keys.
        ciphers = [cipher for key_id, cipher in self._ciphers if key_id == header[1:]]
        if not ciphers:
            raise InvalidEnvelope(RejectReason.UNKNOWN_KEY)
        for cipher in ciphers:
            with suppress(InvalidTag):
                return cipher.decrypt(nonce, box, header + context)
        raise InvalidEnvelope(RejectReason.ALTERED)


def _key(key: object, position: int) -> bytes:
    if isinstance(key, bytes) and len(key) == _KEY_BYTES:
        return key
    # `urlsafe_b64decode` skips characters that it does not know; a key with a typing error must not pass.
    if isinstance(key, str) and _KEY_TEXT.fullmatch(key):
        return urlsafe_b64decode(key.rstrip("=") + "=")
    raise ValueError(
        f"The key at position {position} is neither {_KEY_BYTES} bytes nor base64url of {_KEY_BYTES} bytes."
    )


def _key_id(key: bytes) -> bytes:
    return sha256(b"langgraph-agui key id" + key).digest()[:4]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningOptions:
    """How the client sees reasoning, and how it comes back for the provider (guides/reasoning.md).

    Args:
        visibility: `"full"` shows all reasoning. `"summary"` shows what a provider itself calls a summary (OpenAI
            Responses, Gemini) and hides the rest. `"hidden"` shows none. An empty reasoning message stands for hidden
            reasoning. With `seal` it comes back on the next turn; without, such a message goes back to its provider as
            text and calls. State, results, interrupts, custom events and tool results are redacted too. `"off"` sends
            no reasoning events at all, for clients that fail at them: without a checkpointer, what reasoning there was
            is lost with the run.
        seal: Encrypts and authenticates every `encryptedValue`, bound to its thread and message. Values that it has
            not sealed are then dropped.
        max_bytes: The greatest length of one `encryptedValue`. A message that needs a longer one travels without its
            opaque values; a longer one that comes in is dropped.
        metadata: Whether `metadata` of reasoning messages name `provider` and `model`, and how many milliseconds the
            reasoning took (`durationMs`; not if it arrived in one piece).
        think_tags: Splits the text of models that write their reasoning into it. Each message gets a splitter like
            this one.
        provider: The provider of the agent's model, or several, by LangChain's names (`model_provider`:
            `"anthropic"`, `"openai"`, `"google_genai"`, `"bedrock_converse"`, ...). Opaque values of other providers
            are not sent to it. Values without an envelope are dropped, except those that another adapter has sent for
            `"openai"` if that is the only one. Without this option the agent looks for chat models in its graph and
            filters by their providers.

    Raises:
        ValueError: `visibility` or `max_bytes` is none of the above.
    """

    visibility: Visibility = "full"
    seal: ReasoningSeal | None = None
    max_bytes: int = 1_000_000
    metadata: bool = False
    think_tags: "ThinkTagSplitter | None" = None
    provider: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        if self.visibility not in get_args(Visibility):
            raise ValueError(f"visibility must be 'full', 'summary', 'hidden' or 'off', not {self.visibility!r}")
        if self.max_bytes < 1:
            raise ValueError(f"max_bytes must be positive, not {self.max_bytes}")

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of `provider`."""
        given = self.provider
        return () if given is None else (given,) if isinstance(given, str) else tuple(given)

    def shows(self, provider: str | None) -> bool:
        """Whether the client sees the text of the reasoning blocks of this provider."""
        return self.visibility == "full" or (self.visibility == "summary" and provider in SUMMARISING)


# First part of the key of reasoning that stood between tags.
TAGGED: Final = "think"


class ThinkTagSplitter:
    """Splits the text of one message at think tags, `<think>…</think>`, while it streams.

    Qwen, the distilled DeepSeek R1 models, Groq with `reasoning_format="raw"` and others write reasoning and answer
    into one text. It comes in, cut anywhere; deltas of text and of reasoning go out, the same for any cutting.

    - Text before an opening tag, and text without tags, is kept exactly.
    - Whitespace inside reasoning next to its tags, whitespace after a closing tag, and whitespace alone before the
      first tag belongs to the tags: these models put line breaks there.
    - Tags do not nest: an opening tag inside reasoning is reasoning, a closing tag outside is text.
    - Reasoning that is not closed is reasoning to the end, without the whitespace there.

    Args:
        opening: What begins reasoning.
        closing: What ends it.
        opened: True if the model's template has already written the opening tag, so that its answer begins inside
            reasoning.

    Raises:
        ValueError: A tag is empty, or begins or ends with whitespace, or both are equal.
    """

    def __init__(self, opening: str = "<think>", closing: str = "</think>", *, opened: bool = False) -> None:
        for tag in (opening, closing):
            if not tag or tag != tag.strip():
                raise ValueError(f"A tag is not empty and has no whitespace around it, unlike {tag!r}.")
        if opening == closing:
            raise ValueError(f"The opening and the closing tag are both {opening!r}.")
        self._opening = opening
        self._closing = closing
        self._opened = opened
        self._buffer = ""
        self._reasoning = opened
        self._stretch = 0
        # Whether whitespace that comes next belongs to the tag before it, or may stand before the first tag.
        self._after_tag, self._leading = opened, not opened

    def fresh(self) -> "ThinkTagSplitter":
        """Return a splitter with the same settings that has read nothing yet."""
        return ThinkTagSplitter(self._opening, self._closing, opened=self._opened)

    def in_text(self, text: str) -> bool:
        """Whether `text` contains one of the tags."""
        return self._opening in text or self._closing in text

    def answer_in(self, text: str) -> str:
        """Return the whole `text` of a model without its reasoning."""
        splitter = self.fresh()
        deltas = [*splitter.feed(text), *splitter.end()]
        return "".join(delta.text for delta in deltas if delta.kind == "text")

    def feed(self, text: str) -> list[BlockDelta]:
        """Return what is certain after this much more text: one delta for each stretch, none of them empty.

        The splitter buffers what may be the beginning of a tag, and whitespace that may belong to one.
        """
        text = self._buffer + text
        deltas: list[BlockDelta] = []
        start = 0
        while True:
            if self._after_tag:
                start = len(text) - len(text[start:].lstrip())
                self._after_tag = start == len(text)
            tag = self._closing if self._reasoning else self._opening  # which ends the stretch
            end = text.find(tag, start)
            if end < 0:
                break
            deltas += self._deltas(self._words(text[start:end]))
            start = end + len(tag)
            self._reasoning, self._after_tag, self._leading = not self._reasoning, True, False
            self._stretch += 1
        sizes = range(min(len(tag) - 1, len(text) - start), 0, -1)
        partial = next((size for size in sizes if text.endswith(tag[:size])), 0)
        words = self._words(text[start : len(text) - partial])
        self._buffer = text[start + len(words) :]
        return deltas + self._deltas(words)

    def end(self) -> list[BlockDelta]:
        """Return what is buffered, now that the message is over: at most one delta."""
        rest, self._buffer = self._buffer, ""
        return self._deltas(rest.rstrip() if self._reasoning else rest)

    def _words(self, text: str) -> str:
        """Return `text` without the whitespace at its end that may belong to the next tag."""
        return text.rstrip() if self._reasoning or (self._leading and text.isspace()) else text

    def _deltas(self, text: str) -> list[BlockDelta]:
        if not text:
            return []
        self._leading = False
        if self._reasoning:
            return [BlockDelta("reasoning", (TAGGED, self._stretch), text)]
        return [BlockDelta("text", None, text)]


_VENDORS = {
    "amazon_bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "google_genai": "google",
    "google_vertexai": "google",
    "mistralai": "mistral",
}


def vendor(name: str) -> str:
    """Return the lowercase vendor id that AG-UI 1.0 wants in usage, for LangChain's name of a provider."""
    return _VENDORS.get(name, name)


def maker_of(metadata: Mapping[str, object]) -> str | None:
    """Return the provider of a message from its `response_metadata`; None if they do not name it.

    langchain-xai names OpenAI as the provider of its Responses messages; the name of the model distinguishes them.
    """
    provider, model = metadata.get("model_provider"), metadata.get("model_name")
    if provider == "openai" and isinstance(model, str) and model.startswith("grok"):
        return "xai"
    return provider if isinstance(provider, str) else None
