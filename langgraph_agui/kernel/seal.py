"""The seal of the values that clients keep for the server: bytes enter, sealed bytes leave, and the
way back.
"""

import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from hashlib import sha256
from typing import Final

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
    OLDER = "of an older version"
    UNSEALED = "not sealed"
    NO_SEAL = "sealed, and this agent has no seal"
    UNKNOWN_KEY = "sealed with an unknown key"
    ALTERED = "altered, or from another thread or message"
    DAMAGED = "at odds with the message that it came with"


class InvalidEnvelope(Exception):  # noqa: N818  # a state of the data, not a fault of the program
    """A sealed value does not open, or an envelope does not fit the message that came with it;
    `reason` is why.

    It holds nothing of the data or the keys.
    """

    def __init__(self, reason: RejectReason = RejectReason.DAMAGED) -> None:
        super().__init__(reason)
        self.reason = reason


class ReasoningSeal:
    """Encrypts and authenticates the values that clients keep for the server. The first key seals,
    all keys open.

    AG-UI's `encryptedValue` is opaque to the client, but encoding alone hides nothing and proves
    nothing. A sealed value opens only with the key, and only in the context that it was sealed for.
    To rotate, put a new key first, and drop the old one when no client has values sealed with it
    any more. Layout of a sealed value:

        offset  length  content
        0       1       version, 0x01
        1       4       key id: the first 4 bytes of SHA-256(the ASCII text
                        "langgraph-agui key id", followed by the key)
        5       12      nonce, random
        17      n       ciphertext, as long as the plaintext
        17 + n  16      tag

    Ciphertext and tag are AES-256-GCM (NIST SP 800-38D) under a key of 32 bytes. The additional
    authenticated data are bytes 0 to 4 (version and key id) followed by the context. With random
    nonces one key should seal no more than 2**32 values (SP 800-38D, 8.3); rotate it before.

    Args:
        keys: At least one key, each of 32 bytes, or base64url of 32 bytes with or without padding.
            A key may be given twice.

    Raises:
        ImportError: The extra `seal` is not installed.
        ValueError: There is no key, or one has another form. The text does not show it.
    """

    def __init__(self, keys: Sequence[bytes | str]) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError as error:
            raise ImportError(
                'cryptography is missing: pip install "langgraph-agui[seal]"', name=error.name
            ) from error
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
        return (
            f"ReasoningSeal(key ids: {', '.join(key_id.hex() for key_id in dict(self._ciphers))})"
        )

    def seal(self, data: bytes, context: bytes) -> bytes:
        """Encrypt `data` so that it opens only with the same `context`, which is not part of the
        result.
        """
        key_id, cipher = self._ciphers[0]
        header = bytes([SEALED]) + key_id
        nonce = secrets.token_bytes(_NONCE)
        return header + nonce + cipher.encrypt(nonce, data, header + context)

    def open(self, data: bytes, context: bytes) -> bytes:
        """Return the text that was sealed as `data` with this `context`.

        Raises:
            InvalidEnvelope: It cannot be opened; `reason` is why.
        """
        from cryptography.exceptions import InvalidTag

        if len(data) < _HEADER + _NONCE + _TAG or data[0] != SEALED:
            raise InvalidEnvelope(RejectReason.MALFORMED)
        header, nonce, box = (
            data[:_HEADER],
            data[_HEADER : _HEADER + _NONCE],
            data[_HEADER + _NONCE :],
        )
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
    # `urlsafe_b64decode` skips characters that it does not know; a key with a typing error must not
    # pass.
    if isinstance(key, str) and _KEY_TEXT.fullmatch(key):
        return urlsafe_b64decode(key.rstrip("=") + "=")
    raise ValueError(
        f"The key at position {position} is neither {_KEY_BYTES} bytes nor base64url of "
        f"{_KEY_BYTES} bytes."
    )


def _key_id(key: bytes) -> bytes:
    return sha256(b"langgraph-agui key id" + key).digest()[:4]
