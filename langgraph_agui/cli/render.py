"""AG-UI events as plain lines: one item after the other, each growing as it streams. `live.py` is for terminals.

Items may interleave on the wire, lines cannot. The item that opened first has the pen; what arrives for the others is
held back until it ends. What a subagent says is indented, and carries its name where others speak at the same time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from ag_ui.core import ToolCallResultEvent
from rich.console import Console, RenderableType
from rich.text import Text

from langgraph_agui.cli.view import ItemView, Key, Kind
from langgraph_agui.cli.words import STYLES, Line, has_failed, plain_text, printable, shortened

_LOOKS: Final[dict[Kind, tuple[str, str]]] = {
    "text": ("", ""),
    "thinking": ("thinking", "thinking: "),
    "call": ("call", "tool {} "),
}
"""The style of an item, and what comes before its text."""


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


class Renderer(ItemView):
    """Prints the events of any number of runs on a console: a `View`."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, unfolded=True)
        self._items: dict[tuple[str, str], _Item] = {}

    def begin(self) -> None:
        """There is nothing to prepare."""

    def answered(self, event: ToolCallResultEvent) -> None:
        """Print the result of a tool."""
        run, failed = event.subagent_run_id, has_failed(event)
        text = f"  {'failed' if failed else 'result'}: {shortened(plain_text(event.content))}"
        style = "failed" if failed else "result"
        self._tell(Line(self.speakers.lead(run) + text, style, self.speakers.margin(run)))

    def finish(self) -> None:
        """End every line that is still open: the stream is over."""
        for item in self._items.values():
            item.closed = True
        self._drain()
        self._items.clear()

    def show(self, what: RenderableType) -> None:
        """Print something that a person has asked for."""
        self.console.print(what, soft_wrap=True)

    def _tell(self, line: Line) -> None:
        """Print a line once everything before it has been printed."""
        item = _Item(line.style, "", line.margin, [line.text], closed=True)
        self._items["line", str(id(item))] = item
        self._drain()

    def _open(self, key: Key, run: str | None, name: str = "") -> None:
        if key not in self._items:
            style, lead = _LOOKS[key[0]]
            self._items[key] = _Item(style, self.speakers.lead(run) + lead.format(name), self.speakers.margin(run))
        self._drain()

    def _grow(self, key: Key, delta: str) -> None:
        if delta and (item := self._items.get(key)):
            item.waiting.append(delta)
            self._drain()

    def _end(self, key: Key) -> None:
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
