"""The README's program is the quickstart's, and its figures are those of the generated tables."""

from __future__ import annotations

import re

from tests.docs.blocks import ROOT, blocks

README = ROOT / "README.md"
QUICKSTART = ROOT / "docs" / "quickstart.md"


def text_of(*path: str) -> str:
    return ROOT.joinpath(*path).read_text("utf-8")


def test_the_program_is_the_quickstarts() -> None:
    first, quickstart = (
        [block for block in blocks(page) if block.title == "app.py"]
        for page in (README, QUICKSTART)
    )
    assert first == quickstart
    [program] = first
    assert program.source.count("\n") <= 12


def test_cpu() -> None:
    benchmarks = text_of("benchmarks", "README.md")
    [row] = re.findall(
        r"^\| \*\*W1\*\* one node, 5,000 text tokens \|.*$", benchmarks, re.MULTILINE
    )
    _, _, incumbent, ours, *_ = (cell.split()[0] for cell in row.strip("| ").split(" | "))
    words = " ".join(README.read_text("utf-8").split())
    assert f"Serving 5,000 tokens takes {ours} × the CPU" in words
    assert f"`ag-ui-langgraph`, without its raw events, takes {incumbent} ×" in words


def test_graphs() -> None:
    """The comparison counts the graphs that pass; one passes if a way to run it does."""
    rows = re.findall(
        r"^\| `(\w+)`(?:, [^|]*)? \| (.*?) \| (.*?) \|",
        text_of("docs", "migrating.md").split("side by side\n")[1],
        re.MULTILINE,
    )
    there = {name for name, result, _ in rows if result == "passes"}
    here = {name for name, _, result in rows if result == "passes"}
    assert (len({name for name, _, _ in rows}), len(there), len(here)) == (10, 8, 10)
    assert "On ten graphs written for `ag-ui-langgraph`, [eight pass there and ten here]" in (
        text_of("docs", "compare.md")
    )
