"""The inspector of the page: events, findings, timing, messages, steps through a run, and files of
runs."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from playwright.sync_api import expect

from langgraph_agui.protocol import SSEDecoder
from tests.behaviour.playground.sites import (
    AT_END,
    END,
    SAID,
    START,
    answer,
    ask,
    field,
    opened,
    press,
    see,
    shown,
    tab,
    text_events,
    upload,
    wait_for_frame,
)
from tests.kit.deep import deep
from tests.kit.graphs.subagents import GRAPHS

pytestmark = deep

INPUT = {"threadId": "t", "runId": "r", "state": {}, "forwardedProps": {}}
INPUT |= {"messages": [], "tools": [], "context": []}
DONE = {**END, "outcome": {"type": "success"}}
KEPT = "The stream keeps every rule."


@pytest.fixture
def page(browser, site):
    with opened(browser, site) as page:
        tab(page, "Events")
        yield page


def rows(page, type_):
    kind = page.locator(f"xpath=.//*[@class='insp-type' and .='{type_}']")
    return page.locator(".insp-rows > li").filter(has=kind)


def open_file(page, content, name="file.jsonl"):
    upload(page.locator(".insp-file"), name, content)


def open_events(page, *events, **first):
    lines = [*([first] if first else []), *events]
    open_file(page, "".join(f"{json.dumps(line)}\n" for line in lines))


def verdict(page, text):
    expect(page.locator(".insp-verdict").first).to_have_text(re.compile(text))


def exported(page):
    with page.expect_download() as download:
        press(page, "Export")
    return download.value.path().read_text()


def test_every_event_has_a_row_and_its_json(page):
    with page.expect_response("**/agent") as run:
        ask(page, "What is 12 * 7?")
    decoder = SSEDecoder()
    events = [*decoder.feed(run.value.body()), *decoder.finish()]
    see(page, {".insp-count": f"{len(events)} events"})
    verdict(page, KEPT)
    row = rows(page, "TOOL_CALL_RESULT")
    see(row, {"pre": 0})
    row.locator("summary").click()
    see(row, {".insp-json": 1})
    (result,) = (event for event in events if event["type"] == "TOOL_CALL_RESULT")
    assert json.loads(row.locator(".insp-json").inner_text()) == result
    press(page, "New thread")
    see(page, {".insp-rows > li": 0, ".insp-count": "0 events"})
    expect(page.get_by_role("button", name="Export")).to_be_disabled()


def test_deltas_of_parallel_subagents_share_a_row_per_item(page):
    one, other = text_events("a", "A1", "A2", "A3"), text_events("b", "B1", "B2", "B3")
    both = [event for pair in zip(one, other, strict=True) for event in pair]
    open_events(page, START, *both, DONE)
    contents = rows(page, "TEXT_MESSAGE_CONTENT")
    see(contents, {".insp-preview": ["A1A2A3", "B1B2B3"]})
    see(contents.first, {".insp-many": "×3", ".insp-size": re.compile(r"^\d+ B$")})
    contents.first.locator("summary").click()
    see(contents.first, {".insp-joined": "A1A2A3", ".insp-json": 3})


def test_a_real_run_with_subagents_is_filtered_and_searched(browser):
    def texts(part):
        return set(page.locator(f".insp-rows > li {part}").all_text_contents())

    with shown(browser, GRAPHS["deep"](None).graph) as page:
        ask(page)
        tab(page, "Events")
        field(page, "Family").select_option("subagent")
        assert texts(".insp-type") == {"SUBAGENT_STARTED", "SUBAGENT_FINISHED"}
        field(page, "Family").select_option("")
        field(page, "Agent").select_option("leaf_a")
        expect(page.locator(".insp-rows summary .owner").first).to_have_text("leaf_a")
        assert texts(".owner") == {"leaf_a"}
        page.get_by_label("Search").fill("LEAF_A: ENDS")
        expect(rows(page, "TEXT_MESSAGE_CONTENT")).to_have_count(1)
        page.get_by_label("Search").fill("no event has this")
        see(page, {".insp-rows > li": 0})


def test_a_finding_is_shown_at_its_event(page):
    open_events(page, START, *text_events("m", "one")[:-1], DONE)
    verdict(page, "^1 finding$")
    row = page.locator(".insp-rows [data-bad]")
    code = page.locator(".insp-findings strong").inner_text()
    see(row, {".insp-type": "RUN_FINISHED", ".insp-wrong": f"…Event 4: {code}: "})
    field(page, "Family").select_option("text")
    expect(row).to_have_count(0)
    press(page, "Show event 4")
    expect(row.locator("details")).to_have_attribute("open", "")
    expect(row.locator("summary")).to_be_focused()


def test_streams_that_cannot_be_verified(browser, site):
    with opened(browser, site, logs=True) as page:
        tab(page, "Events")
        open_events(page, START, DONE, input={"threadId": 1})
        verdict(page, "^The stream was not checked")
        press(page, "Back to now")
        answer(page, {"type": "STEP_STARTED", "stepName": "model"}, end=None)
        ask(page, then="Failed")
        verdict(page, "^The stream was not checked: it broke off before the run had ended.$")
        tab(page, "Timing")
        see(page, {".insp-steps > li[data-status=stopped] .insp-label": "modelstopped"})


def test_the_folded_messages_are_compared_with_the_snapshot(page):
    ask(page, "What is the weather in Rome?")
    tab(page, "Messages")
    see(page, {"#insp-messages .insp-verdict": "Equal"})
    sent = [
        {"id": "m", "role": "assistant", "content": "two"},
        {"id": "n", "role": "user", "content": "new"},
    ]
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": sent}
    plan = {"messageId": "a", "activityType": "plan", "content": {"steps": 2}}
    held = [
        *text_events("m", "one"),
        *text_events("gone", "x"),
        {"type": "ACTIVITY_SNAPSHOT", **plan},
    ]
    open_events(page, START, *held, snapshot, DONE, input=INPUT)
    see(page, {"#insp-messages .insp-verdict": "3 messages differ"})
    kinds = "all => all.map((row) => row.dataset.kind)"
    found = page.locator("#insp-messages tbody tr").evaluate_all(kinds)
    assert found == ["changed", "missing", "kept", "added"]
    see(page, {"tr[data-kind=kept]": '…{"steps":2}'})
    see(page, {"tr[data-kind=changed] .insp-kind": "changed: content"})


def test_timing_and_tokens(page):
    ask(page, "What is the weather in Rome?")
    ask(page, "And in Oslo?")
    page.get_by_role("tab", name="Events").press("ArrowLeft")
    expect(page.get_by_role("tab", name="Timing")).to_be_focused()
    expect(page.locator(".insp-run > summary")).to_contain_text(["Run 2", "Run 1"])
    run = page.locator(".insp-run").first
    # The waterfall comes first: each step has how long it took, and what happened in it.
    see(run, {"> div > :first-child > li > .insp-line .insp-label": ["model", "tools", "model"]})
    see(run, {".insp-steps > li > .insp-line .insp-took": [re.compile(r"^[\d.]+ m?s$")] * 3})
    inner = run.locator(".insp-steps ol .insp-line")
    see(inner, {".insp-label": ["model call 1", "get_weather", "model call 1"]})
    unseen = re.compile(r"^reasoning \d+ ms, tool call get_weather \d+ ms$")
    see(inner.first, {".insp-tokens": re.compile(r"^\d+ in, \d+ out tokens$"), ".unseen": unseen})
    expect(run).to_contain_text("first reasoning")
    expect(run).to_contain_text("output tokens per second of streaming")
    page.locator(".insp-run > summary").last.click()
    totals = page.locator(".insp-run dl div:has(dt:text-is('total')) dd").all_inner_texts()
    used = [int(one) for one in totals]
    assert len(used) == 2
    see(page, {"#usage div:has(> dt:text-is('total')) dd": str(sum(used))})
    inner.nth(1).click()
    expect(page.get_by_role("tab", name="Events")).to_have_attribute("aria-selected", "true")
    see(page, {".insp-rows details[open] .insp-type": "TOOL_CALL_RESULT"})


def test_what_is_outside_of_steps_stands_where_it_was(page):
    mine = {"subagentRunId": "s"}
    call = {"toolCallId": "c", **mine}
    events = [
        START,
        {"type": "STEP_STARTED", "stepName": "plan"},
        {"type": "STEP_FINISHED", "stepName": "plan"},
        {"type": "SUBAGENT_STARTED", "name": "ann", **mine},
        {"type": "TOOL_CALL_START", "toolCallName": "look", **call},
        {"type": "TOOL_CALL_END", **call},
        {"type": "TOOL_CALL_RESULT", "messageId": "r", "content": "seen", **call},
        *text_events("m", "It is there.", **mine),
        {"type": "SUBAGENT_FINISHED", **mine},
        DONE,
    ]
    open_events(page, *({"at": 10 * at, "event": event} for at, event in enumerate(events)))
    tab(page, "Timing")
    see(page, {".insp-run .insp-label": ["plan", "model call 1ann", "lookann", "model call 2ann"]})


def test_stepping_shows_the_page_as_it_was(page):
    ask(page, "What is the weather in Rome?")
    count = int(page.locator(".insp-count").inner_text().split()[0])
    press(page, "Previous")
    see(page, {".insp-place": f"Event {count - 1} of {count}: MESSAGES_SNAPSHOT"})
    page.get_by_label("Event of the run").fill("1")
    see(page, {".insp-place": f"Event 1 of {count}: RUN_STARTED", SAID: 0})
    see(page, {".insp-rows [aria-current] .insp-type": "RUN_STARTED"})
    press(page, "Next")
    see(page, {".insp-place": "…Event 2 of"})
    press(page, "Back to now")
    see(page, {SAID: "…25 °C", ".insp-place": ""})
    press(page, "Previous", "Back to the conversation")
    see(page, {".insp-place": ""})


def test_an_exported_thread_is_opened_again(page, browser, site):
    ask(page, "What is the weather in Rome?")
    ask(page, "And in Oslo?")
    content = exported(page)
    inputs = [json.loads(line)["input"] for line in content.splitlines() if '"input"' in line[:10]]
    asked = [[one["role"] for one in given["messages"]].count("user") for given in inputs]
    assert asked == [1, 2]
    with opened(browser, site) as other:
        open_file(other, content, "run.jsonl")
        expect(other.locator(".insp-note").first).to_contain_text("run.jsonl: 2 runs, ")
        verdict(other, KEPT)
        expect(other.locator(SAID).last).to_contain_text("In Oslo it is 11 °C")
        assert exported(other) == content
        press(other, "Back to now")
        see(other, {".text": 0})


PROBLEMS = {
    "": "The file has no events.",
    "{": "Line 1 is not JSON",
    '{"a": 1}': "Line 1 has neither an event nor",
}


def test_files_from_elsewhere_are_opened_or_refused(page):
    for content, problem in PROBLEMS.items():
        open_file(page, content)
        see(page, {".insp-problem": f"…{problem}"})
    for said, line in (("Hello", "data: {}\n\n"), ("Ciao", "{}\n")):
        events = [START, *text_events("m", said), DONE]
        open_file(page, "".join(line.replace("{}", json.dumps(one)) for one in events))
        see(page, {SAID: said, ".insp-count": "5 events"})


REFUSE = "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); }"


def test_the_curl_command_runs(page, tmp_path):
    ask(page, "remember it's $HOME `x` \\ 'quoted'")
    page.evaluate(REFUSE)
    press(page, "Copy as curl")
    box = page.get_by_label("The command to copy")
    expect(box).to_be_focused()
    command = ["sh", "-c", box.input_value()]
    result = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path)
    decoder = SSEDecoder()
    events = [*decoder.feed(result.stdout), *decoder.finish()]
    assert (events[0]["type"], events[-1]["type"]) == ("RUN_STARTED", "RUN_FINISHED")


def test_twenty_thousand_events_are_drawn_in_batches(page):
    many = [{"type": "CUSTOM", "name": f"n{number}", "value": number} for number in range(20_000)]
    open_events(page, START, *many, DONE)
    see(page, {".insp-count": "20002 events", ".insp-rows > li": 500})
    press(page, "Show 500 more (19502 earlier)")
    see(page, {".insp-rows > li": 1000})
    page.get_by_label("Search").fill('"n19')
    see(page, {".insp-count": "1111 of 20002 events", ".insp-rows > li": 500})


def test_the_newest_stays_in_view_unless_one_scrolls_away(page):
    page.set_viewport_size({"width": 1280, "height": 500})
    ask(page, "Is it warmer in Rome or in Oslo?")
    ask(page, "And in Lisbon?")
    boxes = [page.locator(one) for one in ("main #transcript", "#insp-events .insp-scroll")]
    for box, place in zip(boxes, ("main", "#insp-events"), strict=True):
        jump = page.locator(place).get_by_role("button", name="Jump to latest")
        expect(jump).to_be_hidden()
        assert box.evaluate(AT_END)
        box.evaluate("box => box.scrollTo(0, 0)")
        expect(jump).to_be_visible()
        jump.click()
        expect(jump).to_be_hidden()
        assert box.evaluate(AT_END)
        box.evaluate("box => box.scrollTo(0, 0)")
    wait_for_frame(page)
    ask(page, "What is 1 + 1?")
    assert boxes[0].evaluate(AT_END), "asking returns to the end"
    assert boxes[1].evaluate("box => box.scrollTop") == 0


def test_the_details_are_resized_and_take_the_whole_page(page):
    def is_wide(width):
        assert page.locator("#details-panel").bounding_box()["width"] == pytest.approx(width, abs=2)

    handle, message = (
        page.get_by_role("separator", name="Width of the details"),
        field(page, "Message"),
    )
    first, place = (one.bounding_box() for one in (page.locator("#details-panel"), handle))
    page.mouse.move(place["x"], 300)
    page.mouse.down()
    page.mouse.move(place["x"] - 150, 300, steps=3)
    page.mouse.up()
    is_wide(first["width"] + 150)
    page.reload()
    is_wide(first["width"] + 150)
    handle.press("ArrowRight")
    is_wide(first["width"] + 118)
    page.keyboard.press("End")
    # The conversation beside wide details is laid out as on a phone.
    expect(message).to_be_visible()
    assert message.evaluate("one => one.offsetWidth > one.form.clientWidth - 30")
    is_wide(int(handle.get_attribute("aria-valuenow")))
    handle.dblclick()
    is_wide(first["width"])
    full = page.get_by_role("button", name="Full width")
    for wide in (True, False):
        full.click()
        expect(full).to_have_attribute("aria-pressed", str(wide).lower())
        expect(message).to_be_visible(visible=not wide)
        is_wide(1280 if wide else first["width"])
