"""The page against what is long, wide or much."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from langchain.agents import create_agent
from playwright.sync_api import expect

from langgraph_agui.devtools import playground
from tests.behaviour.playground.sites import ask, shown
from tests.behaviour.playground.streams import END, START_EVENT, answer, frames, text_events
from tests.kit.deep import deep
from tests.kit.models.scripted import Scripted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

LONG = "n" * 400
CALL = {"toolCallId": "c", "subagentRunId": "s"}
WIDE = [
    START_EVENT,
    {"type": "STEP_STARTED", "stepName": LONG},
    {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": LONG, "description": LONG},
    {"type": "TOOL_CALL_START", **CALL, "toolCallName": LONG},
    {"type": "TOOL_CALL_ARGS", **CALL, "delta": f'{{"{LONG}": "{LONG}"}}'},
    {"type": "TOOL_CALL_END", **CALL},
    {"type": "TOOL_CALL_RESULT", "messageId": "m", **CALL, "content": LONG},
    {"type": "SUBAGENT_ERROR", "subagentRunId": "s", "message": LONG},
    {"type": "STATE_SNAPSHOT", "snapshot": {LONG: {LONG: LONG}}},
    {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": LONG, "content": {LONG: LONG}},
    *text_events(
        "t", f"# {LONG}\n\n`{LONG}` [{LONG}](https://{LONG}.example)\n\n|{LONG}|\n|-|\n|{LONG}|\n"
    ),
    {"type": "RUN_ERROR", "message": LONG, "code": LONG, "metadata": {LONG: LONG}},
]
OVERFLOW = """() => ["html", "main", "#transcript", "#details-panel"].map((name) => {
    const box = document.querySelector(name);
    return box.scrollWidth - box.clientWidth;
})"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with shown(browser, create_agent(Scripted(["never"]), [])) as page:
        yield page


@pytest.mark.parametrize("width", [1280, 390])
def test_long_names_widen_nothing(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    answer(page, frames(*WIDE))
    plan = {"name": f"{LONG}.txt", "mimeType": "text/plain", "buffer": b"x"}
    page.get_by_label("Files to attach").set_input_files([plan])  # type: ignore[list-item]
    expect(page.get_by_label("Attachments")).to_contain_text(LONG)
    assert (
        page.evaluate(
            "() => document.querySelector('main').scrollWidth - "
            "document.querySelector('main').clientWidth"
        )
        <= 0
    )
    ask(page, LONG, "Failed")
    expect(page.locator(".markdown .heading")).to_be_visible()
    if width < 1000:
        page.get_by_role("button", name="Details").click()
    for tab in ("Events", "Timing", "Messages"):
        page.get_by_role("tab", name=tab).click()
        assert page.evaluate(OVERFLOW) == [0, 0, 0, 0], tab


@deep
def test_many_messages_are_rendered_together(page: Page) -> None:
    many = 400
    answer(
        page,
        frames(
            START_EVENT,
            *(event for at in range(many) for event in text_events(f"m{at}", f"*{at}*")),
            END,
        ),
    )
    page.evaluate("""() => {
        const found = Object.getOwnPropertyDescriptor(Element.prototype, "scrollHeight");
        window.measured = 0;
        const get = function () {
            if (this.id === "transcript") window.measured += 1;
            return found.get.call(this);
        };
        Object.defineProperty(Element.prototype, "scrollHeight", { ...found, get });
    }""")
    ask(page)
    expect(page.locator(".markdown em")).to_have_count(many)
    assert page.evaluate("() => window.measured") < many / 2


def test_no_line_of_the_scripts_is_longer_than_120_characters() -> None:
    scripts = Path(playground.__file__).parent.glob("*.js")
    lines = {(path.name, line) for path in scripts for line in path.read_text("utf-8").splitlines()}
    assert {(name, line) for name, line in lines if len(line) > 120} == set()
