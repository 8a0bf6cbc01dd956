"""Graphs as users of `ag-ui-langgraph` write them, with nothing changed but the import."""

from __future__ import annotations

import pytest

from tests.contracts.migrated.scenarios import BY_COMMAND, BY_RESUME, SCENARIOS
from tests.contracts.migrated.serving import CLIENTS, HERE, NEW, OLD, MigratedFront, serving_graphs
from tests.contracts.migrated.table import PAGE, common_words, lines, played
from tests.kit.deep import deep
from tests.kit.tables import rows


@pytest.fixture(scope="module")
def served():
    with serving_graphs() as served:
        yield served


PLAYED = [(client, scenario) for scenario in SCENARIOS for client in scenario.clients]


@pytest.fixture
def front(client, node_client, served):
    return MigratedFront(node_client, served, CLIENTS[client], HERE)


@pytest.mark.parametrize(("client", "scenario"), PLAYED, ids=str)
def test_a_graph(front, scenario):
    for what, found, expected in scenario.play(front):
        assert found == expected, what


@pytest.mark.parametrize(
    ("client", "scenario", "refusal"),
    [
        *((NEW, one, "not addressed by resume") for one in BY_COMMAND),  # by the client itself
        *((OLD, one, "without an outcome") for one in BY_RESUME),  # it needs a switch
    ],
    ids=str,
)
def test_an_answer_in_the_form_of_other_clients(front, scenario, refusal):
    with pytest.raises(AssertionError, match=refusal):
        list(scenario.play(front))


@deep
def test_the_page_has_the_table(node_client, served):
    """What is sent may grow a little with the packages."""
    found = [*played(node_client, served)]
    tables = lines(found), rows(PAGE.read_text())
    made, written = ([one.split(" | ") for one in table] for table in tables)
    told = "`make results` writes it anew"
    assert [cells[:-1] for cells in written] == [cells[:-1] for cells in made], told
    assert common_words(found) in PAGE.read_text()
    for old, new in zip(written[2:], made[2:], strict=True):
        assert sizes(old[-1]) == pytest.approx(sizes(new[-1]), rel=0.2, abs=0.2), old[0]
    assert [row.scenario for row in found if not row.passes] == []


def sizes(cell):
    return [float(one) for one in cell.strip(" |").split(" / ") if one]
