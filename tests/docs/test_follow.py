"""The reader of a page notices what it does not show, and does what a person at a terminal does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.follow import Follower
from tests.docs.output import is_whole

PRINTED = "one\ntwo\n\nthree\n"
PRINTS = "```python\nprint('one')\nprint('two')\n```\n\n"
SERVES = "```bash\npython -m http.server 8000 --bind 127.0.0.1\n```\n\n"


def test_the_whole_output_is_shown() -> None:
    shown = ["one  \ntwo\n\nthree\n\n", "one\n…\nthree", "one\ntwo\n…", "…\nthree", "…\ntwo\n…"]
    shown += [PRINTED, "one\nt…o\n\nthr…", "one\n…wo…\n\nthree", "…\nt…"]
    assert [text for text in shown if not is_whole(text, PRINTED)] == []


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param("one\ntwo", id="the last line is missing"),
        pytest.param("two\n\nthree", id="the first line is missing"),
        pytest.param("one\n\nthree", id="a line in the middle is missing"),
        pytest.param("one\ntwo\nthree", id="an empty line is missing"),
        pytest.param("one\ntwo\n\nthree\nfour", id="an extra line"),
        pytest.param("three\n…\none", id="another order"),
        pytest.param("one\ntw\n\nthree", id="the beginning of a line"),
        pytest.param("  one\ntwo\n\nthree", id="other spaces before a line"),
        pytest.param("one\ntwo\n\nthree\n…", id="nothing is left out at the end"),
        pytest.param("one\ntwo\n…\nthree", id="only an empty line is left out"),
        pytest.param("…\nthree\n…\ntwo", id="marks do not change the order"),
        pytest.param("one\ntwo\n…\ntwo\n…", id="a line that came once"),
        pytest.param("o…o\n\nthree", id="a mark within a line stands for no other line"),
    ],
)
def test_not_the_whole_output(shown: str) -> None:
    assert not is_whole(shown, PRINTED)


@pytest.mark.parametrize("shown", ["\n", "…\n\n…\n", "one\n…\n\n  …\nthree\n"])
def test_marks_that_say_nothing(shown: str) -> None:
    with pytest.raises(ValueError, match=r"left out|leaves out"):
        is_whole(shown, PRINTED)


def test_a_long_output_is_compared_at_once() -> None:
    shown = "…\n".join(["nothing\n"] * 30)
    assert is_whole(shown, "nothing\n\nsomething\n" * 29 + "nothing\n")
    assert not is_whole(shown, "nothing\n\nsomething\n" * 10_000)


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[Follower]:
    follower = Follower(tmp_path)
    yield follower
    follower.close()


def follow(follower: Follower, text: str) -> int:
    page = follower.folder / "page.md"
    page.write_text(text, "utf-8")
    return follower.follow(page)


def test_a_page_shows_all_or_fails(follower: Follower) -> None:
    assert follow(follower, f"{PRINTS}```text\none\n…\n```\n") == 2
    with pytest.raises(AssertionError, match="expected:"):
        follow(follower, f"{PRINTS}```text\none\n```\n")


def test_a_server_goes_on_and_variables_are_kept(follower: Follower) -> None:
    shown = "```text\nServing HTTP on 127.0.0.1 port 8000 …\n…\n```\n\n"
    asks = "```bash\nID=7\ncurl -sI http://127.0.0.1:8000 | head -n 1\n```\n\n```text\nHTTP/1.0 200 OK\n```\n\n"
    logged = '```text\n…\n127.0.0.1 - - […] "HEAD / HTTP/1.1" 200 -\n```\n\n'
    kept = '```bash\necho "The id is $ID."\n```\n\n```text\nThe id is 7.\n```\n'
    assert follow(follower, SERVES + shown + asks + logged + kept) == 7
