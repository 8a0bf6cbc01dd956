"""Answers beside a schema that has malformed rules: those that can be applied count."""

from __future__ import annotations

from typing import Any

import pytest

from langgraph_agui.protocol.response_schema import InvalidAnswer, check_schema


@pytest.mark.parametrize(
    "malformed",
    [
        {"properties": {"a": {"type": "number of beds"}}},
        {"properties": {"a": {"minimum": "5"}}},
        {"properties": {"a": {"pattern": "("}, "b": {"pattern": "("}}},
        {"anyOf": 5},
        {"$ref": "#/nowhere"},
    ],
)
def test_rules_that_are_none_refuse_nothing(
    malformed: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    schema = {"type": "object", "required": ["b"], **malformed}
    check_schema({"a": 3, "b": "x"}, schema, "it")
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    with pytest.raises(InvalidAnswer, match="breaks the rule 'required' at b"):
        check_schema({"a": 3}, schema, "it")
