"""Opens the page of a real server in a browser, and reads what it shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2
from playwright.sync_api import expect

from langgraph_agui import LangGraphAgent
from langgraph_agui.devtools.cli.serve import build_app
from tests.kit.processes.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

OUTLINE = """() => {
    const own = (element, kind) => [...element.children].find((child) => child.matches(kind));
    const items = (box) => [...box.children].filter((child) => child.matches(".item")).map(outline);
    const outline = (item) => {
        const inner = own(item, ".items");
        const head = own(item, "summary");
        const inside = inner && !inner.hidden ? [items(inner)] : [];
        const name = head?.querySelector(".name")?.textContent;
        if (item.matches(".subagent")) return [name, item.dataset.state, ...inside];
        if (item.matches(".tool")) return [`${name}()`, item.dataset.state, ...inside];
        if (item.matches(".reasoning")) return `(${own(item, ".body").textContent.trim()})`;
        return item.matches(".text") ? own(item, ".body").textContent.trim() : item.textContent;
    };
    return items(document.getElementById("transcript"));
}"""


@contextmanager
def opened(browser: Browser, url: str, context: BrowserContext | None = None) -> Iterator[Page]:
    """Open the page of a server. It must log nothing, and send requests to its own server only."""
    context = context or browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    logged: list[str] = []
    origins: set[str] = set()
    page.on("console", lambda message: logged.append(message.text))
    page.on("pageerror", lambda error: logged.append(str(error)))
    page.on(
        "request",
        lambda request: origins.add(
            str(httpx2.URL(request.url).copy_with(path="/", fragment=None))
        ),
    )
    page.goto(url)
    yield page
    context.close()
    assert logged == []
    assert origins == {url}


@contextmanager
def shown(
    browser: Browser, graph: Any, context: BrowserContext | None = None, **options: Any
) -> Iterator[Page]:
    """Serve `graph`, and open its page."""
    app = build_app(LangGraphAgent(graph=graph, **options), "Test")
    with serving(app) as served, opened(browser, served.url(), context) as page:
        yield page


def wait_for_frame(page: Page) -> None:
    """Wait until the page has drawn what has happened so far."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => done()))")


def ask(page: Page, text: str = "hello", status: str = "Finished") -> None:
    """Send a message, and wait for the status of its run."""
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_role("button", name="Send", exact=True).click()
    wait_for_frame(page)  # until then the status is that of the run before
    expect(page.locator("#status")).to_have_text(status)


def outline(page: Page) -> list[Any]:
    """Return what the conversation shows: texts, (reasoning), [tool(), state, subagents],
    [subagent, state, items]."""
    found: list[Any] = page.evaluate(OUTLINE)
    return found


def held_state(page: Page) -> Any:
    """Return the state that the page holds, as its editor shows it."""
    page.get_by_role("button", name="Edit state").click()
    held = json.loads(page.locator("#state").get_by_label("JSON").input_value())
    page.locator("#state").get_by_role("button", name="Cancel").click()
    return held
