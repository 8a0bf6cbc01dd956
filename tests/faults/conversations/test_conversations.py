"""Random conversations over HTTP: after each step, all that anybody holds agrees by the rules of
`docs/guides/threads.md`.

In memory, the server is in this process. With SQLite, a worker is a process that is killed; with
Postgres there are two, with one store of live runs. A failing example ends with its steps as a
script.
"""

from __future__ import annotations

import pytest

from tests.faults.conversations.houses import house_in
from tests.faults.conversations.rules import RULES
from tests.faults.conversations.talking import converse
from tests.kit.deep import ALL_VALUES, DEPTH, REPEATS
from tests.kit.paths import ROOT

pytestmark = [pytest.mark.hypothesis, pytest.mark.timeout(900)]
GUIDE = ROOT / "docs" / "guides" / "threads.md"
SHARES = range(max(DEPTH, 1))
"""In `make test-deep`, processes have conversations of their own at the same time."""


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(
    ("where", "shallow", "many"),
    [
        ("memory", 30, 400),
        ("sqlite", 12, 60),
        pytest.param("postgres", 8, 40, marks=pytest.mark.xdist_group("postgres")),
    ],
)
def test_everybody_holds_the_same(where: str, shallow: int, many: int, share: int) -> None:
    with house_in(where) as house:
        played = converse(house, many if ALL_VALUES else shallow, share if REPEATS else None)
    assert played["Say"] > played["conversations"]
    assert {"Edit", "Answer", "Return", "Connect", "Join"} <= played.keys()


def test_the_guide_has_the_rules() -> None:
    guide = " ".join(GUIDE.read_text().split())
    missing = [rule for rule in RULES.values() if rule not in guide]
    assert not missing
