"""Run examples, each server on a free port with its client: `python -m examples.client [NAME ...]`,
by default all."""

from __future__ import annotations

import argparse
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import Thread

import uvicorn
from fastapi import FastAPI

NAMES = [
    "basic_chat",
    "backend_tools",
    "frontend_tools",
    "mixed_tools",
    "approvals",
    "recipe_state",
]


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """Serve `app` in a thread; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        thread = Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m examples.client", description="Run examples, offline."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(NAMES)}; by default all"
    )
    for name in parser.parse_args().names or NAMES:
        print(f"== {name}")
        server, client = (
            import_module(f"examples.client.{name}.{side}") for side in ("server", "client")
        )
        with serving(server.app) as address:
            client.main(f"{address}/agent")


if __name__ == "__main__":
    main()
