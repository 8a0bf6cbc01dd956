"""The known forms of the values that graphs raise by `interrupt()`, one entry each in `FORMS`.

A LangGraph interrupt enters `questions_in`, and its question leaves, or its questions: they know
how clients see them, and how an answer becomes the value that the graph takes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from langchain_core.utils.json_schema import dereference_refs
from langgraph.types import Interrupt as GraphInterrupt
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    TypeAdapter,
    ValidationError,
)

from langgraph_agui.interrupts.decisions import ALL_DECISIONS, answer_schema, edit_schema
from langgraph_agui.nodes import CANCELLED
from langgraph_agui.options import Question, QuestionForm
from langgraph_agui.protocol.json import to_jsonable
from langgraph_agui.protocol.relaxed_schema import relax_schema
from langgraph_agui.protocol.response_schema import InvalidAnswer, check_schema, schema_mismatch

FieldsT = TypeVar("FieldsT")

# any other is `framework:name`
_AGUI_REASONS = frozenset({"tool_call", "input_required", "confirmation"})
_MESSAGE_KEYS = ("message", "question", "description")


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions in the value of one LangGraph interrupt.

    Attributes:
        asked: The questions.
        split: Returns the answers in an answer to all of them, as the graph takes it; None if it
            has another form.
        join: Takes the values for all of them, in order, and returns that for the graph.
        schema: The JSON Schema under which LangGraph takes that, if it publishes one.
    """

    asked: Sequence[Question]
    split: Callable[[object], list[object] | None]
    join: Callable[[list[object]], object]
    schema: Mapping[str, object] | None = None


# Returns the JSON Schema of the arguments of a tool, by its name; None if it is unknown.
ArgsSchemas: TypeAlias = Callable[[str], Mapping[str, object] | None]

# Returns what an interrupt asks; None if its value has another form.
Form: TypeAlias = Callable[[GraphInterrupt, ArgsSchemas], Question | Questions | None]


def questions_in(
    interrupt: GraphInterrupt,
    shown: object,
    forms: Sequence[QuestionForm] = (),
    args_schemas: ArgsSchemas = lambda _: None,
) -> Question | Questions:
    """Return what a LangGraph interrupt asks.

    Args:
        interrupt: The interrupt.
        shown: The part of its value that clients may see, as JSON data: the question, if the value
            has no known form.
        forms: Forms of the application, which come before those that are known.
        args_schemas: Knows the tools of the graph that has paused.
    """
    if forms:
        value = to_jsonable(interrupt.value)
        for form in forms:
            question = form(value)
            if isinstance(question, Question):
                schema = _schema_of(interrupt, {})
                return _fitting(question, schema, question.tool or interrupt.id)
            if question is not None:
                raise TypeError(
                    f"Expected a Question or None of a form, not {type(question).__name__}"
                )
    for known in FORMS:
        if (asked := known(interrupt, args_schemas)) is not None:
            return asked
    return _own_question(interrupt, shown)


# -- HumanInTheLoopMiddleware (langchain.agents.middleware.human_in_the_loop) --------------------


class _ToolCall(BaseModel):
    name: StrictStr
    args: dict[str, object]
    description: object = None

    def question(self, decisions: Sequence[str]) -> Question:
        return Question(
            message=self.description if isinstance(self.description, str) else None,
            tool=self.name,
            args=self.args,
            decisions=decisions,
        )


class _ToolApproval(_ToolCall):
    type: Literal["tool_approval"]
    tool_call_id: object = None


class _Review(BaseModel):
    allowed_decisions: object = None

    @property
    def decisions(self) -> tuple[str, ...]:
        named = self.allowed_decisions
        if not isinstance(named, list | tuple):
            return ALL_DECISIONS
        return tuple(decision for decision in named if decision in ALL_DECISIONS)


class _Approvals(BaseModel):
    action_requests: list[_ToolCall] = Field(min_length=1)
    review_configs: list[_Review]


_TOOL_APPROVAL = TypeAdapter(_ToolApproval)
_APPROVALS = TypeAdapter(_Approvals)


