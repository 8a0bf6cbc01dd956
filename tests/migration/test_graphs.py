"""Graphs as users of `ag-ui-langgraph` write them, with nothing changed but the import."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.http.serving import Served
from tests.migration.scenarios import BY_COMMAND, SCENARIOS, Scenario
from tests.migration.serving import CLIENTS, HERE, MigratedFront, serving_graphs
from tests.node_client import NodeClient


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving_graphs() as served:
        yield served


@pytest.fixture(params=CLIENTS)
def front(request: Any, node_client: NodeClient, served: Served) -> MigratedFront:
    return MigratedFront(node_client, served, CLIENTS[request.param], HERE)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_a_graph(front: MigratedFront, scenario: Scenario) -> None:
    for what, found, expected in scenario.play(front):
        assert found == expected, what


@pytest.mark.parametrize("scenario", BY_COMMAND, ids=str)
def test_commands_need_a_switch(front: MigratedFront, scenario: Scenario) -> None:
    with pytest.raises(AssertionError, match="not addressed by resume"):
        list(scenario.play(front))
