"""Answers to an approval: a client's payload enters, a LangChain decision leaves, or the payload is refused.

Deny by default: only a strict `true`, or a decision that says `approve` or `edit`, lets a call run. The same model
makes the schema that clients are shown and judges what they send.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, StrictBool, StrictStr, TypeAdapter, ValidationError

DecisionType: TypeAlias = Literal["approve", "edit", "reject", "respond"]

ALL: tuple[DecisionType, ...] = ("approve", "edit", "reject", "respond")


class InvalidAnswer(Exception):  # noqa: N818  # a state of the client's data
    """A payload does not answer the question. The text is safe to show to the client."""


class _Answer(BaseModel):
    """AG-UI's recommended payload: whether the call may run, and with which arguments instead."""

    model_config = ConfigDict(extra="forbid")

    approved: StrictBool
    editedArgs: dict[str, object] | None = None  # noqa: N815  # the name on the wire
    message: StrictStr | None = None


class _Edited(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: StrictStr
    args: dict[str, object]


class _Approve(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: Literal["approve"]


class _Edit(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: Literal["edit"]
    edited_action: _Edited


class _Reject(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: Literal["reject"]
    message: StrictStr | None = None


class _Respond(BaseModel):
    model_config = ConfigDict(extra="forbid")

    type: Literal["respond"]
    message: StrictStr


_FORMS: Mapping[object, TypeAdapter[BaseModel]] = {
    "approve": TypeAdapter(_Approve),
    "edit": TypeAdapter(_Edit),
    "reject": TypeAdapter(_Reject),
    "respond": TypeAdapter(_Respond),
}
_ANSWER = TypeAdapter(_Answer)


@dataclass(frozen=True, slots=True)
class Action:
    """What an approval is about.

    Attributes:
        name: The tool, or the nodes that a breakpoint stands before.
        args: The arguments that were asked about.
        call_id: The tool call, where it is known which one it is.
        allowed: The decisions that the graph takes.
    """

    name: str
    args: Mapping[str, object] = field(default_factory=dict)
    call_id: str | None = None
    allowed: tuple[str, ...] = ALL


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided about an action.

    Attributes:
        type: One of LangChain's decisions.
        value: The decision as `HumanInTheLoopMiddleware` takes it.
        edited_args: The arguments to run with instead, for an edit.
    """

    type: str
    value: Mapping[str, object]
    edited_args: Mapping[str, object] | None = None


def decided(payload: object, action: Action) -> Decision:
    """Read a payload: `{approved, editedArgs?, message?}`, `true` or `false`, or a LangChain decision.

    Raises:
        InvalidAnswer: It is none of these, or says what is not allowed for the action.
    """
    if isinstance(payload, bool):
        payload = {"approved": payload}
    if not isinstance(payload, Mapping):
        raise InvalidAnswer(f"An approval of {action.name!r} is answered with an object: {{approved: true or false}}.")
    decision = _langchain(payload, action) if "type" in payload else _agui(payload, action)
    if decision.type not in action.allowed:
        raise InvalidAnswer(f"{decision.type!r} is not allowed for {action.name!r}; it takes {list(action.allowed)}.")
    return decision


def _agui(payload: Mapping[str, object], action: Action) -> Decision:
    try:
        answer = _ANSWER.validate_python(payload)
    except ValidationError as error:
        raise InvalidAnswer(f"The answer for {action.name!r} is malformed at {_places(error)}.") from error
    if not answer.approved:
        return rejected(answer.message)
    if answer.editedArgs is None or answer.editedArgs == action.args:
        return Decision("approve", {"type": "approve"})
    return _edit(action, answer.editedArgs)


def _langchain(payload: Mapping[str, object], action: Action) -> Decision:
    kind = payload["type"]
    form = _FORMS.get(kind) if isinstance(kind, str) else None
    if form is None:
        raise InvalidAnswer(f"The decision about {action.name!r} is none of {list(action.allowed)}.")
    try:
        decision = form.validate_python(payload)
    except ValidationError as error:
        raise InvalidAnswer(f"The decision about {action.name!r} is malformed at {_places(error)}.") from error
    if isinstance(decision, _Edit):
        if decision.edited_action.name != action.name:
            raise InvalidAnswer(f"An edit cannot turn {action.name!r} into another tool.")
        return _edit(action, decision.edited_action.args)
    return Decision(str(kind), decision.model_dump(exclude_none=True))


def _edit(action: Action, args: Mapping[str, object]) -> Decision:
    return Decision("edit", {"type": "edit", "edited_action": {"name": action.name, "args": dict(args)}}, args)


def rejected(message: str | None = None) -> Decision:
    """The decision against an action."""
    return Decision("reject", {"type": "reject", "message": message} if message else {"type": "reject"})


def _places(error: ValidationError) -> str:
    return ", ".join(sorted({"/".join(map(str, detail["loc"])) or "its root" for detail in error.errors()}))


def answer_schema(allowed: tuple[str, ...], args_schema: Mapping[str, object] | None = None) -> dict[str, object]:
    """The JSON Schema of the payloads that `decided` takes as objects, for the interrupt's `responseSchema`.

    Args:
        allowed: The decisions that the graph takes.
        args_schema: The schema of edited arguments, where it is known.
    """
    properties: dict[str, object] = {}
    forms: list[object] = [{"required": ["type"]}]
    if allowed != ("respond",):
        approved: dict[str, object] = {"type": "boolean", "description": "Only true lets the call run."}
        properties["approved"] = approved if "reject" in allowed else {**approved, "const": True}
        forms.insert(0, {"required": ["approved"]})
    properties["type"] = {"enum": list(allowed)}
    if "edit" in allowed:
        edited = args_schema or {"type": "object"}
        properties["editedArgs"] = edited
        properties["edited_action"] = {
            "type": "object",
            "properties": {"name": {"type": "string"}, "args": edited},
            "required": ["name", "args"],
        }
    if "reject" in allowed or "respond" in allowed:
        properties["message"] = {"type": "string", "description": "Why the call may not run, or what to say instead."}
    return {"type": "object", "properties": properties, "anyOf": forms}
