"""The page in a real browser, against the real demo server."""

from __future__ import annotations

import threading

import pytest
from ag_ui.core import RunAgentInput
from playwright.sync_api import expect

from langgraph_agui.protocol import SSEDecoder, verify
from tests.behaviour.playground.sites import (
    SAID,
    ask,
    held_state,
    opened,
    press,
    see,
    shown,
    status,
)
from tests.kit.deep import deep
from tests.kit.expect.agreement import record_stream
from tests.kit.graphs.subagents import agent_of
from tests.kit.models.voices import gated


@pytest.fixture
def runs():
    """The answers of the agent to this page, in order."""
    return []


@pytest.fixture
def page(browser, site, runs):
    with opened(browser, site) as page:
        page.on("response", lambda one: runs.append(one) if one.url.endswith("/agent") else None)
        yield page


def streamed(response):
    """The input and the events of a run, which must be a stream that a strict client accepts."""
    decoder = SSEDecoder()
    events = [*decoder.feed(response.body()), *decoder.finish()]
    given = RunAgentInput.model_validate_json(response.request.post_data)
    verify(events, strict=True, input=given)
    record_stream(events, given.messages, given.state)
    return given, events


def test_reasoning_tools_and_answers(page, runs):
    ask(page, "Is it warmer in Rome or in Oslo?")
    see(page, {".tool": 3, ".reasoning": 3, SAID: "…25 - 11 = 14."})
    first, thought = page.locator(".tool").first, page.locator(".reasoning").first
    see(first, {".arguments": '{ "city": "Rome" }', ".result": '…"celsius": 25'})
    see(first, {"> summary > .name": "get_weather", "> summary > .pill": "done"})
    see(page.locator(".tool").last, {".result": "14"})
    expect(thought).not_to_have_attribute("open", "")
    thought.locator("summary").click()
    see(thought, {".body": "…The user wants the weather in Rome"})
    given, events = streamed(runs[0])
    steps = [event["stepName"] for event in events if event["type"] == "STEP_STARTED"]
    see(page, {".insp-steps > li[data-status=done] > .insp-line .insp-label": steps})
    see(page, {"#inspector": "…scripted-demo"})
    ask(page, "And in Lisbon?")
    again, _ = streamed(runs[1])
    assert given.protocol_version == again.protocol_version == "1.0"
    assert given.thread_id == again.thread_id == page.url.partition("#")[2]
    assert given.run_id != again.run_id
    assert (again.tools, again.context, again.forwarded_props) == ([], [], {})


@deep
def test_reasoning_is_open_while_it_streams(browser):
    gate = threading.Event()
    with shown(browser, agent_of(gated("ann", gate.is_set), name="ann")) as page:
        ask(page, then="Running")
        see(page, {".reasoning[open] summary": "…Thinking…"})
        gate.set()
        status(page)
        see(page, {".reasoning[open]": 0})


def test_markup_is_shown_as_it_is(page):
    markup = '<img src=x onerror="document.title=1"><b>bold</b> &amp;'
    title = page.title()
    ask(page, markup)
    see(page, {".text[data-role=user] .body": markup, SAID: f"…{markup.replace('&amp;', '&')}"})
    ask(page, f"remember {markup}")
    see(page, {".tool .result": f"…{markup}", "#transcript :is(img, b)": 0})
    assert held_state(page) == {"notes": [markup]}
    assert page.title() == title


@deep
def test_failures_leave_the_thread_usable(page):
    ask(page, "What is 1/0?")
    see(page, {".tool[data-state=failed] > summary > .pill": "failed"})
    see(page, {".tool .result": "…divides by zero"})
    ask(page, "please crash", "Failed")
    expect(page.get_by_role("alert")).to_contain_text("model_error: ")
    ask(page, "What is the weather in Rome?")
    expect(page.locator(SAID).last).to_contain_text("25 °C")


@deep
def test_a_new_thread_starts_empty(page):
    ask(page, "remember milk")
    assert "#" in page.url
    press(page, "Edit state", "New thread")
    expect(page.locator("#state").get_by_label("JSON")).to_be_hidden()
    assert "#" not in page.url
    see(page, {".item": 0})
    assert held_state(page) == {}
    press(page, "What is the weather in Rome?")
    see(page, {SAID: "…25 °C", "#status": "Finished"})


def test_the_buttons_of_the_head_stand_in_one_row_on_a_tablet(page):
    page.set_viewport_size({"width": 768, "height": 900})
    tops = "all => all.map((one) => one.getBoundingClientRect().top)"
    found = page.locator("header button:visible").evaluate_all(tops)
    assert (len(found), len(set(found))) == (5, 1)
