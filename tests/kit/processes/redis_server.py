"""A real Redis server for tests, from Debian's `redis-server`. It keeps nothing on disk."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.kit.waiting import PATIENCE, wait_for

_numbers = count()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def start_redis(port: int, home: Path) -> subprocess.Popen[bytes]:
    """Start a server and wait until it answers."""
    binary = shutil.which("redis-server")
    assert binary is not None, "redis-server is missing: apt-get install redis-server"
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    options += ["--dir", str(home), "--databases", "512"]
    process = subprocess.Popen([binary, *options], stdout=subprocess.DEVNULL)
    wait_for(lambda: answers(port), "Redis answers")
    return process


@pytest.fixture(scope="session")
def redis_server() -> Iterator[int]:
    """The port of a running server."""
    home, port = Path(tempfile.mkdtemp(prefix="agui-redis-")), free_port()
    process = start_redis(port, home)
    try:
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def redis_url(redis_server: int) -> str:
    """The address of an empty database."""
    return f"redis://127.0.0.1:{redis_server}/{next(_numbers) % 512}"
