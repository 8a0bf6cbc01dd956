"""Fixtures: each kind of store, its empty database, and a server there."""

from __future__ import annotations

import pytest

from tests.contracts.run_stores.pair import SERVERS
from tests.kit.processes.stores import Server


@pytest.fixture(
    params=["redis", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))]
)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def address(kind: str, request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("redis_url" if kind == "redis" else "fresh_database"))


@pytest.fixture
def server(kind: str, address: str) -> Server:
    """Makes the store of one more worker."""
    return SERVERS[kind](address)
