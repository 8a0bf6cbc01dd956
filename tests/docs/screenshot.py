"""`python -m tests.docs.screenshot`: take the picture of the playground that the README shows."""

from __future__ import annotations

from playwright.sync_api import expect, sync_playwright

from tests.cli.demo_server import running
from tests.docs.blocks import ROOT
from tests.playground.conftest import ARGUMENTS, chromium

PICTURE = ROOT / "docs" / "playground.png"


def main() -> None:
    """Ask the demo a question, and take the picture of what the page shows then."""
    with running("demo", "--delay", "0") as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 760})
        page.goto(url.removesuffix("agent"))
        page.get_by_label("Message", exact=True).fill("Is it warmer in Rome or in Oslo?")
        page.keyboard.press("Enter")
        expect(page.locator("#status")).to_have_text("Finished")
        page.locator(".reasoning summary").first.click()
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main()
