"""The site: each page shows the package's version."""

from __future__ import annotations

import shutil
from pathlib import Path

from langgraph_agui import __version__
from tests.docs.blocks import PAGES, ROOT
from tests.docs.build import build


def test_each_page_shows_the_version(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for name in ("langgraph_agui", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    build(tmp_path)
    pages = [page.read_text("utf-8") for page in (tmp_path / "site").rglob("index.html")]
    assert len(pages) == len(PAGES) - 2  # the README and the architecture are not on the site
    for page in pages:
        _, footer = page.split("<footer")
        assert f"langgraph-agui {__version__}, MIT licence" in footer
        assert "{version}" not in page
