"""Fixtures that tests of every folder may use: a pytest plugin."""

from __future__ import annotations

import shutil
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.kit.models.fixtures import provider_server
from tests.kit.models.media_files import SECRET, path_like
from tests.kit.processes.postgres import (
    fresh_database,
    make_database,
    postgres_saver,
    postgres_server,
    postgres_threads,
)
from tests.kit.processes.redis_server import redis_server, redis_url

if TYPE_CHECKING:
    from tests.kit.processes.network import Network
    from tests.kit.processes.node_client import NodeClient
    from tests.kit.run.rig import Rig

__all__ = [
    "fresh_database",
    "make_database",
    "network",
    "node_client",
    "postgres_saver",
    "postgres_server",
    "postgres_threads",
    "provider_server",
    "redis_server",
    "redis_url",
    "rig",
    "saver",
    "secret",
]


@pytest.fixture(scope="session")
def node_client() -> NodeClient:
    """The reference TypeScript client."""
    from tests.kit.expect import agreement

    return agreement.reference_client()


@pytest.fixture(scope="session")
def rig(node_client: NodeClient) -> Iterator[Rig]:
    """Conversations with a stateless agent, behind a socket."""
    from tests.kit.run.rig import rigged

    with rigged(node_client) as rig:
        yield rig


@pytest.fixture(params=["memory", "sqlite"])
async def saver(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """A checkpointer."""
    if request.param == "sqlite":
        async with AsyncSqliteSaver.from_conn_string(":memory:") as sqlite:
            yield sqlite
    else:
        yield InMemorySaver()


@pytest.fixture
def secret() -> Iterator[str]:
    """The path of a file of the server, which holds `SECRET`. It is valid base64."""
    folder = Path("/tmp") / f"s{uuid4().hex}"  # what pytest makes has a hyphen
    folder.mkdir()
    yield path_like(folder, SECRET)
    shutil.rmtree(folder)


@pytest.fixture
def network() -> Iterator[Network]:
    """A server in the network of the agent's server."""
    from tests.kit.processes.network import Network

    network = Network()
    thread = threading.Thread(target=network.server.serve_forever)
    thread.start()
    yield network
    network.server.shutdown()
    thread.join()
    network.server.server_close()
