"""Text for the terminal: makes agents' text safe to print, and names subagents, tool output and
messages.

In: AG-UI events and messages. Out: strings without control characters, rich renderables, and errors
with an exit code.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from enum import IntEnum
from itertools import count
from typing import Final

from ag_ui import core as agui
from markdown_it import MarkdownIt
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import Markdown
from rich.panel import Panel
from rich.segment import Segment
from rich.text import Text

from langgraph_agui.protocol import to_jsonable

# How many characters of a tool result are printed.
MAX_RESULT: Final = 2000

# Our style names, and those of rich.
STYLES: Final = {
    "thinking": "dim italic",
    "call": "cyan",
    "result": "green",
    "failed": "red",
    "rejected": "yellow",
    "subagent": "magenta",
    "note": "dim",
    "error": "bold red",
    "question": "yellow",
}

# Agent text must not move the cursor, write to the clipboard or reverse text. Control characters
# are printed as pictures or as U+FFFD, and so are lone surrogates, which no terminal can receive.
_CONTROLS: Final = {
    **{code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"},
    **dict.fromkeys([*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], 0xFFFD),
    **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
}
# In JSON the same characters are escaped, so that the text stays JSON.
_JSON_ESCAPES: Final = {code: f"\\u{code:04x}" for code in _CONTROLS if code >= 0x7F}
# How many levels of subagents have names of their own.
_MAX_NESTED: Final = 20
_TOOL_OUTPUT: Final = "langgraph:tool_output"
_MEDIA: Final = "langgraph:media"


class ExitCode(IntEnum):
    """The exit codes of every command."""

    # The command succeeded; for `chat`, the run finished.
    OK = 0
    # The run failed or its stream broke off, or the server could not start.
    FAILED = 1
    # The command line was wrong: an unknown option, or a graph that cannot be loaded.
    USAGE = 2
    # Nothing answered at the URL, or the answer was not AG-UI.
    UNREACHABLE = 3
    # The run waits for an answer, which a one-shot command cannot give.
    WAITING = 4
    # The person pressed Ctrl-C.
    INTERRUPTED = 130


class CommandError(Exception):
    """A failure with a message for a person and an exit code for a script."""

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.code = code


def printable(text: str) -> str:
    """Return `text` with its control characters replaced by pictures."""
    return text.translate(_CONTROLS)


def safe(text: str, style: str = "") -> Text:
    """Return agent text as a rich renderable: no markup, no control characters."""
    return Text(printable(text), style=STYLES.get(style, style), overflow="fold")


class SafeMarkdown(Markdown):
    """Agent text as Markdown: line ends stay, HTML is text, links show their address, no control
    characters.
    """

    def __init__(self, text: str) -> None:
        super().__init__("", code_theme="ansi_dark", justify="default", hyperlinks=False)
        parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
        self.parsed = parser.parse(printable(text))
        for child in (child for token in self.parsed for child in token.children or ()):
            if child.type == "softbreak":
                child.type = "hardbreak"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render it. Entities such as `&#x202e;` have become characters by now."""
        for one in super().__rich_console__(console, options):
            yield (
                Segment(printable(one.text), one.style, one.control)
                if isinstance(one, Segment)
                else one
            )


def card(title: str, body: RenderableType, style: str, state: str = "") -> Panel:
    """Return a frame around `body`, no wider than it needs to be."""
    return Panel.fit(
        body,
        title=safe(title, "bold"),
        title_align="left",
        subtitle=safe(state, "note"),
        subtitle_align="right",
        border_style=STYLES.get(style, style),
    )


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return `value` as JSON that is safe to print."""
    return json.dumps(to_jsonable(value), ensure_ascii=False, indent=indent).translate(
        _JSON_ESCAPES
    )


def shorten(text: str) -> str:
    """Return the first `MAX_RESULT` characters of `text`, and how many more there are."""
    cut = len(text) - MAX_RESULT
    return f"{text[:MAX_RESULT]}… ({cut} more characters)" if cut > 0 else text


def one_line(text: str, limit: int) -> str:
    """Return `text` on one line of at most `limit` characters, safe to print."""
    flat = printable(" ".join(text.split()))
    return flat if len(flat) <= limit else f"{flat[: max(limit - 1, 0)]}…"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun, such as `1 event` or `2 events`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def plain_text(content: str | Sequence[agui.ContentPart] | None) -> str:
    """Return the text of a message's content; other parts appear as `[image]` and the like."""
    if content is None or isinstance(content, str):
        return content or ""
    return " ".join(
        part.text if isinstance(part, agui.TextPart) else f"[{part.type}]" for part in content
    )


