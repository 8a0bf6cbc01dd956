"""Tests of one room of the package each: no processes, no sockets. `make check` runs them."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable
from typing import NoReturn

import pytest


def _refuse(what: str) -> Callable[..., NoReturn]:
    def refuse(*_args: object, **_fields: object) -> NoReturn:
        raise AssertionError(f"A test in tests/rooms may not {what}. Other folders of tests may.")

    return refuse


@pytest.fixture(autouse=True)
def _neither_processes_nor_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", _refuse("start a process"))
    monkeypatch.setattr(socket.socket, "connect", _refuse("connect a socket"))
    monkeypatch.setattr(socket.socket, "listen", _refuse("listen at a socket"))
