"""What is text and what is reasoning when a model writes both into one text, however that is
cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_agui import ThinkTags
from langgraph_agui.messages.blocks import BlockDelta
from langgraph_agui.messages.think_tags import TagSplitter


def feed_all(splitter: TagSplitter, *chunks: str) -> list[BlockDelta]:
    """Feed each chunk and end; what each call returns must keep the promises of `feed`."""
    deltas: list[BlockDelta] = []
    for more in [*(splitter.feed(chunk) for chunk in chunks), splitter.end()]:
        assert all(delta.text for delta in more)
        deltas += more
    return deltas


def joined(splitter: TagSplitter, *chunks: str) -> list[tuple[str, str]]:
    """What the deltas say together, stretch by stretch in order."""
    stretches: list[tuple[object, str, str]] = []
    for delta in feed_all(splitter, *chunks):
        if stretches and stretches[-1][0] == delta.key:
            stretches[-1] = (delta.key, delta.kind, stretches[-1][2] + delta.text)
        else:
            stretches.append((delta.key, delta.kind, delta.text))
    return [(kind, words) for _, kind, words in stretches]


def spoken(deltas: list[BlockDelta]) -> list[tuple[str, str]]:
    return [(delta.kind, delta.text) for delta in deltas]


def text(words: str) -> tuple[str, str]:
    return ("text", words)


def reasoning(words: str) -> tuple[str, str]:
    return ("reasoning", words)


EXAMPLES = {
    "reasoning and answer": ("<think>\nhm\n</think>\n\nyes", [reasoning("hm"), text("yes")]),
    "no tags": (" a < b\n\n> c </b> ", [text(" a < b\n\n> c </b> ")]),
    "text before an opening tag is kept exactly": (
        "\n a \n<think>b</think>",
        [text("\n a \n"), reasoning("b")],
    ),
    "whitespace after a tag": (
        "<think> \t\n\u00a0a\n b </think> \u2003\nc\n d\n",
        [reasoning("a\n b"), text("c\n d\n")],
    ),
    "another stretch": (
        "<think>a</think>b<think>c</think>d",
        [reasoning("a"), text("b"), reasoning("c"), text("d")],
    ),
    "closed and opened at once": (
        "<think>a</think>\n<think>b</think>",
        [reasoning("a"), reasoning("b")],
    ),
    "unclosed": ("<think>a b \n", [reasoning("a b")]),
    "unclosed, with the beginning of a tag": ("<think>a </thi", [reasoning("a </thi")]),
    "ends with the beginning of a tag": ("a <thin", [text("a <thin")]),
    "closing tag outside": ("a </think> b", [text("a </think> b")]),
    "closing tag twice": ("<think>a</think> </think> b", [reasoning("a"), text("</think> b")]),
    "opening tag inside": (
        "<think> <think> a</think>b</think>",
        [reasoning("<think> a"), text("b</think>")],
    ),
    "only whitespace inside": ("<think>\n\n</think>\n\na", [text("a")]),
    "nothing inside": ("a<think></think>b", [text("ab")]),
    "white space before the first tag": (" \n<think>a</think>b", [reasoning("a"), text("b")]),
    "only whitespace": (" \n", [text(" \n")]),
    "nothing inside is not counted": ("<think> </think><think>a</think>", [reasoning("a")]),
    "only whitespace inside, unclosed": ("<think> \n", []),
    "a false start": (
        "<<think>a<</think></</think>b",
        [text("<"), reasoning("a<"), text("</</think>b")],
    ),
    "nothing": ("", []),
}


@pytest.mark.parametrize(("said", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_examples_whole_and_cut_into_characters(said: str, expected: list[tuple[str, str]]) -> None:
    assert joined(TagSplitter(ThinkTags()), said) == expected
    assert joined(TagSplitter(ThinkTags()), *said) == expected


OPENED = {
    "reasoning and answer": ("\nhm\n</think>\n\nyes", [reasoning("hm"), text("yes")]),
    "only whitespace inside": ("\n</think>\nyes", [text("yes")]),
    "opened again": ("a</think><think>b", [reasoning("a"), reasoning("b")]),
    "unclosed": (" hm\n", [reasoning("hm"), text(" hm\n")]),
    "only whitespace": (" \n", [text(" \n")]),
    "nothing": ("", []),
    "the tag again": ("<think>a", [reasoning("<think>a")]),
}


@pytest.mark.parametrize(("said", "expected"), OPENED.values(), ids=OPENED)
def test_an_answer_may_begin_inside_reasoning(said: str, expected: list[tuple[str, str]]) -> None:
    assert joined(TagSplitter(ThinkTags(opened=True)), said) == expected
    assert joined(TagSplitter(ThinkTags(opened=True)), *said) == expected


def test_a_text_that_was_cut_is_no_answer() -> None:
    splitter = TagSplitter(ThinkTags(opened=True))
    assert spoken(splitter.feed("hm ")) == [reasoning("hm")]
    assert splitter.end(is_whole=False) == []
    assert splitter.end() == []


def test_only_what_may_belong_to_a_tag_is_held_back() -> None:
    splitter = TagSplitter(ThinkTags())
    for chunk, expected in [
        ("a \n", [text("a \n")]),
        (" <th", [text(" ")]),
        ("e <", [text("<the ")]),
        ("think", []),
        ("> ", []),
        (" b", [reasoning("b")]),
        (" \n", []),
        ("c", [reasoning(" \nc")]),
        (" </", []),
        ("b> </", [reasoning(" </b>")]),
        ("think>", []),
        ("\n", []),
        (" d ", [text("d ")]),
        ("e", [text("e")]),
        ("<think>f</think>g<think>h ", [reasoning("f"), text("g"), reasoning("h")]),
        ("", []),
        ("i", [reasoning(" i")]),
    ]:
        assert spoken(splitter.feed(chunk)) == expected, chunk
    assert splitter.end() == []


def test_text_that_is_no_tag_passes_at_once() -> None:
    splitter = TagSplitter(ThinkTags())
    for chunk in ("Hello", " ", "wörld\n", "a > b", "think>", "/"):
        assert spoken(splitter.feed(chunk)) == [text(chunk)]
    assert spoken(splitter.feed("1 < 2")) == [text("1 < 2")]


def test_the_end_flushes_once() -> None:
    splitter = TagSplitter(ThinkTags())
    assert spoken(splitter.feed("a<")) == [text("a")]
    assert spoken(splitter.end()) == [text("<")]
    assert splitter.end() == []


@pytest.mark.parametrize(
    ("opening", "closing", "said", "expected"),
    [
        (
            "[THINK]",
            "[/THINK]",
            "[THINK] a [/THINK] b <think>",
            [reasoning("a"), text("b <think>")],
        ),
        ("aab", "aba", "aaaabxababy", [text("aa"), reasoning("x"), text("by")]),
        (
            "<|a b|>",
            "<|/a b|>",
            "<|a <|a b|> x <|/a <|/a b|>y",
            [text("<|a "), reasoning("x <|/a"), text("y")],
        ),
        ("<", "<<", "a<b<c<<d", [text("a"), reasoning("b<c"), text("d")]),
        ("<<", "<", "a<b<<c<d", [text("a<b"), reasoning("c"), text("d")]),
    ],
)
def test_tags_may_be_others(
    opening: str, closing: str, said: str, expected: list[tuple[str, str]]
) -> None:
    assert joined(TagSplitter(ThinkTags(opening, closing)), said) == expected
    assert joined(TagSplitter(ThinkTags(opening, closing)), *said) == expected


@pytest.mark.parametrize(
    "tags", [("", "b"), ("a", ""), ("a", "a"), (" a", "b"), ("a", "b\n"), ("\n", "b")]
)
def test_bad_tags_are_refused(tags: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="tag"):
        ThinkTags(*tags)


WORDS = [
    "<think>",
    "</think>",
    "<",
    ">",
    "/",
    "<thi",
    "nk>",
    "</th",
    "think",
    " ",
    "\n",
    "\u00a0",
    "a",
    "Wort",
    "é",
    "😀",
]
TEXTS = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=20).map("".join)


def cut(said: str, places: list[int]) -> list[str]:
    edges = [0, *sorted(place % (len(said) + 1) for place in places), len(said)]
    return [said[start:stop] for start, stop in pairwise(edges)]


@given(said=TEXTS, places=st.lists(st.integers(0, 200), max_size=20), opened=st.booleans())
def test_how_a_text_is_cut_changes_nothing(said: str, places: list[int], opened: bool) -> None:
    tags = ThinkTags(opened=opened)
    whole = joined(TagSplitter(tags), said)
    assert joined(TagSplitter(tags), *cut(said, places)) == whole
    assert joined(TagSplitter(tags), *said) == whole


@given(said=TEXTS, opened=st.booleans())
def test_reasoning_has_no_whitespace_around_it(said: str, opened: bool) -> None:
    stretches = joined(TagSplitter(ThinkTags(opened=opened)), said)
    assert all(words == words.strip() for kind, words in stretches if kind == "reasoning")


@given(
    said=TEXTS.filter(lambda said: "<think>" not in said),
    places=st.lists(st.integers(0, 200), max_size=20),
)
def test_text_without_an_opening_tag_comes_out_as_it_is(said: str, places: list[int]) -> None:
    assert joined(TagSplitter(ThinkTags()), *cut(said, places)) == ([text(said)] if said else [])
