"""The page against what is long, wide or much."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from langgraph_agui.devtools import playground
from tests.behaviour.playground.sites import (
    answer,
    ask,
    opened,
    press,
    see,
    tab,
    text_events,
    upload,
)
from tests.kit.deep import deep

LONG = "n" * 400
TAG = {"subagentRunId": "s"}
CALL = {"toolCallId": "c", **TAG}
TEXT = f"# {LONG}\n\n`{LONG}` [{LONG}](https://{LONG}.example)\n\n|{LONG}|\n|-|\n|{LONG}|\n"
ERROR = {"type": "RUN_ERROR", "message": LONG, "code": LONG, "metadata": {LONG: LONG}}
WIDE = [
    {"type": "STEP_STARTED", "stepName": LONG},
    {"type": "SUBAGENT_STARTED", **TAG, "name": LONG, "description": LONG},
    {"type": "TOOL_CALL_START", **CALL, "toolCallName": LONG},
    {"type": "TOOL_CALL_ARGS", **CALL, "delta": f'{{"{LONG}": "{LONG}"}}'},
    {"type": "TOOL_CALL_END", **CALL},
    {"type": "TOOL_CALL_RESULT", "messageId": "m", **CALL, "content": LONG},
    {"type": "SUBAGENT_ERROR", **TAG, "message": LONG},
    {"type": "STATE_SNAPSHOT", "snapshot": {LONG: {LONG: LONG}}},
    {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": LONG, "content": {LONG: LONG}},
    *text_events("t", TEXT),
]
OVERFLOW = """() => ["html", "main", "#transcript", "#details-panel"].map((name) => {
    const box = document.querySelector(name);
    return box.scrollWidth - box.clientWidth;
})"""
COUNT_MEASURES = """() => {
    const found = Object.getOwnPropertyDescriptor(Element.prototype, "scrollHeight");
    window.measured = 0;
    const get = function () {
        if (this.id === "transcript") window.measured += 1;
        return found.get.call(this);
    };
    Object.defineProperty(Element.prototype, "scrollHeight", { ...found, get });
}"""


@pytest.fixture
def page(browser, echoes):
    with opened(browser, echoes) as page:
        yield page


@pytest.mark.parametrize("width", [1280, 390])
def test_long_names_widen_nothing(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    answer(page, *WIDE, end=ERROR)
    upload(page.get_by_label("Files to attach"), f"{LONG}.txt", "x")
    expect(page.get_by_label("Attachments")).to_contain_text(LONG)
    assert page.evaluate(OVERFLOW)[1] <= 0
    ask(page, LONG, "Failed")
    see(page, {".markdown .heading": True})
    if width < 1000:
        press(page, "Details")
    for name in ("Events", "Timing", "Messages"):
        tab(page, name)
        assert page.evaluate(OVERFLOW) == [0, 0, 0, 0], name


@deep
def test_many_messages_are_rendered_together(page):
    answer(page, *(event for at in range(400) for event in text_events(f"m{at}", f"*{at}*")))
    page.evaluate(COUNT_MEASURES)
    ask(page)
    see(page, {".markdown em": 400})
    assert page.evaluate("() => window.measured") < 200


def test_no_line_of_the_scripts_is_longer_than_120_characters():
    scripts = Path(playground.__file__).parent.glob("*.js")
    lines = [(path.name, line) for path in scripts for line in path.read_text("utf-8").splitlines()]
    assert [(name, line) for name, line in lines if len(line) > 120] == []
