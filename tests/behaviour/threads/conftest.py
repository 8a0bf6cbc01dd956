"""The package does not ask which checkpointer it has, so SQLite has its turn in CI alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.kit.deep import deep


@pytest.fixture(params=["memory", pytest.param("sqlite", marks=deep)])
async def saver(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    async with AsyncSqliteSaver.from_conn_string(":memory:") as sqlite:
        yield sqlite if request.param == "sqlite" else InMemorySaver()
