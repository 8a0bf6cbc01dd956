"""What a seal promises, and its layout."""

from __future__ import annotations

import runpy
import sys
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from langgraph_agui.kernel import seal as seal_module
from langgraph_agui.kernel.seal import SEALED, InvalidEnvelope, ReasoningSeal, RejectReason

ONE, TWO = bytes(range(32)), bytes(range(32, 64))
SEAL = ReasoningSeal([ONE])

KNOWN = "0173aebbe46465666768696a6b6c6d6e6f3339a84443d82be543f516859e91f953983377f38f838c"
"""`{"v":1}`, sealed with the key 00..1f and the nonce 64..6f for the context `message-1`."""

SAME_ID = ((31775).to_bytes(32, "big"), (63589).to_bytes(32, "big"))
"""Two keys whose ids are the same 4 bytes, found by counting."""


def fault(seal: ReasoningSeal, data: bytes, context: bytes) -> RejectReason:
    with pytest.raises(InvalidEnvelope) as caught:
        seal.open(data, context)
    assert caught.value.__context__ is None
    assert str(caught.value) == caught.value.reason
    return caught.value.reason


@given(data=st.binary(), context=st.binary(), other=st.binary(), draw=st.data())
def test_what_is_sealed_opens_whole_and_with_its_context(
    data: bytes, context: bytes, other: bytes, draw: st.DataObject
) -> None:
    sealed = SEAL.seal(data, context)
    assert (sealed[0], len(sealed)) == (SEALED, len(data) + 33)
    assert SEAL.open(sealed, context) == data
    if context != other:
        assert fault(SEAL, sealed, other) == RejectReason.ALTERED
    flipped, bit = bytearray(sealed), draw.draw(st.integers(0, len(sealed) * 8 - 1))
    flipped[bit // 8] ^= 1 << bit % 8
    reasons = [RejectReason.MALFORMED] + [RejectReason.UNKNOWN_KEY] * 4 + [RejectReason.ALTERED]
    assert fault(SEAL, bytes(flipped), context) == reasons[min(bit // 8, 5)]
    for foreign in (b'{"v":1,"provider":"anthropic"}', b"\x02" + bytes(60)):
        assert fault(SEAL, foreign, context) == RejectReason.MALFORMED
    size = draw.draw(st.integers(0, len(sealed) - 1))
    reason = RejectReason.MALFORMED if size < 33 else RejectReason.ALTERED
    assert fault(SEAL, sealed[:size], context) == reason


def test_the_first_key_seals_and_all_open() -> None:
    rotated = ReasoningSeal([TWO, ONE])
    assert rotated.open(SEAL.seal(b"x", b"c"), b"c") == b"x"
    sealed = rotated.seal(b"y", b"c")
    assert ReasoningSeal([TWO]).open(sealed, b"c") == b"y"
    assert fault(SEAL, sealed, b"c") == RejectReason.UNKNOWN_KEY
    assert repr(ReasoningSeal([ONE, TWO, ONE])) == repr(ReasoningSeal([ONE, TWO]))


def test_keys_with_the_same_id_are_told_apart() -> None:
    first, second = map(ReasoningSeal, ([one] for one in SAME_ID))
    ring = ReasoningSeal(SAME_ID)
    assert repr(first) == repr(second) == repr(ring)
    assert first.open(ring.seal(b"x", b"c"), b"c") == b"x"
    assert ring.open(second.seal(b"x", b"c"), b"c") == b"x"
    assert fault(ring, ring.seal(b"x", b"c"), b"d") == RejectReason.ALTERED


def test_the_layout_is_the_documented_one(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = SEAL.seal(b"x", b"c"), SEAL.seal(b"x", b"c")
    assert (one[:5] == two[:5], one[5:17] == two[5:17]) == (True, False)
    nonce = bytes(range(100, 112))
    key_id = sha256(b"langgraph-agui key id" + ONE).digest()[:4]
    box = AESGCM(ONE).encrypt(nonce, b'{"v":1}', b"\x01" + key_id + b"message-1")
    by_hand = b"\x01" + key_id + nonce + box
    assert by_hand.hex() == KNOWN
    assert SEAL.open(by_hand, b"message-1") == b'{"v":1}'
    monkeypatch.setattr(seal_module.secrets, "token_bytes", lambda size: nonce[:size])
    assert SEAL.seal(b'{"v":1}', b"message-1") == by_hand


def test_keys_are_text_or_bytes_and_new_ones_all_different() -> None:
    keys = {ReasoningSeal.new_key() for _ in range(50)}
    assert [(len(key), key.isascii()) for key in keys] == [(43, True)] * 50
    for key in keys:
        assert ReasoningSeal([key + "="]).open(ReasoningSeal([key]).seal(b"x", b""), b"") == b"x"
    text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
    assert ReasoningSeal([text]).open(SEAL.seal(b"x", b""), b"") == b"x"
    assert ReasoningSeal(["_-" + text[2:]]).seal(b"x", b"")
    shown = repr(ReasoningSeal([ONE, min(keys)]))  # key ids and no key
    assert sha256(b"langgraph-agui key id" + ONE).hexdigest()[:8] in shown
    assert [key for key in (min(keys), repr(ONE), ONE.hex()) if key in shown] == []


WORD = "s3cr3t"


@pytest.mark.parametrize(
    "bad",
    [
        *(b"", "", WORD.encode(), WORD, WORD.encode() * 5 + b"!", WORD.encode() * 5 + b"!!!"),
        *(WORD * 7 + end for end in ("", "+", "é", "A\n", "A==")),
        *("s3cr3t-!-" + "A" * 43, bytearray(b"s3cr3t!!" * 4), 377, None),
    ],
)
def test_a_bad_key_is_refused_and_not_shown(bad: Any) -> None:
    text = r"^The key at position 1 is neither 32 bytes nor base64url of 32 bytes\.$"
    with pytest.raises(ValueError, match=text) as caught:
        ReasoningSeal([ONE, bad])
    assert caught.value.__context__ is None


def test_at_least_one_key_in_a_sequence() -> None:
    text = r"^ReasoningSeal (needs at least one key|takes a sequence of keys)"
    for keys in ([], iter(()), ONE, "A" * 43):
        with pytest.raises(ValueError, match=text) as caught:
            ReasoningSeal(keys)
        assert not keys or str(keys) not in str(caught.value)


def test_without_the_extra_only_construction_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    seal_class = runpy.run_path(seal_module.__file__)["ReasoningSeal"]
    key = seal_class.new_key()
    text = r'^cryptography is missing: pip install "langgraph-agui\[seal\]"$'
    with pytest.raises(ImportError, match=text):
        seal_class([key])
