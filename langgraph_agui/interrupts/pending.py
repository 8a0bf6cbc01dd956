"""One LangGraph interrupt as the questions that a client is asked.

A LangGraph interrupt enters, with the tool calls that it may be about; AG-UI interrupts leave (AG-UI 1.0, interrupts).
Their answers come back to `Asked.value`, which makes of them the one value that LangGraph is resumed with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from ag_ui.core import Interrupt
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langgraph.types import Interrupt as GraphInterrupt

from langgraph_agui.custom_events import CANCELLED
from langgraph_agui.interrupts.decisions import ALL, Action, Decision, answer_schema, decided
from langgraph_agui.interrupts.schema import check
from langgraph_agui.protocol.jsonable import to_jsonable

Show: TypeAlias = Callable[[object], object]
"""Makes of a graph's value what a client may see of it, as JSON data."""

CONVENTIONAL = frozenset({"tool_call", "input_required", "confirmation"})
"""AG-UI's own reasons; any other is namespaced (`framework:name`)."""

_DECLINED = Decision("reject", {CANCELLED: True})
_MESSAGE_KEYS = ("message", "question", "description")


@dataclass(frozen=True, slots=True)
class InterruptRequest:
    """One thing that a client is asked.

    Attributes:
        interrupt: The question as AG-UI has it.
        action: The call to be approved; None where the answer goes to the graph as it is.
        schema: The JSON Schema under which LangGraph takes the answer, if it publishes one.
        cancelled: What is said to one who has asked to be told if the client cancels.
    """

    interrupt: Interrupt
    action: Action | None = None
    schema: Mapping[str, object] | None = None
    cancelled: Decision | None = None

    @property
    def id(self) -> str:
        """The id under which it is answered."""
        return self.interrupt.id

    def read(self, payload: object) -> Decision:
        """What the graph is told for `payload`. Raises `InvalidAnswer` if it does not answer the question."""
        if self.action is None:
            check(payload, self.schema, self.interrupt.message or self.id)
            return Decision("answer", {"value": payload})
        decision = decided(payload, self.action)
        check(dict(decision.value), self.schema, self.action.name)
        return decision


@dataclass(frozen=True, slots=True)
class PendingInterrupt:
    """A LangGraph interrupt and its questions; one that is `batched` takes their answers together."""

    id: str
    questions: Sequence[InterruptRequest]
    batched: bool = False

    @property
    def interrupts(self) -> list[Interrupt]:
        """Its questions as AG-UI has them."""
        return [question.interrupt for question in self.questions]

    def owned(self, owner: str | None) -> PendingInterrupt:
        """The same, asked by the subagent `owner`."""
        told = {"subagent_run_id": owner}
        questions = [
            replace(question, interrupt=question.interrupt.model_copy(update=told)) for question in self.questions
        ]
        return replace(self, questions=questions)

    def value(self, decisions: Sequence[Decision]) -> object:
        """What LangGraph is resumed with, for the decisions about its questions in their order."""
        values = [
            decision.value["value"] if decision.type == "answer" else dict(decision.value) for decision in decisions
        ]
        return {"decisions": values} if self.batched else values[0]


def calls_in(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """The calls of the last assistant message: what a graph stands at."""
    last = next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)
    return last.tool_calls if last is not None else []


def pending_interrupt(
    interrupt: GraphInterrupt, calls: Sequence[ToolCall], show: Show = to_jsonable
) -> PendingInterrupt:
    """Return what an interrupt asks.

    Args:
        interrupt: An `interrupt()` of a node or a tool, or one of LangChain's `HumanInTheLoopMiddleware`.
        calls: The calls of the message that the graph stands at: a batched approval does not say which it is about.
        show: Makes of values what a client may see of them.
    """
    value = interrupt.value
    if isinstance(value, Mapping):
        if _is_batched(value):
            return _batched(interrupt, value, calls, show)
        if value.get("type") == "tool_approval" and _is_action(value):
            return _per_call(interrupt, value, show)
    return PendingInterrupt(interrupt.id, [_plain(interrupt, show(value))])


# -- HumanInTheLoopMiddleware (langchain.agents.middleware.human_in_the_loop) -----------------------------------------


def _is_action(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("name"), str) and isinstance(value.get("args"), Mapping)


def _is_batched(value: Mapping[str, object]) -> bool:
    """Whether this is the middleware's own form: a graph's own value may have the same keys."""
    requests, reviews = value.get("action_requests"), value.get("review_configs")
    return (
        isinstance(requests, list)
        and isinstance(reviews, list)
        and 0 < len(requests) == len(reviews)
        and all(_is_action(request) for request in requests)
        and all(isinstance(review, Mapping) for review in reviews)
    )


def _batched(
    interrupt: GraphInterrupt, value: Mapping[str, object], calls: Sequence[ToolCall], show: Show
) -> PendingInterrupt:
    requests = cast("Sequence[Mapping[str, object]]", value["action_requests"])
    reviews = cast("Sequence[Mapping[str, object]]", value["review_configs"])
    found = call_ids([(str(request["name"]), request["args"]) for request in requests], calls)
    questions = [
        _approval(f"{interrupt.id}:{number}", request, call_id, _allowed(review), show)
        for number, (request, review, call_id) in enumerate(zip(requests, reviews, found, strict=True))
    ]
    return PendingInterrupt(interrupt.id, questions, batched=True)


