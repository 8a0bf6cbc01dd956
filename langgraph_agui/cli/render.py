"""AG-UI events as terminal output: one item after the other, each growing as it streams.

Items may interleave on the wire, lines on a terminal cannot. The item that opened first has the pen; what
arrives for the others is held back until it ends. Without a terminal the same lines come out unstyled. What a
subagent says is indented, and carries its name where others speak at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from rich.text import Text

from langgraph_agui.cli.output import Outputs
from langgraph_agui.cli.speakers import Speakers, told_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    _Opening = TextMessageStartEvent | ReasoningMessageStartEvent | ToolCallStartEvent

MAX_RESULT: Final = 2000
"""How much of a tool's result is shown, in characters."""

_STYLES: Final = {
    "thinking": "dim italic",
    "call": "cyan",
    "result": "green",
    "failed": "red",
    "subagent": "magenta",
    "note": "dim",
    "error": "bold red",
}
# What an agent says must not move the cursor or write to the clipboard: show control characters as pictures.
_CONTROLS: Final = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"},
    **dict.fromkeys(range(0x7F, 0xA0), 0xFFFD),
}


@dataclass(slots=True)
class _Item:
    """Something that prints: its lead comes before the first text."""

    style: str
    lead: str
    margin: str = ""
    """What each further line begins with."""
    waiting: list[str] = field(default_factory=list)
    begun: bool = False
    closed: bool = False


class Renderer:
    """Prints the events of any number of runs on a console. `speakers` learns who speaks in them."""

    def __init__(self, console: Console, speakers: Speakers | None = None) -> None:
        self._console = console
        self._items: dict[tuple[str, str], _Item] = {}
        self._outputs = Outputs()
        self._speakers = speakers or Speakers()

    def feed(self, event: BaseEvent) -> None:
        """Print what `event` adds."""
        self._speakers.feed(event)
        match event:
            case TextMessageStartEvent(message_id=key):
                self._open(("text", key), "", event)
            case ReasoningMessageStartEvent(message_id=key):
                self._open(("thinking", key), "thinking", event, "thinking: ")
            case ToolCallStartEvent(tool_call_id=key, tool_call_name=name):
                self._open(("call", key), "call", event, f"tool {name} ")
            case TextMessageContentEvent(message_id=key, delta=delta):
                self._grow(("text", key), delta)
            case ReasoningMessageContentEvent(message_id=key, delta=delta):
                self._grow(("thinking", key), delta)
            case ToolCallArgsEvent(tool_call_id=key, delta=delta):
                self._grow(("call", key), delta)
            case TextMessageEndEvent(message_id=key):
                self._close(("text", key))
            case ReasoningMessageEndEvent(message_id=key):
                self._close(("thinking", key))
            case ToolCallEndEvent(tool_call_id=key):
                self._close(("call", key))
            case _:
                self._whole(event)

    def finish(self) -> None:
        """End every line that is still open: the stream is over."""
        for item in self._items.values():
            item.closed = True
        self._drain()
        self._items.clear()

    def line(self, text: str, style: str = "note", margin: str = "") -> None:
        """Print a line of its own once everything before it has been printed."""
        item = _Item(style, "", margin, [text], closed=True)
        self._items["line", str(id(item))] = item
        self._drain()

    def _whole(self, event: BaseEvent) -> None:
        match event:
            case ToolCallResultEvent(subagent_run_id=run):
                failed = (event.metadata or {}).get("status") == "error"
                lead = "  failed: " if failed else "  result: "
                self._say(run, lead + _shortened(_content(event.content)), "failed" if failed else "result")
            case ActivitySnapshotEvent(subagent_run_id=run) | ActivityDeltaEvent(subagent_run_id=run):
                for line in self._outputs.lines(event):
                    self._say(run, f"  {_shortened(line)}", "note")
            case SubagentStartedEvent(subagent_run_id=run, description=about):
                self._title(run, f"started: {_shortened(about)}" if about else "started")
            case SubagentFinishedEvent(subagent_run_id=run) | SubagentErrorEvent(subagent_run_id=run):
                self._title(run, told_end(event), "failed" if isinstance(event, SubagentErrorEvent) else "subagent")
            case RunErrorEvent(message=message, code=code):
                self.finish()
                self.line(f"error: {code}: {message}" if code else f"error: {message}", "error")
                for key, value in (event.metadata or {}).items():
                    self.line(f"  {key}: {value}")
                self._usage(event.usage)
            case RunFinishedEvent(outcome=outcome):
                self.finish()
                if isinstance(outcome, RunFinishedCancelledOutcome):
                    self.line("The agent cancelled the run.")
                self._usage(event.usage)

    def _usage(self, usage: Sequence[TokenUsage] | None) -> None:
        for entry in usage or ():
            counts = {
                "in": entry.input_tokens,
                "cached": entry.cached_input_tokens,
                "out": entry.output_tokens,
                "reasoning": entry.reasoning_tokens,
            }
            shown = ", ".join(f"{count} {name}" for name, count in counts.items() if count is not None)
            self.line(f"tokens: {shown}" + (f" ({entry.model})" if entry.model else ""))

    def _say(self, run: str | None, text: str, style: str) -> None:
        """Print a line that somebody says."""
        self.line(self._speakers.lead(run) + text, style, self._speakers.margin(run))

    def _title(self, run: str, text: str, style: str = "subagent") -> None:
        """Print a line about a subagent."""
        self.line(f"{self._speakers.title(run)} {text}", style, self._speakers.margin(run))

    def _open(self, key: tuple[str, str], style: str, event: _Opening, lead: str = "") -> None:
        if key not in self._items:
            run = event.subagent_run_id
            self._items[key] = _Item(style, self._speakers.lead(run) + lead, self._speakers.margin(run))
        self._drain()

    def _grow(self, key: tuple[str, str], delta: str) -> None:
        if delta and (item := self._items.get(key)):
            item.waiting.append(delta)
            self._drain()

    def _close(self, key: tuple[str, str]) -> None:
        if item := self._items.get(key):
            item.closed = True
            self._drain()

    def _drain(self) -> None:
        """Print what the first item has, then go on to the next one if it has ended."""
        while self._items:
            key, item = next(iter(self._items.items()))
            # An item without text would only leave an empty line, but a call without arguments counts.
            if not item.begun and (item.waiting or key[0] == "call"):
                item.begun = True
                self._print(item.lead, item.style)
            if item.waiting:
                self._print("".join(item.waiting).replace("\n", f"\n{item.margin}"), item.style)
                item.waiting.clear()
            if not item.closed:
                return
            if item.begun:
                self._print("\n", "")
            del self._items[key]

    def _print(self, text: str, style: str) -> None:
        shown = Text(printable(text), style=_STYLES.get(style, ""))
        self._console.print(shown, end="", soft_wrap=True, highlight=False)
        self._console.file.flush()


def printable(text: str) -> str:
    """Return `text` with its control characters shown as pictures."""
    return text.translate(_CONTROLS)


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(part.text if part.type == "text" else f"[{part.type}]" for part in content)


def _shortened(text: str) -> str:
    cut = len(text) - MAX_RESULT
    return f"{text[:MAX_RESULT]}… ({cut} more characters)" if cut > 0 else text
