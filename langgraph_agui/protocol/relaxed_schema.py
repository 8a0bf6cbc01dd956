"""JSON Schemas that another agent wrote, made safe to apply: they may be built to never end.

A schema enters, a relaxed one leaves. It takes every value that the first takes, and applying it
costs no more than its size times that of the value. References are expanded up to a bound. Parts
that have no bound (regular expressions), or could refuse more when weakened (negations,
conditions), are left out, and so are malformed rules. The agent checks its answers against all of
its schema.
"""

from collections.abc import Mapping
from typing import Final

# How many schemas are kept, and how deep; deeper ones take any value.
MAX_SCHEMAS: Final = 1000
MAX_DEPTH: Final = 32

# Keywords whose values are no schemas: rules that are cheap to apply, and what forms show.
_BOUNDS: Final = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
_SIZES: Final = {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
_SHOWN: Final = {"const", "title", "description", "default", "examples", "format"}

_TYPES: Final = ("array", "boolean", "integer", "null", "number", "object", "string")


def relax_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """Return a JSON Schema that another agent wrote, made safe to apply.

    It accepts every value that `schema` accepts, and maybe more. It has no references, and a
    bounded size.
    """
    return _Relaxation(schema).mapping(schema, 0)


def _is_plain(key: str, value: object) -> bool:
    """Return whether this is a rule or a text that can be kept as it is."""
    match key:
        case "type":
            return all(one in _TYPES for one in (value if isinstance(value, list) else [value]))
        case "required":
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
        case "enum":
            return isinstance(value, list)
    if key in _BOUNDS | _SIZES:
        return isinstance(value, int | float)
    return key in _SHOWN


class _Relaxation:
    def __init__(self, root: Mapping[str, object]) -> None:
        self._root = root
        self._left = MAX_SCHEMAS

    def _relax(self, schema: object, depth: int) -> dict[str, object] | bool:
        self._left -= 1
        if (
            isinstance(schema, Mapping)
            and self._left > 0
            and depth < MAX_DEPTH
            and "$id" not in schema
        ):
            return self.mapping(schema, depth)
        return schema is not False

    def _listed(self, schemas: object, depth: int) -> list[object]:
        return [self._relax(one, depth + 1) for one in schemas] if isinstance(schemas, list) else []

    def mapping(self, schema: Mapping[str, object], depth: int) -> dict[str, object]:
        kept = {key: value for key, value in schema.items() if _is_plain(key, value)}
        if isinstance(properties := schema.get("properties"), Mapping):
            kept["properties"] = {
                name: self._relax(one, depth + 1) for name, one in properties.items()
            }
        if "additionalProperties" in schema and "patternProperties" not in schema:
            kept["additionalProperties"] = self._relax(schema["additionalProperties"], depth + 1)
        if "items" in schema and "prefixItems" not in schema:
            kept["items"] = self._relax(schema["items"], depth + 1)
        every = self._listed(schema.get("allOf"), depth)
        if isinstance(reference := schema.get("$ref"), str):
            every.append(self._relax(self._find(reference), depth + 1))
        for key in ("anyOf", "oneOf"):
            if some := self._listed(schema.get(key), depth):
                # Weaker branches may overlap.
                every.append({key if some == schema[key] else "anyOf": some})
        if len(every) == 1 and isinstance(every[0], dict) and not kept.keys() & every[0].keys():
            return {**kept, **every[0]}
        return {**kept, "allOf": every} if every else kept

    def _find(self, reference: str) -> object:
        """Return the target of a reference within the document; True, which takes anything, if it
        names nothing.
        """
        start, *steps = reference.split("/")
        found: object = self._root if start == "#" else True
        for step in steps:
            if not isinstance(found, Mapping) or ("$id" in found and found is not self._root):
                return True
            found = found.get(step.replace("~1", "/").replace("~0", "~"), True)
        return found
