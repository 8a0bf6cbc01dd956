"""Each page of the docs, and the README, do what they say, with what the tests have installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import FOLLOWED, PAGES, ROOT, blocks
from tests.docs.follow import Follower

GUIDES = [page for page in PAGES if page not in FOLLOWED and blocks(page)]


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.timeout(600)
def test_page(page: Path, tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    try:
        follower.follow(page)
    finally:
        follower.close()


def test_what_runs_blocks_elsewhere_exists() -> None:
    reasons = {block.reason for page in PAGES for block in blocks(page) if block.reason}
    named = {reason.removeprefix("run by ") for reason in reasons if reason.startswith("run by ")}
    assert named
    assert all((ROOT / name).exists() for name in named)


def test_programs_are_run_and_not_only_imported() -> None:
    for page in PAGES:
        found = blocks(page)
        commands = "".join(block.source for block in found if block.language == "bash")
        programs = [block.title for block in found if block.title and "__main__" in block.source]
        assert [name for name in programs if f"python {name}" not in commands] == [], page
