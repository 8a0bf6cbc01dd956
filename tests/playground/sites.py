"""A graph behind the real server with its page, and what that page shows of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from langgraph_agui import LangGraphAgent
from langgraph_agui.cli.serve import build_app
from tests.http.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

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
        if (item.matches(".reasoning")) return `(${own(item, ".body").textContent})`;
        return item.matches(".text") ? own(item, ".body").textContent : item.textContent;
    };
    return items(document.getElementById("transcript"));
}"""


@contextmanager
def shown(browser: Browser, graph: Any, **options: Any) -> Iterator[Page]:
    """The page of a server that runs `graph`: it has nothing to say on the console."""
    site = Site(LangGraphAgent(graph=graph, **options), title="Test")
    with serving(build_app(site)) as served:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        complaints: list[str] = []
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(served.url())
        yield page
        context.close()
    assert complaints == []


def ask(page: Page, text: str = "hello", status: str = "Finished") -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#status")).to_have_text(status)


def outline(page: Page) -> list[Any]:
    """What the conversation shows: words, (thoughts), [tool(), state, subagents], [subagent, state, what it says]."""
    found: list[Any] = page.evaluate(OUTLINE)
    return found
