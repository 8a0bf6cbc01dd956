"""One server for all remote agents of these tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from fastapi import FastAPI

from langgraph_agui import LangGraphAgent, agui_router
from tests.behaviour.client.remote.local_graph import Host
from tests.kit.processes.serving import serving


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """A server that takes agents while it runs; nothing may be left of their runs in the end."""
    app, numbers = FastAPI(), count()
    with serving(app) as served:

        def add(graph: Any, **options: Any) -> str:
            path = f"/{next(numbers)}"
            app.include_router(agui_router(LangGraphAgent(graph, **options), path))
            return served.url(path)

        yield add
        served.wait_idle()
