"""Runs `langgraph-agui serve` or `demo` as a user does: in a process of its own, found by the URL
that it prints."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.kit.paths import ROOT
from tests.kit.waiting import PATIENCE


def environment() -> dict[str, str]:
    """The environment of a process that is to import the package under test from wherever it
    starts."""
    ours = {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", "COLUMNS": "200"}
    return {**os.environ, **ours}


@contextlib.contextmanager
def running(*arguments: str, cwd: Path | None = None) -> Iterator[str]:
    """Run `langgraph-agui ARGUMENTS --port 0` and yield the URL of its agent."""
    command = [sys.executable, "-m", "langgraph_agui", *arguments, "--port", "0"]
    streams: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    process = subprocess.Popen(command, **streams, env=environment(), cwd=cwd)
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
