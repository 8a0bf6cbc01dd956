"""The playground in a real browser, against the real demo server."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import pytest
from ag_ui.core import RunAgentInput
from playwright.sync_api import expect

from langgraph_agui.protocol import Fold, SSEDecoder, verify
from tests.behaviour.playground.sites import ask, held_state, opened, shown, wait_for_frame
from tests.kit.deep import deep
from tests.kit.expect.agreement import record_stream
from tests.kit.graphs.chat import chat_agent
from tests.kit.graphs.subagents import agent_of
from tests.kit.models.voices import gated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page, Request, Response

OUTSIDE_MARKUP = '<img src=x onerror="document.title=1"><b>bold</b> &amp;'


@pytest.fixture
def runs() -> list[Response]:
    """The answers of the agent to this page, in order."""
    return []


@pytest.fixture
def page(browser: Browser, site: str, runs: list[Response]) -> Iterator[Page]:
    with opened(browser, f"{site}/") as page:
        page.on(
            "response", lambda response: runs.append(response) if is_run(response.request) else None
        )
        yield page


def is_run(request: Request) -> bool:
    return request.method == "POST" and "/agent" in request.url


def sent(response: Response) -> dict:
    return json.loads(response.request.post_data)


def streamed(response: Response) -> list[dict]:
    """The events of a run, which must be a stream that a strict client accepts."""
    decoder = SSEDecoder()
    events = [*decoder.feed(response.body()), *decoder.finish()]
    given = RunAgentInput.model_validate(sent(response))
    verify(events, strict=True, input=given)
    record_stream(events, given.messages, given.state)
    return events


def test_reasoning_tools_and_answer(page, runs):
    ask(page, "Is it warmer in Rome or in Oslo?")
    cards = page.locator(".tool")
    expect(cards).to_have_count(3)
    expect(cards.first).to_contain_text("get_weather")
    expect(cards.first.locator(".arguments")).to_have_text('{ "city": "Rome" }')
    expect(cards.first.locator(".result")).to_contain_text('"celsius": 25')
    expect(cards.first.locator("> summary > .pill")).to_have_text("done")
    expect(cards.last.locator(".result")).to_have_text("14")
    expect(page.locator(".text[data-role=assistant]")).to_contain_text("25 - 11 = 14.")

    thoughts = page.locator(".reasoning")
    expect(thoughts).to_have_count(3)
    expect(thoughts.first).not_to_have_attribute("open", "")
    thoughts.first.locator("summary").click()
    expect(thoughts.first.locator(".body")).to_be_visible()
    expect(thoughts.first.locator(".body")).to_contain_text("The user wants the weather in Rome")

    steps = page.locator(".insp-steps > li")
    expect(page.locator(".insp-steps > li:not([data-status=done])")).to_have_count(0)
    started = [event["stepName"] for event in streamed(runs[0]) if event["type"] == "STEP_STARTED"]
    expect(steps.locator("> .insp-line .insp-label")).to_have_text(started)
    expect(page.locator("#inspector")).to_contain_text("scripted-demo")
    assert streamed(runs[0])[-1]["type"] == "RUN_FINISHED"


@deep
def test_reasoning_is_open_while_it_streams(browser):
    gate = threading.Event()
    with shown(browser, agent_of(gated("ann", gate.is_set), name="ann")) as page:
        ask(page, status="Running")
        expect(page.locator(".reasoning[open] summary")).to_contain_text("Thinking…")
        gate.set()
        expect(page.locator("#status")).to_have_text("Finished")
        expect(page.locator(".reasoning[open]")).to_have_count(0)


@deep
def test_the_second_turn_sends_all_of_the_first(page, runs):
    ask(page, "What is the weather in Rome?")
    page.get_by_label("Message", exact=True).fill("And in Oslo?")
    page.keyboard.press("Enter")
    wait_for_frame(page)
    expect(page.locator("#status")).to_have_text("Finished")
    expect(page.locator(".text[data-role=assistant]").last).to_contain_text("In Oslo it is 11 °C")

    first, second = sent(runs[0]), sent(runs[1])
    assert first["protocolVersion"] == second["protocolVersion"] == "1.0"
    assert first["threadId"] == second["threadId"] == page.url.partition("#")[2]
    assert first["runId"] != second["runId"]
    assert {key: second[key] for key in ("tools", "context", "forwardedProps")} == {
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
    roles = [message["role"] for message in second["messages"]]
    assert roles == ["user", "reasoning", "assistant", "tool", "reasoning", "assistant", "user"]
    RunAgentInput.model_validate(second)

    # What the page holds is what the protocol says a client holds.
    before = RunAgentInput.model_validate(first)
    fold = Fold(before.messages, before.state)
    for event in streamed(runs[0]):
        fold.feed(event)
    held = [message.model_dump(mode="json", by_alias=True) for message in fold.messages]
    assert second["messages"][:-1] == held
    assert second["state"] == fold.state
    streamed(runs[1])


def test_markup_is_shown_as_it_is(page):
    title = page.title()
    ask(page, OUTSIDE_MARKUP)
    expect(page.locator(".text[data-role=user] .body")).to_have_text(OUTSIDE_MARKUP)
    expect(page.locator(".text[data-role=assistant] .body")).to_contain_text(
        OUTSIDE_MARKUP.replace("&amp;", "&")
    )
    ask(page, f"remember {OUTSIDE_MARKUP}")
    expect(page.locator(".tool .result")).to_contain_text(OUTSIDE_MARKUP)
    assert held_state(page) == {"notes": [OUTSIDE_MARKUP]}
    assert page.locator("img, b").count() == 0
    assert page.title() == title


@deep
def test_a_failed_tool(page):
    ask(page, "What is 1/0?")
    expect(page.locator(".tool[data-state=failed] > summary > .pill")).to_have_text("failed")
    expect(page.locator(".tool .result")).to_contain_text("divides by zero")


@deep
def test_a_failed_run(page):
    ask(page, "please crash", "Failed")
    expect(page.get_by_role("alert")).to_contain_text("model_error: ")
    ask(page, "What is the weather in Rome?")
    expect(page.locator(".text[data-role=assistant]")).to_contain_text("25 °C")


def test_stop_leaves_the_thread_usable(browser):
    with chat_agent() as agent, opened(browser, agent.url.removesuffix("agent")) as page:
        ask(page, "hang", "Running")
        first = page.locator(".text[data-role=assistant]").first
        expect(first).to_have_text("Begun")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#status")).to_have_text("Stopped")
        expect(page.locator(".streaming")).to_have_count(0)
        agent.never.set()
        ask(page, "hello")
        expect(page.locator(".text[data-role=assistant]").last).to_contain_text("You said hello.")
        expect(first).to_have_text("Begun")


@deep
def test_an_interrupt_is_answered_with_json(page, runs):
    ask(page, "Send an email to ada@example.com saying hi", "Waiting for you")
    form = page.get_by_label("Waiting for your answer")
    form.get_by_role("button", name="More").click()
    form.get_by_label("JSON", exact=True).check()
    box = form.get_by_label("JSON answer")
    assert json.loads(box.input_value())["editedArgs"]["to"] == "ada@example.com"
    decision = {"type": "reject", "message": "Not now."}
    box.fill(json.dumps(decision))
    form.get_by_role("button", name="Send").click()
    expect(page.locator("#status")).to_have_text("Finished")
    expect(page.locator(".tool")).to_contain_text("Not now.")
    assert sent(runs[1])["resume"][0]["payload"] == decision


@deep
def test_a_new_thread_starts_empty(page):
    ask(page, "remember milk")
    assert "#" in page.url
    page.get_by_role("button", name="Edit state").click()
    page.get_by_role("button", name="New thread").click()
    expect(page.locator("#state").get_by_label("JSON")).to_be_hidden()
    assert "#" not in page.url
    expect(page.locator(".item")).to_have_count(0)
    assert held_state(page) == {}
    page.get_by_role("button", name="What is the weather in Rome?").click()
    expect(page.locator(".text[data-role=assistant]")).to_contain_text("25 °C")
    expect(page.locator("#status")).to_have_text("Finished")


IS_AT_END = "box => box.scrollHeight - box.scrollTop - box.clientHeight < 2"


@deep
def test_the_end_stays_in_view_unless_one_scrolls_away(page):
    for _ in range(2):
        ask(page, "Is it warmer in Lisbon or in Oslo, and by how much?")
    assert page.locator("#transcript").evaluate(IS_AT_END)
    page.locator("#transcript").evaluate("box => box.scrollTo(0, 0)")
    wait_for_frame(page)
    ask(page, "What is 1 + 1?")
    assert page.locator("#transcript").evaluate(IS_AT_END), "asking returns to the end"


def test_every_control_has_a_name(page):
    unnamed = page.locator("button, textarea").evaluate_all(
        "controls => controls.filter((one) => !(one.textContent.trim() || "
        "one.labels?.length)).length"
    )
    assert unnamed == 0
    assert page.locator("html").get_attribute("lang") == "en"


def test_the_buttons_of_the_head_stand_in_one_row_on_a_tablet(page):
    page.set_viewport_size({"width": 768, "height": 900})
    tops = page.locator("header button:visible").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().top)"
    )
    assert len(tops) == 5
    assert len(set(tops)) == 1
