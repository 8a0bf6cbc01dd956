"""The inspector of the page: events, findings, timing, messages, steps through a run, and files of
runs."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from langgraph_agui.protocol import SSEDecoder
from tests.behaviour.playground.sites import ask, opened, shown, wait_for_frame
from tests.behaviour.playground.streams import END as FINISHED
from tests.behaviour.playground.streams import START_EVENT, frames, text_events
from tests.kit.deep import deep
from tests.kit.graphs.subagents import GRAPHS

pytestmark = deep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page, Response

START: dict[str, Any] = {**START_EVENT, "protocolVersion": "1.0"}
LISTS: dict[str, Any] = {"messages": [], "tools": [], "context": []}
INPUT = {"threadId": "t", "runId": "r", "state": {}, "forwardedProps": {}, **LISTS}
END: dict[str, Any] = {**FINISHED, "outcome": {"type": "success"}}


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    with opened(browser, f"{site}/") as page:
        show_events(page)
        yield page


def show_events(page: Page) -> None:
    page.get_by_role("tab", name="Events").click()


def rows(page: Page, type_: str = "") -> Locator:
    found = page.locator(".insp-rows > li")
    return (
        found.filter(has=page.locator(f"xpath=.//*[@class='insp-type' and .='{type_}']"))
        if type_
        else found
    )


def open_text(page: Page, content: str, name: str = "file.jsonl") -> None:
    """Open a file in the inspector."""
    page.locator(".insp-file").set_input_files(
        {"name": name, "mimeType": "text/plain", "buffer": content.encode()}
    )


def open_events(page: Page, events: list[dict[str, Any]], **first: Any) -> None:
    lines = [*([first] if first else []), *events]
    open_text(page, "".join(f"{json.dumps(line)}\n" for line in lines))


def exported(page: Page) -> str:
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    return download.value.path().read_text()


def test_every_event_has_a_row_and_its_json(page: Page) -> None:
    answers: list[Response] = []
    page.on("response", lambda one: answers.append(one) if one.url.endswith("/agent") else None)
    ask(page, "What is 12 * 7?")
    decoder = SSEDecoder()
    events = [*decoder.feed(answers[0].body()), *decoder.finish()]
    expect(page.locator(".insp-count")).to_have_text(f"{len(events)} events")
    expect(page.locator(".insp-verdict").first).to_have_text("The stream keeps every rule.")
    row = rows(page, "TOOL_CALL_RESULT")
    expect(row.locator("pre")).to_have_count(0)
    row.locator("summary").click()
    expect(row.locator(".insp-json")).to_have_count(1)
    shown_event = json.loads(row.locator(".insp-json").inner_text())
    assert shown_event == next(event for event in events if event["type"] == "TOOL_CALL_RESULT")
    page.get_by_role("button", name="New thread").click()
    expect(rows(page)).to_have_count(0)
    expect(page.locator(".insp-count")).to_have_text("0 events")
    expect(page.get_by_role("button", name="Export")).to_be_disabled()


@deep
def test_deltas_of_parallel_subagents_share_a_row_per_item(page: Page) -> None:
    one, other = text_events("a", "A1", "A2", "A3"), text_events("b", "B1", "B2", "B3")
    both = [event for pair in zip(one, other, strict=True) for event in pair]
    open_events(page, [START, *both, END])
    contents = rows(page, "TEXT_MESSAGE_CONTENT")
    expect(contents.locator(".insp-preview")).to_have_text(["A1A2A3", "B1B2B3"])
    expect(contents.first.locator(".insp-many")).to_have_text("×3")
    expect(contents.first.locator(".insp-size")).to_have_text(re.compile(r"^\d+ B$"))
    contents.first.locator("summary").click()
    expect(contents.first.locator(".insp-joined")).to_have_text("A1A2A3")
    expect(contents.first.locator(".insp-json")).to_have_count(3)


@deep
def test_a_real_run_with_subagents_is_filtered_and_searched(browser: Browser) -> None:
    with shown(browser, GRAPHS["deep"](None).graph) as page:
        ask(page)
        show_events(page)
        page.get_by_label("Family", exact=True).select_option("subagent")
        names = ("SUBAGENT_STARTED", "SUBAGENT_FINISHED")
        assert set(rows(page).locator(".insp-type").all_text_contents()) == set(names)
        page.get_by_label("Family", exact=True).select_option("")
        page.get_by_label("Agent", exact=True).select_option("leaf_a")
        expect(rows(page).locator("summary .owner").first).to_have_text("leaf_a")
        assert set(rows(page).locator(".owner").all_text_contents()) == {"leaf_a"}
        page.get_by_label("Search").fill("LEAF_A: ENDS")
        expect(rows(page, "TEXT_MESSAGE_CONTENT")).to_have_count(1)
        page.get_by_label("Search").fill("no event has this")
        expect(rows(page)).to_have_count(0)


def test_a_finding_is_shown_at_its_event(page: Page) -> None:
    bad = [START, *text_events("m", "one")[:-1], END]
    open_events(page, bad)
    expect(page.locator(".insp-verdict").first).to_have_text("1 finding")
    row = page.locator(".insp-rows [data-bad]")
    expect(row.locator(".insp-type")).to_have_text("RUN_FINISHED")
    code = page.locator(".insp-findings strong").inner_text()
    expect(row.locator(".insp-wrong")).to_contain_text(f"Event 4: {code}: ")
    page.get_by_label("Family", exact=True).select_option("text")
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Show event 4").click()
    expect(row.locator("details")).to_have_attribute("open", "")
    expect(row.locator("summary")).to_be_focused()


@deep
def test_a_stream_that_cannot_be_verified(browser: Browser, site: str) -> None:
    context = browser.new_context()  # the browser logs the refusal
    page = context.new_page()
    page.goto(site)
    open_events(page, [START, END], input={"threadId": 1})
    expect(page.locator(".insp-verdict").first).to_contain_text("The stream was not checked")
    context.close()


def test_the_folded_messages_are_compared_with_the_snapshot(page: Page) -> None:
    ask(page, "What is the weather in Rome?")
    page.get_by_role("tab", name="Messages").click()
    expect(page.locator("#insp-messages .insp-verdict")).to_have_text("Equal")
    sent = [
        {"id": "m", "role": "assistant", "content": "two"},
        {"id": "n", "role": "user", "content": "new"},
    ]
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": sent}
    activity = {
        "type": "ACTIVITY_SNAPSHOT",
        "messageId": "a",
        "activityType": "plan",
        "content": {"steps": 2},
    }
    held = [*text_events("m", "one"), *text_events("gone", "x"), activity]
    open_events(page, [START, *held, snapshot, END], input=INPUT)
    expect(page.locator("#insp-messages .insp-verdict")).to_have_text("3 messages differ")
    kinds = [
        row.get_attribute("data-kind") for row in page.locator("#insp-messages tbody tr").all()
    ]
    assert kinds == ["changed", "missing", "kept", "added"]
    expect(page.locator("tr[data-kind=kept]")).to_contain_text('{"steps":2}')
    expect(page.locator("tr[data-kind=changed] .insp-kind")).to_have_text("changed: content")


def test_timing_and_tokens(page: Page) -> None:
    ask(page, "What is the weather in Rome?")
    ask(page, "And in Oslo?")
    page.get_by_role("tab", name="Events").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Timing")).to_be_focused()
    expect(page.locator(".insp-run > summary")).to_contain_text(["Run 2", "Run 1"])
    run = page.locator(".insp-run").first
    # The waterfall comes first: each step has how long it took, and what happened in it.
    names = run.locator("> div > :first-child > li > .insp-line .insp-label")
    expect(names).to_have_text(["model", "tools", "model"])
    expect(run.locator(".insp-steps > li > .insp-line .insp-took")).to_have_text(
        [re.compile(r"^[\d.]+ m?s$")] * 3
    )
    inner = run.locator(".insp-steps ol .insp-line")
    expect(inner.locator(".insp-label")).to_have_text(
        ["model call 1", "get_weather", "model call 1"]
    )
    expect(inner.first.locator(".insp-tokens")).to_have_text(
        re.compile(r"^\d+ in, \d+ out tokens$")
    )
    expect(inner.first.locator(".unseen")).to_have_text(
        re.compile(r"^reasoning \d+ ms, tool call get_weather \d+ ms$")
    )
    expect(run).to_contain_text("first reasoning")
    expect(run).to_contain_text("output tokens per second of streaming")
    page.locator(".insp-run > summary").last.click()
    used = [
        int(one)
        for one in page.locator(".insp-run dl div:has(dt:text-is('total')) dd").all_inner_texts()
    ]
    assert len(used) == 2
    expect(page.locator("#usage div:has(> dt:text-is('total')) dd")).to_have_text(str(sum(used)))
    inner.nth(1).click()
    expect(page.get_by_role("tab", name="Events")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".insp-rows details[open] .insp-type")).to_have_text("TOOL_CALL_RESULT")


def test_what_is_outside_of_steps_stands_where_it_was(page: Page) -> None:
    step = {"stepName": "plan"}
    mine = {"subagentRunId": "s"}
    call = {"toolCallId": "c", **mine}
    events: list[dict[str, Any]] = [
        START,
        {"type": "STEP_STARTED", **step},
        {"type": "STEP_FINISHED", **step},
        {"type": "SUBAGENT_STARTED", "name": "ann", **mine},
        {"type": "TOOL_CALL_START", "toolCallName": "look", **call},
        {"type": "TOOL_CALL_END", **call},
        {"type": "TOOL_CALL_RESULT", "messageId": "r", "content": "seen", **call},
        *({**event, **mine} for event in text_events("m", "It is there.")),
        {"type": "SUBAGENT_FINISHED", **mine},
        END,
    ]
    open_events(page, [{"at": 10 * at, "event": event} for at, event in enumerate(events)])
    page.get_by_role("tab", name="Timing").click()
    expect(page.locator(".insp-run .insp-label")).to_have_text(
        ["plan", "model call 1ann", "lookann", "model call 2ann"]
    )


def test_stepping_shows_the_page_as_it_was(page: Page) -> None:
    ask(page, "What is the weather in Rome?")
    answer = page.locator(".text[data-role=assistant]")
    count = int(page.locator(".insp-count").inner_text().split()[0])
    page.get_by_role("button", name="Previous").click()
    expect(page.locator(".insp-place")).to_have_text(
        f"Event {count - 1} of {count}: MESSAGES_SNAPSHOT"
    )
    page.get_by_label("Event of the run").fill("1")
    expect(page.locator(".insp-place")).to_have_text(f"Event 1 of {count}: RUN_STARTED")
    expect(answer).to_have_count(0)
    expect(page.locator(".insp-rows [aria-current] .insp-type")).to_have_text("RUN_STARTED")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".insp-place")).to_contain_text("Event 2 of")
    page.get_by_role("button", name="Back to now").click()
    expect(answer).to_contain_text("25 °C")
    expect(page.locator(".insp-place")).to_have_text("")
    page.get_by_role("button", name="Previous").click()
    page.get_by_role("button", name="Back to the conversation").click()
    expect(page.locator(".insp-place")).to_have_text("")


def test_an_exported_thread_is_opened_again(page: Page, browser: Browser, site: str) -> None:
    ask(page, "What is the weather in Rome?")
    ask(page, "And in Oslo?")
    content = exported(page)
    inputs = [json.loads(line)["input"] for line in content.splitlines() if '"input"' in line[:10]]
    assert [
        len([one for one in given["messages"] if one["role"] == "user"]) for given in inputs
    ] == [1, 2]
    with opened(browser, f"{site}/") as other:
        open_text(other, content, "run.jsonl")
        expect(other.locator(".insp-note").first).to_contain_text("run.jsonl: 2 runs, ")
        expect(other.locator(".insp-verdict").first).to_have_text("The stream keeps every rule.")
        expect(other.locator(".text[data-role=assistant]").last).to_contain_text(
            "In Oslo it is 11 °C"
        )
        assert exported(other) == content
        other.get_by_role("button", name="Back to now").click()
        expect(other.locator(".text")).to_have_count(0)


@deep
def test_files_from_elsewhere_are_opened_or_refused(page: Page) -> None:
    problems = {
        "": "The file has no events.",
        "{": "Line 1 is not JSON",
        '{"a": 1}': "Line 1 has neither an event nor",
    }
    for content, problem in problems.items():
        open_text(page, content)
        expect(page.locator(".insp-problem")).to_contain_text(problem)
    for said, line in (("Hello", "data: {}\n\n"), ("Ciao", "{}\n")):
        events = [START, *text_events("m", said), END]
        open_text(page, "".join(line.replace("{}", json.dumps(one)) for one in events))
        expect(page.locator(".text[data-role=assistant]")).to_have_text(said)
        expect(page.locator(".insp-count")).to_have_text("5 events")


@deep
def test_the_curl_command_runs(page: Page, tmp_path: Path) -> None:
    ask(page, "remember it's $HOME `x` \\ 'quoted'")
    page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }"
    )
    page.get_by_role("button", name="Copy as curl").click()
    box = page.get_by_label("The command to copy")
    expect(box).to_be_focused()
    command = box.input_value()
    result = subprocess.run(["sh", "-c", command], capture_output=True, check=True, cwd=tmp_path)
    decoder = SSEDecoder()
    events = [*decoder.feed(result.stdout), *decoder.finish()]
    assert (events[0]["type"], events[-1]["type"]) == ("RUN_STARTED", "RUN_FINISHED")


@deep
def test_twenty_thousand_events_are_drawn_in_batches(page: Page) -> None:
    many = [{"type": "CUSTOM", "name": f"n{number}", "value": number} for number in range(20_000)]
    open_events(page, [START, *many, END])
    expect(page.locator(".insp-count")).to_have_text("20002 events")
    expect(rows(page)).to_have_count(500)
    page.get_by_role("button", name="Show 500 more (19502 earlier)").click()
    expect(rows(page)).to_have_count(1000)
    page.get_by_label("Search").fill('"n19')
    expect(page.locator(".insp-count")).to_have_text("1111 of 20002 events")
    expect(rows(page)).to_have_count(500)


def test_the_newest_stays_in_view_unless_one_scrolls_away(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 500})
    is_at_end = "box => box.scrollHeight - box.scrollTop - box.clientHeight < 2"
    for question in ("Is it warmer in Rome or in Oslo?", "And in Lisbon?"):
        ask(page, question)
    for place in ("main", "#insp-events"):
        box = page.locator(place).locator(":is(#transcript, .insp-scroll)")
        jump = page.locator(place).get_by_role("button", name="Jump to latest")
        expect(jump).to_be_hidden()
        assert box.evaluate(is_at_end)
        box.evaluate("box => box.scrollTo(0, 0)")
        expect(jump).to_be_visible()
        jump.click()
        expect(jump).to_be_hidden()
        assert box.evaluate(is_at_end)
    box.evaluate("box => box.scrollTo(0, 0)")
    wait_for_frame(page)
    ask(page, "What is 1 + 1?")
    assert box.evaluate("box => box.scrollTop") == 0


def width_of(page: Page) -> int:
    box = page.locator("#details-panel").bounding_box()
    assert box
    return int(box["width"])


def test_the_details_are_resized_and_take_the_whole_page(page: Page) -> None:
    handle = page.get_by_role("separator", name="Width of the details")
    first, place = width_of(page), handle.bounding_box()
    assert place
    page.mouse.move(place["x"], 300)
    page.mouse.down()
    page.mouse.move(place["x"] - 150, 300, steps=3)
    page.mouse.up()
    assert width_of(page) == pytest.approx(first + 150, abs=2)
    page.reload()
    assert width_of(page) == pytest.approx(first + 150, abs=2)
    handle.focus()
    page.keyboard.press("ArrowRight")
    assert width_of(page) == pytest.approx(first + 118, abs=2)
    page.keyboard.press("End")
    # The conversation beside wide details is laid out as on a phone.
    message = page.get_by_label("Message", exact=True)
    expect(message).to_be_visible()
    assert message.evaluate("one => one.offsetWidth > one.form.clientWidth - 30")
    expect(handle).to_have_attribute("aria-valuenow", str(width_of(page)))
    handle.dblclick()
    assert width_of(page) == first
    full = page.get_by_role("button", name="Full width")
    full.click()
    expect(full).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_label("Message", exact=True)).to_be_hidden()
    assert width_of(page) == 1280
    full.click()
    expect(page.get_by_label("Message", exact=True)).to_be_visible()
    assert width_of(page) == first


@deep
def test_a_step_that_breaks_off_is_not_done(page: Page) -> None:
    body = frames(START, {"type": "STEP_STARTED", "stepName": "model"})
    page.route("**/agent", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    ask(page, status="Failed")
    page.get_by_role("tab", name="Timing").click()
    expect(page.locator(".insp-steps > li")).to_have_attribute("data-status", "stopped")
    expect(page.locator(".insp-steps > li .insp-label")).to_have_text("modelstopped")
    broke_off = "The stream was not checked: it broke off before the run had ended."
    expect(page.locator(".insp-verdict").first).to_have_text(broke_off)
