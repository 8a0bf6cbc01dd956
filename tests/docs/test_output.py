"""A page shows the whole of an output: a line too few or too many is a fault. What a page leaves
out is marked."""

from __future__ import annotations

import pytest

from tests.docs.output import is_whole

PRINTED = "one\ntwo\n\nthree\n"


@pytest.mark.parametrize(
    "shown",
    [
        "one\ntwo\n\nthree\n",
        "one  \ntwo\n\nthree\n\n",
        "one\n…\nthree\n",
        "one\ntwo\n…\n",
        "…\nthree\n",
        "…\ntwo\n…\n",
        "one\nt…o\n\nthr…\n",
        "one\n…wo…\n\nthree\n",
        "…\nt…\n",
    ],
)
def test_the_whole_output(shown: str) -> None:
    assert is_whole(shown, PRINTED)


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param("one\ntwo\n\n", id="the last line is missing"),
        pytest.param("two\n\nthree\n", id="the first line is missing"),
        pytest.param("one\n\nthree\n", id="a line in the middle is missing"),
        pytest.param("one\ntwo\nthree\n", id="an empty line is missing"),
        pytest.param("one\ntwo\n\nthree\nfour\n", id="an extra line"),
        pytest.param("one\ntwo\n\n\nthree\n", id="an extra empty line"),
        pytest.param("three\n…\none\n", id="another order"),
        pytest.param("one\ntw\n\nthree\n", id="the beginning of a line"),
        pytest.param("one\nwo\n\nthree\n", id="the end of a line"),
        pytest.param("  one\ntwo\n\nthree\n", id="other spaces before a line"),
        pytest.param("one\ntwo\n\nthree\n…\n", id="nothing is left out at the end"),
        pytest.param("one\ntwo\n…\nthree\n", id="only an empty line is left out"),
        pytest.param("…\nthree\n…\ntwo\n", id="marks do not change the order"),
        pytest.param("one\ntwo\n…\ntwo\n…\n", id="a line that came once"),
        pytest.param("o…o\n\nthree\n", id="a mark within a line stands for no other line"),
    ],
)
def test_not_the_whole_output(shown: str) -> None:
    assert not is_whole(shown, PRINTED)


@pytest.mark.parametrize(
    "shown", ["", "\n", "…\n", "…\n\n…\n", "one\n…\n…\n", "one\n…\n\n  …\nthree\n"]
)
def test_marks_that_say_nothing(shown: str) -> None:
    with pytest.raises(ValueError, match=r"left out|leaves out"):
        is_whole(shown, PRINTED)


def test_a_long_output_is_compared_at_once() -> None:
    shown = "…\n".join(["nothing\n"] * 30)

    assert is_whole(shown, "nothing\n\nsomething\n" * 29 + "nothing\n")
    assert not is_whole(shown, "nothing\n\nsomething\n" * 10_000)
