"""The state of the page: a tree that marks changes, and an editor."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect
from pydantic import BaseModel
from typing_extensions import TypedDict

from langgraph_agui import StateOptions
from tests.behaviour.playground.sites import ask, press, see, shown
from tests.kit.deep import deep
from tests.kit.graphs.small import chain_of


class Cart(TypedDict, total=False):
    messages: list[Any]
    items: list[dict[str, Any]]
    total: int
    big: list[str]


class Shared(BaseModel):
    items: list[dict[str, object]] = []
    total: int = 0
    big: list[str] = []


def shop():
    def fill(state: Cart) -> Cart:
        items = state.get("items") or [{"name": "tea"}]
        big = state.get("big") or [f"{n} " + "x" * 100 for n in range(10_000)]
        return {"items": items, "total": len(items), "big": big}

    def count(state: Cart) -> Cart:
        return {"total": state["total"] + 10}

    return chain_of(fill, count, state=Cart, checkpointer=InMemorySaver())


@pytest.fixture
def page(browser):
    with shown(browser, shop(), state=StateOptions(schema=Shared)) as page:
        page.emulate_media(reduced_motion="reduce")
        ask(page)
        yield page


def row(page, key):
    name = page.locator(f"xpath=./*[@class='st-key' and .='{key}']")
    return page.locator(".st-row").filter(has=name)


def test_a_patch_marks_what_it_changed_and_children_are_drawn_when_opened(page):
    expect(row(page, "total")).to_have_text("total11")
    see(page, {".st-node[data-changed] > .st-row > .st-key": "total", ".st-node": 4})
    assert page.evaluate("document.getAnimations().length") == 0
    page.get_by_text("Changes", exact=True).click()
    expect(page.locator(".st-changes li").first).to_have_text("replace /total 11")
    big = row(page, "big")
    big.click()
    expect(big).to_have_attribute("aria-expanded", "true")
    see(page, {".st-node": 204})
    press(page, "Show 200 more (9800 left)")
    see(page, {".st-node": 404})
    big.press("Enter")
    see(page, {".st-node": 4})


def test_the_next_run_gets_an_edited_key(page):
    press(page, "Edit state")
    box = page.get_by_label("JSON", exact=True)
    for what, given, problem in [
        ("Whole state", "[]", "Expected an object for the whole state"),
        ("items", "{", "Expected JSON"),
        ("items", "3", 'Expected a list for "items", not a number.'),
    ]:
        page.get_by_label("What to edit").select_option(what)
        box.fill(given)
        press(page, "Save")
        see(page, {".st-problem": f"…{problem}"})
    press(page.locator("#state"), "Cancel")
    expect(page.get_by_role("button", name="Edit state")).to_be_focused()
    press(page, "Edit state")
    page.get_by_label("What to edit").select_option("items")
    box.fill('[{"name": "tea"}, {"name": "milk"}]')
    press(page, "Save")
    expect(row(page, "items")).to_have_text("items[2 items]")
    ask(page, "again")
    expect(row(page, "total")).to_have_text("total12")


@deep
@pytest.mark.parametrize(
    ("writable", "offered"), [({"total"}, ["Whole state", "total"]), (False, [])]
)
def test_only_what_clients_may_write_is_edited(browser, writable, offered):
    with shown(browser, shop(), state=StateOptions(client_writable=writable)) as page:
        ask(page)
        edit = page.get_by_role("button", name="Edit state")
        expect(edit).to_be_visible(visible=bool(offered))
        if offered:
            edit.click()
            expect(page.get_by_label("What to edit").locator("option")).to_have_text(offered)
