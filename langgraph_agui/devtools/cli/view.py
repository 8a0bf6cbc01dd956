"""Shows a conversation: live in a terminal, as plain lines, or its events as JSON lines.

In: AG-UI events, and messages of our own. Out: text on a console.
"""

import time
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from ag_ui import core as agui
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.segment import Segment
from rich.spinner import Spinner

from langgraph_agui.devtools.cli import formatting
from langgraph_agui.devtools.cli.formatting import (
    SafeMarkdown,
    json_text,
    one_line,
    plain_text,
    printable,
    safe,
    shorten,
)

# The items that stream on the wire.
ItemKind: TypeAlias = Literal["text", "reasoning", "call"]

_REDRAWS_PER_SECOND: Final = 12
_MAX_TITLE: Final = 60
# How many characters are read as Markdown: of a text that still grows, each time it is drawn, and
# at its end.
_MAX_GROWING: Final = 10_000
_MAX_MARKDOWN: Final = 100_000
_MARKS: Final = {"result": "→ ", "failed": "✗ ", "rejected": "rejected: "}


@dataclass(slots=True)
class Item:
    """Something that streams: a text, a reasoning, or a tool call with its result."""

    kind: ItemKind
    # The prefix of its text, such as the name of its subagent.
    prefix: str
    # The prefix of each further line.
    indent: str = ""
    # The name of the tool.
    name: str = ""
    style: str = ""
    parts: list[str] = field(default_factory=list)
    # Whether some of it is printed already.
    printed: bool = False
    # The result of a call, or the reason of its rejection.
    result: str | None = None
    # How it has ended, if that is known: "result", "failed" or "rejected" for a call, else why it
    # goes no further.
    status: str = ""
    # Whether its text is complete.
    ended: bool = False
    # Whether it changes no more: the result of a call comes after its text has ended.
    final: bool = False
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    def end(self) -> None:
        """Complete its text."""
        self.ended, self.final = True, self.kind != "call"
        self.seconds = time.monotonic() - self.started


