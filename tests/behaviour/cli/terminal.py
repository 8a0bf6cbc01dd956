"""Runs the chat client in a real pseudo-terminal, and reads what a person sees there."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pyte

from tests.kit.paths import ROOT

LINES, COLUMNS = 50, 100


class Terminal:
    """`langgraph-agui chat` in a terminal: `raw` is its output, `text` all that a person can scroll
    to."""

    def __init__(
        self, *arguments: str, cwd: Path | None = None, columns: int = COLUMNS, **variables: str
    ) -> None:
        # by whoever runs the tests
        chosen = ("NO_COLOR", "EDITOR", "VISUAL", "PAGER", "COLUMNS", "LINES")
        inherited = {name: value for name, value in os.environ.items() if name not in chosen}
        environment = {
            **inherited,
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            "COLORTERM": "",
            **variables,
        }
        command = ["-m", "langgraph_agui", "chat", *arguments]
        self.raw, self._columns = "", columns
        self._screen = pyte.HistoryScreen(columns, LINES, history=2000)
        self._stream = pyte.Stream(self._screen)
        self._child = pexpect.spawn(
            sys.executable,
            command,
            env=environment,  # type: ignore[arg-type]
            cwd=cwd and str(cwd),
            dimensions=(LINES, columns),
            encoding="utf-8",
        )

    @property
    def text(self) -> str:
        above = [
            "".join(line[at].data for at in range(self._columns))
            for line in self._screen.history.top
        ]
        return "\n".join(line.rstrip() for line in [*above, *self._screen.display])

    @property
    def line(self) -> str:
        """The line with the cursor."""
        return self._screen.display[self._screen.cursor.y].rstrip()

    def wait(self, met: Callable[[], object], what: str, timeout: float = 60) -> None:
        end = time.monotonic() + timeout
        while not met():
            left = end - time.monotonic()
            assert left > 0, f"{what} is not on the screen:\n{self.text}"
            try:
                piece = self._child.read_nonblocking(65536, timeout=left)
            except (pexpect.TIMEOUT, pexpect.EOF):
                end = 0
                continue
            self.raw += piece
            self._stream.feed(piece)

    def expect(self, *texts: str) -> None:
        for text in texts:
            self.wait(lambda text=text: text in self.text, repr(text))

    def expect_prompt(self, prompt: str = ">") -> None:
        """Wait until the cursor stands after `prompt`."""
        self.wait(lambda: self.line == prompt.rstrip(), f"the prompt {prompt!r}")

    def wait_question(self, prompt: str) -> None:
        """Wait until the cursor stands after `prompt`, which may take several lines."""

        def stands() -> bool:
            row, lines = self._screen.cursor.y, -(-len(prompt) // self._columns)
            return (
                "".join(self._screen.display[max(row - lines + 1, 0) : row + 1]).rstrip() == prompt
            )

        self.wait(stands, f"the prompt {prompt!r}")

    def send(self, line: str) -> None:
        """Type a line, and wait until the terminal has it."""
        since = len(self.raw)
        self._child.sendline(line)
        self.wait(lambda: "\n" in self.raw[since:], f"what was typed, {line!r},")

    def enter(self, line: str, prompt: str = ">") -> None:
        """Wait for `prompt`, then type a line."""
        self.expect_prompt(prompt)
        self.send(line)

    def type(self, text: str) -> None:
        """Type a part of a line, and wait until the terminal shows it."""
        self._child.send(text)
        self.wait(lambda: self.line.endswith(text), f"what was typed, {text!r},")

    def press_ctrl_c(self) -> None:
        """Press Ctrl-C."""
        self._child.sendintr()

    def wait_exit(self) -> int | None:
        """Wait until the process has ended, and return its exit code."""
        self.wait(self._ended, "the end")
        self._child.wait()
        return self._child.exitstatus

    def _ended(self) -> bool:
        try:
            piece = self._child.read_nonblocking(65536, timeout=60)
        except pexpect.EOF:
            return True
        self.raw += piece
        self._stream.feed(piece)
        return False

    def close(self) -> None:
        if self._child.isalive():
            self._child.kill(signal.SIGKILL)
        self._child.close()


@contextmanager
def chatting(
    *arguments: str, cwd: Path | None = None, columns: int = COLUMNS, **variables: str
) -> Iterator[Terminal]:
    terminal = Terminal(*arguments, cwd=cwd, columns=columns, **variables)
    try:
        yield terminal
    finally:
        terminal.close()
