"""What a seal promises, and its layout."""

from __future__ import annotations

import runpy
import sys
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from langgraph_agui.kernel import seal as seal_module
from langgraph_agui.kernel.seal import SEALED, InvalidEnvelope, ReasoningSeal, RejectReason

ONE = bytes(range(32))
TWO = bytes(range(32, 64))
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


@given(data=st.binary(), context=st.binary())
def test_what_is_sealed_opens_with_its_context(data: bytes, context: bytes) -> None:
    sealed = SEAL.seal(data, context)
    assert sealed[0] == SEALED
    assert len(sealed) == len(data) + 33
    assert SEAL.open(sealed, context) == data


@given(data=st.binary(max_size=40), context=st.binary(max_size=8), draw=st.data())
def test_a_flipped_bit_is_noticed_wherever_it_is(
    data: bytes, context: bytes, draw: st.DataObject
) -> None:
    sealed = bytearray(SEAL.seal(data, context))
    bit = draw.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[bit // 8] ^= 1 << bit % 8
    expected = (
        RejectReason.MALFORMED
        if bit < 8
        else RejectReason.UNKNOWN_KEY
        if bit < 40
        else RejectReason.ALTERED
    )
    assert fault(SEAL, bytes(sealed), context) == expected


@given(size=st.integers(0, 40))
def test_what_was_cut_off_is_noticed(size: int) -> None:
    sealed = SEAL.seal(b"12345678", b"")
    assert fault(SEAL, sealed[:size], b"") == (
        RejectReason.MALFORMED if size < 33 else RejectReason.ALTERED
    )


@given(context=st.binary(), other=st.binary())
def test_another_context_does_not_open(context: bytes, other: bytes) -> None:
    sealed = SEAL.seal(b"x", context)
    if context != other:
        assert fault(SEAL, sealed, other) == RejectReason.ALTERED


@pytest.mark.parametrize(
    "data", [b"", b"\x01", b'{"v":1,"provider":"anthropic","block":{}}', b"\x02" + bytes(60)]
)
def test_what_is_not_sealed_is_malformed(data: bytes) -> None:
    assert fault(SEAL, data, b"") == RejectReason.MALFORMED


def test_a_removed_key_is_unknown() -> None:
    sealed = ReasoningSeal([ONE]).seal(b"x", b"c")
    assert fault(ReasoningSeal([TWO]), sealed, b"c") == RejectReason.UNKNOWN_KEY


def test_the_first_key_seals_and_all_open() -> None:
    rotated = ReasoningSeal([TWO, ONE])
    assert rotated.open(ReasoningSeal([ONE]).seal(b"x", b"c"), b"c") == b"x"
    sealed = rotated.seal(b"y", b"c")
    assert ReasoningSeal([TWO]).open(sealed, b"c") == b"y"
    assert fault(ReasoningSeal([ONE]), sealed, b"c") == RejectReason.UNKNOWN_KEY


def test_keys_with_the_same_id_are_told_apart() -> None:
    first, second = SAME_ID
    ring = ReasoningSeal([first, second])
    assert repr(ReasoningSeal([first])) == repr(ReasoningSeal([second])) == repr(ring)
    assert ReasoningSeal([first]).open(ring.seal(b"x", b"c"), b"c") == b"x"
    assert ring.open(ReasoningSeal([second]).seal(b"x", b"c"), b"c") == b"x"
    assert fault(ring, ring.seal(b"x", b"c"), b"d") == RejectReason.ALTERED


def test_two_seals_of_the_same_data_differ() -> None:
    one, two = SEAL.seal(b"x", b"c"), SEAL.seal(b"x", b"c")
    assert one[:5] == two[:5]
    assert one[5:17] != two[5:17]
    assert one[17:] != two[17:]


def test_the_layout_is_the_documented_one(monkeypatch: pytest.MonkeyPatch) -> None:
    nonce = bytes(range(100, 112))
    key_id = sha256(b"langgraph-agui key id" + ONE).digest()[:4]
    box = AESGCM(ONE).encrypt(nonce, b'{"v":1}', b"\x01" + key_id + b"message-1")
    by_hand = b"\x01" + key_id + nonce + box
    assert by_hand.hex() == KNOWN
    assert SEAL.open(by_hand, b"message-1") == b'{"v":1}'
    monkeypatch.setattr(seal_module.secrets, "token_bytes", lambda size: nonce[:size])
    assert SEAL.seal(b'{"v":1}', b"message-1") == by_hand


def test_new_keys_are_text_and_all_different() -> None:
    keys = {ReasoningSeal.new_key() for _ in range(50)}
    assert len(keys) == 50
    for key in keys:
        assert len(key) == 43
        assert key.isascii()
        assert ReasoningSeal([key + "="]).open(ReasoningSeal([key]).seal(b"x", b""), b"") == b"x"


def test_text_and_bytes_are_the_same_key() -> None:
    text = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
    assert ReasoningSeal([text]).open(SEAL.seal(b"x", b""), b"") == b"x"
    assert ReasoningSeal(["_-" + text[2:]]).seal(b"x", b"")


def test_a_key_may_be_given_twice() -> None:
    twice = ReasoningSeal([ONE, TWO, ONE])
    assert repr(twice) == repr(ReasoningSeal([ONE, TWO]))
    assert SEAL.open(twice.seal(b"x", b""), b"") == b"x"


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        "",
        b"s3cr3t",
        "s3cr3t",
        b"s3cr3t" * 5 + b"!",
        b"s3cr3t" * 5 + b"!!!",
        "s3cr3t" * 7,
        "s3cr3t" * 7 + "+",
        "s3cr3t" * 7 + "é",
        "s3cr3t" * 7 + "A\n",
        "s3cr3t" * 7 + "A==",
        "s3cr3t-!-" + "A" * 43,
        bytearray(b"s3cr3t!!" * 4),
        377,
        None,
    ],
)
def test_a_bad_key_is_refused_and_not_shown(bad: bytes | str) -> None:
    with pytest.raises(
        ValueError, match=r"^The key at position 1 is neither 32 bytes nor base64url of 32 bytes\.$"
    ) as e:
        ReasoningSeal([ONE, bad])
    assert e.value.__context__ is None


@pytest.mark.parametrize(
    "keys", [[], (), iter(()), ONE, "A" * 43], ids=["list", "tuple", "iterator", "bytes", "text"]
)
def test_at_least_one_key_in_a_sequence(keys: list[bytes | str]) -> None:
    with pytest.raises(
        ValueError, match=r"^ReasoningSeal (needs at least one key|takes a sequence of keys)"
    ) as e:
        ReasoningSeal(keys)
    assert not keys or str(keys) not in str(e.value)


def test_repr_shows_key_ids_and_no_key() -> None:
    text = ReasoningSeal.new_key()
    shown = repr(ReasoningSeal([ONE, text]))
    assert sha256(b"langgraph-agui key id" + ONE).hexdigest()[:8] in shown
    for key in (text, repr(ONE), ONE.hex()):
        assert key not in shown


def test_without_the_extra_only_construction_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    seal_class = runpy.run_path(seal_module.__file__)["ReasoningSeal"]
    key = seal_class.new_key()
    with pytest.raises(ImportError) as caught:
        seal_class([key])
    assert str(caught.value) == 'cryptography is missing: pip install "langgraph-agui[seal]"'
