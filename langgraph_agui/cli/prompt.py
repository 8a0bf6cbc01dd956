"""Questions to the person: lines with editing and a history where there is a terminal, and a text editor."""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

from rich.console import Console

try:
    readline: ModuleType | None = import_module("readline")
except ImportError:  # not on Windows
    readline = None
try:
    termios: ModuleType | None = import_module("termios")
except ImportError:  # not on Windows
    termios = None

_QUIET: Final = 0.02
"""How long nothing more may come, in seconds, until all that was typed is taken to be here."""


def is_person() -> bool:
    """Whether somebody types, rather than a file or a pipe."""
    return sys.stdin.isatty()


def forget_typed() -> None:
    """Drop what a person has typed already: it was meant for something else than what is asked next.

    Nothing is held back in this process: `input` and `readline` take from the terminal no more than the line they
    return. What comes from a file or a pipe stays.
    """
    if termios is None or not is_person():
        return
    stdin = sys.stdin.fileno()
    with suppress(termios.error):  # the terminal is gone, which the next read tells
        termios.tcflush(stdin, termios.TCIFLUSH)
        while select.select([stdin], [], [], _QUIET)[0]:  # more than the terminal can hold comes in pieces
            termios.tcflush(stdin, termios.TCIFLUSH)


def read_line(console: Console, prompt: str, *, filled: str = "", remembered: bool = False) -> str:
    """Ask for a line.

    Args:
        console: Where the prompt goes.
        prompt: It may hold nothing that an agent said.
        filled: What stands in the line already, to be changed, where lines can be edited.
        remembered: Whether the arrow keys are to bring the line back later.

    Raises:
        EOFError: There is no further line.
    """
    if is_person() and console.is_terminal and not console.stderr:
        with _editing(filled, remembered=remembered):
            return input(prompt)  # readline has to know the prompt, or it deletes it
    console.print(prompt, end="", markup=False, soft_wrap=True)
    console.file.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")


@contextmanager
def _editing(filled: str, *, remembered: bool) -> Iterator[None]:
    if readline is None:
        yield
        return
    if hasattr(readline, "set_auto_history"):
        readline.set_auto_history(remembered)
    if filled:
        readline.set_startup_hook(lambda: readline.insert_text(filled))
    try:
        yield
    finally:
        readline.set_startup_hook()


def editor() -> list[str]:
    """The person's text editor as a command, empty if there is none or nobody to use it."""
    if not (is_person() and sys.stdout.isatty()):
        return []
    with suppress(ValueError):  # quotes that do not match
        return shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    return []


def edited(command: list[str], text: str) -> str:
    """Return what the person makes of `text` in the editor. Raises `OSError` if it fails."""
    handle, name = tempfile.mkstemp(prefix="agui-", suffix=".json")
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        code = subprocess.run([*command, name], check=False).returncode  # noqa: S603  # the person's own editor
        if code:
            raise OSError(f"{command[0]} ended with {code}")
        return path.read_text(encoding="utf-8")
    finally:
        path.unlink(missing_ok=True)
