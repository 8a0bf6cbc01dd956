"""A LangGraph server, as `langgraph dev` runs it: in memory, without a network."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen
from uuid import uuid4

import pytest
from langchain_core.messages import BaseMessage
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.graphs import adapt_graph
from tests.contracts.langgraph_server.graphs import GRAPHS
from tests.contracts.langgraph_server.subagent_graphs import GRAPHS as OTHERS
from tests.kit.paths import ROOT
from tests.kit.run.thread_client import Client
from tests.kit.waiting import PATIENCE

Clients = Callable[..., Client]


@pytest.fixture
def client_of(server: str) -> Clients:
    """Makes a client of a new thread of a graph, with options of its agent."""

    def make(name: str, **options: Any) -> Client:
        agent = LangGraphAgent(RemoteGraph(name, url=server), **options)
        return Client(agent, thread=str(uuid4()))

    return make


async def load(client: Client, **fields: Any) -> Any:
    """The state of the client's thread."""
    config: Any = {"configurable": {"thread_id": client.thread}}
    return await adapt_graph(client.agent.graph).load_state(config, **fields)


async def kept(client: Client) -> list[BaseMessage]:
    """The messages that the server keeps."""
    return list((await load(client)).values["messages"])


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that serves the graphs of these tests."""
    home = tmp_path_factory.mktemp("server")
    here = "tests.contracts.langgraph_server"
    graphs = {name: f"{here}.graphs:{name}" for name in GRAPHS}
    graphs |= {name: f"{here}.subagent_graphs:graph_{name}" for name in OTHERS}
    (home / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # One worker runs one graph at a time unless it is told otherwise.
    options = f"--no-browser --no-reload --n-jobs-per-worker 8 --host 127.0.0.1 --port {port}"
    foreign = ("LANGSMITH_", "LANGCHAIN_")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(foreign)},
        "PYTHONPATH": str(ROOT),
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
    }
    command = [sys.executable, "-m", "langgraph_cli", "dev", *options.split()]
    with (home / "log").open("w") as log:
        fields: Any = {"stdout": log, "stderr": subprocess.STDOUT, "start_new_session": True}
        process = subprocess.Popen(command, cwd=home, env=environment, **fields)
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
