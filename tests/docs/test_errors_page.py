"""The page of error codes has each code, and no other."""

from __future__ import annotations

import re

from langgraph_agui import ErrorCode
from tests.docs.blocks import ROOT


def test_each_code_is_explained() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == {
        code.value for code in ErrorCode
    }