class Subagents:
    """The subagents of a conversation, learned from its events."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._parents: dict[str, str | None] = {}
        self._running: set[str] = set()

    def receive(self, event: agui.BaseEvent) -> None:
        """Record which subagents start and end."""
        match event:
            case agui.SubagentStartedEvent(
                subagent_run_id=run, name=name, parent_subagent_run_id=parent
            ):
                if run not in self._names:  # else it continues after an interrupt
                    self._names[run], self._parents[run] = self._unique(name), parent
                self._running.add(run)
            case (
                agui.SubagentFinishedEvent(subagent_run_id=run)
                | agui.SubagentErrorEvent(subagent_run_id=run)
            ):
                self._running.discard(run)
            case agui.RunFinishedEvent() | agui.RunErrorEvent():
                self._running.clear()

    def indent(self, run: str | None) -> str:
        """Return the spaces before each line of a subagent; none for the agent itself."""
        return "" if run is None else "  " * (len(self._lineage(run)) or 1)

    def prefix(self, run: str | None) -> str:
        """Return the prefix of a subagent's first line. It has the name only where others run at
        the same time.
        """
        if run is None:
            return ""
        lineage = self._lineage(run)
        others = any(
            other not in lineage and run not in self._lineage(other) for other in self._running
        )
        return (
            f"{self.indent(run)}[{self._names.get(run, run)}] "
            if others or not lineage
            else self.indent(run)
        )

    def heading(self, run: str) -> str:
        """Return the name of a subagent for lines about its own start and end."""
        return f"{self.indent(run)[2:]}[{self._names.get(run, run)}]"

    def path(self, run: str) -> str:
        """Return the names of a subagent's parents and its own, outermost first."""
        return " › ".join(self._names[one] for one in reversed(self._lineage(run))) or "a subagent"

    def _lineage(self, run: str | None) -> list[str]:
        """Return the subagent, its parent, and so on, as far as they are known."""
        lineage: list[str] = []
        while run in self._names and run not in lineage and len(lineage) < _MAX_NESTED:
            lineage.append(run)
            run = self._parents[run]
        return lineage

    def _unique(self, name: str) -> str:
        """Return the name, with a number if a running subagent has it already."""
        taken = {self._names[run] for run in self._running}
        return next(
            unique for n in count(1) if (unique := f"{name} {n}" if n > 1 else name) not in taken
        )


def activity_text(activity_type: str, content: object) -> str:
    """Return the content of an activity as JSON, or media by their names: `[image image/png]`."""
    match content:
        case {"parts": list(parts)} if activity_type == _MEDIA:
            return " ".join(_medium(part) for part in parts)
    return json_text(content)


def _medium(part: object) -> str:
    match part:
        case {"type": kind, "source": {"mimeType": mime}} | {
            "type": kind,
            "omitted": {"mimeType": mime},
        }:
            return f"[{kind} {mime}]"
        case {"type": kind}:
            return f"[{kind}]"
    return json_text(part)


class ActivityLines:
    """Turns activities into lines: streamed tool output line by line, media by their names, any
    other activity as JSON.
    """

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}
        self._partial: dict[str, str] = {}

    def receive(self, event: agui.ActivitySnapshotEvent | agui.ActivityDeltaEvent) -> Iterator[str]:
        """Yield the lines that `event` completes."""
        key, data = event.message_id, event.model_dump(mode="json", by_alias=True)
        content, patch = data.get("content"), data.get("patch", [])
        if (
            content
            and event.activity_type == _TOOL_OUTPUT
            and isinstance(content.get("output"), list)
        ):
            self._tools[key], self._partial[key] = str(content.get("toolName", "tool")), ""
            patch = [{"path": "/output/-", "value": part} for part in content["output"]]
        if key not in self._tools:
            shown = activity_text(event.activity_type, patch if content is None else content)
            yield f"{event.activity_type}: {shown}"
            return
        for operation in patch:
            # With a status the tool ends.
            value = "\n" if operation["path"] == "/status" else operation.get("value")
            text = value if isinstance(value, str) else f"\n{json_text(value)}\n"
            *lines, self._partial[key] = (self._partial[key] + text).split("\n")
            yield from (f"{self._tools[key]}: {line}" for line in lines if line)


def summarize(
    messages: Sequence[agui.Message], subagents: Subagents, rejected: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield the author and the content of each message and tool call; `rejected` are calls that the
    person refused.
    """
    tools: dict[str, str] = {}
    for message in messages:
        run = message.subagent_run_id
        author = f"{subagents.path(run)} " if run else ""
        match message:
            case agui.UserMessage(content=content):
                yield "you", plain_text(content)
            case agui.AssistantMessage(content=content, tool_calls=calls):
                if content or not calls:
                    yield author.rstrip() or message.name or "agent", plain_text(content)
                for call in calls or ():
                    tools[call.id] = call.function.name
                    yield f"{author}call {call.function.name}", call.function.arguments
            case agui.ReasoningMessage(content=content):
                if content.strip():
                    yield f"{author}thought", content
            case agui.ToolMessage(content=content, error=error):
                tool = tools.get(message.tool_call_id, "tool")
                outcome = "failed" if error else "result"
                if message.tool_call_id in rejected:
                    outcome = "rejected"
                yield f"{author}{outcome} {tool}", plain_text(content) or error or ""
            case agui.ActivityMessage(activity_type=kind, content=activity):
                yield f"{author}{kind}", activity_text(kind, activity)
            case _:
                yield message.role, plain_text(message.content)
