"""AG-UI events in a terminal: what is in progress is redrawn at the bottom, what is finished goes into the scrollback.

A block is printed for good when it has ended, in the order in which they end: a tool that runs for long holds nothing
back that its subagents say.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ag_ui.core import ToolCallResultEvent
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.spinner import Spinner

from langgraph_agui.cli.blocks import Block, Card, Said, Thought, safe
from langgraph_agui.cli.view import ItemView, Key
from langgraph_agui.cli.words import Line, has_failed, plain_text

_PER_SECOND: Final = 12
_MOST_NAMES: Final = 1000
"""How many calls are remembered by name: the result may come in a later run."""


class LiveRenderer(ItemView):
    """Shows the events of any number of runs in a terminal: a `View`."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, unfolded=False)
        self._blocks: dict[Key, Block] = {}
        self._names: dict[str, str] = {}
        self._live: Live | None = None

    def begin(self) -> None:
        """Show that the agent is at work."""
        if self._live is None:
            region = _Region(self)
            live = Live(region, console=self.console, refresh_per_second=_PER_SECOND, transient=True)
            self._live = live
            live.start()

    def answered(self, event: ToolCallResultEvent) -> None:
        """Fill in the result of a call; one that was shown as open gets a card with the result alone."""
        key = event.tool_call_id
        block = self._blocks.get(("call", key))
        if not isinstance(block, Card):
            block = Card(self._names.get(key, "tool"), *self._place(event.subagent_run_id))
            self._blocks["call", key] = block
        block.answer(plain_text(event.content), failed=has_failed(event))
        self._settle()

    def finish(self) -> None:
        """Print what is still in progress as it stands, and leave the terminal to others."""
        for block in self._blocks.values():
            block.leave() if isinstance(block, Card) else block.end()
        self._settle()
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def show(self, what: RenderableType) -> None:
        """Print something for good, above what is in progress."""
        self.console.print(what)

    def drawn(self) -> Iterator[RenderableType]:
        """Yield what is in progress, drawn by another thread as well."""
        for block in list(self._blocks.values()):
            if (now := self._drawn(block)) is not None:
                yield now

    def _place(self, run: str | None) -> tuple[str, int]:
        """The lead and the indent of what a subagent says."""
        margin = self.speakers.margin(run)
        return self.speakers.lead(run).removeprefix(margin), len(margin)

    def _remember(self, call: str, name: str) -> None:
        self._names[call] = name
        if len(self._names) > _MOST_NAMES:
            del self._names[next(iter(self._names))]

    def _open(self, key: Key, run: str | None, name: str = "") -> None:
        kind, id_ = key
        lead, indent = self._place(run)
        if kind == "call":
            self._remember(id_, name)
            block: Block = Card(name, lead, indent)
        else:
            block = Said(lead, indent) if kind == "text" else Thought(lead, indent)
        self._blocks.setdefault(key, block)

    def _grow(self, key: Key, delta: str) -> None:
        if block := self._blocks.get(key):
            block.grow(delta)

    def _end(self, key: Key) -> None:
        if block := self._blocks.get(key):
            block.end()
            self._settle()

    def _drawn(self, block: Block) -> RenderableType | None:
        return block.drawn(unfolded=self.unfolded, width=self.console.width)

    def _settle(self) -> None:
        """Print what is done, and no longer redraw it."""
        for key, block in [(key, block) for key, block in self._blocks.items() if block.done]:
            del self._blocks[key]
            if (final := self._drawn(block)) is not None:
                self.show(final)

    def _tell(self, line: Line) -> None:
        self.show(safe(line.text.replace("\n", f"\n{line.margin}"), line.style))


class _Region:
    """The end of what is in progress, as much as the terminal has room for."""

    def __init__(self, renderer: LiveRenderer) -> None:
        self._renderer = renderer
        self._spinner = Spinner("dots", safe("Ctrl-C stops", "note"))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines: list[list[Segment]] = []
        for what in self._renderer.drawn():
            lines += console.render_lines(what, options, pad=False)
        room = max(console.height - 3, 1)
        for line in lines[-room:]:
            yield from line
            yield Segment.line()
        yield self._spinner
