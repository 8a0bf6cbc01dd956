"""AG-UI events as terminal output: one item after the other, each growing as it streams.

Items may interleave on the wire, lines on a terminal cannot. The item that opened first has the pen; what
arrives for the others is held back until it ends. Without a terminal the same lines come out unstyled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

MAX_RESULT: Final = 2000
"""How much of a tool's result is shown, in characters."""

_STYLES: Final = {
    "thinking": "dim italic",
    "call": "cyan",
    "result": "green",
    "failed": "red",
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
    waiting: list[str] = field(default_factory=list)
    begun: bool = False
    closed: bool = False


class Renderer:
    """Prints the events of any number of runs on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._items: dict[tuple[str, str], _Item] = {}
        self._owners: dict[str, str] = {}

    def feed(self, event: BaseEvent) -> None:
        """Print what `event` adds."""
        match event:
            case TextMessageStartEvent(message_id=key):
                self._open(("text", key), "", self._owner(event))
            case ReasoningMessageStartEvent(message_id=key):
                self._open(("thinking", key), "thinking", f"{self._owner(event)}thinking: ")
            case ToolCallStartEvent(tool_call_id=key, tool_call_name=name):
                self._open(("call", key), "call", f"{self._owner(event)}tool {name} ")
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
            case SubagentStartedEvent(subagent_run_id=run, name=name):
                self._owners[run] = name
            case _:
                self._whole(event)

    def finish(self) -> None:
        """End every line that is still open: the stream is over."""
        for item in self._items.values():
            item.closed = True
        self._drain()
        self._items.clear()

    def line(self, text: str, style: str = "note") -> None:
        """Print a line of its own once everything before it has been printed."""
        item = _Item(style, "", [text], closed=True)
        self._items["line", str(id(item))] = item
        self._drain()

    def _whole(self, event: BaseEvent) -> None:
        match event:
            case ToolCallResultEvent():
                failed = (event.metadata or {}).get("status") == "error"
                lead = "  failed: " if failed else "  result: "
                self.line(lead + _shortened(_content(event.content)), "failed" if failed else "result")
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

    def _owner(self, event: TextMessageStartEvent | ReasoningMessageStartEvent | ToolCallStartEvent) -> str:
        run = event.subagent_run_id
        return f"[{self._owners.get(run, run)}] " if run else ""

    def _open(self, key: tuple[str, str], style: str, lead: str) -> None:
        if key not in self._items:
            self._items[key] = _Item(style, lead)
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
                self._print("".join(item.waiting), item.style)
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
