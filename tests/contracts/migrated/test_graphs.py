"""Graphs as users of `ag-ui-langgraph` write them, with nothing changed but the import."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.contracts.migrated.scenarios import BY_COMMAND, BY_RESUME, SCENARIOS, Scenario
from tests.contracts.migrated.serving import CLIENTS, HERE, NEW, OLD, MigratedFront, serving_graphs
from tests.kit.processes.node_client import NodeClient
from tests.kit.processes.serving import Served


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving_graphs() as served:
        yield served


PLAYED = [(client, scenario) for scenario in SCENARIOS for client in scenario.clients]


@pytest.fixture
def front(client: str, node_client: NodeClient, served: Served) -> MigratedFront:
    return MigratedFront(node_client, served, CLIENTS[client], HERE)


@pytest.mark.parametrize(("client", "scenario"), PLAYED, ids=str)
def test_a_graph(front: MigratedFront, scenario: Scenario) -> None:
    for what, found, expected in scenario.play(front):
        assert found == expected, what


@pytest.mark.parametrize(("client", "scenario"), [(NEW, one) for one in BY_COMMAND], ids=str)
def test_a_client_of_1_0_refuses_commands_itself(front: MigratedFront, scenario: Scenario) -> None:
    with pytest.raises(AssertionError, match="not addressed by resume"):
        list(scenario.play(front))


@pytest.mark.parametrize(("client", "scenario"), [(OLD, one) for one in BY_RESUME], ids=str)
def test_an_old_client_that_answers_by_resume_needs_a_switch(
    front: MigratedFront, scenario: Scenario
) -> None:
    with pytest.raises(AssertionError, match="without an outcome"):
        list(scenario.play(front))
