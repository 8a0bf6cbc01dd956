"""The way from a tool to whoever hears what it tells of its output: `ToolRuntime.emit_output_delta`.

LangGraph keeps the writer of the tool that is running in a context variable, which its own stream mode `tools` sets.
That mode puts a second handler on every token; setting the variable costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar, Token
from typing import TypeAlias
from uuid import UUID

Tell: TypeAlias = Callable[[object], None]

_writer: ContextVar[Tell | None]
try:
    from langgraph.pregel._tools import _tool_call_writer as _writer
except ImportError:  # a langgraph that keeps it elsewhere: its tools tell nobody
    _writer = ContextVar("tool_call_writer", default=None)


class _Writer:
    """The writer of one run of a tool."""

    def __init__(self, run_id: UUID, tell: Tell) -> None:
        self.run_id = run_id
        self._hear = [tell]

    def add(self, tell: Tell) -> None:
        self._hear.append(tell)

    def __call__(self, delta: object) -> None:
        for tell in self._hear:
            tell(delta)


class ToolOutputs:
    """The tools of a run that are running, and who hears them."""

    def __init__(self) -> None:
        self._tokens: dict[UUID, Token[Tell | None]] = {}

    def begin(self, run_id: UUID, tell: Tell) -> None:
        """Let the tool that is about to run in this context tell its output to `tell`, and to other handlers of it."""
        before = _writer.get()
        if isinstance(before, _Writer) and before.run_id == run_id:
            before.add(tell)
        else:
            self._tokens[run_id] = _writer.set(_Writer(run_id, tell))

    def end(self, run_id: UUID) -> None:
        """A tool has ended: whatever ran it is heard again."""
        if (token := self._tokens.pop(run_id, None)) is not None:
            with suppress(ValueError):  # it has ended in another context, which did not inherit the writer
                _writer.reset(token)
