"""The headers that the person sets for requests to the agent."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Annotated

import pytest
from fastapi import Depends, FastAPI, Header, HTTPException
from langgraph.checkpoint.memory import InMemorySaver
from playwright.sync_api import expect

from langgraph_agui import LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.devtools import playground_router
from tests.behaviour.playground.sites import (
    SAID,
    Joined,
    answer,
    ask,
    field,
    opened,
    press,
    see,
    status,
)
from tests.kit.deep import deep
from tests.kit.processes.serving import serving

pytestmark = deep

TOKEN = "Bearer token-of-ada"


def signed_in(authorization: Annotated[str, Header()] = ""):
    if authorization != TOKEN:
        raise HTTPException(401, "Sign in first.")


@contextmanager
def guarded(browser, graph, **options):
    """Open the page of an agent that takes a token only; the requests go into the list."""
    app, requests = FastAPI(), []
    agent, needed = LangGraphAgent(graph, **options), [Depends(signed_in)]
    add_langgraph_fastapi_endpoint(app, agent, "/agent", dependencies=needed)
    app.include_router(playground_router("/agent"))
    with serving(app) as served, opened(browser, served.url(), logs=True) as page:
        page.on("request", lambda one: requests.append(one))
        yield page, requests


def sign_in(page):
    """Set the token in the dialog, where the box for it has the focus."""
    expect(field(page, "Header")).to_have_value("Authorization")
    expect(field(page, "Value")).to_be_focused()
    page.keyboard.type(TOKEN)
    page.keyboard.press("Enter")


def sent(requests, path):
    """The tokens of the requests to a path, in order."""
    return [one.headers.get("authorization") for one in requests if one.url.endswith(path)]


def test_a_refused_run_offers_headers_and_is_tried_again(browser):
    joined = Joined(InMemorySaver())
    joined.gate.set()
    with guarded(browser, joined.graph, on_disconnect="continue") as (page, requests):
        ask(page, then="Failed")
        expect(page.get_by_role("alert")).to_contain_text("HTTP 401: Sign in first.")
        verdict, unchecked = page.locator(".insp-verdict").first, "it has no events."
        expect(verdict).to_have_text(f"The stream was not checked: {unchecked}")
        press(page, "Set headers")
        with page.expect_response("**/agent/capabilities"):
            sign_in(page)
        see(page, {f"{SAID} .body": "Begun and done"})
        expect(page.get_by_role("button", name="Headers (1)")).to_be_visible()
        expect(verdict).to_have_text("The stream keeps every rule.")
        with page.expect_download() as download:
            press(page, "Export")
        assert TOKEN not in download.value.path().read_text()
        assert TOKEN not in page.evaluate("() => JSON.stringify(localStorage)")
        page.reload()
        see(page, {f"{SAID} .body": "Begun and done"})
        assert sent(requests, "/agent") == [None, TOKEN]
        assert sent(requests, "/agent/connect") == [TOKEN]
        assert sent(requests, "/agent/capabilities") == [TOKEN, TOKEN]
        own = [sent(requests, f"/playground/{path}") for path in ("markdown", "verify")]
        assert {token for tokens in own for token in tokens} == {None}
        other = page.context.new_page()
        other.goto(page.url)
        expect(other.get_by_role("alert").first).to_contain_text("HTTP 401")
        press(other, "Set headers")
        sign_in(other)
        see(other, {f"{SAID} .body": "Begun and done"})
        # Stopping a run and waiting for the server have them, too.
        joined.gate.clear()
        ask(page, "again", "Running")
        press(page, "Stop")
        status(page, "Stopped")
        joined.gate.set()
        page.route("**/agent", lambda route: route.abort())
        with page.expect_request("**/agent/health"):
            ask(page, "again", "Failed")
        assert sent(requests, "/agent/cancel") == [TOKEN]
        assert set(sent(requests, "/agent/health")) == {TOKEN}


def test_a_forbidden_run_offers_headers(browser, site):
    with opened(browser, site, logs=True) as page:
        body = '{"detail": "Not yours."}'
        answer(page, body=body, content_type="application/json", status=403)
        ask(page, then="Failed")
        expect(page.get_by_role("alert")).to_contain_text("HTTP 403: Not yours.")
        expect(page.get_by_role("button", name="Set headers")).to_be_visible()


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("a b", "x", '"a b: x" is not a header.'),
        ("X-Name", "жук", '"X-Name: жук" is not a header.'),
        ("", "x", '": x" is not a header.'),
        ("Cookie", "x=1", "Browsers do not let a page set Cookie."),
    ],
)
def test_what_cannot_be_sent_is_refused(browser, site, name, value, problem):
    with opened(browser, site, viewport={"width": 390, "height": 844}) as page:
        press(page, "Headers")
        box = field(page, "Header")
        assert box.evaluate("one => one.scrollWidth <= one.clientWidth"), "the name is readable"
        for given in ((name, value), ("X-Name", "x")):
            for label, text in zip(("Header", "Value"), given, strict=True):
                field(page, label).fill(text)
            press(page, "Save")
            if given != ("X-Name", "x"):
                expect(page.get_by_role("alert")).to_contain_text(problem)
        press(page, "Headers (1)", "Add header")
        expect(box.last).to_be_focused()
        page.get_by_label("Remove this header").first.click()
        press(page, "Save")
        expect(page.get_by_role("button", name="Headers", exact=True)).to_be_visible()
