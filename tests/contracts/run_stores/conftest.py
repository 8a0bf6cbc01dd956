"""Fixtures: a server for each kind of store."""

from __future__ import annotations

import pytest

from tests.kit.processes.stores import Server, postgres, redis


@pytest.fixture(
    params=["redis", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))]
)
def server(request: pytest.FixtureRequest) -> Server:
    """Makes the store of one more worker."""
    if request.param == "redis":
        return redis(request.getfixturevalue("redis_url"))
    return postgres(request.getfixturevalue("fresh_database"))
