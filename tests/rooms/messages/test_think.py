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


def marked(deltas: list[BlockDelta]) -> str:
    """What the deltas say, each stretch of reasoning in «»."""
    assert all(delta.text for delta in deltas)
    said, last = "", None
    for delta in [*deltas, None]:
        if last and (delta is None or delta.key != last.key):
            said += "»" * (last.kind == "reasoning")
        if delta and (last is None or delta.key != last.key):
            said += "«" * (delta.kind == "reasoning")
        said += delta.text if delta else ""
        last = delta
    return said


def split(tags: ThinkTags, *chunks: str) -> str:
    splitter = TagSplitter(tags)
    deltas = [delta for chunk in chunks for delta in splitter.feed(chunk)]
    return marked([*deltas, *splitter.end()])


THINK, OPENED = ThinkTags(), ThinkTags(opened=True)
PIPES = ThinkTags("<|a b|>", "<|/a b|>")


@pytest.mark.parametrize(
    ("tags", "said", "expected"),
    [
        (THINK, "<think>\nhm\n</think>\n\nyes", "«hm»yes"),
        (THINK, " a < b\n\n> c </b> ", " a < b\n\n> c </b> "),
        (THINK, "\n a \n<think>b</think>", "\n a \n«b»"),
        (THINK, "<think> \t\n\u00a0a\n b </think> \u2003\nc\n d\n", "«a\n b»c\n d\n"),
        (THINK, "<think>a</think>b<think>c</think>d", "«a»b«c»d"),
        (THINK, "<think>a</think>\n<think>b</think>", "«a»«b»"),
        (THINK, "<think>a b \n", "«a b»"),
        (THINK, "<think>a </thi", "«a </thi»"),
        (THINK, "a <thin", "a <thin"),
        (THINK, "a </think> b", "a </think> b"),
        (THINK, "<think>a</think> </think> b", "«a»</think> b"),
        (THINK, "<think> <think> a</think>b</think>", "«<think> a»b</think>"),
        (THINK, "<think>\n\n</think>\n\na", "a"),
        (THINK, "a<think></think>b", "ab"),
        (THINK, " \n<think>a</think>b", "«a»b"),
        (THINK, " \n", " \n"),
        (THINK, "<think> </think><think>a</think>", "«a»"),
        (THINK, "<think> \n", ""),
        (THINK, "<<think>a<</think></</think>b", "<«a<»</</think>b"),
        (OPENED, "\nhm\n</think>\n\nyes", "«hm»yes"),
        (OPENED, "\n</think>\nyes", "yes"),
        (OPENED, "a</think><think>b", "«a»«b»"),
        (OPENED, " hm\n", "«hm» hm\n"),
        (OPENED, " \n", " \n"),
        (OPENED, "", ""),
        (OPENED, "<think>a", "«<think>a»"),
        (ThinkTags("[T]", "[/T]"), "[T] a [/T] b <think>", "«a»b <think>"),
        (ThinkTags("aab", "aba"), "aaaabxababy", "aa«x»by"),
        (PIPES, "<|a <|a b|> x <|/a <|/a b|>y", "<|a «x <|/a»y"),
        (ThinkTags("<", "<<"), "a<b<c<<d", "a«b<c»d"),
        (ThinkTags("<<", "<"), "a<b<<c<d", "a<b«c»d"),
    ],
)
def test_examples_whole_and_cut_into_characters(tags: ThinkTags, said: str, expected: str) -> None:
    assert (split(tags, said), split(tags, *said)) == (expected, expected)


def test_a_text_that_was_cut_is_no_answer() -> None:
    splitter = TagSplitter(OPENED)
    assert marked(splitter.feed("hm ")) == "«hm»"
    assert (splitter.end(is_whole=False), splitter.end()) == ([], [])


def test_only_what_may_belong_to_a_tag_is_held_back() -> None:
    chunks = ["a \n", " <th", "e <", "think", "> ", " b", " \n", "c", " </", "b> </", "think>"]
    splitter = TagSplitter(THINK)
    found = [marked(splitter.feed(chunk)) for chunk in chunks]
    assert found == ["a \n", " ", "<the ", "", "", "«b»", "", "« \nc»", "", "« </b>»", ""]
    chunks = ["\n", " d ", "e", "<think>f</think>g<think>h ", "", "i", "</think>j<"]
    found = [marked(splitter.feed(chunk)) for chunk in chunks]
    assert found == ["", "d ", "e", "«f»g«h»", "", "« i»", "j"]
    assert (marked(splitter.end()), splitter.end()) == ("<", [])


@pytest.mark.parametrize("tags", [("", "b"), ("a", ""), ("a", "a"), (" a", "b"), ("a", "b\n")])
def test_bad_tags_are_refused(tags: tuple[str, str]) -> None:
    with pytest.raises(ValueError, match="tag"):
        ThinkTags(*tags)


WORDS = ["<think>", "</think>", *"<>/ \n\u00a0aé😀", "<thi", "nk>", "</th", "think", "Wort"]
TEXTS = st.lists(st.sampled_from(WORDS) | st.text(max_size=3), max_size=20).map("".join)


@given(said=TEXTS, places=st.lists(st.integers(0, 200), max_size=20), opened=st.booleans())
def test_how_a_text_is_cut_changes_nothing(said: str, places: list[int], opened: bool) -> None:
    tags = ThinkTags(opened=opened)
    edges = [0, *sorted(place % (len(said) + 1) for place in places), len(said)]
    chunks = [said[start:stop] for start, stop in pairwise(edges)]
    assert split(tags, *chunks) == split(tags, said) == split(tags, *said)
    assert opened or "<think>" in said or split(tags, *chunks) == said
