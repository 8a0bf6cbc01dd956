"""The table of docs/reference/clients.md: front ends, and the options that an agent needs for
them."""

from __future__ import annotations

from functools import cache
from typing import Any

from langgraph_agui import options
from tests.kit.paths import ROOT

PAGE = ROOT / "docs" / "reference" / "clients.md"


@cache
def table() -> dict[str, str]:
    """Return the third cell of each row, which is "nothing" or arguments of `LangGraphAgent`; the
    key is the first two cells."""
    section = PAGE.read_text("utf-8").partition("## What to set\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    rows = [line.strip("| ").replace("`", "").split(" | ") for line in lines]
    found = {f"{front_end}, {version}": set_ for front_end, version, set_, _ in rows}
    assert len(found) == len(rows), "two rows are for the same front end"
    return found


def options_for(row: str) -> dict[str, Any]:
    """Return the options that the page names for a front end. Tests of a row take theirs from
    here."""
    arguments = table()[row]
    if arguments == "nothing":
        return {}
    found: dict[str, Any] = eval(f"dict({arguments})", {**vars(options)})
    return found
