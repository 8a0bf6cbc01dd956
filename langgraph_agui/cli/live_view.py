"""Shows a conversation in a terminal: redraws open items at the bottom, and prints finished ones into the scrollback.

In: AG-UI events. Out: rich renderables. Items are printed in the order in which they end, so that a long tool call
does not hide what its subagents write.
"""

from __future__ import annotations

from typing import Final

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.segment import Segment
from rich.spinner import Spinner

from langgraph_agui.cli.formatting import card, one_line, plain_text, safe, shorten
from langgraph_agui.cli.view import Content, Item, Kind, View

_REDRAWS_PER_SECOND: Final = 12
_MAX_TITLE: Final = 60


class LiveView(View):
    """Shows the events of any number of runs in a terminal."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, unfolded=False)
        self._tools: dict[str, str] = {}
        """Tool names by call id: a result may come in a later run than its call."""
        self._live: Live | None = None
        self._spinner = Spinner("dots", safe("Ctrl-C stops", "note"))

    def begin(self) -> None:
        """Show that the agent works."""
        if self._live is None:
            self._live = Live(self, console=self.console, refresh_per_second=_REDRAWS_PER_SECOND, transient=True)
            self._live.start()

    def show_result(self, call_id: str, content: Content, *, failed: bool, run: str | None = None) -> None:
        """Add the result to its call; if the call was printed already, print a card with the result alone."""
        self._open("call", call_id, run, self._tools.get(call_id, "tool"))
        item = self._items["call", call_id]
        item.result, item.failed, item.final = plain_text(content), failed, True
        self._update()

    def finish(self) -> None:
        """Print what is still open as it is, and release the terminal."""
        super().finish()
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def line(self, text: str, style: str = "note", indent: str = "") -> None:
        """Print `text` above what is still open."""
        self.show(safe(text.replace("\n", f"\n{indent}"), style))

    def _open(self, kind: Kind, id_: str, run: str | None, name: str = "") -> None:
        if kind == "call":
            self._tools[id_] = name
        super()._open(kind, id_, run, name)

    def _update(self) -> None:
        """Print the items that change no more, and stop redrawing them."""
        for key, item in [(key, item) for key, item in self._items.items() if item.final]:
            del self._items[key]
            if (body := self._render(item)) is not None:
                self.show(body)

    def _render(self, item: Item) -> RenderableType | None:
        """Return how an item looks now; None if there is nothing to see."""
        text = "".join(item.parts)
        if item.kind == "call":
            body: RenderableType = self._render_call(item, text)
        elif item.kind == "thinking" and text.strip():
            body = self._render_reasoning(item, text)
        elif item.kind == "text" and text:
            body = safe(item.prefix + text)
        else:
            return None
        indent = min(len(item.indent), self.console.width // 2)  # rich drops what has no room at all
        return Padding(body, (0, 0, 0, indent)) if indent else body

    def _render_reasoning(self, item: Item, text: str) -> RenderableType:
        words = len(text.split())
        title = f"thought for {item.seconds:.1f} s ({words} {'word' if words == 1 else 'words'})"
        if item.final and not self.unfolded:
            return safe(f"{item.prefix}▸ {title}", "note")
        return Group(safe(f"{item.prefix}▾ {title if item.final else 'thinking'}", "note"), safe(text, "thinking"))

    def _render_call(self, item: Item, arguments: str) -> RenderableType:
        body: list[RenderableType] = [safe(shorten(arguments))] if arguments else []
        style, state = "call", "running" if item.ended else "calling"
        if item.result is not None:
            style, state, mark = ("failed", "failed", "✗") if item.failed else ("result", "done", "→")
            body.append(safe(f"{mark} {shorten(item.result)}", style))
        elif item.final:
            state = "no result yet"
        return card(one_line(item.prefix + item.name, _MAX_TITLE), Group(*body), style, state)

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
