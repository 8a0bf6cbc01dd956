"""Fixtures: each kind of store, its empty database, and a server there. Who follows and stops runs
does not ask which store it has, so Postgres has its turn in CI alone."""

from __future__ import annotations

import pytest

from tests.contracts.run_stores.pair import SERVERS, Server
from tests.kit.deep import deep

POSTGRES = pytest.mark.xdist_group("postgres")


@pytest.fixture(params=["redis", pytest.param("postgres", marks=[POSTGRES, deep])])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def address(kind: str, request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("redis_url" if kind == "redis" else "fresh_database"))


@pytest.fixture
def server(kind: str, address: str) -> Server:
    """Makes the store of one more worker."""
    return SERVERS[kind](address)
