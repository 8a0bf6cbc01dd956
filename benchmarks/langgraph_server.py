"""A LangGraph server in a process of its own, as `langgraph dev` runs it: in memory, without a
network."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import httpx2

ROOT = Path(__file__).parent.parent
PATIENCE = 120.0
SETTINGS = {
    "PYTHONPATH": str(ROOT),
    "LANGSMITH_TRACING": "false",
    "LANGGRAPH_CLI_NO_ANALYTICS": "1",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
    "NO_PROXY": "127.0.0.1",
    "no_proxy": "127.0.0.1",
}


@asynccontextmanager
async def serving(graphs: dict[str, str], **settings: str) -> AsyncIterator[str]:
    """Serve graphs, each a name and where it is (`module:name`); gives the server's address."""
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = (
        "--no-browser",
        "--no-reload",
        "--n-jobs-per-worker",
        "8",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    )
    hidden = ("LANGSMITH_", "LANGCHAIN_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    with TemporaryDirectory() as name:
        home = Path(name)
        (home / "langgraph.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
        with (home / "log").open("w") as log:
            server = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "langgraph_cli", "dev", *options),
                cwd=home,
                env={**inherited, **SETTINGS, **settings},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            address = f"http://127.0.0.1:{port}"
            await _until_up(address, server, home / "log")
            yield address
        finally:
            os.killpg(server.pid, signal.SIGKILL)
            await server.wait()


async def _until_up(address: str, server: asyncio.subprocess.Process, log: Path) -> None:
    end = monotonic() + PATIENCE
    async with httpx2.AsyncClient() as client:
        while monotonic() < end and server.returncode is None:
            try:
                if (await client.get(f"{address}/ok", timeout=1)).is_success:
                    return
            except httpx2.RequestError:
                await asyncio.sleep(0.1)
    raise RuntimeError(f"The LangGraph server did not start:\n{log.read_text()[-4000:]}")
