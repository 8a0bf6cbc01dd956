"""Fixtures that all tests may use."""

from __future__ import annotations

import gc
import os
import signal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import botocore.loaders
import pytest
from hypothesis import HealthCheck, settings

from tests import agreement
from tests.deep import REPEATS, drop_combinations, example_count
from tests.postgres import fresh_database, make_database, postgres_saver, postgres_server
from tests.redis_server import redis_server, redis_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.node_client import NodeClient

pytest_plugins = ["tests.scheduling"]

__all__ = [
    "fresh_database",
    "make_database",
    "node_client",
    "postgres_saver",
    "postgres_server",
    "redis_server",
    "redis_url",
]

# On a busy machine the time that an example takes says nothing about it.
settings.register_profile(
    "suite",
    max_examples=example_count(15, 25),
    derandomize=REPEATS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("suite")

# Every client of a provider reads all authorities of the web, several times: half of the CPU of a
# test that has one.
os.environ["SSL_CERT_FILE"] = str(Path(__file__).parent / "authority.pem")

# So does every client of Bedrock read the descriptions of all services of AWS.
botocore.loaders.create_loader = cache(botocore.loaders.create_loader)

gc.disable()  # until all is collected


@pytest.fixture(scope="session")
def node_client() -> NodeClient:
    """The reference TypeScript client."""
    return agreement.reference_client()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """Let the reference client judge what the tests have streamed, now and then and after the last
    one."""
    yield
    agreement.compare_streams(everything=nextitem is None)


def pytest_unconfigure() -> None:
    """End the reference client."""
    agreement.close()


def pytest_configure() -> None:
    """Let Ctrl-C reach the programs that tests start, though this one may run in the background,
    which ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Drop combinations of parameters, before pytest selects by marks; have one Postgres in one
    worker."""
    drop_combinations(items)
    for item in items:
        if "postgres_server" in getattr(item, "fixturenames", ()) and not item.get_closest_marker(
            "xdist_group"
        ):
            item.add_marker(pytest.mark.xdist_group("postgres"))


def pytest_collection_finish() -> None:
    """Leave what was collected, and all that was imported for it, out of every later garbage
    collection."""
    gc.collect()
    gc.freeze()
    gc.enable()
