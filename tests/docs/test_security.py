"""docs/operations/security.md and the list of faults name tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.kit.paths import ROOT

TESTS = ROOT / "tests"
PAGES = [TESTS.parent / "docs" / "operations" / "security.md", TESTS / "faults" / "README.md"]
TEXT = "".join(page.read_text("utf-8") for page in PAGES)


@pytest.mark.parametrize(
    "name", sorted(set(re.findall(r"`([\w/]+/test_\w+\.py(?:::\w+)?)`", TEXT)))
)
def test_each_line_is_held_by_a_test(name: str) -> None:
    file, _, function = name.partition("::")
    assert f"def {function or 'test_'}" in (TESTS / file).read_text("utf-8")
