"""What is text and what is reasoning when a model writes both into one text, however that is cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_agui.messages.options import Piece, ThinkTagSplitter


def feed_all(splitter: ThinkTagSplitter, *chunks: str) -> list[Piece]:
    """Feed each chunk and end; what each call returns must keep the promises of `feed`."""
    pieces: list[Piece] = []
    for more in [*(splitter.feed(chunk) for chunk in chunks), splitter.end()]:
        assert all(piece.text for piece in more)
        assert all(one[:2] != two[:2] for one, two in pairwise(more))
        pieces += more
    return pieces


def joined(splitter: ThinkTagSplitter, *chunks: str) -> list[tuple[str, int, str]]:
    """What the pieces say together, stretch by stretch in order."""
    said: list[tuple[str, int, str]] = []
    for kind, number, text in feed_all(splitter, *chunks):
        if said and said[-1][:2] == (kind, number):
            said[-1] = (kind, number, said[-1][2] + text)
        else:
            said.append((kind, number, text))
    assert len({stretch[:2] for stretch in said}) == len(said)
    return said


def text(words: str, number: int = 0) -> tuple[str, int, str]:
    return ("text", number, words)


def reasoning(words: str, number: int = 0) -> tuple[str, int, str]:
    return ("reasoning", number, words)


EXAMPLES = {
    "reasoning and answer": ("<think>\nhm\n</think>\n\nyes", [reasoning("hm"), text("yes")]),
    "no tags": (" a < b\n\n> c </b> ", [text(" a < b\n\n> c </b> ")]),
    "text before an opening tag is kept exactly": ("\n a \n<think>b</think>", [text("\n a \n"), reasoning("b")]),
    "whitespace after a tag": (
        "<think> \t\n\u00a0a\n b </think> \u2003\nc\n d\n",
        [reasoning("a\n b"), text("c\n d\n")],
    ),
    "another stretch": (
        "<think>a</think>b<think>c</think>d",
        [reasoning("a"), text("b"), reasoning("c", 1), text("d", 1)],
    ),
    "closed and opened at once": ("<think>a</think>\n<think>b</think>", [reasoning("a"), reasoning("b", 1)]),
    "unclosed": ("<think>a b \n", [reasoning("a b")]),
    "unclosed, with the beginning of a tag": ("<think>a </thi", [reasoning("a </thi")]),
    "ends with the beginning of a tag": ("a <thin", [text("a <thin")]),
    "closing tag outside": ("a </think> b", [text("a </think> b")]),
    "closing tag twice": ("<think>a</think> </think> b", [reasoning("a"), text("</think> b")]),
    "opening tag inside": ("<think> <think> a</think>b</think>", [reasoning("<think> a"), text("b</think>")]),
    "only whitespace inside": ("<think>\n\n</think>\n\na", [text("a")]),
    "nothing inside": ("a<think></think>b", [text("a"), text("b", 1)]),
    "nothing inside is not counted": ("<think> </think><think>a</think>", [reasoning("a")]),
    "only whitespace inside, unclosed": ("<think> \n", []),
    "a false start": ("<<think>a<</think></</think>b", [text("<"), reasoning("a<"), text("</</think>b", 1)]),
    "nothing": ("", []),
}


@pytest.mark.parametrize(("said", "expected"), EXAMPLES.values(), ids=EXAMPLES)
def test_examples_whole_and_cut_into_characters(said: str, expected: list[tuple[str, int, str]]) -> None:
    assert joined(ThinkTagSplitter(), said) == expected
    assert joined(ThinkTagSplitter(), *said) == expected


OPENED = {
    "reasoning and answer": ("\nhm\n</think>\n\nyes", [reasoning("hm"), text("yes")]),
    "only whitespace inside": ("\n</think>\nyes", [text("yes")]),
    "opened again": ("a</think><think>b", [reasoning("a"), reasoning("b", 1)]),
    "unclosed": ("hm", [reasoning("hm")]),
    "the tag again": ("<think>a", [reasoning("<think>a")]),
}


@pytest.mark.parametrize(("said", "expected"), OPENED.values(), ids=OPENED)
def test_an_answer_may_begin_inside_reasoning(said: str, expected: list[tuple[str, int, str]]) -> None:
    assert joined(ThinkTagSplitter(opened=True), said) == expected
    assert joined(ThinkTagSplitter(opened=True), *said) == expected


def test_only_what_may_belong_to_a_tag_is_held_back() -> None:
    splitter = ThinkTagSplitter()
    for chunk, expected in [
        ("a \n", [Piece("text", 0, "a \n")]),
        (" <th", [Piece("text", 0, " ")]),
        ("e <", [Piece("text", 0, "<the ")]),
        ("think", []),
        ("> ", []),
        (" b", [Piece("reasoning", 0, "b")]),
        (" \n", []),
        ("c", [Piece("reasoning", 0, " \nc")]),
        (" </", []),
        ("b> </", [Piece("reasoning", 0, " </b>")]),
        ("think>", []),
        ("\n", []),
        (" d ", [Piece("text", 1, "d ")]),
        ("e", [Piece("text", 1, "e")]),
        ("<think>f</think>g<think>h ", [Piece("reasoning", 1, "f"), Piece("text", 2, "g"), Piece("reasoning", 2, "h")]),
        ("", []),
        ("i", [Piece("reasoning", 2, " i")]),
    ]:
        assert splitter.feed(chunk) == expected, chunk
    assert splitter.end() == []


def test_text_that_is_no_tag_passes_at_once() -> None:
    splitter = ThinkTagSplitter()
    for chunk in ("Hello", " ", "wörld\n", "a > b", "think>", "/"):
        assert splitter.feed(chunk) == [Piece("text", 0, chunk)]
    assert splitter.feed("1 < 2") == [Piece("text", 0, "1 < 2")]


def test_the_end_flushes_once() -> None:
    splitter = ThinkTagSplitter()
    assert splitter.feed("a<") == [Piece("text", 0, "a")]
    assert splitter.end() == [Piece("text", 0, "<")]
    assert splitter.end() == []


@pytest.mark.parametrize(
    ("opening", "closing", "said", "expected"),
    [
        ("[THINK]", "[/THINK]", "[THINK] a [/THINK] b <think>", [reasoning("a"), text("b <think>")]),
        ("aab", "aba", "aaaabxababy", [text("aa"), reasoning("x"), text("by", 1)]),
        ("<|a b|>", "<|/a b|>", "<|a <|a b|> x <|/a <|/a b|>y", [text("<|a "), reasoning("x <|/a"), text("y", 1)]),
        ("<", "<<", "a<b<c<<d", [text("a"), reasoning("b<c"), text("d", 1)]),
        ("<<", "<", "a<b<<c<d", [text("a<b"), reasoning("c"), text("d", 1)]),
    ],
)
def test_tags_may_be_others(opening: str, closing: str, said: str, expected: list[tuple[str, int, str]]) -> None:
    assert joined(ThinkTagSplitter(opening, closing), said) == expected
    assert joined(ThinkTagSplitter(opening, closing), *said) == expected


@pytest.mark.parametrize("tags", [("", "b"), ("a", ""), ("a", "a"), (" a", "b"), ("a", "b\n"), ("\n", "b")])
def test_bad_tags_are_refused(tags: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="tag"):
        ThinkTagSplitter(*tags)


def test_a_fresh_splitter_has_the_settings_and_nothing_else() -> None:
    used = ThinkTagSplitter("[", "]", opened=True)
    used.feed("a]b[c]d[e ")
    said = "f ] g [ h"
    expected = [reasoning("f"), text("g "), reasoning("h", 1)]
    assert joined(used.fresh(), said) == joined(used.fresh().fresh(), said) == expected
    assert used.feed("x") == [Piece("reasoning", 2, " x")]


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
    splitter = ThinkTagSplitter(opened=opened)
    whole = joined(splitter.fresh(), said)
    assert joined(splitter.fresh(), *cut(said, places)) == whole
    assert joined(splitter.fresh(), *said) == whole


@given(said=TEXTS, opened=st.booleans())
def test_reasoning_has_no_whitespace_around_it_and_numbers_have_no_gaps(said: str, opened: bool) -> None:
    stretches = joined(ThinkTagSplitter(opened=opened), said)
    for kind in ("text", "reasoning"):
        assert [stretch[1] for stretch in stretches if stretch[0] == kind] == list(
            range(sum(stretch[0] == kind for stretch in stretches))
        )
    assert all(words == words.strip() for kind, _, words in stretches if kind == "reasoning")


@given(said=TEXTS.filter(lambda said: "<think>" not in said), places=st.lists(st.integers(0, 200), max_size=20))
def test_text_without_an_opening_tag_comes_out_as_it_is(said: str, places: list[int]) -> None:
    assert joined(ThinkTagSplitter(), *cut(said, places)) == ([text(said)] if said else [])
