"""The lists of limits and faults in the docs."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields

from langgraph_agui import InputLimits
from langgraph_agui.client import ClientLimits
from tests.faults.limits import CLIENT, ROUTES
from tests.faults.table import PAGE, cases, section


def test_every_case_is_a_row_of_its_own() -> None:
    names = Counter((case.fault, case.run) for case, _ in cases())
    assert [name for name, times in names.items() if times > 1] == []


def test_every_limit_is_listed() -> None:
    for listed, options in ((ROUTES, InputLimits), (CLIENT, ClientLimits)):
        assert {one.option for one in listed} == {one.name for one in fields(options)}


def test_the_page_has_the_tables_of_today() -> None:
    """If not: `make results`."""
    assert section() in PAGE.read_text("utf-8")
