from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit.processes.demo_server import running

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests time: each starts processes, which takes long on a slow or busy machine."""
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(scope="module")
def demo_url() -> Iterator[str]:
    """The agent of a running demo that streams without pauses."""
    with running("demo", "--delay", "0") as url:
        yield url
