"""The pages in `FOLLOWED`, followed as written by a stranger: an empty folder,
nothing installed, a browser.

`readers.py` says what the reader then does in the browser, and has to see.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import readers
from tests.docs.blocks import FOLLOWED, ROOT, blocks
from tests.docs.browser import browser_page
from tests.docs.follow import Follower


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as users get it, in a folder where pip finds it."""
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", str(ROOT), "-w", str(folder)],
        check=True,
    )
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


def installs(page: Path) -> list[str]:
    lines = "\n".join(block.source for block in blocks(page) if block.language == "bash")
    return [line for line in lines.splitlines() if line.startswith("pip install")]


@pytest.mark.xdist_group("tutorials")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: page.stem)
def test_tutorial(page: Path, folder: Path, wheels: Path) -> None:
    """Pages that install the same find it installed, but for the first of them."""
    shares = installs(page) == ['pip install "langgraph-agui[cli]"']
    for found in folder.iterdir():
        if found.is_dir() and not (shares and found.name == ".venv"):
            shutil.rmtree(found)
        elif found.is_file():
            found.unlink()
    follower = Follower(folder, wheels)
    try:
        follower.follow(page)
        with browser_page() as browser:
            getattr(readers, page.stem.replace("-", "_"))(browser)
    finally:
        follower.close()
        if not shares:
            shutil.rmtree(folder / ".venv", ignore_errors=True)
