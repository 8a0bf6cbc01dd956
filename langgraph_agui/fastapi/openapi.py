"""The part of an application's OpenAPI schema about the routes that take an input. They read the
body themselves.
"""

from functools import cache
from typing import Any, Final

from ag_ui.core import RunAgentInput
from langchain_core.utils.json_schema import dereference_refs

_STATUSES: Final = {
    400: "The body is not JSON.",
    409: "The thread cannot take a run now: see `code`.",
    413: "The body has more bytes than `max_bytes`.",
    415: "The body is not sent as application/json.",
    422: "The body is not a `RunAgentInput`, or exceeds a limit.",
    429: "The limit of runs, or of readers of this run, is reached.",
    503: "The server is stopping, its store does not answer, or a check takes too long.",
}
_DETAIL: Final = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("detail", "code", "correlationId")},
    "required": ["detail"],
}

_REFUSAL: Final = {"application/json": {"schema": _DETAIL}}

# The answers of the routes, by status.
RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The events of the run.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    **{
        status: {"description": description, "content": _REFUSAL}
        for status, description in _STATUSES.items()
    },
}

CANCEL_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    204: {"description": "The run stops: its stream ends as cancelled."},
    404: {**RESPONSES[409], "description": "No such run is active: see `code`."},
    **{status: RESPONSES[status] for status in (400, 413, 415, 422, 503)},
}


def cancel_body() -> dict[str, Any]:
    """Return `openapi_extra` of the route that stops a run."""
    names = ["threadId", "runId"]
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": names,
    }
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


@cache
def input_body() -> dict[str, Any]:
    """Return `openapi_extra` of a route that takes a `RunAgentInput`.

    The schema has no references: an application's schema has no place for the definitions of a
    single route.
    """
    schema = _tidied(dereference_refs(RunAgentInput.model_json_schema(by_alias=True)))
    del schema["$defs"]
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def _tidied(value: Any) -> Any:
    """Return a schema without the null that optional fields may not be, and without what needs
    references.
    """
    if isinstance(value, list):
        return [_tidied(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    kept = {
        key: inner
        for key, inner in value.items()
        if key != "discriminator" and (key, inner) != ("default", None)
    }
    if "anyOf" in kept:
        kept["anyOf"] = [one for one in kept["anyOf"] if one != {"type": "null"}]
    return {key: _tidied(inner) for key, inner in kept.items()}
