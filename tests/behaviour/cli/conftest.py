from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit.processes.demo_server import running

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Give these tests time: each starts processes, which takes long on a slow or busy machine."""
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(scope="module")
def demo_url():
    """The agent of a running demo that streams without pauses."""
    with running("demo", "--delay", "0") as url:
        yield url
