"""Malformed events, derived from the schema: every field of every event type, harmed in every way.

The examples come from the JSON schema of the SDK's models, so a new field is harmed the day that it
appears.
"""

from __future__ import annotations

import re
from copy import deepcopy
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from ag_ui.core import Event

from tests.kit.run.wire_events import STARTED, Wire, event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    Path: TypeAlias = tuple[str | int, ...]
    Change: TypeAlias = Callable[[Any, str | int], None]

_WRONG: list[Any] = [None, True, 1, "", "x", [], {}, {"type": "novelty", "role": "wizard"}]
"""What may stand in the place of any value."""
_WRONG_NUMBERS: list[Any] = [-1, 1.5, 2**53]
_WRONG_POINTERS: list[Any] = ["a", "/~2", "/a\n"]

_THOUGHT = event("REASONING_MESSAGE_START", messageId="messageId", role="reasoning")
_CALL = event("TOOL_CALL_START", toolCallId="toolCallId", toolCallName="toolCallName")
_TEXT = event("TEXT_MESSAGE_START", messageId="messageId")
_SUBAGENT = event("SUBAGENT_STARTED", subagentRunId="subagentRunId", name="name")
_PATCHED = {"path": {"k": None}, "from": 1}
_OPENERS: dict[str, Wire] = {
    "TEXT_MESSAGE_CONTENT": _TEXT,
    "TEXT_MESSAGE_END": _TEXT,
    "TOOL_CALL_ARGS": _CALL,
    "TOOL_CALL_END": _CALL,
    "TOOL_CALL_RESULT": _CALL,
    "STATE_DELTA": event("STATE_SNAPSHOT", snapshot=_PATCHED),
    "REASONING_MESSAGE_CONTENT": _THOUGHT,
    "REASONING_MESSAGE_END": _THOUGHT,
    "REASONING_END": event("REASONING_START", messageId="messageId"),
    "REASONING_ENCRYPTED_VALUE": {**_TEXT, "messageId": "entityId"},
    "ACTIVITY_DELTA": event(
        "ACTIVITY_SNAPSHOT", messageId="messageId", activityType="k", content=_PATCHED
    ),
    "STEP_FINISHED": event("STEP_STARTED", stepName="stepName"),
    "SUBAGENT_STARTED": {**_SUBAGENT, "subagentRunId": "parentSubagentRunId"},
    "SUBAGENT_FINISHED": _SUBAGENT,
    "SUBAGENT_ERROR": _SUBAGENT,
}
"""What an event needs before it, with the ids that the examples have."""


_OWNED = {"REASONING_START", "STEP_STARTED", "ACTIVITY_SNAPSHOT"}
_OWNED |= {one["type"] for one in (_THOUGHT, _CALL, _TEXT)}


def in_context(wire: Wire, kind: str) -> list[Wire]:
    """The shortest stream in which a good event of that type may stand, with `wire` as that
    event."""
    opener = _OPENERS.get(kind)
    if opener is None:
        return [STARTED, wire] if kind != "RUN_STARTED" else [wire]
    owner = {"subagentRunId": "subagentRunId"} if opener["type"] in _OWNED else {}
    return [STARTED, {**opener, **owner}, wire]


def examples() -> dict[str, list[Wire]]:
    """Of every event type, conforming wire objects with all fields; together they have every member
    of every union."""
    found = {}
    for model in get_args(get_args(Event)[0]):
        schema = model.model_json_schema(by_alias=True)
        wires = _Drawn(schema.get("$defs", {})).of(schema, "")
        found[wires[0]["type"]] = wires
    return found


class _Drawn:
    """Values that a JSON schema describes."""

    def __init__(self, definitions: Wire) -> None:
        self._definitions = definitions
        self._numbers = count()

    def of(self, schema: Wire, name: str) -> list[Any]:
        """Values for each way that the schema leaves open; strings say where they stand, ids are
        unique."""
        if "$ref" in schema:
            return self.of(self._definitions[schema["$ref"].rpartition("/")[2]], name)
        if members := schema.get("anyOf") or schema.get("oneOf"):
            values = [one for member in members for one in self.of(member, name)]
            return [one for one in values if one is not None]
        if "const" in schema or "enum" in schema:
            return list(schema.get("enum") or [schema["const"]])
        match schema.get("type"):
            case "object" if "properties" in schema:
                return self._records(schema["properties"])
            case "array":
                return [[one] for one in self.of(schema["items"], name)]
            case "string" if "pattern" in schema:
                return [f"/{name}"]
            case "string":
                named = {"protocolVersion": "1.0", "id": f"id{next(self._numbers)}"}
                return [named.get(name, name)]
            case "integer":
                return [1]
            case "boolean":
                return [True]
            case "null":
                return [None]
        return [{"k": None}]

    def _records(self, properties: Wire) -> list[Wire]:
        """One object with the first value of each property, and one for each further value."""
        ways = {key: self.of(schema, key) for key, schema in properties.items()}
        first = {key: values[0] for key, values in ways.items()}
        others = [{**first, key: value} for key, values in ways.items() for value in values[1:]]
        for one in others:
            one |= {"id": f"id{next(self._numbers)}"} if "id" in one else {}
        return [first, *others]