class View:
    """Shows the events of any number of runs, and messages of our own.

    This class decides which event opens, extends or ends which item; subclasses decide how items
    look, and whether they are redrawn (`is_live`).
    """

    is_live = False

    def __init__(self, console: Console) -> None:
        self.console = console
        # The calls that the person has rejected, and why: the agent's results of them are texts for
        # its model.
        self.rejected: dict[str, str] = {}
        self.subagents = formatting.Subagents()
        self._activities = formatting.ActivityLines()
        # The open items, by kind and id.
        self._items: dict[tuple[str, str], Item] = {}

    def begin(self) -> None:
        """Prepare for a turn, or for one of its runs."""

    def _receive_result(self, event: agui.ToolCallResultEvent) -> None:
        """Show the result of a tool."""
        call_id, run = event.tool_call_id, event.subagent_run_id
        if (reason := self.rejected.get(call_id)) is not None:
            self._show_result(call_id, reason, "rejected", run)
        else:
            # A convention of `LangGraphAgent`.
            has_failed = (event.metadata or {}).get("status") == "error"
            status = "failed" if has_failed else "result"
            self._show_result(call_id, plain_text(event.content), status, run)

    def _show_result(self, call_id: str, text: str, status: str, run: str | None) -> None:
        """Show how a call has ended."""

    def finish(self, status: str = "not finished") -> None:
        """Complete the open items, with a note why: no more events come for now."""
        for item in self._items.values():
            item.status = item.status if item.final else status
            item.end()
            item.final = True
        self._update()

    def line(self, text: str, style: str = "note", indent: str = "") -> None:
        """Print `text` on a line of its own; `indent` stands before each further line."""
        self.console.print(printable(text), markup=False, soft_wrap=True)

    def show(self, what: RenderableType) -> None:
        """Print something that the person asked for, or must answer."""
        self.console.print(what)

    def page(self, what: RenderableType) -> None:
        """Print something that may be longer than the screen."""
        self.show(what)

    def _new_item(self, kind: ItemKind, run: str | None, name: str) -> Item:
        """Return a new item of the subagent `run`; a call has a name."""
        indent = self.subagents.indent(run)
        return Item(kind, self.subagents.prefix(run).removeprefix(indent), indent, name)

    def _update(self) -> None:
        """Show how the items have changed."""

    def _open(self, kind: ItemKind, id_: str, run: str | None, name: str = "") -> None:
        self._items.setdefault((kind, id_), self._new_item(kind, run, name))
        self._update()

    def _extend(self, kind: ItemKind, id_: str, delta: str) -> None:
        if delta and (item := self._items.get((kind, id_))):
            item.parts.append(delta)
            self._update()

    def _end(self, kind: ItemKind, id_: str) -> None:
        if item := self._items.get((kind, id_)):
            item.end()
            self._update()

    def feed(self, event: agui.BaseEvent) -> None:
        """Show an event."""
        self.subagents.receive(event)
        match event:
            case agui.RunStartedEvent():
                self.begin()
            case agui.TextMessageStartEvent(message_id=id_, subagent_run_id=run):
                self._open("text", id_, run)
            case agui.ReasoningMessageStartEvent(message_id=id_, subagent_run_id=run):
                self._open("reasoning", id_, run)
            case agui.ToolCallStartEvent(tool_call_id=id_, subagent_run_id=run):
                self._open("call", id_, run, event.tool_call_name)
            case agui.TextMessageContentEvent(message_id=id_, delta=delta):
                self._extend("text", id_, delta)
            case agui.ReasoningMessageContentEvent(message_id=id_, delta=delta):
                self._extend("reasoning", id_, delta)
            case agui.ToolCallArgsEvent(tool_call_id=id_, delta=delta):
                self._extend("call", id_, delta)
            case agui.TextMessageEndEvent(message_id=id_):
                self._end("text", id_)
            case agui.ReasoningMessageEndEvent(message_id=id_):
                self._end("reasoning", id_)
            case agui.ToolCallEndEvent(tool_call_id=id_):
                self._end("call", id_)
            case agui.ToolCallResultEvent():
                self._receive_result(event)
            case _:
                self._show_other(event)

    def _show_other(self, event: agui.BaseEvent) -> None:
        """Show an event that belongs to no item."""
        match event:
            case (
                agui.ActivitySnapshotEvent(subagent_run_id=run)
                | agui.ActivityDeltaEvent(subagent_run_id=run)
            ):
                for line in self._activities.receive(event):
                    self.line(
                        f"{self.subagents.prefix(run)}  {shorten(line)}",
                        "note",
                        self.subagents.indent(run),
                    )
            case agui.SubagentStartedEvent(subagent_run_id=run, description=task):
                self._subagent_line(run, f"started: {shorten(task)}" if task else "started")
            case agui.SubagentFinishedEvent(subagent_run_id=run, outcome=outcome):
                suspended = isinstance(outcome, agui.SubagentFinishedSuspendedOutcome)
                self._subagent_line(run, "waits for an answer" if suspended else "done")
            case agui.SubagentErrorEvent(subagent_run_id=run, message=message, code=code):
                self._subagent_line(
                    run, "stopped" if code == "cancelled" else f"failed: {message}", "failed"
                )
            case agui.RunErrorEvent(message=message, code=code):
                self.finish()
                self.line(f"error: {code}: {message}" if code else f"error: {message}", "error")
                for key, value in (event.metadata or {}).items():
                    self.line(f"  {key}: {value}")
            case agui.RunFinishedEvent(outcome=outcome):
                self.finish("no result yet")
                if isinstance(outcome, agui.RunFinishedCancelledOutcome):
                    self.line("The agent cancelled the run.")

    def _subagent_line(self, run: str, text: str, style: str = "subagent") -> None:
        """Print a line about a subagent, behind its name."""
        self.line(f"{self.subagents.heading(run)} {text}", style, self.subagents.indent(run))

    def end_turn(self, state: str | None, usage: Iterable[agui.TokenUsage]) -> None:
        """Show the result of a turn: the state as JSON if it changed, and the tokens of each
        model.
        """
        if state is not None:
            self.line(f"state: {state}")
        for entry in usage:
            names = ("in", "cached", "out", "reasoning")
            counts = (
                entry.input_tokens,
                entry.cached_input_tokens,
                entry.output_tokens,
                entry.reasoning_tokens,
            )
            known = [
                f"{count} {name}"
                for name, count in zip(names, counts, strict=True)
                if count is not None
            ]
            self.line(f"tokens: {', '.join(known)}" + (f" ({entry.model})" if entry.model else ""))


class JsonLinesView(View):
    """Prints each event as one line of JSON on stdout, and everything else on stderr. Chunk events
    come expanded.
    """

    def __init__(self) -> None:
        super().__init__(Console(stderr=True, highlight=False))

    def feed(self, event: agui.BaseEvent) -> None:
        """Print the event in its wire format."""
        self.subagents.receive(event)
        print(json_text(event), flush=True)  # noqa: T201  # this is the output

    def end_turn(self, state: str | None, usage: Iterable[agui.TokenUsage]) -> None:
        """Print nothing: the events have it."""


class PlainView(View):
    """Prints plain lines. Items interleave on the wire, lines cannot: the oldest open item prints,
    the others wait.
    """

    def _show_result(self, call_id: str, text: str, status: str, run: str | None) -> None:
        line = f"{self.subagents.prefix(run)}  {status}" + (f": {shorten(text)}" if text else "")
        self.line(line, status, self.subagents.indent(run))

    def line(self, text: str, style: str = "note", indent: str = "") -> None:
        """Print `text` once every item before it has ended."""
        item = Item("text", "", indent, style=style, parts=[text], ended=True, final=True)
        self._items["line", str(id(item))] = item
        self._update()

    def show(self, what: RenderableType) -> None:
        """Print something and leave long lines to the terminal."""
        self.console.print(what, soft_wrap=True)

    def _new_item(self, kind: ItemKind, run: str | None, name: str) -> Item:
        label = {"reasoning": "thinking: ", "call": f"tool {name} "}.get(kind, "")
        style = {"reasoning": "thinking", "call": "call"}.get(kind, "")
        return Item(
            kind, self.subagents.prefix(run) + label, self.subagents.indent(run), name, style
        )

    def _update(self) -> None:
        """Print the first item, as far as it has come, and the next one if the first has ended."""
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
                self._print(f" ({item.status})\n" if item.status else "\n", "")
            del self._items[key]

    def _print(self, text: str, style: str) -> None:
        self.console.print(safe(text, style), end="", soft_wrap=True, highlight=False)
        self.console.file.flush()


