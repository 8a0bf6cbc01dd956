"""Shows a conversation without cursor control: as plain lines, or its events as JSON lines.

In: AG-UI events, and messages of our own. Out: text on a console. `live_view.py` is the view for terminals.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ag_ui import core
from rich.console import Console, RenderableType

from langgraph_agui.cli.formatting import ActivityLines, Subagents, json_text, plain_text, printable, safe, shorten

Kind: TypeAlias = Literal["text", "thinking", "call"]
Content: TypeAlias = str | Sequence[core.ContentPart]
Key: TypeAlias = tuple[str, str]
"""The kind and the id of an item."""


@dataclass(slots=True)
class Item:
    """Something that streams: a text, a reasoning, or a tool call with its result."""

    kind: Kind
    prefix: str
    """What stands before its text, such as the name of its subagent."""
    indent: str = ""
    """What stands before each further line."""
    name: str = ""
    """The name of the tool."""
    style: str = ""
    parts: list[str] = field(default_factory=list)
    printed: bool = False
    """Whether some of it is printed already."""
    result: str | None = None
    failed: bool = False
    ended: bool = False
    """Whether its text is complete."""
    final: bool = False
    """Whether it changes no more: the result of a call comes after its text has ended."""
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    def end(self) -> None:
        """Complete its text."""
        self.ended, self.final = True, self.kind != "call"
        self.seconds = time.monotonic() - self.started


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
        self._items: dict[Key, Item] = {}

    def begin(self) -> None:
        """Prepare for a turn, or for one of its runs."""

    def show_result(self, call_id: str, content: Content, *, failed: bool, run: str | None = None) -> None:
        """Show the result of a tool of the agent, of its subagent `run`, or of a tool that ran here."""

    def finish(self) -> None:
        """Complete what is still open: no more events come for now."""
        for item in self._items.values():
            item.end()
            item.final = True
        self._update()

    def line(self, text: str, style: str = "note", indent: str = "") -> None:
        """Print `text` on a line of its own; `indent` stands before each further line."""
        self.console.print(printable(text), markup=False, soft_wrap=True)

    def show(self, what: RenderableType) -> None:
        """Print something that the person asked for, or must answer."""
        self.console.print(what)

    def _new_item(self, kind: Kind, run: str | None, name: str) -> Item:
        """Return a new item of the subagent `run`; a call has a name."""
        indent = self.subagents.indent(run)
        return Item(kind, self.subagents.prefix(run).removeprefix(indent), indent, name)

    def _update(self) -> None:
        """Show how the items have changed."""

    def _open(self, kind: Kind, id_: str, run: str | None, name: str = "") -> None:
        self._items.setdefault((kind, id_), self._new_item(kind, run, name))
        self._update()

    def _extend(self, kind: Kind, id_: str, delta: str) -> None:
        if delta and (item := self._items.get((kind, id_))):
            item.parts.append(delta)
            self._update()

    def _end(self, kind: Kind, id_: str) -> None:
        if item := self._items.get((kind, id_)):
            item.end()
            self._update()

    def feed(self, event: core.BaseEvent) -> None:
        """Show what `event` adds."""
        self.subagents.receive(event)
        match event:
            case core.RunStartedEvent():
                self.begin()
            case core.TextMessageStartEvent(message_id=id_, subagent_run_id=run):
                self._open("text", id_, run)
            case core.ReasoningMessageStartEvent(message_id=id_, subagent_run_id=run):
                self._open("thinking", id_, run)
            case core.ToolCallStartEvent(tool_call_id=id_, tool_call_name=name, subagent_run_id=run):
                self._open("call", id_, run, name)
            case core.TextMessageContentEvent(message_id=id_, delta=delta):
                self._extend("text", id_, delta)
            case core.ReasoningMessageContentEvent(message_id=id_, delta=delta):
                self._extend("thinking", id_, delta)
            case core.ToolCallArgsEvent(tool_call_id=id_, delta=delta):
                self._extend("call", id_, delta)
            case core.TextMessageEndEvent(message_id=id_):
                self._end("text", id_)
            case core.ReasoningMessageEndEvent(message_id=id_):
                self._end("thinking", id_)
            case core.ToolCallEndEvent(tool_call_id=id_):
                self._end("call", id_)
            case core.ToolCallResultEvent(tool_call_id=id_, content=content, subagent_run_id=run):
                failed = (event.metadata or {}).get("status") == "error"  # a convention of `LangGraphAgent`
                self.show_result(id_, content, failed=failed, run=run)
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
            names = ("in", "cached", "out", "reasoning")
            counts = (entry.input_tokens, entry.cached_input_tokens, entry.output_tokens, entry.reasoning_tokens)
            known = [f"{count} {name}" for name, count in zip(names, counts, strict=True) if count is not None]
            self.line(f"tokens: {', '.join(known)}" + (f" ({entry.model})" if entry.model else ""))


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


class PlainView(View):
    """Prints plain lines. Items interleave on the wire, lines cannot: the oldest open item prints, the others wait."""

    def show_result(self, call_id: str, content: Content, *, failed: bool, run: str | None = None) -> None:
        """Print the result of a tool."""
        label = "failed" if failed else "result"
        text = f"{self.subagents.prefix(run)}  {label}: {shorten(plain_text(content))}"
        self.line(text, label, self.subagents.indent(run))

    def line(self, text: str, style: str = "note", indent: str = "") -> None:
        """Print `text` once every item before it has ended."""
        item = Item("text", "", indent, style=style, parts=[text], ended=True)
        self._items["line", str(id(item))] = item
        self._update()

    def show(self, what: RenderableType) -> None:
        """Print something and leave long lines to the terminal."""
        self.console.print(what, soft_wrap=True)

    def _new_item(self, kind: Kind, run: str | None, name: str) -> Item:
        label, style = {"text": "", "thinking": "thinking: ", "call": f"tool {name} "}[kind], kind.removeprefix("text")
        return Item(kind, self.subagents.prefix(run) + label, self.subagents.indent(run), name, style)

    def _update(self) -> None:
        """Print what the first item has, then continue with the next one if it has ended."""
        while self._items:
            key, item = next(iter(self._items.items()))
            # An item without text would leave an empty line, but a call without arguments counts.
            if not item.printed and (item.parts or item.kind == "call"):
                item.printed = True
                self._print(item.prefix, item.style)
            if item.parts:
                self._print("".join(item.parts).replace("\n", f"\n{item.indent}"), item.style)
                item.parts.clear()
            if not item.ended:
                return
            if item.printed:
                self._print("\n", "")
            del self._items[key]

    def _print(self, text: str, style: str) -> None:
        self.console.print(safe(text, style), end="", soft_wrap=True, highlight=False)
        self.console.file.flush()
