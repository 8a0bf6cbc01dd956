"""Fixtures: servers of stores."""

from __future__ import annotations

import pytest

from tests.kit.processes.stores import Server, postgres, redis


@pytest.fixture
def server(redis_url: str) -> Server:
    """Makes the store of one more worker, for what is the same with each kind of store."""
    return redis(redis_url)


@pytest.fixture(
    params=["redis", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))]
)
def each_server(request: pytest.FixtureRequest) -> Server:
    """The same, with each kind of store."""
    if request.param == "redis":
        return redis(request.getfixturevalue("redis_url"))
    return postgres(request.getfixturevalue("fresh_database"))
