from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.kit.processes.demo_server import running

if TYPE_CHECKING:
    from collections.abc import Iterator

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """Where Chromium is: `$CHROMIUM`, one that is installed, or, if None, playwright's own."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


# Playwright's own event loop runs as long as it does: it must be gone before other packages' async
# tests.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A real Chromium."""
    # a limit for failures only: each check ends as soon as it holds
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def site() -> Iterator[str]:
    """The address of a running demo that pauses before each word."""
    with running("demo", "--delay", "0.01") as url:
        yield url.removesuffix("/agent")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the page's tests in one process, which starts one browser, and give them time on a slow
    machine."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("playground"))
            item.add_marker(pytest.mark.timeout(240))
