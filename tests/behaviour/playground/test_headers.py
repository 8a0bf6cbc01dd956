"""The headers that the person sets for requests to the agent."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import pytest
from fastapi import Depends, FastAPI, Header, HTTPException
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect

from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.devtools import playground_router
from tests.behaviour.playground.sites import ask, opened
from tests.behaviour.playground.streams import answer
from tests.behaviour.playground.test_threads import Joined
from tests.kit.deep import deep
from tests.kit.models.scripted import Scripted
from tests.kit.processes.serving import serving

pytestmark = deep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from playwright.sync_api import Browser, Page, Request

TOKEN = "Bearer token-of-ada"
OWN = ("/playground/markdown", "/playground/verify")


def signed_in(authorization: Annotated[str, Header()] = "") -> None:
    if authorization != TOKEN:
        raise HTTPException(401, "Sign in first.")


@contextmanager
def guarded(browser: Browser, graph: Any, **options: Any) -> Iterator[tuple[Page, list[Request]]]:
    """Open the page of an agent that takes a token only; the requests go into the list."""
    app = FastAPI()
    agent = LangGraphAgent(graph, **options)
    add_langgraph_fastapi_endpoint(app, agent, "/agent", dependencies=[Depends(signed_in)])
    app.include_router(playground_router("/agent"))
    context = browser.new_context()  # the browser logs the refusals
    page = context.new_page()
    requests: list[Request] = []
    page.on("request", lambda one: requests.append(one))
    with serving(app) as served:
        page.goto(served.url())
        yield page, requests
        context.close()


def sign_in(page: Page) -> None:
    """Set the token in the dialog, where the box for it has the focus."""
    expect(page.get_by_label("Header", exact=True)).to_have_value("Authorization")
    expect(page.get_by_label("Value", exact=True)).to_be_focused()
    page.keyboard.type(TOKEN)
    page.keyboard.press("Enter")


def sent(requests: list[Request], path: str) -> list[str | None]:
    """The tokens of the requests to a path, in order."""
    return [one.headers.get("authorization") for one in requests if one.url.endswith(path)]


def test_a_refused_run_offers_headers_and_is_tried_again(browser: Browser) -> None:
    graph = create_agent(Scripted(["*Hello*"]), [], checkpointer=InMemorySaver())
    with guarded(browser, graph) as (page, requests):
        ask(page, status="Failed")
        expect(page.get_by_role("alert")).to_contain_text("HTTP 401: Sign in first.")
        verdict = page.locator(".insp-verdict").first
        expect(verdict).to_have_text("The stream was not checked: it has no events.")
        page.get_by_role("button", name="Set headers").click()
        with page.expect_response("**/agent/capabilities"):
            sign_in(page)
        expect(page.locator(".text[data-role=assistant] em")).to_have_text("Hello")
        expect(page.get_by_role("button", name="Headers (1)")).to_be_visible()
        expect(page.locator(".insp-verdict").first).to_have_text("The stream keeps every rule.")
        with page.expect_download() as download:
            page.get_by_role("button", name="Export").click()
        assert TOKEN not in download.value.path().read_text()
        assert TOKEN not in page.evaluate("() => JSON.stringify(localStorage)")
        page.reload()
        expect(page.locator(".text[data-role=assistant] em")).to_have_text("Hello")
        assert sent(requests, "/agent") == [None, TOKEN]
        assert sent(requests, "/agent/connect") == [TOKEN]
        assert sent(requests, "/agent/capabilities") == [None, TOKEN, TOKEN]
        assert {token for path in OWN for token in sent(requests, path)} == {None}
        other = page.context.new_page()
        other.goto(page.url)
        expect(other.get_by_role("alert").first).to_contain_text("HTTP 401")
        other.get_by_role("button", name="Set headers").click()
        sign_in(other)
        expect(other.locator(".text[data-role=assistant] em")).to_have_text("Hello")


@deep
def test_stopping_a_run_and_waiting_for_the_server_have_them(browser: Browser) -> None:
    joined = Joined(InMemorySaver())
    with guarded(browser, joined.graph, on_disconnect="continue") as (page, requests):
        page.get_by_role("button", name="Headers").click()
        sign_in(page)
        ask(page, status="Running")
        expect(page.locator(".text[data-role=assistant] .body")).to_have_text("Beg")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#status")).to_have_text("Stopped")
        joined.gate.set()
        page.route("**/agent", lambda route: route.abort())
        with page.expect_request("**/agent/health"):
            ask(page, "again", status="Failed")
        assert sent(requests, "/agent/cancel") == [TOKEN]
        assert set(sent(requests, "/agent/health")) == {TOKEN}


def test_a_forbidden_run_offers_headers(browser: Browser, site: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(site)
    answer(page, '{"detail": "Not yours."}', content_type="application/json", status=403)
    ask(page, status="Failed")
    expect(page.get_by_role("alert")).to_contain_text("HTTP 403: Not yours.")
    expect(page.get_by_role("button", name="Set headers")).to_be_visible()
    context.close()


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("a b", "x", '"a b: x" is not a header.'),
        ("X-Name", "жук", '"X-Name: жук" is not a header.'),
        ("", "x", '": x" is not a header.'),
        ("Cookie", "x=1", "Browsers do not let a page set Cookie."),
    ],
)
def test_what_cannot_be_sent_is_refused(
    browser: Browser, site: str, name: str, value: str, problem: str
) -> None:
    with opened(browser, f"{site}/") as page:
        page.set_viewport_size({"width": 390, "height": 844})
        page.get_by_role("button", name="Headers").click()
        box = page.get_by_label("Header", exact=True)
        assert box.evaluate("one => one.scrollWidth <= one.clientWidth"), "the name is readable"
        box.fill(name)
        page.get_by_label("Value", exact=True).fill(value)
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text(problem)
        page.get_by_label("Header", exact=True).fill("X-Name")
        page.get_by_label("Value", exact=True).fill("x")
        page.get_by_role("button", name="Save").click()
        page.get_by_role("button", name="Headers (1)").click()
        page.get_by_role("button", name="Add header").click()
        expect(page.get_by_label("Header", exact=True).last).to_be_focused()
        page.get_by_label("Remove this header").first.click()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name="Headers", exact=True)).to_be_visible()
