"""AG-UI events as plain lines: one item after the other, each growing as it streams. `live.py` is for terminals.

Items may interleave on the wire, lines cannot. The item that opened first has the pen; what arrives for the others is
held back until it ends. What a subagent says is indented, and carries its name where others speak at the same time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunErrorEvent,
    RunFinishedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from rich.console import Console, RenderableType
from rich.text import Text

from langgraph_agui.cli.output import Outputs
from langgraph_agui.cli.speakers import Speakers
from langgraph_agui.cli.words import STYLES, has_failed, plain_text, printable, shortened, told, told_end_of_turn

_Opening = TextMessageStartEvent | ReasoningMessageStartEvent | ToolCallStartEvent


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
    """Prints the events of any number of runs on a console: a `View`."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.speakers = Speakers()
        self.unfolded = True
        self._items: dict[tuple[str, str], _Item] = {}
        self._outputs = Outputs()

    def begin(self) -> None:
        """There is nothing to prepare."""

    def feed(self, event: BaseEvent) -> None:
        """Print what `event` adds."""
        self.speakers.feed(event)
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
            case ToolCallResultEvent():
                self.answered(event)
            case _:
                self._whole(event)

    def answered(self, event: ToolCallResultEvent) -> None:
        """Print the result of a tool."""
        run, failed = event.subagent_run_id, has_failed(event)
        text = f"  {'failed' if failed else 'result'}: {shortened(plain_text(event.content))}"
        self._line(self.speakers.lead(run) + text, "failed" if failed else "result", self.speakers.margin(run))

    def finish(self) -> None:
        """End every line that is still open: the stream is over."""
        for item in self._items.values():
            item.closed = True
        self._drain()
        self._items.clear()

    def ended(self, state: str | None, usage: Iterable[TokenUsage]) -> None:
        """Print the state if it has changed, and the tokens."""
        for line in told_end_of_turn(state, usage):
            self.line(line.text, line.style)

    def line(self, text: str, style: str = "note") -> None:
        """Print a line of its own once everything before it has been printed."""
        self._line(text, style)

    def show(self, what: RenderableType) -> None:
        """Print something that a person has asked for."""
        self.console.print(what, soft_wrap=True)

    def _whole(self, event: BaseEvent) -> None:
        if isinstance(event, RunErrorEvent | RunFinishedEvent):
            self.finish()
        for line in told(event, self.speakers, self._outputs):
            self._line(line.text, line.style, line.margin)

    def _line(self, text: str, style: str, margin: str = "") -> None:
        item = _Item(style, "", margin, [text], closed=True)
        self._items["line", str(id(item))] = item
        self._drain()

    def _open(self, key: tuple[str, str], style: str, event: _Opening, lead: str = "") -> None:
        if key not in self._items:
            run = event.subagent_run_id
            self._items[key] = _Item(style, self.speakers.lead(run) + lead, self.speakers.margin(run))
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
        shown = Text(printable(text), style=STYLES.get(style, ""))
        self.console.print(shown, end="", soft_wrap=True, highlight=False)
        self.console.file.flush()
