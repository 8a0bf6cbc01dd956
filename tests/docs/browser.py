"""The browser of whoever follows a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect, sync_playwright

from tests.behaviour.playground.conftest import ARGUMENTS, chromium


@contextmanager
def browser_page() -> Iterator[Page]:
    """A page of a real browser, which has nothing to complain of. While it is open, its event loop
    runs in this thread, and a page's `await` cannot."""
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
        browser.close()  # before the servers: a run that breaks off is an error in the console
    assert not complaints
