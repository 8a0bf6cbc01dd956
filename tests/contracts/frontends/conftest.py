from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.frontends.pages import EACH
from tests.kit.processes.browser import browser

__all__ = ["browser"]


@pytest.fixture(scope="module", params=EACH, ids=lambda kind: kind.name)
def kind(request):
    """Each front end, its page built."""
    request.param.build()
    return request.param


def pytest_collection_modifyitems(items):
    """Run each front end's tests in one process, and give them time: the first one may have to
    build the page."""
    for item in items:
        if Path(__file__).parent in item.path.parents and isinstance(item, pytest.Function):
            item.add_marker(pytest.mark.xdist_group(str(item.callspec.params["kind"])))
            item.add_marker(pytest.mark.timeout(600))
