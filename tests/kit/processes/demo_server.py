"""Runs `langgraph-agui serve` or `demo` as a user does: in a process of its own, found by the URL
that it prints."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from tests.kit.paths import ROOT
from tests.kit.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator


def environment() -> dict[str, str]:
    """The environment of a process that is to import the package under test from wherever it
    starts."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONUNBUFFERED": "1",
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }


@contextlib.contextmanager
def running(*arguments: str, cwd: Path | None = None) -> Iterator[str]:
    """Run `langgraph-agui ARGUMENTS --port 0` and yield the URL of its agent."""
    command = [sys.executable, "-m", "langgraph_agui", *arguments, "--port", "0"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment(),
        cwd=cwd,
    )
    assert process.stdout is not None
    output = []
    try:
        for line in process.stdout:
            output.append(line)
            if match := re.match(r"\s*Agent\s+(http://\S+)$", line):
                threading.Thread(target=process.stdout.read, daemon=True).start()
                yield match[1]
                return
        raise AssertionError(f"no URL in: {''.join(output)}")
    finally:
        process.terminate()
        process.wait(PATIENCE)
