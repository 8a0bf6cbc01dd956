from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.node_client import NodeClient
from tests.reasoning.rig import Rig, rigged


@pytest.fixture(scope="session")
def rig(node_client: NodeClient) -> Iterator[Rig]:
    with rigged(node_client) as rig:
        yield rig
