"""A LangGraph server, as `langgraph dev` runs it: in memory, without a network."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.contracts.langgraph_server.graphs import GRAPHS
from tests.contracts.langgraph_server.inner_graphs import GRAPHS as INNER
from tests.contracts.langgraph_server.kit_graphs import GRAPHS as KIT
from tests.contracts.langgraph_server.sibling_graphs import GRAPHS as SIBLINGS
from tests.kit.paths import ROOT
from tests.kit.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that serves the graphs of these tests."""
    home = tmp_path_factory.mktemp("server")
    here = "tests.contracts.langgraph_server"
    modules = {"graphs": GRAPHS, "inner_graphs": INNER, "sibling_graphs": SIBLINGS}
    graphs = {
        **{name: f"{here}.{module}:{name}" for module, names in modules.items() for name in names},
        **{name: f"{here}.kit_graphs:graph_{name}" for name in KIT},
    }
    (home / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # One worker runs one graph at a time unless it is told otherwise.
    options = f"--no-browser --no-reload --n-jobs-per-worker 8 --host 127.0.0.1 --port {port}"
    foreign = ("LANGSMITH_", "LANGCHAIN_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    environment = {
        **kept,
        "PYTHONPATH": str(ROOT),
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
    }
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "langgraph_cli", "dev", *options.split()],
            cwd=home,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, process, home / "log")
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 3 * PATIENCE  # it imports a lot
    while time.monotonic() < until and process.poll() is None:
        try:
            with urlopen(f"{address}/ok", timeout=1):
                return
        except (URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"The LangGraph server did not start:\n{log.read_text()[-4000:]}")