def _tool_approval(interrupt: GraphInterrupt, args_schemas: ArgsSchemas) -> Question | None:
    """An approval of `interrupt_mode="per_call"`. Its decisions stand in its schema, and arguments
    too, if LangChain checks those of such a tool.
    """
    approval = _fields(_TOOL_APPROVAL, interrupt.value)
    if approval is None:
        return None
    schema = _schema_of(interrupt, interrupt.value)
    decisions, args_schema = _per_call_decisions(schema)
    question = replace(
        approval.question(decisions),
        tool_call_id=approval.tool_call_id if isinstance(approval.tool_call_id, str) else None,
        response_schema=answer_schema(decisions, args_schema),
    )
    if not (args_schema or {}).get("properties"):
        question = _with_args_schema(question, args_schemas, approval.name)
    return _fitting(question, schema, approval.name)


def _per_call_decisions(
    schema: Mapping[str, object] | None,
) -> tuple[tuple[str, ...], Mapping[str, object] | None]:
    """Return the decisions that a per-call schema allows, and its schema of edited arguments."""
    whole = _without_refs(schema or {})
    named: list[object] = []
    args_schema: Mapping[str, object] | None = None
    for branch in whole.get("oneOf") or whole.get("anyOf") or [whole]:
        match branch:
            case {"properties": {"type": {"const": decision}, **fields}}:
                named.append(decision)
                match fields:
                    case {"edited_action": {"properties": {"args": dict(args)}}}:
                        args_schema = args
    return tuple(one for one in ALL_DECISIONS if one in named) or ALL_DECISIONS, args_schema


def _approvals(interrupt: GraphInterrupt, args_schemas: ArgsSchemas) -> Questions | None:
    """The approvals of `interrupt_mode="batched"`. They bring no schemas: their tools have them."""
    batch = _fields(_APPROVALS, interrupt.value)
    if batch is None or len(batch.action_requests) != len(batch.review_configs):
        return None
    reviewed = zip(batch.action_requests, batch.review_configs, strict=True)

    def split(answer: object) -> list[object] | None:
        decisions = answer.get("decisions") if isinstance(answer, Mapping) else None
        return decisions if isinstance(decisions, list) else None

    return Questions(
        [
            _with_args_schema(call.question(review.decisions), args_schemas, call.name)
            for call, review in reviewed
        ],
        split,
        lambda decisions: {"decisions": decisions},
    )


def _with_args_schema(question: Question, args_schemas: ArgsSchemas, tool: str) -> Question:
    """Return the approval, which now shows the schema of edited arguments, and refuses others."""
    decisions = tuple(question.decisions or ())
    schema = args_schemas(tool) if "edit" in decisions else None
    if schema is None:
        return question
    args = relax_schema(schema)  # the tool may be that of another program

    def encode(decision: object) -> object:
        match decision:
            case {"type": "edit"}:
                refused = schema_mismatch(decision, edit_schema(args), question.tool or "")
                if refused is not None:
                    raise InvalidAnswer(refused)
        return question.encode(decision)

    return replace(question, response_schema=answer_schema(decisions, args), encode=encode)


# -- HumanInterrupt (langgraph.prebuilt.interrupt) -----------------------------------------------


class _ActionRequest(BaseModel):
    action: StrictStr
    args: dict[str, object]


class _HumanInterruptConfig(BaseModel):
    allow_accept: StrictBool = False
    allow_edit: StrictBool = False
    allow_respond: StrictBool = False
    allow_ignore: StrictBool = False

    @property
    def decisions(self) -> tuple[str, ...]:
        allowed = {
            "approve": self.allow_accept,
            "edit": self.allow_edit,
            "reject": self.allow_ignore,
            "respond": self.allow_respond,
        }
        return tuple(decision for decision, is_allowed in allowed.items() if is_allowed)


class _HumanInterrupt(BaseModel):
    action_request: _ActionRequest
    config: _HumanInterruptConfig
    description: str | None = None

    def question(self) -> Question:
        request, decisions = self.action_request, self.config.decisions
        return Question(
            message=self.description,
            tool=request.action,
            args=request.args,
            decisions=decisions,
            decode=partial(_from_human_response, request),
            encode=partial(_to_human_response, request, decisions),
        )


