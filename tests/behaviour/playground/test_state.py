"""The state of the page: a tree that marks changes, and an editor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from playwright.sync_api import expect
from pydantic import BaseModel

from langgraph_agui import StateOptions
from tests.behaviour.playground.sites import ask, shown
from tests.kit.deep import deep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Locator, Page


class Cart(TypedDict):
    messages: NotRequired[list[Any]]
    items: NotRequired[list[dict[str, Any]]]
    total: NotRequired[int]
    big: NotRequired[list[str]]


class Shared(BaseModel):
    items: list[dict[str, object]] = []
    total: int = 0
    big: list[str] = []


def fill(state: Cart) -> Cart:
    items = state.get("items") or [{"name": "tea"}]
    return {
        "items": items,
        "total": len(items),
        "big": state.get("big") or [f"{n} " + "x" * 100 for n in range(10_000)],
    }


def count(state: Cart) -> Cart:
    return {"total": state["total"] + 10}


def shop() -> Any:
    graph = StateGraph(Cart).add_node("fill", fill).add_node("count", count)
    graph.add_edge(START, "fill").add_edge("fill", "count")
    return graph.compile(checkpointer=InMemorySaver())


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with shown(browser, shop(), state=StateOptions(schema=Shared)) as page:
        yield page


def row(page: Page, key: str) -> Locator:
    return page.locator(".st-row").filter(
        has=page.locator(f"xpath=./*[@class='st-key' and .='{key}']")
    )


def test_a_patch_marks_what_it_changed(page: Page) -> None:
    ask(page)
    expect(row(page, "total")).to_have_text("total11")
    expect(page.locator(".st-node[data-changed] > .st-row > .st-key")).to_have_text("total")
    page.get_by_text("Changes", exact=True).click()
    expect(page.locator(".st-changes li").first).to_have_text("replace /total 11")


@deep
def test_children_are_drawn_when_they_are_opened(page: Page) -> None:
    ask(page)
    expect(page.locator(".st-node")).to_have_count(4)
    row(page, "big").click()
    expect(row(page, "big")).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".st-node")).to_have_count(204)
    page.get_by_role("button", name="Show 200 more (9800 left)").click()
    expect(page.locator(".st-node")).to_have_count(404)
    row(page, "big").press("Enter")
    expect(page.locator(".st-node")).to_have_count(4)


def test_the_next_run_gets_an_edited_key(page: Page) -> None:
    ask(page)
    page.get_by_role("button", name="Edit state").click()
    box = page.get_by_label("JSON", exact=True)
    page.get_by_label("What to edit").select_option("items")
    for given, problem in (
        ("{", "Expected JSON"),
        ("3", 'Expected a list for "items", not a number.'),
    ):
        box.fill(given)
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".st-problem")).to_contain_text(problem)
    box.fill('[{"name": "tea"}, {"name": "milk"}]')
    page.get_by_role("button", name="Save").click()
    expect(row(page, "items")).to_have_text("items[2 items]")
    ask(page, "again")
    expect(row(page, "total")).to_have_text("total12")


@deep
@pytest.mark.parametrize(
    ("writable", "offered"), [({"total"}, ["Whole state", "total"]), (False, [])]
)
def test_only_what_clients_may_write_is_edited(
    browser: Browser, writable: Any, offered: list[str]
) -> None:
    with shown(browser, shop(), state=StateOptions(client_writable=writable)) as page:
        ask(page)
        edit = page.get_by_role("button", name="Edit state")
        expect(edit).to_be_visible(visible=bool(offered))
        if offered:
            edit.click()
            expect(page.get_by_label("What to edit").locator("option")).to_have_text(offered)


@deep
def test_the_whole_state_is_an_object(page: Page) -> None:
    ask(page)
    page.get_by_role("button", name="Edit state").click()
    page.get_by_label("JSON", exact=True).fill("[]")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".st-problem")).to_contain_text("Expected an object for the whole state")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Edit state")).to_be_focused()


@deep
def test_without_motion_changes_are_marked(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    ask(page)
    expect(page.locator(".st-node[data-changed]")).to_have_count(1)
    assert page.evaluate("document.getAnimations().length") == 0
