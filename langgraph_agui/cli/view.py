"""Shows a conversation without cursor control: as plain lines, or its events as JSON lines.

In: AG-UI events, and messages of our own. Out: text on a console. `live_view.py` is the view for terminals.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from ag_ui import core
from rich.console import Console, RenderableType

from langgraph_agui.cli.formatting import (
    ActivityLines,
    Subagents,
    has_failed,
    json_text,
    plain_text,
    printable,
    safe,
    shorten,
)

Kind: TypeAlias = Literal["text", "thinking", "call"]
Key: TypeAlias = tuple[Kind, str]
"""The kind and the id of an item that streams."""


class View:
    """Shows the events of any number of runs, and messages of our own.

    This class decides which event opens, extends or ends which item; subclasses decide how items look.
    """

    def __init__(self, console: Console, *, unfolded: bool = True) -> None:
        self.console = console
        self.unfolded = unfolded
        """Whether reasoning stays open when it has ended; plain lines always stay."""
        self.subagents = Subagents()
        self._activities = ActivityLines()

    def begin(self) -> None:
        """Prepare for a turn, or for one of its runs."""

    def show_result(self, event: core.ToolCallResultEvent) -> None:
        """Show a tool result: the agent's, or that of a tool that ran here."""

    def finish(self) -> None:
        """Complete what is still open: no more events come for now."""

    def line(self, text: str, style: str = "note", indent: str = "") -> None:
        """Print `text` on a line of its own; `indent` stands before each further line."""
        self.console.print(printable(text), markup=False, soft_wrap=True)

    def show(self, what: RenderableType) -> None:
        """Print something that the person asked for, or must answer."""
        self.console.print(what)

    def _open(self, key: Key, run: str | None, name: str = "") -> None:
        """Begin an item of the subagent `run`; a call has a name."""

    def _extend(self, key: Key, delta: str) -> None:
        """Add text to an item."""

    def _end(self, key: Key) -> None:
        """Complete the text of an item."""

    def feed(self, event: core.BaseEvent) -> None:
        """Show what `event` adds."""
        self.subagents.receive(event)
        match event:
            case core.RunStartedEvent():
                self.begin()
            case core.TextMessageStartEvent(message_id=id_, subagent_run_id=run):
                self._open(("text", id_), run)
            case core.ReasoningMessageStartEvent(message_id=id_, subagent_run_id=run):
                self._open(("thinking", id_), run)
            case core.ToolCallStartEvent(tool_call_id=id_, tool_call_name=name, subagent_run_id=run):
                self._open(("call", id_), run, name)
            case core.TextMessageContentEvent(message_id=id_, delta=delta):
                self._extend(("text", id_), delta)
            case core.ReasoningMessageContentEvent(message_id=id_, delta=delta):
                self._extend(("thinking", id_), delta)
            case core.ToolCallArgsEvent(tool_call_id=id_, delta=delta):
                self._extend(("call", id_), delta)
            case core.TextMessageEndEvent(message_id=id_):
                self._end(("text", id_))
            case core.ReasoningMessageEndEvent(message_id=id_):
                self._end(("thinking", id_))
            case core.ToolCallEndEvent(tool_call_id=id_):
                self._end(("call", id_))
            case core.ToolCallResultEvent():
                self.show_result(event)
            case _:
                self._show_other(event)

    def _show_other(self, event: core.BaseEvent) -> None:
        """Show an event that belongs to no item."""
        subagents = self.subagents
        match event:
            case core.ActivitySnapshotEvent(subagent_run_id=run) | core.ActivityDeltaEvent(subagent_run_id=run):
                for line in self._activities.receive(event):
                    self.line(f"{subagents.prefix(run)}  {shorten(line)}", "note", subagents.indent(run))
            case core.SubagentStartedEvent(subagent_run_id=run, description=task):
                started = f"started: {shorten(task)}" if task else "started"
                self.line(f"{subagents.heading(run)} {started}", "subagent", subagents.indent(run))
            case core.SubagentFinishedEvent(subagent_run_id=run, outcome=outcome):
                suspended = isinstance(outcome, core.SubagentFinishedSuspendedOutcome)
                ended = "waits for an answer" if suspended else "done"
                self.line(f"{subagents.heading(run)} {ended}", "subagent", subagents.indent(run))
            case core.SubagentErrorEvent(subagent_run_id=run, message=message, code=code):
                ended = "stopped" if code == "cancelled" else f"failed: {message}"
                self.line(f"{subagents.heading(run)} {ended}", "failed", subagents.indent(run))
            case core.RunErrorEvent(message=message, code=code):
                self.finish()
                self.line(f"error: {code}: {message}" if code else f"error: {message}", "error")
                for key, value in (event.metadata or {}).items():
                    self.line(f"  {key}: {value}")
            case core.RunFinishedEvent(outcome=outcome):
                self.finish()
                if isinstance(outcome, core.RunFinishedCancelledOutcome):
                    self.line("The agent cancelled the run.")

    def end_turn(self, state: str | None, usage: Iterable[core.TokenUsage]) -> None:
        """Show the result of a turn: the state as JSON if it changed, and the tokens of each model."""
        if state is not None:
            self.line(f"state: {state}")
        for entry in usage:
            counts = {
                "in": entry.input_tokens,
                "cached": entry.cached_input_tokens,
                "out": entry.output_tokens,
                "reasoning": entry.reasoning_tokens,
            }
            known = ", ".join(f"{count} {name}" for name, count in counts.items() if count is not None)
            self.line(f"tokens: {known}" + (f" ({entry.model})" if entry.model else ""))


