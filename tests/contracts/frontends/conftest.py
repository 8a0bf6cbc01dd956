from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.behaviour.playground.conftest import browser
from tests.contracts.frontends.pages import EACH
from tests.kit.processes.building import build

if TYPE_CHECKING:
    from tests.contracts.frontends.pages import FrontEnd

__all__ = ["browser"]


@pytest.fixture(scope="module", params=EACH, ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> type[FrontEnd]:
    """Each front end, its page built."""
    build(request.param.directory)
    return request.param  # type: ignore[no-any-return]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run each front end's tests in one process, and give them time: the first one may have to
    build the page."""
    for item in items:
        if Path(__file__).parent in item.path.parents and isinstance(item, pytest.Function):
            item.add_marker(pytest.mark.xdist_group(str(item.callspec.params["kind"])))
            item.add_marker(pytest.mark.timeout(600))
