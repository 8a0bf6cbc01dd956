"""The site: each page shows the package's version, and the API pages link to the pages that their
docstrings name."""

from __future__ import annotations

import shutil
from pathlib import Path

from langgraph_agui import __version__
from tests.docs.blocks import PAGES, ROOT
from tests.docs.build import build


def test_the_version_and_the_links_of_docstrings(tmp_path: Path) -> None:
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
    options = (tmp_path / "site/reference/api/options/index.html").read_text("utf-8")
    assert '(<a href="../../../guides/state/">guides/state</a>)' in options
