from __future__ import annotations

from collections.abc import Generator, Iterator

import pytest

from tests.contracts.frameworks.peers import LOGS, PEERS, running


@pytest.fixture(scope="session", params=PEERS)
def peer(request: pytest.FixtureRequest) -> str:
    """Each peer's name in turn; all tests of one peer share its server."""
    return str(request.param)


@pytest.fixture(scope="session")
def url(peer: str) -> Iterator[str]:
    """Where the agent of `peer` listens."""
    with running(peer) as address:
        yield address


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the servers have logged beside a failure."""
    report = yield
    if report.failed:
        report.sections += [(f"log of {peer}", log.read_text()) for peer, log in LOGS.items()]
    return report
