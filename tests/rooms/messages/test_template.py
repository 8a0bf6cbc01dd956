"""Templates: what is packed is filled again exactly, in little space, and nothing else is ever
filled."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_agui.kernel.seal import InvalidEnvelope
from langgraph_agui.messages.template import Call, VisibleText
from tests.kit.models.shapes import json_values, words

LONG = "Sunny in Paris, 24 °C ☀️ and 😀 beyond"
ARGUMENTS = '{"city": "Paris", "days": [1, true, 1.0]}'
sources = st.lists(words, max_size=3)
calls = st.lists(st.builds(Call, words, words, words | json_values.map(json.dumps)), max_size=3)
thoughts = st.lists(st.tuples(words, words), max_size=3)


@given(words, thoughts, calls, sources, json_values, json_values)
def test_any_value_comes_back(
    text: str, reasoning: Any, calls: Any, media: Any, value: Any, more: Any
) -> None:
    strings = [text, *media, *(string for one in (*reasoning, *calls) for string in one)]
    objects = [parsed for call in calls if (parsed := parsed_json(call.arguments)) is not None]
    value = [value, strings, objects, {"more": more, **{string: string for string in strings}}]

    def visible() -> VisibleText:
        return VisibleText(text, reasoning, calls, media)

    packed = json.loads(json.dumps(visible().to_template(value)))
    assert json.dumps(visible().from_template(packed)) == json.dumps(value)


def parsed_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


PARSED, PICTURE = json.loads(ARGUMENTS), "data:image/png;base64,AAAA"
# Values that are written out: what they hold is no whole word of the message.
WRITTEN: list[Any] = [
    {"city": "Paris", "days": [1, 1, 1.0]},
    {"days": [1, True, 1.0], "city": "Paris"},
    *({}, [], f"{LONG}!", LONG[3:20], "a call", "a $0"),
]


@pytest.mark.parametrize(
    ("value", "template"),
    [
        *((one, one) for one in WRITTEN),
        *((LONG, "$0"), ("rs_1234567", "$3"), ("A long thought.", "$4"), ("call_123", "$5")),
        *(("get_weather", "$6"), (ARGUMENTS, "$7"), (PARSED, "$j0"), ([PARSED], ["$j0"])),
        *((PICTURE, "$11"), ([LONG, [LONG]], ["$0", ["$0"]]), ({"$0": LONG}, {"$0": "$0"})),
        *((b"\x00\xff", "$xAP8="), (b"", "$x"), ("$", "$$"), ("$0", "$$0"), ("$$0", "$$$0")),
        ((1, True, 1.0, None), [1, True, 1.0, None]),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
    ],
)
def test_templates(value: object, template: object) -> None:
    def visible() -> VisibleText:
        calls = [Call("call_123", "get_weather", ARGUMENTS), Call("a call", "", "not JSON")]
        return VisibleText(LONG, [("r", ""), ("rs_1234567", "A long thought.")], calls, [PICTURE])

    packed = visible().to_template(value)
    assert repr(packed) == repr(template)
    filled = visible().from_template(packed)
    assert json.dumps(visible().to_template(filled)) == json.dumps(packed)


def test_a_text_that_is_too_much_for_its_message_is_written_out() -> None:
    value = [LONG] * 100
    packed = VisibleText(LONG).to_template(value)
    assert packed == ["$0"] * 8 + value[8:]
    assert VisibleText(LONG).from_template(packed) == value
    same = [Call(call_id, "get_weather", ARGUMENTS) for call_id in ("call_1", "call_2")]
    packed = VisibleText("", calls=same).to_template([PARSED, "get_weather"])
    assert packed == ["$j0", "$2"]  # of equal strings, the first counts


DAMAGED: list[Any] = [
    *("$?", "$-1", "$ 0", "$0 ", "$0\n", "$1.0", "$t", "$j", "$jx", "$j-1", "$J0", "$٣", "$j٣"),
    *("$99", "$j9", "$j1", "$j2", "$9" + "9" * 5000, "$j" + "9" * 5000, "$1e1", "$+1", "$0x0"),
    *("$x!", "$xA", "$xé", "$xAA==A", "$x AA=="),
    *({"a": {"b": [1, "$99"]}}, [["$j9"]], ["$0"] * 99, ["$j0"] * 2000),
]


@pytest.mark.parametrize("template", DAMAGED, ids=lambda template: json.dumps(template)[:40])
def test_templates_that_do_not_fit(template: object) -> None:
    calls = [Call("c", "f", '{"a": 1}'), Call("d", "f", "no JSON"), Call("e", "f", "[1")]
    with pytest.raises(InvalidEnvelope):
        VisibleText("x" * 40, [("r", "thought")], calls, ["media"]).from_template(template)


def test_the_words_stand_in_a_message_so_often_and_not_more() -> None:
    for template in (["$0"] * 8, {str(n): ["$0"] for n in range(8)}):
        assert VisibleText("x" * 40).from_template(template)
        with pytest.raises(InvalidEnvelope):
            VisibleText("x" * 40).from_template([template, "$0"])


def test_templates_that_are_too_deep() -> None:
    deep: Any = "end"
    for _ in range(100_000):
        deep = [deep]
    for template in (deep, {"a": deep}, "$j0"):
        with pytest.raises(InvalidEnvelope):
            VisibleText(LONG, calls=[Call("c", "f", "[" * 9000)]).from_template(template)


holes = st.builds(
    lambda mark, number, rest: f"${mark}{number}{rest}",
    st.sampled_from(["", "j", "x", "$", "?"]),
    st.integers(-1, 12) | words,
    st.sampled_from(["", "", "A", "=="]),
)
templates = st.recursive(
    json_values | holes,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=12,
)


@given(template=templates, reasoning=thoughts, calls=calls)
def test_any_template_is_filled_or_damaged(template: Any, reasoning: Any, calls: Any) -> None:
    try:
        VisibleText(LONG, reasoning, calls, [LONG]).from_template(template)
    except InvalidEnvelope:
        return


@given(all_words=st.lists(words, min_size=7, max_size=7), place=st.integers(0, 6), other=words)
def test_the_digest_is_of_all_words(all_words: list[str], place: int, other: str) -> None:
    def digest(text: str, thought: str, said: str, call: str, name: str, args: str, m: str) -> str:
        return VisibleText(text, [(thought, said)], [Call(call, name, args)], [m]).digest

    edited = [*all_words[:place], other, *all_words[place + 1 :]]
    assert (digest(*all_words) == digest(*edited)) == (all_words == edited)


def test_words_do_not_move_from_one_place_to_another() -> None:
    a, b = ("a", "b"), Call("a", "b")
    visible = [
        *(("", [a]), ("", [a, a]), ("", [], [b]), ("", [], [Call("b", "a")])),
        *(("", [], [b, Call("")]), ("", [], [], ["a", "b"])),
        *(("a", [("", "b")]), ("", [("a\0b", "")]), ("ab",)),
    ]
    assert len({VisibleText(*one).digest for one in visible}) == len(visible)


def test_the_digest_is_the_documented_one() -> None:
    calls = [Call("c", "f", '{"z": 1.0, "é": []}'), Call("d", "g", "{")]
    digest = VisibleText("a", [("r", "b")], calls, ["\ud800"]).digest
    written = (
        rb'["a",[["r","b"]],[["c","f","{\"z\":1.0,\"\\u00e9\":[]}"],["d","g","{"]],["\ud800"]]'
    )
    assert digest == urlsafe_b64encode(sha256(written).digest()[:12]).decode()


def test_of_arguments_only_the_value_counts() -> None:
    def digest(arguments: str) -> str:
        return VisibleText(LONG, calls=[Call("c", "f", arguments)]).digest

    given = digest('{"a": [1, 2.0, 18446744073709551617], "b": null}')
    # as JavaScript writes it
    assert digest('{"b":null,  "a":[1.0,2,18446744073709552000]}') == given
    for other in ('{"a": [1, 3], "b": null}', '{"a": [2.0, 1], "b": null}', '{"a": [1, 2.0]}', ""):
        assert digest(other) != given
