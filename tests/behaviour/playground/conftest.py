from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviour.playground.sites import echo, site_of
from tests.kit.processes.browser import browser
from tests.kit.processes.demo_server import running

__all__ = ["browser"]


@pytest.fixture(scope="package")
def site():
    """The address of a running demo that pauses before each word."""
    with running("demo", "--delay", "0.01") as url:
        yield url.removesuffix("agent")


@pytest.fixture(scope="package")
def echoes():
    """The address of an agent that answers with all questions of its thread."""
    with site_of(echo()) as url:
        yield url


def pytest_collection_modifyitems(items):
    """Run the page's tests in one process, which starts one browser, and give them time on a slow
    machine."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("playground"))
            item.add_marker(pytest.mark.timeout(240))
