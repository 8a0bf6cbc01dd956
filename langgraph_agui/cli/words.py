"""AG-UI events in words: what both ways of showing a run say alike, and how agents' text is made safe to show."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    ContentPart,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextPart,
    TokenUsage,
    ToolCallResultEvent,
)

from langgraph_agui.cli.output import Outputs
from langgraph_agui.cli.speakers import Speakers, told_end
from langgraph_agui.protocol import to_jsonable

MAX_RESULT: Final = 2000
"""How much of a tool's result is shown, in characters."""

STYLES: Final = {
    "thinking": "dim italic",
    "call": "cyan",
    "result": "green",
    "failed": "red",
    "subagent": "magenta",
    "note": "dim",
    "error": "bold red",
    "question": "yellow",
}
"""What the names of styles stand for."""

# What an agent says must not move the cursor, write to the clipboard or turn text around: such characters are shown as
# pictures or as U+FFFD, as are halves of surrogate pairs, which no terminal can be sent.
_CONTROLS: Final = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"},
    **dict.fromkeys([*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD),
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
}
# The same where text is JSON and stays JSON.
_ESCAPES: Final = {code: f"\\u{code:04x}" for code in _CONTROLS if code >= 0x7F}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of its own. `margin` is what each further line begins with, should it have some."""

    text: str
    style: str = "note"
    margin: str = ""


def printable(text: str) -> str:
    """Return `text` with its control characters shown as pictures."""
    return text.translate(_CONTROLS)


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return `value` as JSON that is safe to show."""
    return json.dumps(to_jsonable(value), ensure_ascii=False, indent=indent).translate(_ESCAPES)


def shortened(text: str) -> str:
    """Return the beginning of `text`, and how much is missing."""
    cut = len(text) - MAX_RESULT
    return f"{text[:MAX_RESULT]}… ({cut} more characters)" if cut > 0 else text


def plain_text(content: str | Sequence[ContentPart] | None) -> str:
    """Return the text of a message's content, with the kinds of what is none."""
    if content is None or isinstance(content, str):
        return content or ""
    return " ".join(part.text if isinstance(part, TextPart) else f"[{part.type}]" for part in content)


def one_line(text: str, limit: int) -> str:
    """Return `text` on one line of at most `limit` characters, to be shown."""
    flat = printable(" ".join(text.split()))
    return flat if len(flat) <= limit else f"{flat[: max(limit - 1, 0)]}…"


def has_failed(event: ToolCallResultEvent) -> bool:
    """Whether the result tells of a failure; `LangGraphAgent` says so in the metadata."""
    return (event.metadata or {}).get("status") == "error"


def told(event: BaseEvent, speakers: Speakers, outputs: Outputs) -> Iterator[Line]:
    """Yield the lines of an event that comes as a whole: none for items that stream, and for results of tools."""
    match event:
        case ActivitySnapshotEvent(subagent_run_id=run) | ActivityDeltaEvent(subagent_run_id=run):
            for line in outputs.lines(event):
                yield Line(f"{speakers.lead(run)}  {shortened(line)}", "note", speakers.margin(run))
        case SubagentStartedEvent(subagent_run_id=run, description=about):
            started = f"started: {shortened(about)}" if about else "started"
            yield Line(f"{speakers.title(run)} {started}", "subagent", speakers.margin(run))
        case SubagentFinishedEvent(subagent_run_id=run) | SubagentErrorEvent(subagent_run_id=run):
            style = "failed" if isinstance(event, SubagentErrorEvent) else "subagent"
            yield Line(f"{speakers.title(run)} {told_end(event)}", style, speakers.margin(run))
        case RunErrorEvent(message=message, code=code):
            yield Line(f"error: {code}: {message}" if code else f"error: {message}", "error")
            for key, value in (event.metadata or {}).items():
                yield Line(f"  {key}: {value}")
        case RunFinishedEvent(outcome=RunFinishedCancelledOutcome()):
            yield Line("The agent cancelled the run.")


def told_end_of_turn(state: str | None, usage: Iterable[TokenUsage]) -> Iterator[Line]:
    """Yield a line for the state, if there is one to tell, and one for each model that used tokens."""
    if state is not None:
        yield Line(f"state: {state}")
    for entry in usage:
        counts = {
            "in": entry.input_tokens,
            "cached": entry.cached_input_tokens,
            "out": entry.output_tokens,
            "reasoning": entry.reasoning_tokens,
        }
        shown = ", ".join(f"{count} {name}" for name, count in counts.items() if count is not None)
        yield Line(f"tokens: {shown}" + (f" ({entry.model})" if entry.model else ""))
