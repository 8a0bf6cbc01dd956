"""JSON data: when it is the same, how large it is, and how its text is read."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_agui.protocol import ProtocolError
from langgraph_agui.protocol.json import (
    canonical_json,
    dump_json,
    is_larger,
    parse_json,
    same,
    same_arguments,
    same_for_clients,
    size,
    size_up_to,
)
from tests.rooms.protocol.test_diff import Documents, nested
from tests.rooms.protocol.test_jsonable import JSON, Holder


def compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


@given(seed=st.integers(0, 2**32))
def test_the_size_is_that_of_the_text(seed: int) -> None:
    value = Documents(Random(seed)).value()
    length = size(value)
    assert length == len(compact(value))
    limits = (0, length // 2, length - 1, length)
    assert [is_larger(value, limit) for limit in limits] == [True, True, True, False]


def test_whatever_a_value_is_it_has_a_size() -> None:
    loop: list[Any] = []
    loop += [loop, loop]
    for value in (loop, Holder(b"\xff"), {1: object()}, "a\ud800", float("nan"), nested(300)):
        assert 3 < size(value) < 3000
    assert size(nested(100_000)) < 3000


def test_measuring_stops_early_and_goes_deep() -> None:
    assert size_up_to(nested(3000), 100_000) == 1500 * len('[{"k":}]') + 1
    huge: Any = "x"
    for _ in range(9):
        huge = [huge] * 300
    assert is_larger(huge, 1000)
    assert is_larger({"k": huge}, 1000)
    assert is_larger(nested(100_000), 300_000)
    assert is_larger(10**4000, 3999)
    assert not is_larger(10**4000, 4001)


SAME: dict[str, tuple[Any, Any, bool, bool]] = {
    "equal": ({"a": [1, None]}, {"a": [1, None]}, True, True),
    "order of keys": ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False, True),
    "true and 1": ([True], [1], False, False),
    "1 and 1.0": ([1], [1.0], False, True),
    "large integers": (2**53, 2**53 + 1, False, True),
    "integer and large double": (10**30, 1e30, False, True),
    "text and number": ("1", 1, False, False),
    "null and false": (None, False, False, False),
    "lengths": ([1], [1, 1], False, False),
    "kinds": ([], {}, False, False),
}


@pytest.mark.parametrize("name", SAME)
def test_two_equalities(name: str) -> None:
    one, other, to_python, to_clients = SAME[name]
    assert same(one, other) is to_python
    assert same_for_clients(one, other) is to_clients
    arguments = json.dumps(one), json.dumps(other, indent=1)
    assert same_arguments(*arguments) is to_clients


@given(one=JSON, other=JSON)
def test_what_is_the_same_to_python_is_the_same_to_clients(one: Any, other: Any) -> None:
    assert same(one, json.loads(json.dumps(one)))
    assert same_for_clients(one, json.loads(canonical_json(json.dumps(one))))
    assert not same(one, other) or same_for_clients(one, other)


def test_what_is_no_json_is_never_the_same() -> None:
    loop: list[Any] = [1]
    loop += [loop, loop]

    class Liar:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    class Raises:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError

        __hash__ = None  # type: ignore[assignment]

    for value in (loop, Liar(), Raises(), (1,), {1}, float("nan")):
        assert (same([1], [value]), same([1], value)) == (False, False)


def test_any_value_has_a_text() -> None:
    assert dump_json({"a": [1, "é"]}) == '{"a": [1, "é"]}'
    assert dump_json(["a\ud800"]) == '["a\ufffd"]'
    assert json.loads(dump_json([float("nan"), b"a"])) == [
        None,
        {"__type__": "bytes", "base64": "YQ=="},
    ]


def test_what_is_no_json_or_too_much_is_an_error() -> None:
    for text in ("", "{", "NaN", "[1] 2", b"\xff"):
        with pytest.raises(ValueError):  # noqa: PT011  # of whichever reader
            parse_json(text)
    with pytest.raises(ProtocolError, match="max_bytes"):
        parse_json('"' + "x" * 1_000_000 + '"')


def test_integers_beyond_64_bits_become_doubles() -> None:
    read = parse_json("[18446744073709551615, 18446744073709551616, -9223372036854775809]")
    assert repr(read) == "[18446744073709551615, 1.8446744073709552e+19, -9.223372036854776e+18]"
