"""Threads that another process has paused, and a Postgres for all tests of the matrix."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from ag_ui.core import Interrupt, Message
from pydantic import TypeAdapter

from tests.kit.paths import ROOT
from tests.kit.run.approval_matrix import Paused

_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])
_INTERRUPTS: TypeAdapter[list[Interrupt]] = TypeAdapter(list[Interrupt])


@dataclass
class Left:
    """What a process has left behind: its database, and the dialogues that it has paused."""

    database: str
    dialogues: dict[tuple[str, str], Paused]


@pytest.fixture(scope="session")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    """Every dialogue of the matrix, paused by a process that has ended."""
    home = tmp_path_factory.mktemp("left")
    database = str(home / "threads.sqlite")
    command = [sys.executable, "-m", "tests.kit.processes.paused_approvals", database, str(home)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert done.returncode == 0, done.stderr
    dialogues = {}
    for line in done.stdout.splitlines():
        recorded = json.loads(line)
        kind, answer = recorded["case"]
        messages, asked = (
            _MESSAGES.validate_python(recorded["messages"]),
            _INTERRUPTS.validate_python(recorded["asked"]),
        )
        dialogues[kind, answer] = Paused(
            kind, f"{kind}-{answer}", home / f"{kind}-{answer}", messages, asked
        )
    return Left(database, dialogues)


@pytest.fixture(scope="session")
def postgres_threads(make_database: Callable[[], str]) -> str:
    """The DSN of a database with the checkpointer's tables."""
    from langgraph.checkpoint.postgres import PostgresSaver

    address = make_database()
    with PostgresSaver.from_conn_string(address) as saver:
        saver.setup()
    return address
