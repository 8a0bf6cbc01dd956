from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


@pytest.fixture(params=["memory", "sqlite"])
async def saver(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """A checkpointer."""
    if request.param == "sqlite":
        async with AsyncSqliteSaver.from_conn_string(":memory:") as sqlite:
            yield sqlite
    else:
        yield InMemorySaver()
