"""Who speaks in a run that the terminal shows: the agent itself, or one of its subagents."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Final

from ag_ui.core import (
    BaseEvent,
    RunErrorEvent,
    RunFinishedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentFinishedSuspendedOutcome,
    SubagentStartedEvent,
)

_INDENT: Final = "  "
_NOBODY: Final = "a subagent"


@dataclass(slots=True)
class _Speaker:
    """A subagent: `label` is its name, with a number where another one of that name speaks too."""

    label: str
    parent: str | None
    depth: int
    open: bool = True


class Speakers:
    """The subagents of a conversation, by their `subagentRunId`."""

    def __init__(self) -> None:
        self._known: dict[str, _Speaker] = {}

    def feed(self, event: BaseEvent) -> None:
        """Take in who begins and who ends."""
        match event:
            case SubagentStartedEvent():
                self._start(event)
            case SubagentFinishedEvent(subagent_run_id=run) | SubagentErrorEvent(subagent_run_id=run):
                if run in self._known:
                    self._known[run].open = False
            case RunFinishedEvent() | RunErrorEvent():
                for speaker in self._known.values():
                    speaker.open = False

    def _start(self, event: SubagentStartedEvent) -> None:
        held, parent = self._known.get(event.subagent_run_id), event.parent_subagent_run_id
        if held is not None:  # it goes on after it has waited
            held.open = True
            return
        depth = self._known[parent].depth + 1 if parent in self._known else 1
        self._known[event.subagent_run_id] = _Speaker(self._label(event.name), parent, depth)

    def margin(self, run: str | None) -> str:
        """What stands before each line of what this subagent says; nothing for the agent itself."""
        if run is None:
            return ""
        return _INDENT * (self._known[run].depth if run in self._known else 1)

    def lead(self, run: str | None) -> str:
        """What stands before the first line: with its name where others speak at the same time."""
        if run is None:
            return ""
        others = {other for other, speaker in self._known.items() if speaker.open} - set(self._line(run))
        apart = any(run not in self._line(other) for other in others)
        return f"{self.margin(run)}[{self._name(run)}] " if apart or run not in self._known else self.margin(run)

    def title(self, run: str) -> str:
        """The name of this subagent, where a line tells of itself."""
        return f"{self.margin(run)[len(_INDENT) :]}[{self._name(run)}]"

    def who(self, run: str) -> str:
        """Who that is, after those that it works for."""
        return " › ".join(self._known[one].label for one in reversed(self._line(run))) or _NOBODY

    def _name(self, run: str) -> str:
        return self._known[run].label if run in self._known else run

    def _line(self, run: str | None) -> list[str]:
        """A subagent, the one that it works for, and so on."""
        line: list[str] = []
        while run in self._known and run not in line:
            line.append(run)
            run = self._known[run].parent
        return line

    def _label(self, name: str) -> str:
        taken = {speaker.label for speaker in self._known.values() if speaker.open}
        return next(label for n in count(1) if (label := f"{name} {n}" if n > 1 else name) not in taken)


def told_end(event: SubagentFinishedEvent | SubagentErrorEvent) -> str:
    """Say how a subagent has ended."""
    if isinstance(event, SubagentErrorEvent):
        if event.code == "cancelled":
            return "stopped"
        return f"failed: {event.message}"
    return "waits for an answer" if isinstance(event.outcome, SubagentFinishedSuspendedOutcome) else "done"
