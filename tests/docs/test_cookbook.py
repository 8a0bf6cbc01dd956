"""The cookbook shows lines of the examples as they are, and `examples/README.md` lists them all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks

COOKBOOK = sorted({*(ROOT / "docs" / "cookbook").glob("*.md")} - {ROOT / "docs/cookbook/index.md"})
EXAMPLES = ROOT / "examples"


def without_indents(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


@pytest.mark.parametrize("page", COOKBOOK, ids=lambda page: page.stem)
def test_the_lines_that_matter_are_those_of_the_example(page: Path) -> None:
    (shown,) = [block for block in blocks(page) if block.language == "python"]
    assert shown.reason is not None
    source = without_indents((ROOT / shown.reason.removeprefix("run by ")).read_text("utf-8"))
    for part in re.split(r"\n{3,}", shown.source.strip()):
        lines = re.sub(r"^# .*\n", "", part)  # where the lines are from
        assert without_indents(lines) in source, lines


def test_each_example_has_a_row_and_a_port_of_its_own() -> None:
    rows = re.findall(
        r"^\| \[`(\w+)`\]\((\w+)\) \| .* \| (.*) \|$",
        (EXAMPLES / "README.md").read_text("utf-8"),
        re.MULTILINE,
    )
    folders = sorted(found.parent.name for found in EXAMPLES.glob("*/README.md"))
    assert sorted(name for name, target, _ in rows if name == target) == folders
    ports = [port for *_, column in rows for port in column.split()]
    assert len({*ports, "8000"}) == len(ports) + 1
