"""Requests made from an endpoint's own OpenAPI schema, and what every answer must be."""

from __future__ import annotations

import copy
import json
from typing import Any

from ag_ui.core import RunAgentInput
from fastapi import FastAPI
from hypothesis import strategies as st

from langgraph_agui.protocol import Verifier, decode
from langgraph_agui.protocol.json import to_jsonable
from langgraph_agui.protocol.schema import parse_input
from tests.kit.processes.raw_http import Answer

Json = Any
Schema = dict[str, Any]

TEXTS = (
    "",
    "chat",
    "spend",
    "u1",
    "c1",
    "a\nb",
    "\x00",
    "\ud83d",
    "\ude00",
    "\x1b[31m",
    "é🙂",
    "https://x.test/a.png",
)
KEYS = (
    "mood",
    "amount",
    "messages",
    "command",
    "approved",
    "decisions",
    "",
    "\ud800",
    "a/b~c",
    "__pregel_tasks",
)

FAULTS = ("internal", "graph_error", "state_error", "model_error", "tool_error", "recursion_limit")
"""Codes of what is no refusal: nothing that a client sends may lead to one."""

texts = st.sampled_from(TEXTS) | st.text(max_size=8)
anything: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=6,
)


def body_schema(app: FastAPI, path: str) -> tuple[Schema, Schema]:
    """The schema of a route's body, and what it refers to."""
    described = app.openapi()
    schema = described["paths"][path]["post"]["requestBody"]["content"]["application/json"][
        "schema"
    ]
    return schema, described


class Values:
    """Strategies for the values of a schema; `root` is the document that references lead into."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._made: dict[str, st.SearchStrategy[Json]] = {}

    def of(self, schema: Schema | bool) -> st.SearchStrategy[Json]:
        """Values that fit, or come near: formats, patterns and lengths are not looked at."""
        if isinstance(schema, bool) or not schema:
            return anything
        if "$ref" in schema:
            return self._referred(schema["$ref"])
        if "const" in schema:
            return st.just(schema["const"])
        if "enum" in schema:
            return st.sampled_from(schema["enum"])
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            # An optional member is left out rather than null.
            return st.one_of(*(self.of(choice) for choice in choices if choice != {"type": "null"}))
        kinds = schema.get("type", [])
        return st.one_of(
            *(self._typed(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds))
        )

    def _referred(self, pointer: str) -> st.SearchStrategy[Json]:
        if pointer not in self._made:
            found: Any = self._root
            for step in pointer.removeprefix("#/").split("/"):
                found = found[step]
            self._made[pointer] = st.deferred(lambda: self.of(found))
        return self._made[pointer]

    def _typed(self, kind: str, schema: Schema) -> st.SearchStrategy[Json]:
        match kind:
            case "object":
                return self._object(schema)
            case "array":
                return st.lists(
                    self.of(schema.get("items", True)), max_size=schema.get("maxItems", 4)
                )
            case "string":
                return texts
            case "integer":
                return st.integers()
            case "number":
                return st.floats(allow_nan=False, allow_infinity=False)
            case "boolean":
                return st.booleans()
            case _:
                return st.none()

    def _object(self, schema: Schema) -> st.SearchStrategy[Json]:
        members = {key: self.of(value) for key, value in schema.get("properties", {}).items()}
        if not members:
            return st.dictionaries(st.sampled_from(KEYS), anything, max_size=3)
        said = {key for key, value in schema["properties"].items() if "const" in value}.union(
            schema.get("required", ())
        )
        required = {key: value for key, value in members.items() if key in said}
        optional = {key: value for key, value in members.items() if key not in required}
        return st.fixed_dictionaries(required, optional=optional)


@st.composite
def damaged(draw: st.DrawFn, values: st.SearchStrategy[Json]) -> Json:
    """A value in which something, anywhere, is something else."""
    value = copy.deepcopy(draw(values))
    holder, key = draw(st.sampled_from(list(_places(value)) or [(None, None)]))
    if holder is None:
        return draw(anything)
    holder[key] = draw(anything)
    return value


def _places(value: Json) -> list[tuple[Any, Any]]:
    pairs = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value))
        if isinstance(value, list)
        else []
    )
    return [place for key, inner in pairs for place in [(value, key), *_places(inner)]]


def check_answer(answer: Answer, sent: Json, *, strict: bool = True) -> list[dict[str, Any]]:
    """Check the answer to a request; return the interrupts that are open then.

    `strict` is for a thread of this client alone: else messages of others may have the ids of its
    own.
    """
    assert answer.status < 500, answer.body
    if answer.status != 200:
        assert answer.status in (400, 403, 409, 413, 415, 422, 429), answer.status
        assert answer.headers["content-type"] == "application/json"
        assert answer.json["detail"]
        return []
    assert answer.headers["content-type"].startswith("text/event-stream")
    # half pairs come back as U+FFFD
    return check_stream(answer.body, parse_input(to_jsonable(sent)), strict)


def check_stream(body: bytes, given: RunAgentInput, strict: bool) -> list[dict[str, Any]]:
    """Check a stream, strictly only if the client's own messages are in order; return the
    interrupts at its end."""
    ids = [message.id for message in given.messages]
    # The agent has a tool of this name, and runs it.
    tools = [one for one in given.tools or () if one.name != "spend"]
    taken = given.model_copy(update={"tools": tools})
    verifier = Verifier(strict=strict and len(ids) == len(set(ids)), input=taken)
    events = list(decode([body]))
    for event in events:
        verifier.feed(event)
    verifier.finish()
    terminal = [event for event in events if event.type.value in ("RUN_FINISHED", "RUN_ERROR")]
    assert terminal == events[-1:], "one terminal event, at the end"
    last = json.loads(body.rpartition(b"data: ")[2])
    assert last.get("code") not in FAULTS, last
    if last["type"] == "RUN_FINISHED":
        assert (last["threadId"], last["runId"]) == (given.thread_id, given.run_id)
    return list((last.get("outcome") or {}).get("interrupts", ()))