class _HumanResponse(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Accept(_HumanResponse):
    type: Literal["accept"]
    args: _ActionRequest | None = None


class _Ignore(_HumanResponse):
    type: Literal["ignore"]
    args: None = None


class _Respond(_HumanResponse):
    type: Literal["response"]
    args: StrictStr


class _Edit(_HumanResponse):
    type: Literal["edit"]
    args: _ActionRequest


_HUMAN_INTERRUPTS = TypeAdapter[list[_HumanInterrupt]](
    Annotated[list[_HumanInterrupt], Field(min_length=1)]
)
_HUMAN_RESPONSE = TypeAdapter[_Accept | _Ignore | _Respond | _Edit](
    Annotated[_Accept | _Ignore | _Respond | _Edit, Field(discriminator="type")]
)


def _human_interrupts(interrupt: GraphInterrupt, _: ArgsSchemas) -> Questions | None:
    """Requests of `HumanInterrupt`, as inboxes of agents know them; one may stand without a list.

    The graph takes a list of responses.
    """
    value = interrupt.value
    requests = _fields(_HUMAN_INTERRUPTS, value if isinstance(value, list) else [value])
    if requests is None or not all(request.config.decisions for request in requests):
        return None

    def split(answer: object) -> list[object] | None:
        if not isinstance(answer, list) or None in map(_human_response, answer):
            return None
        return answer

    return Questions(
        [request.question() for request in requests], split, list, _schema_of(interrupt, {})
    )


def _human_response(answer: object) -> _Accept | _Ignore | _Respond | _Edit | None:
    return _fields(_HUMAN_RESPONSE, answer)


def _from_human_response(request: _ActionRequest, answer: object) -> object:
    """Return the decision in a response, and any other answer as it is."""
    match _human_response(answer):
        case _Accept(args=args) if args is None or args == request:
            return {"type": "approve"}
        case _Edit(args=args):
            return {"type": "edit", "edited_action": {"name": args.action, "args": args.args}}
        case _Respond(args=text):
            return {"type": "respond", "message": text}
        case _Ignore():
            return {"type": "reject"}
    return answer


def _to_human_response(
    request: _ActionRequest, decisions: Sequence[str], decision: object
) -> dict[str, object]:
    """Return the response that stands for a decision.

    To ignore a request is to say no without a word: why it was rejected is a response.
    """
    match decision:
        case {"type": "approve"}:
            return {"type": "accept", "args": request.model_dump()}
        case {"type": "edit", "edited_action": {"args": args}}:
            return {"type": "edit", "args": {"action": request.action, "args": args}}
        case {"type": "respond", "message": text}:
            return {"type": "response", "args": text}
        case {"type": "reject", "message": text} if "respond" in decisions:
            return {"type": "response", "args": text}
    return {"type": "ignore", "args": None}


# -- MCP elicitation (langchain.mcp.elicitation) -------------------------------------------------


class _FormRequest(BaseModel):
    mode: Literal["form"]
    key: StrictStr
    message: StrictStr
    requested_schema: dict[str, object]

    def question(self, tool: str) -> Question:
        schema = relax_schema(self.requested_schema)  # another program has written it

        def with_content(answer: object) -> object:
            match answer:
                case {"action": "accept", **rest}:
                    content = _CONTENT.validate_python(rest.get("content", {}))
                    check_schema(content, schema, self.message)
                    return {"action": "accept", "content": content}
            return answer

        return Question(
            message=self.message,
            response_schema=_elicitation_schema(content=schema),
            tool=tool,
            decode=_without_empty_content,
            encode=with_content,
            if_cancelled={"action": "cancel"},
            metadata={"mode": self.mode},
        )


class _UrlRequest(BaseModel):
    mode: Literal["url"]
    key: StrictStr
    message: StrictStr
    url: StrictStr

    def question(self, tool: str) -> Question:
        # Nobody can agree to an address unseen, and not every client reads metadata.
        is_told = self.url in self.message
        return Question(
            message=self.message if is_told else f"{self.message}\n{self.url}",
            response_schema=_elicitation_schema(),
            tool=tool,
            decode=_without_empty_content,
            if_cancelled={"action": "cancel"},
            metadata={"mode": self.mode, "url": self.url},
        )


class _Elicitation(BaseModel):
    type: Literal["mcp_elicitation"]
    tool_name: StrictStr
    requests: list[Annotated[_FormRequest | _UrlRequest, Field(discriminator="mode")]] = Field(
        min_length=1
    )


_ELICITATION = TypeAdapter(_Elicitation)

# The content of an answer, as MCP takes it.
_CONTENT = TypeAdapter[object](dict[str, str | int | float | bool | list[str] | None])


def _elicitation_schema(**content: Mapping[str, object]) -> dict[str, object]:
    action = {"type": "string", "enum": ["accept", "decline", "cancel"]}
    return {
        "type": "object",
        "properties": {"action": action, **content},
        "required": ["action"],
        "additionalProperties": False,
    }


def _without_empty_content(answer: object) -> object:
    """Return an answer without content that counts for nothing: null, or that of a refusal."""
    if not isinstance(answer, Mapping):
        return answer
    is_needed = answer.get("content") is not None and answer.get("action") == "accept"
    return {key: value for key, value in answer.items() if is_needed or key != "content"}


def _elicitation(interrupt: GraphInterrupt, _: ArgsSchemas) -> Questions | None:
    """The requests of an MCP server before it answers a tool call."""
    asked = _fields(_ELICITATION, interrupt.value)
    if asked is None:
        return None
    keys = [request.key for request in asked.requests]

    def split(answer: object) -> list[object] | None:
        match answer:
            case {"responses": dict(responses)} if responses.keys() == set(keys):
                return [responses[key] for key in keys]
        return None

    return Questions(
        [request.question(asked.tool_name) for request in asked.requests],
        split,
        lambda responses: {"responses": dict(zip(keys, responses, strict=True))},
    )


# -- any other value -----------------------------------------------------------------------------


def _own_question(interrupt: GraphInterrupt, value: object) -> Question:
    """A question of the graph's own; its value may have fields as AG-UI has them."""
    fields: Mapping[str, object] = value if isinstance(value, Mapping) else {}
    reason = _text(fields, "reason") or ""
    if ":" not in reason and reason not in _AGUI_REASONS:
        reason = "input_required"
    metadata = fields.get("metadata")
    return Question(
        message=value if isinstance(value, str) else _text(fields, *_MESSAGE_KEYS),
        reason=reason,
        response_schema=_schema_of(interrupt, fields),
        tool_call_id=_text(fields, "toolCallId", "tool_call_id"),
        if_cancelled={CANCELLED: True} if CANCELLED in fields else None,
        expires_at=_text(fields, "expiresAt", "expires_at"),
        metadata=metadata if isinstance(metadata, Mapping) else {},
    )


# The table. A value is of the first form that knows it.
FORMS: Final[tuple[Form, ...]] = (
    _tool_approval,
    _approvals,
    _human_interrupts,
    _elicitation,
)


# -- parts of values -----------------------------------------------------------------------------


def _fitting(question: Question, schema: Mapping[str, object] | None, subject: str) -> Question:
    """Return the question, which now refuses answers whose value for the graph breaks a schema."""

    def encode(answer: object) -> object:
        value = question.encode(answer)
        check_schema(value, schema, subject)
        return value

    return replace(question, encode=encode)


def _fields(form: TypeAdapter[FieldsT], value: object) -> FieldsT | None:
    """Return a value that has a form; None if it has another."""
    try:
        return form.validate_python(value)
    except ValidationError:
        return None


def _schema_of(
    interrupt: GraphInterrupt, value: Mapping[str, object]
) -> Mapping[str, object] | None:
    """Return the `response_schema` of `interrupt(...)`, else a schema in the value itself."""
    given = (interrupt.response_schema, value.get("responseSchema"), value.get("response_schema"))
    return next((schema for schema in given if isinstance(schema, Mapping)), None)


def _without_refs(schema: Mapping[str, object]) -> dict[str, Any]:
    try:
        return dereference_refs(dict(schema))
    except Exception:  # a reference leads nowhere, or is none
        return relax_schema(schema)


def _text(fields: Mapping[str, object], *keys: str) -> str | None:
    return next((text for key in keys if isinstance(text := fields.get(key), str) and text), None)
