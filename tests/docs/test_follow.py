"""The reader of a page notices what it does not show, and does what a person at a terminal does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.follow import Follower

PRINTS = "```python\nprint('one')\nprint('two')\n```\n\n"
SERVES = "```bash\npython -m http.server 8000 --bind 127.0.0.1\n```\n\n"


@pytest.fixture
def follower(tmp_path: Path) -> Iterator[Follower]:
    follower = Follower(tmp_path)
    yield follower
    follower.close()


def follow(follower: Follower, text: str) -> int:
    page = follower.folder / "page.md"
    page.write_text(text, "utf-8")
    return follower.follow(page)


@pytest.mark.parametrize("shown", ["one\ntwo", "one\n…", "…\ntwo"])
def test_a_page_that_shows_all(follower: Follower, shown: str) -> None:
    assert follow(follower, f"{PRINTS}```text\n{shown}\n```\n") == 2


@pytest.mark.parametrize("shown", ["one", "two", "one\ntwo\nthree", "two\none", "one\ntw"])
def test_a_page_that_shows_something_else(follower: Follower, shown: str) -> None:
    with pytest.raises(AssertionError, match="expected:"):
        follow(follower, f"{PRINTS}```text\n{shown}\n```\n")


@pytest.mark.parametrize("later", ["", "…\n"])
def test_what_a_server_prints(follower: Follower, later: str) -> None:
    """It goes on, so a mark at the end may stand for lines that have not come."""
    shown = f"```text\nServing HTTP on 127.0.0.1 port 8000 …\n{later}```\n\n"
    asks = "```bash\ncurl -sI http://127.0.0.1:8000 | head -n 1\n```\n\n```text\nHTTP/1.0 200 OK\n```\n\n"
    logged = '```text\n…\n127.0.0.1 - - […] "HEAD / HTTP/1.1" 200 -\n```\n'
    assert follow(follower, SERVES + shown + asks + logged) == 5


def test_variables_are_kept(follower: Follower) -> None:
    first, second = "```bash\nID=$(echo 7)\n```\n\n", '```bash\necho "The id is $ID."\n```\n\n'
    assert follow(follower, f"{first}{second}```text\nThe id is 7.\n```\n") == 3