class LiveView(View):
    """Redraws open items at the bottom of a terminal, and prints finished ones into the scrollback.

    Items are printed in the order in which they end, so that a long tool call does not hide what
    its subagents write.
    """

    is_live = True

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        # Tool names by call id: a result may come in a later run than its call.
        self._tools: dict[str, str] = {}
        self._live: Live | None = None
        self._spinner = Spinner("dots", safe("Ctrl-C stops", "note"))

    def begin(self) -> None:
        """Show that the agent works."""
        if self._live is None:
            self._live = Live(
                self, console=self.console, refresh_per_second=_REDRAWS_PER_SECOND, transient=True
            )
            self._live.start()

    def _show_result(self, call_id: str, text: str, status: str, run: str | None) -> None:
        """Add the result to its call; if the call was printed already, print a card with the result
        alone.
        """
        self._open("call", call_id, run, self._tools.get(call_id, "tool"))
        item = self._items["call", call_id]
        item.result, item.status, item.final = text, status, True
        self._update()

    def finish(self, status: str = "not finished") -> None:
        """Print the open items as they are, and release the terminal."""
        super().finish(status)
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def show(self, what: RenderableType) -> None:
        """Print something above the open items, never while the thread of rich redraws them."""
        with self._live._lock if self._live else nullcontext():
            self.console.print(what)

    def line(self, text: str, style: str = "note", indent: str = "") -> None:
        """Print `text` above the open items."""
        self.show(safe(text.replace("\n", f"\n{indent}"), style))

    def page(self, what: RenderableType) -> None:
        """Print something, in the person's pager if it is longer than the screen."""
        is_long = len(self.console.render_lines(what)) >= self.console.height
        with self.console.pager() if is_long else nullcontext():
            self.console.print(what)

    def _open(self, kind: ItemKind, id_: str, run: str | None, name: str = "") -> None:
        if kind == "call":
            self._tools[id_] = name
        super()._open(kind, id_, run, name)

    def _update(self) -> None:
        """Print the items that change no more, and stop redrawing them."""
        final = {key: item for key, item in self._items.items() if item.final}
        for key, item in final.items():
            del self._items[key]
            if (body := self._render(item)) is not None:
                self.show(body)

    def _render(self, item: Item) -> RenderableType | None:
        """Return how an item looks now; None if there is nothing to see."""
        text = "".join(item.parts)
        if item.kind == "call":
            body: RenderableType = self._render_call(item, text)
        elif item.kind == "reasoning" and text.strip():
            body = self._render_reasoning(item, text)
        elif item.kind == "text" and text:
            body = self._render_text(item, text)
        else:
            return None
        # rich drops text that has no room at all.
        indent = min(len(item.indent), self.console.width // 2)
        return Padding(body, (0, 0, 0, indent)) if indent else body

    def _render_text(self, item: Item, text: str) -> RenderableType:
        is_short = len(text) <= (_MAX_MARKDOWN if item.final else _MAX_GROWING)
        parts = [
            safe(item.prefix.rstrip()),
            SafeMarkdown(text) if is_short else safe(text),
            safe(item.status, "note"),
        ]
        return Group(*(part for part in parts if part))

    def _render_reasoning(self, item: Item, text: str) -> RenderableType:
        words = len(text.split())
        about = ", ".join(
            filter(None, (f"{words} {'word' if words == 1 else 'words'}", item.status))
        )
        title = f"thought for {item.seconds:.1f} s ({about})"
        if item.final:
            return safe(f"{item.prefix}▸ {title}", "note")
        return Group(safe(f"{item.prefix}▾ thinking", "note"), safe(text, "thinking"))

    def _render_call(self, item: Item, arguments: str) -> RenderableType:
        body: list[RenderableType] = [safe(shorten(arguments))] if arguments else []
        style, state = "call", item.status
        if not state:
            state = "running" if item.ended else "calling"
        if item.result is not None:
            style = item.status
            state = "done" if style == "result" else style
            text = f"{_MARKS[style]}{shorten(item.result)}"
            body.append(safe(text.rstrip(": "), style))
        return formatting.card(
            one_line(item.prefix + item.name, _MAX_TITLE), Group(*body), style, state
        )

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the end of the open items, as much as the screen has room for. A thread of rich
        calls this too.
        """
        lines: list[list[Segment]] = []
        for item in list(self._items.values()):
            if (body := self._render(item)) is not None:
                lines += console.render_lines(body, options, pad=False)
        room = max(console.height - 3, 1)
        for line in lines[-room:]:
            yield from line
            yield Segment.line()
        yield self._spinner
