"""Fixtures that all tests may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.node_client import NodeClient

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def node_client() -> Iterator[NodeClient]:
    """The reference TypeScript client."""
    client = NodeClient()
    yield client
    client.close()
