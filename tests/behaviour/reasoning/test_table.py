"""The table in docs/reference/reasoning-format.md says what the other tests of this directory
find."""

from __future__ import annotations

import re

from tests.behaviour.reasoning.table import PAGE, ROWS, table
from tests.kit.expect.identity import EXPECTED_DIFFERENCES, STREAMED, TURNS, WHOLE
from tests.kit.models.cases import BY_ID
from tests.kit.tables import BEGIN, END, rows


def test_the_page_has_the_table() -> None:
    made = PAGE.read_text().split(BEGIN)[1].split(END)[0]
    assert rows(PAGE.read_text()) == table(EXPECTED_DIFFERENCES)
    listed = re.findall(r"(langchain-[\w-]+) \d", made.partition("\nWith ")[2])
    assert set(listed) >= {row.package for row in ROWS.values()}
    assert (
        f"{len(ROWS)} settings: {len(STREAMED)} conversations streamed, {len(WHOLE)} answered whole"
        in made
    )


def test_differences_are_of_cases_and_providers_that_exist() -> None:
    for name, column in EXPECTED_DIFFERENCES:
        assert name in (TURNS if column == "turns" else BY_ID)
