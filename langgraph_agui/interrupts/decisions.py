"""Answers to one interrupt: a client's payload enters, a LangChain decision leaves.

Deny by default: only a strict `true`, or the decision `approve` or `edit`, lets a call run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    TypeAdapter,
    ValidationError,
)

from langgraph_agui.kernel.quoting import quoted
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.nodes import APPROVING
from langgraph_agui.options import Approval, DecisionType
from langgraph_agui.protocol.response_schema import InvalidAnswer

logger = run_logger(__name__)

ALL_DECISIONS: tuple[DecisionType, ...] = ("approve", "edit", "reject", "respond")


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Answer(_Form):
    """AG-UI's recommended payload: whether the call may run, and with which arguments instead."""

    approved: StrictBool
    editedArgs: dict[str, object] | None = None  # noqa: N815  # the name on the wire
    message: StrictStr | None = None


class _EditedAction(_Form):
    name: StrictStr
    args: dict[str, object]


class _LangChainDecision(_Form):
    """A decision as LangChain has it, maybe with the field that our schema asks for."""

    approved: StrictBool | None = None


class _Approve(_LangChainDecision):
    type: Literal["approve"]


class _Edit(_LangChainDecision):
    type: Literal["edit"]
    edited_action: _EditedAction


class _Reject(_LangChainDecision):
    type: Literal["reject"]
    message: StrictStr | None = None


class _Respond(_LangChainDecision):
    type: Literal["respond"]
    message: StrictStr


_LANGCHAIN_DECISION = TypeAdapter[_Approve | _Edit | _Reject | _Respond](
    Annotated[_Approve | _Edit | _Reject | _Respond, Field(discriminator="type")]
)


@dataclass(frozen=True, slots=True)
class Action:
    """The action that an approval is for.

    Attributes:
        name: The tool, or the nodes that a breakpoint stands before.
        args: The arguments to approve.
        call_id: The tool call, where it is known which one it is.
        allowed: The decisions that the graph takes.
    """

    name: str
    args: Mapping[str, object] = field(default_factory=dict)
    call_id: str | None = None
    allowed: tuple[str, ...] = ALL_DECISIONS


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about an action.

    Attributes:
        type: One of LangChain's decisions; `answer` for a payload that goes to the graph as it is,
            or `cancel`.
        value: The graph's value: the decision as `HumanInTheLoopMiddleware` takes it, or the
            payload.
        edited_args: The arguments to run with instead, for an edit.
    """

    type: str
    value: object
    edited_args: Mapping[str, object] | None = None


def read_decision(payload: object, action: Action) -> Decision:
    """Read a payload about an action.

    The payload is `{approved, editedArgs?, message?}`, `true` or `false`, or a LangChain decision.

    Raises:
        InvalidAnswer: The payload is none of these, or the action does not allow that decision.
    """
    if isinstance(payload, bool):
        payload = {"approved": payload}
    is_langchain = isinstance(payload, Mapping) and "type" in payload
    try:
        answer = (
            _LANGCHAIN_DECISION.validate_python(payload)
            if is_langchain
            else _Answer.model_validate(payload)
        )
    except ValidationError as error:
        places = {"/".join(map(str, detail["loc"])) or "its root" for detail in error.errors()}
        message = f"The answer about {action.name!r} is malformed at {', '.join(sorted(places))}."
        raise InvalidAnswer(
            f"{message} Send {{approved: true or false}}, or a decision."
        ) from error
    decision = _decision_in(answer, action)
    if decision.type not in action.allowed:
        raise InvalidAnswer(
            f"{decision.type!r} is not allowed for {action.name!r}; it takes "
            f"{list(action.allowed)}."
        )
    return decision


def _decision_in(
    answer: _Answer | _Approve | _Edit | _Reject | _Respond, action: Action
) -> Decision:
    if isinstance(answer, _Answer):
        if not answer.approved:
            return rejection(answer.message)
        edited = answer.editedArgs
        if edited is None or (edited == action.args and "approve" in action.allowed):
            return Decision("approve", {"type": "approve"})
        return _edit(action, edited)
    if answer.approved not in (None, answer.type in APPROVING):
        raise InvalidAnswer(
            f"The answer about {action.name!r} contradicts itself: {answer.type}, approved or not."
        )
    if isinstance(answer, _Edit):
        if answer.edited_action.name != action.name:
            raise InvalidAnswer(f"An edit cannot turn {action.name!r} into another tool.")
        return _edit(action, answer.edited_action.args)
    return Decision(answer.type, answer.model_dump(exclude_none=True, exclude={"approved"}))


def _edit(action: Action, args: Mapping[str, object]) -> Decision:
    edited = {"name": action.name, "args": dict(args)}
    return Decision("edit", {"type": "edit", "edited_action": edited}, args)


def rejection(message: str | None = None) -> Decision:
    """Return the decision against an action."""
    why = {"message": message} if message else {}
    return Decision("reject", {"type": "reject", **why})


def answer_schema(
    allowed: tuple[str, ...], args_schema: Mapping[str, object] | None = None
) -> dict[str, object]:
    """Return the JSON Schema of answers, for the interrupt's `responseSchema`.

    It is a plain object that requires `approved` and nothing else, because front ends draw their
    buttons and forms only for such a schema. `read_decision` takes LangChain's decisions without
    `approved` too.

    Args:
        allowed: The decisions that the graph takes.
        args_schema: The schema of edited arguments, where it is known.
    """
    text = {"type": "string", "description": "Why the call may not run, or what to answer instead."}
    properties: dict[str, object] = {"type": {"enum": list(allowed)}}
    if allowed == ("respond",):
        return {
            "type": "object",
            "properties": {**properties, "message": text},
            "required": ["type", "message"],
        }
    approved: dict[str, object] = {"type": "boolean", "description": "Only true lets the call run."}
    properties["approved"] = approved
    if "edit" in allowed:
        edited = args_schema or {"type": "object"}
        properties["editedArgs"] = edited
        properties |= edit_schema(edited)["properties"]
    if "reject" in allowed or "respond" in allowed:
        properties["message"] = text
    else:
        approved["const"] = True
    return {"type": "object", "properties": properties, "required": ["approved"]}


def edit_schema(args_schema: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Return the JSON Schema of LangChain's decision to edit, by that of the edited arguments."""
    action = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "args": args_schema},
        "required": ["name", "args"],
    }
    return {"properties": {"edited_action": action}}


# -- the log -------------------------------------------------------------------------------------


def log_approval(approval: Approval) -> None:
    """Write an approval into the log, without arguments and payloads: those may be secret."""
    logger.info(
        "Thread %s, run %s: %s %s (interrupt %s, call %s)",
        quoted(approval.thread_id),
        quoted(approval.run_id),
        approval.decision,
        quoted(approval.name) if approval.name else "the interrupt",
        quoted(approval.interrupt_id),
        quoted(approval.tool_call_id),
    )
