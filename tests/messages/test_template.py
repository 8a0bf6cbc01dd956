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
from langgraph_agui.messages.template import VisibleText
from tests.messages.shapes import json_values, words

LONG = "Sunny in Paris, 24 °C ☀️ and 😀 beyond"
ARGUMENTS = '{"city": "Paris", "days": [1, true, 1.0]}'
sources = st.lists(words, max_size=3)


def seen(text: str = LONG, **more: Any) -> VisibleText:
    return VisibleText(text=text, **more)


def parts_of(said: st.DataObject, of: list[str]) -> str:
    """A string that is made of pieces of words."""
    made = ""
    for piece in said.draw(st.lists(st.sampled_from([*of, ""]), max_size=3)):
        start = said.draw(st.integers(0, len(piece)))
        made += (
            piece[start : said.draw(st.integers(start, len(piece)))]
            if said.draw(st.booleans())
            else piece
        )
    return made


@given(
    text=words,
    reasoning=sources,
    arguments=sources,
    media=sources,
    value=json_values,
    more=json_values,
    said=st.data(),
)
def test_any_value_comes_back(
    text: str,
    reasoning: Any,
    arguments: Any,
    media: Any,
    value: Any,
    more: Any,
    said: st.DataObject,
) -> None:
    all_words = [text, *reasoning, *arguments, *media]
    value = [value, parts_of(said, all_words), {"more": more, **{word: word for word in all_words}}]

    def words_seen() -> VisibleText:
        return VisibleText(text=text, reasoning=reasoning, arguments=arguments, media=media)

    packed = json.loads(json.dumps(words_seen().to_template(value)))
    assert json.dumps(words_seen().from_template(packed)) == json.dumps(value)


@pytest.mark.parametrize(
    ("value", "template"),
    [
        (LONG, ["$t"]),
        (LONG[3:20], ["$t", 3, 20]),
        ("A long thought.", ["$r", 1]),
        ("long thought.", ["$r", 1, 2, 15]),
        (ARGUMENTS, ["$a", 0]),
        (json.loads(ARGUMENTS), ["$j", 0]),
        ({"city": "Paris", "days": [1, 1, 1.0]}, {"city": "Paris", "days": [1, 1, 1.0]}),
        ({"days": [1, True, 1.0], "city": "Paris"}, {"days": [1, True, 1.0], "city": "Paris"}),
        ({}, {}),
        ("data:image/png;base64,AAAA", ["$m", 0]),
        (
            f"<think>A long thought.</think>\n{LONG}!",
            ["$+", "<think>", ["$r", 1], "</think>\n", ["$t"], "!"],
        ),
        (f"{LONG}A long thought.", ["$+", ["$t"], ["$r", 1], ""]),
        ("Sunny in", "Sunny in"),
        (b"\x00\xff", ["$x", "AP8="]),
        (["$t"], ["$=", ["$t"]]),
        (["$"], ["$=", ["$"]]),
        (["a", "$t"], ["a", "$t"]),
        ([["$t"]], [["$=", ["$t"]]]),
        ([[LONG]], [[["$t"]]]),
        ([], []),
        ((1, True, 1.0, None), [1, True, 1.0, None]),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
    ],
)
def test_templates(value: object, template: object) -> None:
    def words_seen() -> VisibleText:
        return seen(
            reasoning=["", "A long thought."],
            arguments=[ARGUMENTS, "not JSON"],
            media=["data:image/png;base64,AAAA"],
        )

    packed = words_seen().to_template(value)
    assert repr(packed) == repr(template)
    assert json.dumps(words_seen().to_template(words_seen().from_template(packed))) == json.dumps(
        packed
    )


def test_positions_count_code_points() -> None:
    at = LONG.index("😀")
    assert seen().to_template(LONG[at + 1 :] + "") == " beyond"
    text = "😀" * 10 + "twelve words"
    assert seen(text).to_template("twelve words") == ["$t", 10, 22]
    assert seen(text).from_template(["$t", 9, 11]) == "😀t"


def test_what_reasoning_and_calls_hold_is_filled_with_the_words_of_the_message() -> None:
    words_seen = seen(blocks={1: {"type": "thinking", "thinking": ["$t"]}}, signatures={0: ["sig"]})
    assert words_seen.from_template([["$b", 1], {"c": ["$s", 0]}]) == [
        {"type": "thinking", "thinking": LONG},
        {"c": ["sig"]},
    ]


def test_a_repeated_text_is_a_hole_only_so_often() -> None:
    value = [LONG] * 100
    packed = seen().to_template(value)
    assert isinstance(packed, list)
    assert packed[:8] == [["$t"]] * 8
    assert packed[8:] == value[8:]
    assert seen().from_template(packed) == value


