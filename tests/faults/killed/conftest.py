"""What kills processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.killed.nursery import Nursery


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    yield (made := Nursery())
    made.end()
