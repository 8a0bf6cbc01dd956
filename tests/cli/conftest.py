from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.demo_server import running

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def demo_url() -> Iterator[str]:
    """The agent of a running demo that streams without pauses."""
    with running("demo", "--delay", "0") as url:
        yield url