DAMAGED: list[Any] = [
    *(
        ["$"],
        ["$?", 1],
        ["$t", 1],
        ["$t", 1, 2, 3],
        ["$t", 2, 1],
        ["$t", -1, 2],
        ["$t", 0, 99],
        ["$t", "0", 1],
    ),
    *(
        ["$t", 0.0, 1],
        ["$t", True, 2],
        ["$t", None],
        ["$r"],
        ["$r", 9],
        ["$r", -1],
        ["$r", "0"],
        ["$r", True],
    ),
    *(
        ["$r", 0, 1],
        ["$r", 0, 0, 99],
        ["$r", 0, 0, 1, 2],
        ["$a"],
        ["$a", 9],
        ["$a", 0, 0, 1],
        ["$a", -1],
        ["$a", []],
    ),
    *(
        ["$j"],
        ["$j", 1],
        ["$j", 9],
        ["$j", 2],
        ["$m", 9],
        ["$m", 0, 1, 2],
        ["$b"],
        ["$b", 9],
        ["$b", None],
        ["$s", 9],
    ),
    *(
        ["$s", [0]],
        ["$b", "0"],
        ["$x"],
        ["$x", 1],
        ["$x", "!"],
        ["$x", "A"],
        ["$x", "é"],
        ["$x", "AA==", 1],
    ),
    *(
        ["$+", 1],
        ["$+", ["$j", 0]],
        ["$+", "a", None],
        ["$+", ["$x", "AA=="]],
        ["$+", {}],
        ["$="],
        ["$=", 1],
    ),
    *(["$=", [], 1], ["$=", ["a", ["$"]]], {"a": {"b": [1, ["$r", 9]]}}, [["$b", 0], ["$b", 0]]),
    *([["$s", 0], ["$s", 0]], ["$b", 1], [["$t", 0, 30]] * 99),
]


@pytest.mark.parametrize("template", DAMAGED, ids=lambda template: json.dumps(template)[:40])
def test_templates_that_do_not_fit(template: object) -> None:
    words_seen = VisibleText(
        "x" * 40, ["r"], ['{"a": 1}', "no JSON", "[1"], ["m"], {0: 1, 1: ["$b", 1]}, {0: "s"}
    )
    with pytest.raises(InvalidEnvelope):
        words_seen.from_template(template)


def test_the_words_stand_in_a_message_so_often_and_not_more() -> None:
    for template in ([["$t"]] * 8, ["$+", *[["$t"]] * 8], [["$t", 0, 20]] * 16):
        assert VisibleText("x" * 40).from_template(template)
        with pytest.raises(InvalidEnvelope):
            VisibleText("x" * 40).from_template([template, ["$t", 0, 1]])


def test_templates_that_are_too_deep() -> None:
    deep: Any = "end"
    for _ in range(100_000):
        deep = [deep]
    for template in (deep, {"a": deep}, ["$=", [deep]], ["$j", 0]):
        with pytest.raises(InvalidEnvelope):
            seen(arguments=["[" * 9000]).from_template(template)


def test_holes_in_holes_do_not_multiply() -> None:
    twice = {number: ["$+", ["$b", number - 1], ["$b", number - 1]] for number in range(1, 64)}
    with pytest.raises(InvalidEnvelope):
        seen(blocks={0: "twice as long", **twice}).from_template(["$b", 63])


marks = st.sampled_from(
    ["$t", "$r", "$a", "$j", "$m", "$b", "$s", "$x", "$+", "$=", "$", "$?", "a"]
)
holes = st.builds(
    lambda mark, rest: [mark, *rest],
    marks,
    st.lists(st.integers(-1, 3) | words | marks, max_size=3),
)
templates = st.recursive(
    json_values | holes,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(words, inner, max_size=3)
        | st.builds(lambda mark, rest: [mark, *rest], marks, st.lists(inner, max_size=3))
    ),
    max_leaves=12,
)


@given(
    template=templates,
    reasoning=sources,
    arguments=st.lists(words | json_values.map(json.dumps), max_size=3),
    blocks=st.dictionaries(st.integers(0, 2), templates, max_size=3),
    signatures=st.dictionaries(st.integers(0, 2), json_values, max_size=2),
)
def test_any_template_is_filled_or_damaged(
    template: Any, reasoning: Any, arguments: Any, blocks: Any, signatures: Any
) -> None:
    words_seen = VisibleText(LONG, reasoning, arguments, [LONG], blocks, signatures)
    try:
        words_seen.from_template(template)
    except InvalidEnvelope:
        return


@given(all_words=st.lists(words, min_size=4, max_size=4), place=st.integers(0, 3), other=words)
def test_the_checksum_is_of_all_words(all_words: list[str], place: int, other: str) -> None:
    def check(text: str, thought: str, arguments: str, media: str) -> int:
        return VisibleText(text, [thought], [arguments], [media]).check

    edited = [*all_words[:place], other, *all_words[place + 1 :]]
    assert (check(*all_words) == check(*edited)) == (all_words == edited)


def test_the_checksum_is_the_documented_one() -> None:
    words_seen = VisibleText("a", ["b"], ['{"z": 1.0, "é": []}', "{"], ["\ud800"])
    written = b'a\0b\0{"z":1.0,"\\u00e9":[]}\0{\0\xed\xa0\x80'
    assert words_seen.check == urlsafe_b64encode(sha256(written).digest()[:12]).decode()


def test_of_arguments_only_the_value_counts() -> None:
    given = seen(arguments=['{"a": [1, 2.0, 18446744073709551617], "b": null}']).check
    # as JavaScript writes it
    assert seen(arguments=['{"b":null,  "a":[1.0,2,18446744073709552000]}']).check == given
    for other in (
        '{"a": [1, 3], "b": null}',
        '{"a": [2.0, 1], "b": null}',
        '{"a": [1, 2.0]}',
        "",
        "{",
    ):
        assert seen(arguments=[other]).check != given
