"""One server for all remote agents of these tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fastapi import FastAPI

from tests.kit.processes.remote_agents import Host
from tests.kit.processes.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    """A server that takes agents while it runs; nothing may be left of their runs in the end."""
    app = FastAPI()
    with serving(app) as served:
        yield Host(app, served)
        served.wait_idle()
