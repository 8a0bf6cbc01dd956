"""AG-UI events in a terminal: what is in progress is redrawn at the bottom, what is finished goes into the scrollback.

A block is printed for good when it has ended, in the order in which they end: a tool that runs for long holds nothing
back that its subagents say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.spinner import Spinner

from langgraph_agui.cli.blocks import Block, Card, Said, Thought, safe
from langgraph_agui.cli.output import Outputs
from langgraph_agui.cli.speakers import Speakers
from langgraph_agui.cli.words import has_failed, plain_text, told, told_end_of_turn

_PER_SECOND: Final = 12
_MOST_NAMES: Final = 1000
"""How many calls are remembered by name: the result may come in a later run."""


class LiveRenderer:
    """Shows the events of any number of runs in a terminal: a `View`."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.speakers = Speakers()
        self.unfolded = False
        self._outputs = Outputs()
        self._blocks: dict[tuple[str, str], Block] = {}
        self._names: dict[str, str] = {}
        self._live: Live | None = None

    def begin(self) -> None:
        """Show that the agent is at work."""
        if self._live is None:
            region = _Region(self)
            live = Live(region, console=self.console, refresh_per_second=_PER_SECOND, transient=True)
            self._live = live
            live.start()

    def feed(self, event: BaseEvent) -> None:
        """Show what `event` adds."""
        self.speakers.feed(event)
        match event:
            case RunStartedEvent():
                self.begin()
            case TextMessageStartEvent(message_id=key, subagent_run_id=run):
                self._open(("text", key), Said(*self._place(run)))
            case ReasoningMessageStartEvent(message_id=key, subagent_run_id=run):
                self._open(("thinking", key), Thought(*self._place(run)))
            case ToolCallStartEvent(tool_call_id=key, tool_call_name=name, subagent_run_id=run):
                self._remember(key, name)
                self._open(("call", key), Card(name, *self._place(run)))
            case TextMessageContentEvent(message_id=key, delta=delta):
                self._grow(("text", key), delta)
            case ReasoningMessageContentEvent(message_id=key, delta=delta):
                self._grow(("thinking", key), delta)
            case ToolCallArgsEvent(tool_call_id=key, delta=delta):
                self._grow(("call", key), delta)
            case TextMessageEndEvent(message_id=key):
                self._end(("text", key))
            case ReasoningMessageEndEvent(message_id=key):
                self._end(("thinking", key))
            case ToolCallEndEvent(tool_call_id=key):
                self._end(("call", key))
            case ToolCallResultEvent():
                self.answered(event)
            case _:
                self._whole(event)

    def answered(self, event: ToolCallResultEvent) -> None:
        """Fill in the result of a call; one that was shown as open gets a card with the result alone."""
        key = event.tool_call_id
        block = self._blocks.get(("call", key))
        if not isinstance(block, Card):
            block = Card(self._names.get(key, "tool"), *self._place(event.subagent_run_id))
            self._open(("call", key), block)
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

    def ended(self, state: str | None, usage: Iterable[TokenUsage]) -> None:
        """Print the state if it has changed, and the tokens."""
        for line in told_end_of_turn(state, usage):
            self.line(line.text, line.style)

    def line(self, text: str, style: str = "note") -> None:
        """Print a line of its own."""
        self.show(safe(text, style))

    def show(self, what: RenderableType) -> None:
        """Print something for good, above what is in progress."""
        self.console.print(what)

    def drawn(self) -> Iterator[RenderableType]:
        """Yield what is in progress, drawn by another thread as well."""
        for block in list(self._blocks.values()):
            if (now := block.drawn(unfolded=self.unfolded)) is not None:
                yield now

    def _place(self, run: str | None) -> tuple[str, int]:
        """The lead and the indent of what a subagent says."""
        margin = self.speakers.margin(run)
        return self.speakers.lead(run).removeprefix(margin), len(margin)

    def _remember(self, call: str, name: str) -> None:
        self._names[call] = name
        if len(self._names) > _MOST_NAMES:
            del self._names[next(iter(self._names))]

    def _open(self, key: tuple[str, str], block: Block) -> None:
        self._blocks.setdefault(key, block)

    def _grow(self, key: tuple[str, str], delta: str) -> None:
        if block := self._blocks.get(key):
            block.grow(delta)

    def _end(self, key: tuple[str, str]) -> None:
        if block := self._blocks.get(key):
            block.end()
            self._settle()

    def _settle(self) -> None:
        """Print what is done, and no longer redraw it."""
        for key, block in [(key, block) for key, block in self._blocks.items() if block.done]:
            del self._blocks[key]
            if (final := block.drawn(unfolded=self.unfolded)) is not None:
                self.show(final)

    def _whole(self, event: BaseEvent) -> None:
        if isinstance(event, RunErrorEvent | RunFinishedEvent):
            self.finish()
        for line in told(event, self.speakers, self._outputs):
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
