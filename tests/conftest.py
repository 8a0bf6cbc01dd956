"""How all tests run: the plugins of the kit, the number of random examples, and what would slow them."""

from __future__ import annotations

import gc
import os
import signal
from functools import cache

import botocore.loaders
import pytest
from hypothesis import HealthCheck, settings

from tests.kit.deep import REPEATS, example_count
from tests.kit.paths import ROOT

pytest_plugins = ["tests.kit.scheduling", "tests.kit.fixtures", "tests.kit.expect.agreement"]

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
os.environ["SSL_CERT_FILE"] = str(ROOT / "tests/kit/authority.pem")

# So does every client of Bedrock read the descriptions of all services of AWS.
botocore.loaders.create_loader = cache(botocore.loaders.create_loader)

gc.disable()  # until all is collected


def pytest_configure() -> None:
    """Let Ctrl-C reach the programs that tests start, though this one may run in the background,
    which ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs providers' packages; have one Postgres in one worker."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if not {"provider_server", "rig"}.isdisjoint(fixtures):
            item.add_marker(pytest.mark.providers)
        if "postgres_server" in fixtures and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group("postgres"))


def pytest_collection_finish() -> None:
    """Leave what was collected, and all that was imported for it, out of every later garbage
    collection."""
    gc.collect()
    gc.freeze()
    gc.enable()
