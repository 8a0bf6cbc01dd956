"""The table in docs/migrating.md says what the packages do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.migrated.differences import Played, differences, for_all
from tests.contracts.migrated.serving import serving_graphs
from tests.contracts.migrated.table import PAGE, common_words, lines, played, verdict
from tests.kit.deep import deep
from tests.kit.processes.node_client import NodeClient
from tests.kit.tables import rows

CALL = {
    "id": "a",
    "role": "assistant",
    "toolCalls": [{"id": "c", "function": {"name": "look", "arguments": "{}"}}],
}
RESULT = {"id": "r", "role": "tool", "toolCallId": "c", "content": "found"}
ANSWER = {"id": "b", "role": "assistant", "content": "Found | it."}


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


def client(*messages: dict[str, Any], events: list[str] | None = None, **state: Any) -> Played:
    return Played([], 1, list(messages), state, dict.fromkeys(state, 1), events or [], 0)


def test_ids_are_no_difference() -> None:
    found = differences(
        client(CALL, RESULT, ANSWER), client(CALL, {**RESULT, "id": "s"}, {**ANSWER, "id": "x"})
    )
    assert found.messages == []
    assert not any(found.alone.values())


@pytest.mark.parametrize(
    ("there", "here", "said"),
    [
        (
            [CALL, ANSWER, RESULT],
            [CALL, RESULT, ANSWER],
            ["the result of `look` comes after “Found \\| it.” there"],
        ),
        (
            [CALL, RESULT],
            [CALL, ANSWER, RESULT],
            ["2 messages there, 3 here", "“Found \\| it.” here alone"],
        ),
        (
            [ANSWER, CALL],
            [CALL, ANSWER],
            ["the order is “Found \\| it.”, the call of `look` there"],
        ),
        (
            [CALL, RESULT],
            [CALL, {**RESULT, "content": "else"}],
            ["the result of `look` there alone"],
        ),
    ],
    ids=["order of results", "number", "order", "text"],
)
def test_messages_that_differ(there: Any, here: Any, said: list[str]) -> None:
    words = "; ".join(differences(client(*there), client(*here)).messages)
    assert all(one in words for one in said), words


def test_state_fields_and_events_that_differ() -> None:
    there = client({**ANSWER, "name": "n"}, events=["RAW", "RUN_STARTED"], title="a", notes=[])
    here = client(ANSWER, events=["RUN_STARTED"], title="b", more=1)
    found = differences(there, here)
    assert found.messages == ['`title` is `"a"` there, `"b"` here']
    assert {place: items for place, items in found.alone.items() if items} == {
        ("messages", "there"): ["name"],
        ("the state", "there"): ["notes"],
        ("the state", "here"): ["more"],
        ("events", "there"): ["RAW"],
    }


def test_a_verdict_names_the_clients_that_do_not_agree() -> None:
    well, ill = client(), Played(["it raises"], 1, [], {}, {}, [], 0)
    assert verdict({"0.0.59": well, "1.0.0": well}) == "passes"
    assert verdict({"0.0.59": well, "1.0.0": ill}) == "passes (0.0.59); fails: it raises (1.0.0)"
    assert verdict({"0.0.59": ill, "1.0.0": ill}) == "fails: it raises"


def test_what_one_client_alone_meets_has_its_version() -> None:
    assert for_all({"0.0.59": ["a", "b"], "1.0.0": ["b", "c"]}) == ["a (0.0.59)", "b", "c (1.0.0)"]
