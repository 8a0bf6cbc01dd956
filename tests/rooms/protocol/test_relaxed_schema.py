"""Schemas of other agents: what they take is taken, and nothing in them takes long."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from langgraph_agui.interrupts.decisions import answer_schema
from langgraph_agui.protocol.relaxed_schema import MAX_SCHEMAS, relax_schema
from langgraph_agui.protocol.response_schema import InvalidAnswer, check_schema, schema_mismatch
from tests.kit.deep import example_count

names = st.sampled_from(["a", "b", "aa"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "aa", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
references = st.sampled_from(
    ["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/allOf/0", "#other", "http://x/y"]
)


def with_keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    by_name = st.dictionaries(names, inner, max_size=2)
    keywords = ["additionalProperties", "propertyNames", "items", "contains", "not", "if", "then"]
    keywords += ["else", "unevaluatedProperties"]
    optional = {
        "type": st.sampled_from(["object", "array", "string", "integer", ["string", "null"]]),
        "enum": st.lists(values, min_size=1, max_size=3),
        "const": values,
        "required": st.lists(names, max_size=2),
        "minimum": st.integers(-2, 2),
        "maxLength": st.integers(0, 2),
        "pattern": st.sampled_from(["^a", "b$"]),
        "patternProperties": st.dictionaries(st.sampled_from(["^a", "a$"]), inner, max_size=2),
        "$ref": references,
        "$id": st.just("http://x/y"),
        **dict.fromkeys(["properties", "dependentSchemas", "$defs"], by_name),
        **dict.fromkeys(["prefixItems", "allOf", "anyOf", "oneOf"], some),
        **dict.fromkeys(keywords, inner),
    }
    return st.fixed_dictionaries({}, optional=optional)


schemas = st.recursive(st.booleans() | st.just({}), with_keywords, max_leaves=8).filter(
    lambda one: isinstance(one, dict)
)


def taken(value: Any, schema: Any) -> bool | None:
    """Whether the schema takes the value; None if nobody can tell."""
    try:
        return Draft202012Validator(schema).is_valid(value)
    except BaseException:
        # where references go round, the package in Rust behind `jsonschema` panics
        return None


@settings(max_examples=example_count(100, 1250))
@given(schema=schemas, value=values)
def test_what_a_schema_takes_is_taken_when_it_is_relaxed(schema: Any, value: Any) -> None:
    if taken(value, schema):
        assert taken(value, relax_schema(schema)) is True, relax_schema(schema)


@pytest.mark.parametrize("width", [2, 9])
def test_references_are_expanded_up_to_a_bound(width: int) -> None:
    levels = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * width} for n in range(60)}
    node = {"properties": {name: {"$ref": "#/$defs/node"} for name in "ab"}}
    for schema in (
        {"$ref": "#/$defs/d0", "$defs": levels},
        {"$defs": {"node": node}, "$ref": "#/$defs/node"},
        {"$ref": "#"},
        {"anyOf": [{"$ref": "#"}] * width},
    ):
        assert json.dumps(relax_schema(schema)).count("{") < 5 * MAX_SCHEMAS


class Item(BaseModel):
    name: str
    count: int | None = None


class Order(BaseModel):
    items: list[Item]
    first: Item


def test_the_schema_of_a_model_still_holds() -> None:
    schema = answer_schema(("approve", "edit"), Order.model_json_schema())
    good = {"items": [{"name": "x", "count": 1}], "first": {"name": "y"}}
    assert schema_mismatch({"approved": True, "editedArgs": good}, schema, "q") is None
    plain = Order.model_json_schema()
    assert schema_mismatch(good, plain, "q") is None
    for bad, place in (
        ({"items": [{"name": 1}], "first": {"name": "y"}}, "items/0/name"),
        ({"items": [{"name": "x", "count": "many"}], "first": {"name": "y"}}, "items/0/count"),
        ({"items": [], "first": {}}, "first"),
    ):
        assert place in (schema_mismatch(bad, plain, "q") or "")


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 60 + "!"),
        (
            {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
            {"a" * 60 + "!": 1},
        ),
        ({"allOf": [{"not": {"pattern": "^(a+)+$"}}]}, "a" * 60 + "!"),
    ],
)
def test_regular_expressions_are_left_to_the_agent(schema: dict[str, Any], payload: Any) -> None:
    assert schema_mismatch(payload, schema, "q") is None


@pytest.mark.parametrize(
    "malformed",
    [
        *({"type": "word"}, {"type": [{"of": "words"}]}, {"type": None}, {"minimum": "1"}),
        *({"required": 5}, {"required": [{}]}, {"enum": 5}, {"maxLength": None}, {"pattern": "("}),
        *({"$ref": 5}, {"$ref": "#/$defs/none"}),
        {"properties": 5, "items": 5, "anyOf": 5, "additionalProperties": 5},
        {"properties": {"a": 5}, "anyOf": [5, {"type": "word"}]},
    ],
)
def test_malformed_rules_are_left_out(malformed: Any) -> None:
    schema = {"type": "object", "properties": {"size": malformed}, "allOf": [malformed]}
    for value in ({"size": "S"}, {"size": 1}, {"size": {"a": "b"}}):
        assert taken(value, relax_schema(schema)) is True


def test_forms_keep_what_they_show() -> None:
    size = {
        "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "L"}],
        "default": "s",
    }
    mail = {"type": "string", "format": "email", "description": "Where to?"}
    properties = {"size": size, "mail": mail}
    schema = {"type": "object", "title": "T", "properties": properties, "required": ["size"]}
    assert relax_schema(schema) == schema


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
def test_beside_malformed_rules_the_others_count(malformed: Any, caplog: Any) -> None:
    schema = {"type": "object", "required": ["b"], **malformed}
    check_schema({"a": 3, "b": "x"}, schema, "it")
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    with pytest.raises(InvalidAnswer, match="breaks the rule 'required' at b"):
        check_schema({"a": 3}, schema, "it")
