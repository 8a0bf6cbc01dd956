"""The servers of `servers/`, started as processes of their own."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

from tests.contracts.frameworks.environments import HERE, python

PEERS = ("ag_ui_langgraph", "pydantic_ai", "agno", "microsoft")

LOGS: dict[str, Path] = {}
"""The logs of the servers that run."""

START = 50.0
"""Seconds that a server may take to start."""


@contextlib.contextmanager
def running(peer: str) -> Iterator[str]:
    """Run the server of `peer` and give the URL of its agent. What it logs meanwhile is in the file
    `LOGS[peer]`.

    Raises `RuntimeError` with the log if the server ends, or does not listen in time.
    """
    script = HERE / "servers" / f"serve_{peer}.py"
    # Without this environment's paths: a peer finds its own packages only.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as place, Path(place, "log").open("w") as log:
        LOGS[peer] = Path(log.name)
        command = [python(peer), str(script)]
        pipes = {"stdout": subprocess.PIPE, "stderr": log}
        server = subprocess.Popen(command, text=True, env=env, cwd=place, **pipes)  # type: ignore[call-overload]
        try:
            yield _url(server, peer)
        finally:
            server.kill()
            server.communicate()
            del LOGS[peer]


def _url(server: subprocess.Popen[str], peer: str) -> str:
    said: list[str] = []
    late = Timer(START, server.kill)
    late.start()
    try:
        for line in server.stdout or ():
            if line.startswith("listening on "):
                return line.removeprefix("listening on ").strip()
            said.append(line)
    finally:
        late.cancel()
    log = "".join(said) + LOGS[peer].read_text()
    raise RuntimeError(f"the server of {peer} did not start, exit code {server.wait()}:\n{log}")
