"""Links of the README into the repository, and links of the pages to files that are no pages, lead
somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, ROOT

REPOSITORY = "https://github.com/langgraph-agui/langgraph-agui/"
OUTSIDE = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
OUTSIDE += [ROOT / "examples" / "README.md", *sorted((ROOT / "examples").glob("*/README.md"))]


def targets(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\(([^)\s]+)\)", text)


def anchors(page: Path) -> set[str]:
    """Return what the headings of a page are linked by, on GitHub as on the site."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    plain = [
        re.sub(r"[^\w\- ]", "", heading.replace("`", "")).strip().lower() for heading in headings
    ]
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", OUTSIDE, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_from_outside_of_the_site(page: Path) -> None:
    for target in targets(page):
        if target.startswith(("http:", "https:")):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_into_the_repository(page: Path) -> None:
    for target in targets(page):
        if target.startswith(REPOSITORY):
            kind, _, path = target.removeprefix(REPOSITORY).partition("/main/")
            assert kind in ("blob", "tree"), target
            assert (ROOT / path.partition("#")[0]).exists(), target
