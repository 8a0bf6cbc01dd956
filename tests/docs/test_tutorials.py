"""The quickstart and each tutorial, followed as written by a stranger: an empty folder, nothing
installed, a browser.

`readers.py` says what the reader then does in the browser, and has to see.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.docs import readers
from tests.docs.blocks import FOLLOWED, ROOT
from tests.docs.follow import Follower
from tests.playground.conftest import ARGUMENTS, chromium


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as users get it, in a folder where pip finds it."""
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", str(ROOT), "-w", str(folder)],
        check=True,
    )
    return folder


@pytest.fixture
def browser_page() -> Iterator[Page]:
    """A page of a real browser, which has nothing to complain of."""
    complaints: list[str] = []
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = browser.new_page()
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield page
        browser.close()
    assert not complaints


@pytest.mark.xdist_group("tutorials")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: page.stem)
def test_tutorial(page: Path, tmp_path: Path, wheels: Path, browser_page: Page) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    follower = Follower(folder, wheels)
    try:
        follower.follow(page)
        getattr(readers, page.stem.replace("-", "_"))(browser_page)
    finally:
        browser_page.close()  # before the servers: a run that breaks off is an error in the console
        follower.close()
