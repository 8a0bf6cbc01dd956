"""`python -m tests.docs.screenshot`: record the moving picture of the playground that the README
shows."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from PIL import Image
from playwright.sync_api import Page, expect

from tests.docs.blocks import ROOT
from tests.kit.processes.browser import chromium
from tests.kit.processes.demo_server import running

PICTURE = ROOT / "docs" / "playground.webp"
SIZE = {"width": 1320, "height": 740}


def main() -> None:
    """Play a conversation with the demo: reasoning and tools, an approval, shared state."""
    with running("demo", "--delay", "0.03") as url, chromium() as browser:
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.goto(url.removesuffix("agent"))
        with recorded(page) as frames:
            ask(page, "Is it warmer in Rome or in Oslo, and by how much?")
            expect(page.locator("#status")).to_have_text("Finished")
            page.wait_for_timeout(1500)
            ask(page, "Send an email to ada@example.com saying the demo works")
            expect(page.locator("#status")).to_have_text("Waiting for you")
            page.wait_for_timeout(1800)
            page.get_by_role("button", name="Approve", exact=True).click()
            expect(page.locator("#status")).to_have_text("Finished")
            page.wait_for_timeout(1000)
            ask(page, "Remember that Ada likes the demo")
            expect(page.locator("#status")).to_have_text("Finished")
            page.wait_for_timeout(2500)
    save(frames)


def ask(page: Page, text: str) -> None:
    """Type a message as a person does, and send it."""
    page.get_by_label("Message", exact=True).press_sequentially(text, delay=25)
    page.keyboard.press("Enter")


@contextmanager
def recorded(page: Page) -> Iterator[list[tuple[float, bytes]]]:
    """Record what the page shows: the time in seconds and the picture of each change."""
    frames: list[tuple[float, bytes]] = []
    session = page.context.new_cdp_session(page)

    def keep(frame: dict[str, Any]) -> None:
        frames.append((frame["metadata"]["timestamp"], base64.b64decode(frame["data"])))
        session.send("Page.screencastFrameAck", {"sessionId": frame["sessionId"]})

    session.on("Page.screencastFrame", keep)
    session.send("Page.startScreencast", {"format": "png"})
    yield frames
    session.send("Page.stopScreencast")


def save(frames: Sequence[tuple[float, bytes]], step: float = 0.1) -> None:
    """Write the frames, at most one for each `step` of seconds, as an animated WebP."""
    kept = [frames[0]]
    for frame in frames[1:]:
        if frame[0] - kept[-1][0] >= step:
            kept.append(frame)
    kept.append((frames[-1][0] + step, frames[-1][1]))
    images = [Image.open(io.BytesIO(data)).convert("RGB") for _, data in kept]
    times = [round((after - at) * 1000) for (at, _), (after, _) in pairwise(kept)]
    images[0].save(
        PICTURE,
        save_all=True,
        append_images=images[1:],
        duration=[*times, 2500],
        loop=0,
        quality=55,
        method=6,
    )


if __name__ == "__main__":
    main()
