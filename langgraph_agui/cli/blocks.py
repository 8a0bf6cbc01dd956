"""What is in progress in a terminal, as blocks that grow: text, reasoning, tool calls. Each draws itself.

In: pieces of text from an agent, raw. Out: rich renderables, in which nothing of it is markup or an escape.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Final

from rich.box import ROUNDED
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.text import Text

from langgraph_agui.cli.words import STYLES, one_line, printable, shortened

_TITLE: Final = 60


class Block(ABC):
    """Something that streams. `lead` is the name of who says it, if it needs one; `indent` is in columns."""

    def __init__(self, lead: str = "", indent: int = 0) -> None:
        self.done = False
        """Whether it can be printed for good."""
        self._lead, self._indent = lead, indent
        self._parts: list[str] = []

    def grow(self, delta: str) -> None:
        """Add to its text."""
        self._parts.append(delta)

    def end(self) -> None:
        """Its text is complete."""
        self.done = True

    @property
    def text(self) -> str:
        """What has come so far."""
        return "".join(self._parts)

    def drawn(self, *, unfolded: bool, width: int) -> RenderableType | None:
        """Return how it looks now on a terminal of `width` columns, None for nothing."""
        body = self._body(unfolded)
        indent = min(self._indent, width // 2)  # rich drops what has no room at all
        return body if body is None or not indent else Padding(body, (0, 0, 0, indent))

    @abstractmethod
    def _body(self, unfolded: bool) -> RenderableType | None:
        """How it looks, not indented."""

    def _led(self, text: str, style: str = "") -> Text:
        return safe(f"{self._lead}{text}", style)


class Said(Block):
    """A text message."""

    def _body(self, unfolded: bool) -> RenderableType | None:
        return self._led(self.text) if self._parts else None


class Thought(Block):
    """Reasoning: dim while it streams, then one line, unless it is to stay readable."""

    def __init__(self, lead: str = "", indent: int = 0) -> None:
        super().__init__(lead, indent)
        self._began, self._seconds = time.monotonic(), 0.0

    def end(self) -> None:
        """Take the time."""
        super().end()
        self._seconds = time.monotonic() - self._began

    def _body(self, unfolded: bool) -> RenderableType | None:
        text = self.text
        if not text.strip():
            return None
        if not self.done:
            return Group(self._led("▾ thinking", "note"), safe(text, "thinking"))
        words = len(text.split())
        title = f"thought for {self._seconds:.1f} s ({words} {'word' if words == 1 else 'words'})"
        if unfolded:
            return Group(self._led(f"▾ {title}", "note"), safe(text, "thinking"))
        return self._led(f"▸ {title}", "note")


class Card(Block):
    """A tool call: its arguments fill in, then its result. Done when it has one."""

    def __init__(self, name: str, lead: str = "", indent: int = 0) -> None:
        super().__init__("", indent)
        self._title = one_line(f"{lead}{name}", _TITLE)
        self._complete = False
        self._result: str | None = None
        self._failed = False

    def end(self) -> None:
        """Its arguments are complete."""
        self._complete = True

    def answer(self, result: str, *, failed: bool) -> None:
        """Take the result."""
        self._result, self._failed, self.done = result, failed, True

    def leave(self) -> None:
        """No result comes for now."""
        self.done = True

    def _body(self, unfolded: bool) -> RenderableType:
        body: list[RenderableType] = [safe(shortened(self.text))] if self._parts else []
        style, state = "call", "running" if self._complete else "calling"
        if self._result is not None:
            style, state = ("failed", "failed") if self._failed else ("result", "done")
            mark = "✗" if self._failed else "→"
            body.append(safe(f"{mark} {shortened(self._result)}", style))
        elif self.done:
            state = "no result yet"
        return card(self._title, Group(*body), style, state)


def card(title: str, body: RenderableType, style: str, state: str = "") -> Panel:
    """A frame around `body`, as narrow as that allows."""
    return Panel(
        body,
        box=ROUNDED,
        expand=False,
        title=safe(title, "bold"),
        title_align="left",
        subtitle=safe(state, "note") if state else None,
        subtitle_align="right",
        border_style=STYLES.get(style, style),
    )


def safe(text: str, style: str = "") -> Text:
    """Text of an agent as it can be shown: no markup, no control characters."""
    return Text(printable(text), style=STYLES.get(style, style), overflow="fold")
