"""Seal opaque values: encrypt what clients keep for the server, and notice when it comes back changed.

AG-UI's `encryptedValue` is opaque to the client, but encoding alone hides nothing and proves nothing. A sealed value
can be read and written only by who has the key, and opens only in the context it was sealed for. Layout:

    offset  length  content
    0       1       version, 0x01
    1       4       key id: the first 4 bytes of SHA-256(the ASCII text "langgraph-agui key id" followed by the key)
    5       12      nonce, random
    17      n       ciphertext, as long as the plaintext
    17 + n  16      tag

Ciphertext and tag are AES-256-GCM (NIST SP 800-38D) under a key of 32 bytes; the additional authenticated data are
bytes 0 to 4 (version and key id) followed by the context. Nothing else is added, so a value is 33 bytes longer than
its plaintext. With random nonces one key should seal no more than 2**32 values (SP 800-38D, 8.3); rotate it before.
"""

from __future__ import annotations

import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SEALED: Final = 0x01
"""The first byte of sealed data; plain data is JSON, which begins with `{`."""

_KEY_BYTES = 32
_KEY_TEXT = re.compile(r"[A-Za-z0-9_-]{43}=?", re.ASCII)
_HEADER = 5
_NONCE = 12
_TAG = 16


class SealFault(StrEnum):
    """Why sealed data did not open."""

    UNKNOWN_KEY = "unknown_key"
    """It was sealed with a key that is not, or no longer, in the ring."""
    ALTERED = "altered"
    """It is not what was sealed, or it was sealed for another context."""
    MALFORMED = "malformed"
    """It is too short to be sealed data, or of an unknown version."""


class SealError(Exception):
    """Sealed data did not open; `reason` says why. It carries nothing of the data or the keys."""

    def __init__(self, reason: SealFault) -> None:
        super().__init__(reason)
        self.reason = reason


class ReasoningSeal:
    """A ring of keys: the first one seals, all of them open.

    To rotate, put a new key first and drop the old one when no client keeps values of it any more.

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
            raise ImportError(
                "ReasoningSeal needs the extra \"seal\": pip install 'langgraph-agui[seal]'", name=error.name
            ) from error
        if isinstance(keys, str | bytes):
            raise ValueError("ReasoningSeal takes a sequence of keys, such as [key], not a key.")
        self._ciphers: dict[bytes, list[AESGCM]] = {}
        for position, key in enumerate(keys):
            checked = _key(key, position)
            # 4 bytes may collide, so one id can stand for several keys.
            self._ciphers.setdefault(_key_id(checked), []).append(AESGCM(checked))
        if not self._ciphers:
            raise ValueError("ReasoningSeal needs at least one key.")

    @staticmethod
    def new_key() -> str:
        """Return a new random key, as text that fits an environment variable."""
        return urlsafe_b64encode(secrets.token_bytes(_KEY_BYTES)).rstrip(b"=").decode()

    def __repr__(self) -> str:
        """Show key ids only."""
        return f"ReasoningSeal(key ids: {', '.join(key_id.hex() for key_id in self._ciphers)})"

    def seal(self, data: bytes, context: bytes) -> bytes:
        """Encrypt `data` so that it opens only with the same `context`, which is not part of the result."""
        key_id, ciphers = next(iter(self._ciphers.items()))
        header = bytes([SEALED]) + key_id
        nonce = secrets.token_bytes(_NONCE)
        return header + nonce + ciphers[0].encrypt(nonce, data, header + context)

    def open(self, data: bytes, context: bytes) -> bytes:
        """Return what was sealed as `data` with this `context`.

        Raises:
            SealError: It cannot be opened; `reason` says why.
        """
        from cryptography.exceptions import InvalidTag

        if len(data) < _HEADER + _NONCE + _TAG or data[0] != SEALED:
            raise SealError(SealFault.MALFORMED)
        header, nonce, box = data[:_HEADER], data[_HEADER : _HEADER + _NONCE], data[_HEADER + _NONCE :]
        ciphers = self._ciphers.get(header[1:])
        if ciphers is None:
            raise SealError(SealFault.UNKNOWN_KEY)
        for cipher in ciphers:
            with suppress(InvalidTag):
                return cipher.decrypt(nonce, box, header + context)
        raise SealError(SealFault.ALTERED)


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