def places(value: Any, path: Path = (), name: str = "") -> Iterator[tuple[Path, str]]:
    """The path of everything within a JSON value, and a name that tells the members of unions on
    the way apart."""
    items: Any = enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, dict):
        items = value.items()
        tags = [value[key] for key in ("type", "role", "op") if key in value]
        name += f"<{tags[0]}>" if tags else ""
    for key, item in items:
        yield (*path, key), f"{name}/{key}"
        yield from places(item, (*path, key), f"{name}/{key}")


def harms(value: Any, key: str | int) -> dict[str, Change]:
    """All that is done to one value in its object or list, by the name of the harm."""
    worse = _WRONG_NUMBERS if value == 1 else _WRONG_POINTERS if str(value).startswith("/") else []
    found: dict[str, Change] = {f"is {wrong!r}": becomes(wrong) for wrong in [*_WRONG, *worse]}
    found["is gone"] = lambda holder, key: holder.pop(key)
    if isinstance(key, int):
        found["stands twice"] = lambda holder, key: holder.insert(key, holder[key])
        return found
    found["has an unknown neighbour"] = lambda holder, key: holder.update(sur_prise=1, toString={})
    if (snake := re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key)) != key:
        found["is spelt in snake case"] = lambda one, key: one.update({snake: one.pop(key)})
        found["has a twin in snake case"] = lambda holder, key: holder.update({snake: "twin"})
    return found


def becomes(wrong: Any) -> Change:
    """The harm of another value in the place."""

    def change(holder: Any, key: str | int) -> None:
        holder[key] = deepcopy(wrong)

    return change


def harmed(wire: Wire, path: Path, change: Change) -> Wire:
    """A copy of `wire` in which that has been done to the value at `path`."""
    copy = deepcopy(wire)
    holder: Any = copy
    for step in path[:-1]:
        holder = holder[step]
    change(holder, path[-1])
    return copy


def harmed_somewhere(random: Random, events: list[Wire]) -> list[Wire]:
    """The stream with one value of one event harmed."""
    numbered = [(number, path) for number, wire in enumerate(events) for path, _ in places(wire)]
    found = [(number, path) for number, path in numbered if path != ("type",)]
    number, path = random.choice(found)
    wire = events[number]
    bad = harmed(wire, path, random.choice([*harms(at(wire, path), path[-1]).values()]))
    return events if _differs(bad) else [*events[:number], bad, *events[number + 1 :]]


def at(wire: Wire, path: Path) -> Any:
    """The value at `path`."""
    value: Any = wire
    for step in path:
        value = value[step]
    return value


def every_harm() -> Iterator[tuple[str, list[Wire]]]:
    """Short streams that end with a harmed event, each with a name; what two examples share is
    harmed once.

    The messages that `RUN_STARTED` may echo are those of `MESSAGES_SNAPSHOT`: only one kind is
    harmed there too.
    """
    for kind, wires in examples().items():
        known: set[str] = set()
        for wire in wires[:1] if kind == "RUN_STARTED" else wires:
            for path, place in places(wire):
                if place not in known:
                    known.add(place)
                    for harm, change in harms(at(wire, path), path[-1]).items():
                        bad = harmed(wire, path, change)
                        if isinstance(bad.get("type"), str) and bad["type"] and not _differs(bad):
                            yield f"{place} {harm}", in_context(bad, kind)


def _differs(wire: Wire) -> bool:
    """Whether the harm is one of `differences.py`: a list where a message has text, or a patch that
    moves the document into itself (the client's has no JSON then)."""
    patch = wire.get("delta", wire.get("patch"))
    operations = [one for one in patch if isinstance(one, dict)] if isinstance(patch, list) else []
    if any(one.get("op") == "move" and one.get("from") == "" for one in operations):
        return True
    holders = [one for one in (wire, wire.get("input")) if isinstance(one, dict)]
    lists = [one["messages"] for one in holders if isinstance(one.get("messages"), list)]
    return any(
        isinstance(one, dict)
        and one.get("content") == []
        and one.get("role") not in ("user", "tool", "activity")
        for messages in lists
        for one in messages
    )
