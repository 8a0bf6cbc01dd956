"""Shows a conversation in a terminal: redraws open items at the bottom, and prints finished ones into the scrollback.

In: AG-UI events. Out: rich renderables. Items are printed in the order in which they end, so that a long tool call
does not hide what its subagents write.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from ag_ui.core import ToolCallResultEvent
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.segment import Segment
from rich.spinner import Spinner

from langgraph_agui.cli.formatting import card, has_failed, one_line, plain_text, safe, shorten
from langgraph_agui.cli.view import Key, Kind, View

_REDRAWS_PER_SECOND: Final = 12
_MAX_TITLE: Final = 60


@dataclass(slots=True)
class _Item:
    """A text, a reasoning, or a tool call with its result. `prefix` names its subagent, `indent` is in columns."""

    kind: Kind
    prefix: str
    indent: int
    name: str = ""
    parts: list[str] = field(default_factory=list)
    result: str | None = None
    failed: bool = False
    ended: bool = False
    """Whether its text is complete."""
    final: bool = False
    """Whether it changes no more: a call ends before its result comes."""
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    def end(self) -> None:
        self.ended, self.final = True, self.kind != "call"
        self.seconds = time.monotonic() - self.started

    def render(self, *, unfolded: bool, width: int) -> RenderableType | None:
        """Return how it looks now on a terminal of `width` columns; None if there is nothing to see."""
        text = "".join(self.parts)
        if self.kind == "call":
            body: RenderableType = self._call(text)
        elif self.kind == "thinking" and text.strip():
            body = self._reasoning(text, unfolded)
        elif self.kind == "text" and text:
            body = safe(self.prefix + text)
        else:
            return None
        indent = min(self.indent, width // 2)  # rich drops what has no room at all
        return Padding(body, (0, 0, 0, indent)) if indent else body

    def _reasoning(self, text: str, unfolded: bool) -> RenderableType:
        words = len(text.split())
        title = f"thought for {self.seconds:.1f} s ({words} {'word' if words == 1 else 'words'})"
        if self.final and not unfolded:
            return safe(f"{self.prefix}▸ {title}", "note")
        return Group(safe(f"{self.prefix}▾ {title if self.final else 'thinking'}", "note"), safe(text, "thinking"))

    def _call(self, arguments: str) -> RenderableType:
        body: list[RenderableType] = [safe(shorten(arguments))] if arguments else []
        style, state = "call", "running" if self.ended else "calling"
        if self.result is not None:
            style, state, mark = ("failed", "failed", "✗") if self.failed else ("result", "done", "→")
            body.append(safe(f"{mark} {shorten(self.result)}", style))
        elif self.final:
            state = "no result yet"
        return card(one_line(self.prefix + self.name, _MAX_TITLE), Group(*body), style, state)


class LiveView(View):
    """Shows the events of any number of runs in a terminal."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, unfolded=False)
        self._items: dict[Key, _Item] = {}
        self._tools: dict[str, str] = {}
        """Tool names by call id: a result may come in a later run than its call."""
        self._live: Live | None = None
        self._spinner = Spinner("dots", safe("Ctrl-C stops", "note"))

    def begin(self) -> None:
        """Show that the agent works."""
        if self._live is None:
            self._live = Live(self, console=self.console, refresh_per_second=_REDRAWS_PER_SECOND, transient=True)
            self._live.start()

    def show_result(self, event: ToolCallResultEvent) -> None:
        """Add the result to its call; if the call was printed already, print a card with the result alone."""
        key: Key = ("call", event.tool_call_id)
        if key not in self._items:
            self._open(key, event.subagent_run_id, self._tools.get(event.tool_call_id, "tool"))
        item = self._items[key]
        item.result, item.failed, item.final = plain_text(event.content), has_failed(event), True
        self._print_final()

    def finish(self) -> None:
        """Print what is still open as it is, and release the terminal."""
        for item in self._items.values():
            if item.kind != "call":
                item.end()
            item.final = True
        self._print_final()
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def line(self, text: str, style: str = "note", indent: str = "") -> None:
        """Print `text` above what is still open."""
        self.show(safe(text.replace("\n", f"\n{indent}"), style))

    def _open(self, key: Key, run: str | None, name: str = "") -> None:
        kind, id_ = key
        if kind == "call":
            self._tools[id_] = name
        indent = self.subagents.indent(run)
        item = _Item(kind, self.subagents.prefix(run).removeprefix(indent), len(indent), name)
        self._items.setdefault(key, item)

    def _extend(self, key: Key, delta: str) -> None:
        if item := self._items.get(key):
            item.parts.append(delta)

    def _end(self, key: Key) -> None:
        if item := self._items.get(key):
            item.end()
            self._print_final()

    def _render(self, item: _Item) -> RenderableType | None:
        return item.render(unfolded=self.unfolded, width=self.console.width)

    def _print_final(self) -> None:
        """Print the items that change no more, and stop redrawing them."""
        for key, item in [(key, item) for key, item in self._items.items() if item.final]:
            del self._items[key]
            if (body := self._render(item)) is not None:
                self.show(body)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the end of what is open, as much as the screen has room for. A thread of rich calls this too."""
        lines: list[list[Segment]] = []
        for item in list(self._items.values()):
            if (body := self._render(item)) is not None:
                lines += console.render_lines(body, options, pad=False)
        room = max(console.height - 3, 1)
        for line in lines[-room:]:
            yield from line
            yield Segment.line()
        yield self._spinner