class JsonLinesView(View):
    """Prints each event as one line of JSON on stdout, and everything else on stderr. Chunk events come expanded."""

    def __init__(self) -> None:
        super().__init__(Console(stderr=True, highlight=False))

    def feed(self, event: core.BaseEvent) -> None:
        """Print the event in its wire format."""
        self.subagents.receive(event)
        print(json_text(event), flush=True)  # noqa: T201  # this is the output

    def end_turn(self, state: str | None, usage: Iterable[core.TokenUsage]) -> None:
        """Print nothing: the events have it."""


_LOOKS: Final[dict[Kind, tuple[str, str]]] = {
    "text": ("", ""),
    "thinking": ("thinking", "thinking: "),
    "call": ("call", "tool {} "),
}
"""The style of each kind of item, and what stands before its text."""


@dataclass(slots=True)
class _Item:
    """An item of `PlainView`: `prefix` is printed before its first text, `indent` before each further line."""

    style: str
    prefix: str
    indent: str = ""
    pending: list[str] = field(default_factory=list)
    printed: bool = False
    ended: bool = False


class PlainView(View):
    """Prints plain lines. Items interleave on the wire, lines cannot: the oldest open item prints, the others wait."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._items: dict[tuple[str, str], _Item] = {}

    def show_result(self, event: core.ToolCallResultEvent) -> None:
        """Print the result of a tool."""
        run, label = event.subagent_run_id, "failed" if has_failed(event) else "result"
        text = f"{self.subagents.prefix(run)}  {label}: {shorten(plain_text(event.content))}"
        self.line(text, label, self.subagents.indent(run))

    def finish(self) -> None:
        """End every item that is still open."""
        for item in self._items.values():
            item.ended = True
        self._print_pending()

    def line(self, text: str, style: str = "note", indent: str = "") -> None:
        """Print `text` once every item before it has ended."""
        item = _Item(style, "", indent, [text], ended=True)
        self._items["line", str(id(item))] = item
        self._print_pending()

    def show(self, what: RenderableType) -> None:
        """Print something and leave long lines to the terminal."""
        self.console.print(what, soft_wrap=True)

    def _open(self, key: Key, run: str | None, name: str = "") -> None:
        style, label = _LOOKS[key[0]]
        item = _Item(style, self.subagents.prefix(run) + label.format(name), self.subagents.indent(run))
        self._items.setdefault(key, item)
        self._print_pending()

    def _extend(self, key: Key, delta: str) -> None:
        if delta and (item := self._items.get(key)):
            item.pending.append(delta)
            self._print_pending()

    def _end(self, key: Key) -> None:
        if item := self._items.get(key):
            item.ended = True
            self._print_pending()

    def _print_pending(self) -> None:
        """Print what the first item has, then continue with the next one if it has ended."""
        while self._items:
            key, item = next(iter(self._items.items()))
            # An item without text would leave an empty line, but a call without arguments counts.
            if not item.printed and (item.pending or key[0] == "call"):
                item.printed = True
                self._print(item.prefix, item.style)
            if item.pending:
                self._print("".join(item.pending).replace("\n", f"\n{item.indent}"), item.style)
                item.pending.clear()
            if not item.ended:
                return
            if item.printed:
                self._print("\n", "")
            del self._items[key]

    def _print(self, text: str, style: str) -> None:
        self.console.print(safe(text, style), end="", soft_wrap=True, highlight=False)
        self.console.file.flush()
