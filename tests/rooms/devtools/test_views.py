"""Events as lines of text."""

from __future__ import annotations

import io

import pyte
import pytest
from ag_ui.core import (
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TextPart,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from rich.console import Console

from langgraph_agui.devtools.cli import view as view_module
from langgraph_agui.devtools.cli.formatting import MAX_RESULT
from langgraph_agui.devtools.cli.view import LiveView, PlainView


def shown(*events) -> str:
    out = io.StringIO()
    view = PlainView(Console(file=out, width=40))
    for event in events:
        view.feed(event)
    view.finish()
    return out.getvalue()


def text(message_id, *deltas, **fields):
    return [
        TextMessageStartEvent(message_id=message_id, role="assistant", **fields),
        *(TextMessageContentEvent(message_id=message_id, delta=delta) for delta in deltas),
        TextMessageEndEvent(message_id=message_id),
    ]


def test_interleaved_items_come_out_one_after_the_other():
    starts = {"1": "one", "2": "two"}
    deltas = [("2", "{"), ("1", "["), ("2", "}"), ("1", "]")]
    events = [ToolCallStartEvent(tool_call_id=n, tool_call_name=name) for n, name in starts.items()]
    events += [ToolCallArgsEvent(tool_call_id=n, delta=delta) for n, delta in deltas]
    events += [ToolCallEndEvent(tool_call_id=n) for n in "21"]
    assert shown(*events) == "tool one []\ntool two {}\n"


def test_text_grows_at_once():
    out = io.StringIO()
    view = PlainView(Console(file=out))
    start, first, *_ = text("m", "Hel", "lo")
    view.feed(start)
    view.feed(first)
    assert out.getvalue() == "Hel"


def test_items_that_never_end_are_ended():
    assert shown(*text("m", "Hello")[:-1]) == "Hello (not finished)\n"


def test_hidden_reasoning_and_empty_text_leave_no_lines():
    start = ReasoningMessageStartEvent(message_id="r", role="reasoning")
    empty = ReasoningMessageContentEvent(message_id="r", delta="")
    assert shown(start, empty, ReasoningMessageEndEvent(message_id="r"), *text("m")) == ""


def test_long_lines_are_left_to_the_terminal_and_markup_is_text():
    line = "[bold]" + "word " * 30 + "[/bold]"
    assert shown(*text("m", line)) == line + "\n"


def test_control_characters_cannot_steer_the_terminal():
    assert shown(*text("m", "a\x1b]52;c;eA==\x07b\x9b2Jc\r\nd")) == "a␛]52;c;eA==␇b\ufffd2Jc␍\nd\n"


def test_results_are_shortened_and_parts_are_named():
    long = ToolCallResultEvent(message_id="m", tool_call_id="1", content="x" * (MAX_RESULT + 5))
    assert shown(long).endswith("x… (5 more characters)\n")
    parts = ToolCallResultEvent(message_id="m", tool_call_id="1", content=[TextPart(text="seen")])
    assert shown(parts) == "  result: seen\n"


def test_subagents_are_named():
    announced = SubagentStartedEvent(subagent_run_id="s", name="scout")
    said = shown(announced, *text("m", "Hi\nHo", subagent_run_id="s"))
    assert said == "[scout] started\n  Hi\n  Ho\n"
    assert shown(*text("m", "Hi", subagent_run_id="s")) == "  [s] Hi\n"


def test_no_line_is_lost_while_a_thread_redraws_what_is_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(view_module, "_REDRAWS_PER_SECOND", 100_000)
    out, lines = io.StringIO(), 500
    how = {"force_terminal": True, "width": 60, "height": 30, "_environ": {"TERM": "xterm"}}
    view = LiveView(Console(file=out, **how))
    view.begin()
    for number in range(lines):
        first, words, last = text(f"m{number}", f"open {number}\n\n" * (number % 7 + 1))
        view.feed(first)
        view.feed(words)
        view.line(f"line {number}.")
        view.feed(last)
    view.finish()
    screen = pyte.HistoryScreen(60, 30, history=20_000)
    pyte.Stream(screen).feed(out.getvalue().replace("\n", "\r\n"))
    above = ["".join(line[at].data for at in range(60)).rstrip() for line in screen.history.top]
    shown_lines = {line.rstrip() for line in [*above, *screen.display]}
    assert [number for number in range(lines) if f"line {number}." not in shown_lines] == []
