"""One thought a line: no condition stands inside another."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.kit.paths import PACKAGE

FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(PACKAGE)) for path in FILES])
def test_conditional_expressions_are_simple(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    conditions = [node for node in ast.walk(tree) if isinstance(node, ast.IfExp)]
    nested = {
        inner.lineno
        for condition in conditions
        for inner in ast.walk(condition)
        if inner is not condition and isinstance(inner, ast.IfExp | ast.NamedExpr)
    }
    assert nested == set()
