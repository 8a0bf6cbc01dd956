"""The code blocks of the README and of the pages in `docs`: where they are, and what is not run for
which reason."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from sybil import Document, Region
from sybil.parsers.markdown.lexers import DirectiveInHTMLCommentLexer, RawFencedCodeBlockLexer

from tests.kit.paths import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])

_INFO = re.compile(r'(?P<language>[\w-]*)(?: title="(?P<title>[^"]+)")?[^\n]*\n')
_ELSEWHERE = re.compile(r"<!-- (?P<reason>not run: [^\n]+?|run by [\w./]+) -->\s*\Z")


class Block(NamedTuple):
    """A block of a page. `title` is the file that it is saved as; `reason` is why it does not run
    with its page."""

    language: str
    title: str | None
    reason: str | None
    source: str


def lex(document: Document) -> Iterable[Region]:
    """Yield each fenced block and each `invisible-code-block`; the pages use that to check what
    they have shown."""
    for region in RawFencedCodeBlockLexer(_INFO)(document):
        reason = _ELSEWHERE.search(document.text, 0, region.start)
        found = region.lexemes
        source = str(found["source"])
        region.parsed = Block(
            found["language"], found["title"], reason and reason["reason"], source
        )
        yield region
    for region in DirectiveInHTMLCommentLexer("invisible-code-block")(document):
        source = str(region.lexemes["source"])
        region.parsed = Block(region.lexemes["arguments"], None, None, source)
        yield region


def blocks(page: Path) -> list[Block]:
    """Return the visible blocks of a page."""
    text = page.read_text("utf-8")
    return [
        region.parsed
        for region in lex(Document(text, str(page)))
        if text[region.start : region.end].endswith("`")
    ]


# Those that a reader follows from an empty folder, with the browser at the end.
_FOLLOWED = {"quickstart", "approvals", "frontend-tools", "reasoning", "state", "subagents"}
FOLLOWED = [
    page
    for page in PAGES
    if (page.parent.name == "frontends" and blocks(page))
    or (page.parent.name in ("docs", "guides") and page.stem in _FOLLOWED)
]
