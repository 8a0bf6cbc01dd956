"""Serves an ASGI app on 127.0.0.1 and says where, in the one line that
`tests.contracts.frameworks.peers.running` waits for."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from typing import Any

import uvicorn


class _Server(uvicorn.Server):
    url = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        sys.stdout.write(f"listening on {self.url}\n")
        sys.stdout.flush()
        os.dup2(2, 1)  # nobody reads stdout after this line, and a full pipe would stop the server


def serve(app: Any, path: str) -> None:
    """Serve `app` on the port that the command line gives, by default a free one; `path` is the
    agent's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    listening = socket.create_server(("127.0.0.1", parser.parse_args().port))
    server = _Server(uvicorn.Config(app, log_level="warning"))
    server.url = f"http://127.0.0.1:{listening.getsockname()[1]}{path}"
    server.run([listening])
