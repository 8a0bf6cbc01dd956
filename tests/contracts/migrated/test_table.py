"""The table in docs/migrating.md says what the packages do."""

from __future__ import annotations

import pytest

from tests.contracts.migrated.serving import serving_graphs
from tests.contracts.migrated.table import PAGE, common_words, lines, played
from tests.kit.deep import deep
from tests.kit.processes.node_client import NodeClient
from tests.kit.tables import rows


@deep
def test_the_page_has_the_table(node_client: NodeClient) -> None:
    """What is sent may grow a little with the packages."""
    with serving_graphs() as served:
        found = list(played(node_client, served))
    made, written = (
        [one.split(" | ") for one in table] for table in (lines(found), rows(PAGE.read_text()))
    )
    assert [cells[:-1] for cells in written] == [cells[:-1] for cells in made], (
        "`make results` writes it anew"
    )
    assert common_words(found) in PAGE.read_text()
    for old, new in zip(written[2:], made[2:], strict=True):
        assert sizes(old[-1]) == pytest.approx(sizes(new[-1]), rel=0.2, abs=0.2), old[0]
    assert [row.scenario for row in found if not row.passes] == []


def sizes(cell: str) -> list[float]:
    return [float(one) for one in cell.strip(" |").split(" / ") if one]
