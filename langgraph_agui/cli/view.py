"""What shows a conversation: plain lines, a terminal's live region, or the events as JSON lines."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Protocol

from ag_ui.core import BaseEvent, TokenUsage, ToolCallResultEvent
from rich.console import Console, RenderableType

from langgraph_agui.cli.speakers import Speakers
from langgraph_agui.cli.words import json_text, printable


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