def call_ids(actions: Sequence[tuple[str, object]], calls: Sequence[ToolCall]) -> list[str | None]:
    """The ids of the calls that a batched approval is about, which names them only by tool and arguments.

    None where several calls look the same and not all of them are asked about.
    """
    ids: list[str | None] = []
    for number, action in enumerate(actions):
        alike = [call["id"] for call in calls if (call["name"], call["args"]) == action]
        sure = len(alike) == actions.count(action)
        ids.append(alike[actions[:number].count(action)] if sure else None)
    return ids


def _allowed(review: Mapping[str, object]) -> tuple[str, ...]:
    named = review.get("allowed_decisions")
    return tuple(map(str, named)) if isinstance(named, list | tuple) else ALL


def _per_call(interrupt: GraphInterrupt, value: Mapping[str, object], show: Show) -> PendingInterrupt:
    schema = _schema_of(interrupt, value)
    call_id = value.get("tool_call_id")
    allowed, args = _branches(schema)
    question = _approval(
        interrupt.id, value, call_id if isinstance(call_id, str) else None, allowed, show, schema=schema, args=args
    )
    return PendingInterrupt(interrupt.id, [question])


def _branches(schema: Mapping[str, object] | None) -> tuple[tuple[str, ...], Mapping[str, object] | None]:
    """The decisions that a per-call schema allows, and its schema of edited arguments."""
    if schema is None:
        return ALL, None
    definitions = cast("Mapping[str, Mapping[str, object]]", schema.get("$defs", {}))

    def resolved(branch: Mapping[str, object]) -> Mapping[str, object]:
        reference = branch.get("$ref")
        return definitions.get(reference.rpartition("/")[2], {}) if isinstance(reference, str) else branch

    def member(branch: Mapping[str, object], name: str) -> Mapping[str, object]:
        properties = cast("Mapping[str, Mapping[str, object]]", resolved(branch).get("properties", {}))
        return resolved(properties.get(name, {}))

    branches = cast("Sequence[Mapping[str, object]]", schema.get("oneOf") or schema.get("anyOf") or [schema])
    by_type = {member(branch, "type").get("const"): branch for branch in branches}
    allowed = tuple(kind for kind in ALL if kind in by_type)
    args = member(member(by_type["edit"], "edited_action"), "args") if "edit" in by_type else None
    # Nested models are referred to from the root.
    return allowed or ALL, {**args, "$defs": definitions} if args and "$ref" in str(args) else args


def _approval(
    question_id: str,
    request: Mapping[str, object],
    call_id: str | None,
    allowed: tuple[str, ...],
    show: Show,
    *,
    schema: Mapping[str, object] | None = None,
    args: Mapping[str, object] | None = None,
) -> InterruptRequest:
    name, given = str(request["name"]), request.get("args")
    action = Action(name, given if isinstance(given, Mapping) else {}, call_id, allowed)
    description = request.get("description")
    return InterruptRequest(
        Interrupt(
            id=question_id,
            reason="tool_call",
            message=description if isinstance(description, str) and description else f"May {name} run?",
            tool_call_id=call_id,
            response_schema=answer_schema(allowed, args),
            metadata={"name": name, "args": show(action.args), "allowedDecisions": list(allowed)},
        ),
        action,
        schema,
    )


# -- any other interrupt ----------------------------------------------------------------------------------------------


def _plain(interrupt: GraphInterrupt, value: object) -> InterruptRequest:
    told: Mapping[str, object] = value if isinstance(value, Mapping) else {}
    message = value if isinstance(value, str) else _text(told, *_MESSAGE_KEYS)
    reason = _text(told, "reason")
    schema = _schema_of(interrupt, told)
    question = Interrupt(
        id=interrupt.id,
        reason=reason if reason and (reason in CONVENTIONAL or ":" in reason) else "input_required",
        message=message,
        tool_call_id=_text(told, "toolCallId", "tool_call_id"),
        response_schema=dict(schema) if schema is not None else None,
        expires_at=_text(told, "expiresAt", "expires_at"),
        metadata={**_own(told.get("metadata")), "value": value},
    )
    return InterruptRequest(question, schema=schema, cancelled=_DECLINED if CANCELLED in told else None)


def _own(metadata: object) -> Mapping[str, object]:
    return metadata if isinstance(metadata, Mapping) else {}


def _schema_of(interrupt: GraphInterrupt, value: Mapping[str, object]) -> Mapping[str, object] | None:
    """The schema that `interrupt(value, response_schema=...)` was given, else one in the value itself."""
    for schema in (interrupt.response_schema, value.get("responseSchema"), value.get("response_schema")):
        if isinstance(schema, Mapping):
            return schema
    return None


def _text(told: Mapping[str, object], *keys: str) -> str | None:
    return next((text for key in keys if isinstance(text := told.get(key), str) and text), None)
