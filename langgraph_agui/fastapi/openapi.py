"""What the OpenAPI schema of an application says of the routes that take an input. They read the body themselves."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from ag_ui.core import RunAgentInput

_STATUSES: Final = {
    400: "The body is not JSON.",
    409: "The thread does not take a run now: `code` says why.",
    413: "The body has more bytes than `max_bytes`.",
    415: "The body is not sent as application/json.",
    422: "The body is no `RunAgentInput`, or exceeds a limit.",
    429: "There are as many runs, or readers of a run, as may be.",
    503: "The server is stopping, or its store does not answer.",
}
_DETAIL: Final = {
    "type": "object",
    "properties": {"detail": {"type": "string"}, "code": {"type": "string"}},
    "required": ["detail"],
}

# The answers of the routes, by status.
RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The events of the run.", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
    **{
        status: {"description": description, "content": {"application/json": {"schema": _DETAIL}}}
        for status, description in _STATUSES.items()
    },
}


@cache
def input_body() -> dict[str, Any]:
    """Return `openapi_extra` of a route that takes a `RunAgentInput`.

    The schema has no references: an application's schema has no place for the definitions of a single route.
    """
    schema = RunAgentInput.model_json_schema(by_alias=True)
    inlined = _inlined(schema, schema.pop("$defs"))
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": inlined}}}}


def _inlined(value: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema with definitions in place of references, and without the null that optional fields may not be."""
    if isinstance(value, list):
        return [_inlined(inner, definitions) for inner in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _inlined(definitions[value["$ref"].rpartition("/")[2]], definitions)
    kept = {key: inner for key, inner in value.items() if key != "discriminator" and (key, inner) != ("default", None)}
    if "anyOf" in kept:
        kept["anyOf"] = [one for one in kept["anyOf"] if one != {"type": "null"}]
    return {key: _inlined(inner, definitions) for key, inner in kept.items()}
