"""What shows a conversation: plain lines, a terminal's live region, or the events as JSON lines."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Literal, Protocol, TypeAlias

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
from rich.console import Console, RenderableType

from langgraph_agui.cli.output import Outputs
from langgraph_agui.cli.speakers import Speakers
from langgraph_agui.cli.words import Line, json_text, printable, told, told_end_of_turn

Kind: TypeAlias = Literal["text", "thinking", "call"]
Key: TypeAlias = tuple[Kind, str]
"""An item that streams: what it is, and its id."""


class View(Protocol):
    """Shows the events of any number of runs, and what else there is to say."""

    speakers: Speakers
    """Who speaks in the runs; learns it from the events."""
    console: Console
    """Where people are talked to."""
    unfolded: bool
    """Whether reasoning stays readable when it has ended, where that makes a difference."""

    def begin(self) -> None:
        """A turn begins."""

    def feed(self, event: BaseEvent) -> None:
        """Show what `event` adds."""

    def answered(self, event: ToolCallResultEvent) -> None:
        """Show the result of a tool that ran here: no event of the agent tells of it."""

    def finish(self) -> None:
        """Nothing more comes for now: end what is still open."""

    def ended(self, state: str | None, usage: Iterable[TokenUsage]) -> None:
        """Show what came of a turn: the state, as JSON, if it has changed, and the tokens."""

    def line(self, text: str, style: str = "note") -> None:
        """Show a line of its own."""

    def show(self, what: RenderableType) -> None:
        """Show something that a person has asked for, or is asked."""


class ItemView(ABC):
    """A `View` for people: knows which event opens, grows or ends which item, not how that looks."""

    def __init__(self, console: Console, *, unfolded: bool) -> None:
        self.console, self.unfolded = console, unfolded
        self.speakers = Speakers()
        self._outputs = Outputs()

    def feed(self, event: BaseEvent) -> None:
        """Show what `event` adds."""
        self.speakers.feed(event)
        match event:
            case RunStartedEvent():
                self.begin()
            case TextMessageStartEvent(message_id=key, subagent_run_id=run):
                self._open(("text", key), run)
            case ReasoningMessageStartEvent(message_id=key, subagent_run_id=run):
                self._open(("thinking", key), run)
            case ToolCallStartEvent(tool_call_id=key, tool_call_name=name, subagent_run_id=run):
                self._open(("call", key), run, name)
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

    def ended(self, state: str | None, usage: Iterable[TokenUsage]) -> None:
        """Print the state if it has changed, and the tokens."""
        for line in told_end_of_turn(state, usage):
            self._tell(line)

    def line(self, text: str, style: str = "note") -> None:
        """Print a line of its own."""
        self._tell(Line(text, style))

    def _whole(self, event: BaseEvent) -> None:
        """Show an event that belongs to no item."""
        if isinstance(event, RunErrorEvent | RunFinishedEvent):
            self.finish()
        for line in told(event, self.speakers, self._outputs):
            self._tell(line)

    @abstractmethod
    def begin(self) -> None:
        """A turn, or a run of it, begins."""

    @abstractmethod
    def answered(self, event: ToolCallResultEvent) -> None:
        """Show the result of a tool."""

    @abstractmethod
    def finish(self) -> None:
        """End what is still open."""

    @abstractmethod
    def _open(self, key: Key, run: str | None, name: str = "") -> None:
        """An item of the subagent `run` begins; a call has a name."""

    @abstractmethod
    def _grow(self, key: Key, delta: str) -> None:
        """An item goes on."""

    @abstractmethod
    def _end(self, key: Key) -> None:
        """An item is complete."""

    @abstractmethod
    def _tell(self, line: Line) -> None:
        """Print a line of its own."""


class JsonLines:
    """Prints each event as a line of JSON on stdout. All else goes to stderr."""

    def __init__(self) -> None:
        self.speakers = Speakers()
        self.console = Console(stderr=True, highlight=False)
        self.unfolded = True

    def begin(self) -> None:
        """There is nothing to prepare."""

    def feed(self, event: BaseEvent) -> None:
        """Print the event in its wire form; chunk events have become what they stand for."""
        self.speakers.feed(event)
        print(json_text(event), flush=True)  # noqa: T201  # this is the output

    def answered(self, event: ToolCallResultEvent) -> None:
        """Print nothing: only what the agent sent is in the output."""

    def finish(self) -> None:
        """There is nothing to end."""

    def ended(self, state: str | None, usage: Iterable[TokenUsage]) -> None:
        """Print nothing: the events have it."""

    def line(self, text: str, style: str = "note") -> None:
        """Print it where it does not get into the way."""
        self.console.print(printable(text), markup=False, soft_wrap=True)

    def show(self, what: RenderableType) -> None:
        """Print it where it does not get into the way."""
        self.console.print(what)


def view_on(console: Console, *, as_json: bool = False) -> View:
    """Return what shows a conversation on `console`: live where it is a terminal that can, else line by line.

    Outside of the main thread it is line by line too: when the process ends, nobody would give the terminal back.
    """
    if as_json:
        return JsonLines()
    here = threading.current_thread() is threading.main_thread()
    if console.is_terminal and not console.is_dumb_terminal and here:
        from langgraph_agui.cli.live import LiveRenderer

        return LiveRenderer(console)
    from langgraph_agui.cli.render import Renderer

    return Renderer(console)
