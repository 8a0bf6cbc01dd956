"""The list of faults."""

from __future__ import annotations

from collections import Counter

from tests.faults.table import PAGE, cases, page


def test_every_case_is_a_row_of_its_own() -> None:
    names = Counter((case.fault, case.run) for case, _ in cases())
    assert [name for name, times in names.items() if times > 1] == []


def test_the_page_has_the_table_of_today() -> None:
    """If not: `make results`."""
    assert PAGE.read_text("utf-8") == page()
