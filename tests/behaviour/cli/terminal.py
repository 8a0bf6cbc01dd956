"""Runs commands in this process, and the chat client in a real pseudo-terminal."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from contextlib import contextmanager

import pexpect
import pyte
from typer.testing import CliRunner

from langgraph_agui.devtools.cli.app import app
from tests.kit.paths import ROOT

LINES, COLUMNS = 50, 100
# by whoever runs the tests
CHOSEN = ("NO_COLOR", "EDITOR", "VISUAL", "PAGER", "COLUMNS", "LINES")


def invoke(*arguments, typed="", columns=300):
    """Run a command without a terminal."""
    environment = {"COLUMNS": str(columns)}
    return CliRunner().invoke(app, [str(one) for one in arguments], input=typed, env=environment)


@contextmanager
def nobody():
    """The address of an agent where nobody listens."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{closed.getsockname()[1]}/agent"


class Terminal:
    """`langgraph-agui chat` in a terminal: `raw` is its output, `text` all that a person can scroll
    to."""

    def __init__(self, *arguments, columns, variables):
        inherited = {name: value for name, value in os.environ.items() if name not in CHOSEN}
        ours = {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": ""}
        environment = {**inherited, **ours, **variables}
        command, size = ["-m", "langgraph_agui", "chat", *arguments], (LINES, columns)
        self.raw, self._columns = "", columns
        self._screen = pyte.HistoryScreen(columns, LINES, history=2000)
        self._stream = pyte.Stream(self._screen)
        self._child = pexpect.spawn(
            sys.executable, command, env=environment, dimensions=size, encoding="utf-8"
        )

    @property
    def text(self):
        places = range(self._columns)
        above = ["".join(line[at].data for at in places) for line in self._screen.history.top]
        return "\n".join(line.rstrip() for line in [*above, *self._screen.display])

    @property
    def line(self):
        """The line with the cursor."""
        return self._screen.display[self._screen.cursor.y].rstrip()

    def wait(self, met, what):
        end = time.monotonic() + 60
        while not met():
            left = end - time.monotonic()
            assert left > 0, f"{what} is not on the screen:\n{self.text}"
            if not self._reads(left):
                end = 0

    def _reads(self, timeout=60):
        """Read what comes; False if nothing comes."""
        try:
            piece = self._child.read_nonblocking(65536, timeout=timeout)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return False
        self.raw += piece
        self._stream.feed(piece)
        return True

    def expect(self, *texts):
        for text in texts:
            self.wait(lambda text=text: text in self.text, repr(text))

    def expect_prompt(self, prompt=">"):
        """Wait until the cursor stands after `prompt`, which may take several lines."""

        def stands():
            row, lines = self._screen.cursor.y, -(-len(prompt) // self._columns)
            shown = self._screen.display[max(row - lines + 1, 0) : row + 1]
            return "".join(shown).rstrip() == prompt

        self.wait(stands, f"the prompt {prompt!r}")

    def send(self, line):
        """Type a line, and wait until the terminal has it."""
        since = len(self.raw)
        self._child.sendline(line)
        self.wait(lambda: "\n" in self.raw[since:], f"what was typed, {line!r},")

    def enter(self, line, prompt=">"):
        """Wait for `prompt`, then type a line."""
        self.expect_prompt(prompt)
        self.send(line)

    def type(self, text):
        """Type a part of a line, and wait until the terminal shows it."""
        self._child.send(text)
        self.wait(lambda: self.line.endswith(text), f"what was typed, {text!r},")

    def press_ctrl_c(self, prompt=None):
        if prompt:
            self.expect_prompt(prompt)
        self._child.sendintr()

    def leave(self, word=":q", prompt=">"):
        """Type the last word, and wait until the process has ended well."""
        self.enter(word, prompt)
        self.ends()

    def ends(self, *codes):
        while self._reads():
            pass
        self._child.wait()
        assert self._child.exitstatus in (codes or (0,))

    def close(self):
        if self._child.isalive():
            self._child.kill(signal.SIGKILL)
        self._child.close()


@contextmanager
def chatting(*arguments, columns=COLUMNS, **variables):
    terminal = Terminal(*arguments, columns=columns, variables=variables)
    try:
        yield terminal
    finally:
        terminal.close()
