"""What goes wrong on the command line, and the exit codes that say so."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes of every command."""

    OK = 0
    """The command did what it was asked; for `chat`, the run finished."""
    FAILED = 1
    """The run failed or was cut off, or the server could not be started."""
    USAGE = 2
    """The command line was wrong: unknown option, or a graph that cannot be loaded."""
    UNREACHABLE = 3
    """Nobody answered at the URL, or whoever did does not speak AG-UI."""
    WAITING = 4
    """The run stopped to wait for an answer that a one-shot command cannot give."""
    INTERRUPTED = 130
    """Ctrl-C."""


def reason(error: Exception) -> str:
    """Return why a file could not be used, as the end of a sentence."""
    told = error.strerror if isinstance(error, OSError) else None
    return (told or str(error) or type(error).__name__).rstrip(".")


class CommandError(Exception):
    """A failure with a message for a person and an exit code for a script."""

    def __init__(self, message: str, code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.code = code
