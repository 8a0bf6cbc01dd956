"""docs/architecture.md names files and functions that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "langgraph_agui"
PAGE = (PACKAGE.parent / "docs" / "architecture.md").read_text("utf-8")
WALKS = re.findall(r"^\d+\. `([\w/]+\.py)`: (.*)$", PAGE, re.MULTILINE)
FILES = {path.name for path in PACKAGE.rglob("*.py")} | {
    path.name for path in (PACKAGE.parent / "tests").rglob("*.py")
}


def definitions(path: Path) -> set[str]:
    """The functions and classes of a file, methods as `Class.method`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = [
                one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            ]
            found.update(f"{node.name}.{method.name}" for method in methods)
    return found


@pytest.mark.parametrize(("file", "text"), WALKS)
def test_walks_name_functions_that_exist(file: str, text: str) -> None:
    known = definitions(PACKAGE / file)
    names = re.findall(r"`([A-Za-z]*[._]\w[\w.]*)`", re.sub(r"`[^`]*` in `[^`]*\.py`", "", text))
    assert [name for name in names if name not in {*known, "on_approval"}] == []


def test_there_are_four_walks() -> None:
    lengths = [
        len(re.findall(r"^\d+\. ", part, re.MULTILINE)) for part in PAGE.split("\n### ")[1:5]
    ]
    assert len(lengths) == 4
    # The goals of what one must open: token, history, answer, state change.
    assert all(length <= goal for length, goal in zip(lengths, (8, 12, 12, 10), strict=True))


def test_all_files_that_the_page_names_exist() -> None:
    named = {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+\.py)`", PAGE)}
    assert named - FILES == set()
