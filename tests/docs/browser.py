"""The browser of whoever follows a page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page

from tests.kit.processes.browser import chromium


@contextmanager
def browser_page() -> Iterator[Page]:
    """A page of a real browser, which has nothing to complain of. While it is open, its event loop
    runs in this thread, and a page's `await` cannot."""
    complaints: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type == "error" else None,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        yield page
    assert not complaints
