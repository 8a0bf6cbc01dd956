"""The interrupts that a thread waits for, as a client sees them (AG-UI 1.0, interrupts).

The state of a thread enters `PendingInterruptReader.read`, `PendingInterrupts` leave. The end of a
run, `connect` and the check of a resume all read it here, so a client can answer all questions that
it was shown, and no others.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from ag_ui.core import Interrupt
from langchain_core.messages import ToolCall
from langchain_core.runnables import RunnableConfig
from langchain_core.utils.json_schema import dereference_refs
from langgraph.types import Interrupt as GraphInterrupt
from langgraph.types import PregelTask, StateSnapshot
from pydantic import BaseModel, Field, StrictStr, TypeAdapter, ValidationError

from langgraph_agui.graphs.adapter import GraphAdapter, InterruptHolder
from langgraph_agui.interrupts.decisions import (
    ALL_DECISIONS,
    Action,
    Decision,
    answer_schema,
    read_decision,
)
from langgraph_agui.interrupts.used_answers import ANSWERED, UsedAnswers, graph_id
from langgraph_agui.kernel.aio import Duration, seconds
from langgraph_agui.kernel.configs import subagent_run_id
from langgraph_agui.messages.content import unanswered_calls
from langgraph_agui.messages.extract import extract_messages
from langgraph_agui.nodes import CANCELLED
from langgraph_agui.protocol.json import to_jsonable
from langgraph_agui.protocol.response_schema import check_schema

# Returns the part of a graph's value that a client may see, as JSON data.
Redact: TypeAlias = Callable[[object], object]

# Key in the metadata of an interrupt: the graph's value.
VALUE = "value"

# Reason of the interrupt for a static breakpoint.
BREAKPOINT = "langgraph:breakpoint"

_BREAKPOINT_DECISIONS = ("approve", "reject")
# any other is `framework:name`
_AGUI_REASONS = frozenset({"tool_call", "input_required", "confirmation"})
_MESSAGE_KEYS = ("message", "question", "description")


@dataclass(frozen=True, slots=True)
class InterruptRequest:
    """One thing that a client has to answer.

    Attributes:
        interrupt: The request as AG-UI has it.
        action: The call to be approved; None where the answer goes to the graph as it is.
        schema: The JSON Schema under which LangGraph takes the answer, if it publishes one.
        if_cancelled: The decision if the client cancels, where the graph asked to be resumed then.
        batch: The id of the LangGraph interrupt, if that takes the answers to several requests.
    """

    interrupt: Interrupt
    action: Action | None = None
    schema: Mapping[str, object] | None = None
    if_cancelled: Decision | None = None
    batch: str | None = None

    @property
    def id(self) -> str:
        """The id under which it is answered."""
        return self.interrupt.id

    @property
    def graph_id(self) -> str:
        """The id of the LangGraph interrupt that it belongs to."""
        return graph_id(self.id)

    def read(self, payload: object) -> Decision:
        """Return the decision in a payload. Raises `InvalidAnswer` if the payload does not fit."""
        if self.action is None:
            check_schema(payload, self.schema, self.interrupt.message or self.id)
            return Decision("answer", payload)
        decision = read_decision(payload, self.action)
        check_schema(decision.value, self.schema, self.action.name)
        return decision


@dataclass(frozen=True, slots=True)
class PendingInterrupts:
    """All that a thread waits for; false, if it waits for nothing.

    Attributes:
        requests: The open requests, in the order in which they were raised.
        at_breakpoint: Whether the only request is a static breakpoint: no LangGraph interrupt.
        used: The answers that were used since it was paused.
    """

    requests: Sequence[InterruptRequest] = ()
    at_breakpoint: bool = False
    used: UsedAnswers = field(default_factory=UsedAnswers)

    def __bool__(self) -> bool:
        return bool(self.requests)


@dataclass(frozen=True, slots=True)
class PendingInterruptReader:
    """Reads the interrupts that threads wait for.

    Attributes:
        graph: The graph.
        messages_key: The state channel that holds the conversation.
        redact: Returns the part of a value that a client may see.
        timeout: For how long a request may be answered; None for ever. A request with an expiry of
            its own keeps it.
    """

    graph: GraphAdapter
    messages_key: str = "messages"
    redact: Redact = to_jsonable
    timeout: Duration | None = None

    async def read(self, stored: StateSnapshot, config: RunnableConfig) -> PendingInterrupts:
        """Return the interrupts that a thread waits for, by its checkpoint."""
        if not stored.tasks:
            return PendingInterrupts()
        used = UsedAnswers(await self.graph.load_records(stored))
        if any(_has_used_approval(task, stored) for task in stored.tasks if task.error is not None):
            # LangGraph would run the failed task again, beside the open ones
            return PendingInterrupts(used=used)
        failed = {
            interrupt.id
            for task in stored.tasks
            if task.error is not None
            for interrupt in task.interrupts
        }
        if failed:
            failed -= await self.graph.reopened_interrupts(config, stored)
        waiting = [interrupt for interrupt in stored.interrupts if interrupt.id not in failed]
        if not waiting:
            return await self._read_breakpoint(stored, used)
        messages = self.graph.thread_messages(stored, self.messages_key)
        holders = await self.graph.find_holders(config, [interrupt.id for interrupt in waiting])
        if not all(holder.is_open for holder in holders.values()):
            # to go on would be to run a killed task again, with old answers
            return PendingInterrupts(used=used)
        pending: list[InterruptRequest] = []
        for interrupt in waiting:
            holder = holders.get(interrupt.id, InterruptHolder("", None, stored.created_at))
            inner = (
                extract_messages(holder.values, self.messages_key) if holder.namespace else messages
            )
            for request in interrupt_requests(interrupt, unanswered_calls(inner), self.redact):
                request.interrupt.id = used.next_id(request.id)
                request.interrupt.subagent_run_id = _subagent_at(holder.namespace, stored)
                self._set_expiry(request.interrupt, holder.created_at)
                pending.append(request)
        return PendingInterrupts(pending, used=used)

    async def _read_breakpoint(self, stored: StateSnapshot, used: UsedAnswers) -> PendingInterrupts:
        nodes = await self.graph.stopped_before(stored)
        if not nodes:
            return PendingInterrupts(used=used)
        name = ", ".join(nodes)
        checkpoint = str(stored.config["configurable"].get("checkpoint_id", ""))
        interrupt = Interrupt(
            id=used.next_id(f"breakpoint:{checkpoint}"),
            reason=BREAKPOINT,
            message=f"The agent stopped before {name}.",
            response_schema=answer_schema(_BREAKPOINT_DECISIONS),
            metadata={"next": list(nodes)},
        )
        self._set_expiry(interrupt, stored.created_at)
        request = InterruptRequest(interrupt, Action(name, allowed=_BREAKPOINT_DECISIONS))
        return PendingInterrupts([request], at_breakpoint=True, used=used)

    def _set_expiry(self, interrupt: Interrupt, since: str | None) -> None:
        timeout = seconds(self.timeout)
        if timeout is not None and interrupt.expires_at is None and since is not None:
            end = datetime.fromisoformat(since) + timedelta(seconds=timeout)
            interrupt.expires_at = end.isoformat()


def _has_used_approval(failed: PregelTask, stored: StateSnapshot) -> bool:
    """Return whether a failed task may have run an approved call.

    The approval was asked for by the task itself, or was given before the superstep.
    """
    if not failed.interrupts:
        return ANSWERED in (stored.metadata or {})
    return any(_approval_in(interrupt.value) is not None for interrupt in failed.interrupts)


def _subagent_at(namespace: str, stored: StateSnapshot) -> str | None:
    """Return the `subagentRunId` of the graph with this checkpoint namespace.

    The namespace of a graph that keeps its own state does not name the task that runs it: the
    running task does.
    """
    run_id = subagent_run_id(namespace.split("|") if namespace else ())
    running = {task.name: f"{task.name}:{task.id}" for task in stored.tasks}
    return running.get(run_id, run_id) if run_id is not None else None


def interrupt_requests(
    interrupt: GraphInterrupt, calls: Sequence[ToolCall], redact: Redact
) -> list[InterruptRequest]:
    """Return the requests in a LangGraph interrupt.

    Args:
        interrupt: An `interrupt()` of a node or a tool, or one of LangChain's
            `HumanInTheLoopMiddleware`.
        calls: The open calls of the graph that paused: a batched approval does not name the calls
            that it is about.
        redact: Returns the part of a value that a client may see.
    """
    value = redact(interrupt.value)
    approval = _approval_in(interrupt.value)
    if isinstance(approval, _ToolApproval):
        requests = [_per_call(interrupt, approval, redact)]
    elif approval is not None and len(approval.action_requests) == len(approval.review_configs):
        requests = _batched(interrupt.id, approval, calls, redact)
    else:
        return [_plain(interrupt, value)]
    # a graph's own, with more than the middleware's
    if value_of([request.interrupt for request in requests]) != value:
        requests[0].interrupt.metadata = {**(requests[0].interrupt.metadata or {}), VALUE: value}
    return requests


def value_of(asked: Sequence[Interrupt]) -> object:
    """Return the value of the LangGraph interrupt shown as these; of a breakpoint, its message.

    The interrupts for approvals of `HumanInTheLoopMiddleware` hold its whole value in parts.
    """
    first = asked[0].metadata or {}
    if VALUE in first:
        return first[VALUE]
    if "allowedDecisions" not in first:
        return asked[0].message
    if ":" not in asked[0].id:  # one of `interrupt_mode="per_call"`
        return {
            "type": "tool_approval",
            "tool_call_id": asked[0].tool_call_id,
            **_call_in(asked[0]),
        }
    about = [one.metadata or {} for one in asked]
    reviews = [
        {"action_name": one["name"], "allowed_decisions": one["allowedDecisions"]} for one in about
    ]
    return {"action_requests": [*map(_call_in, asked)], "review_configs": reviews}


def _call_in(asked: Interrupt) -> dict[str, object]:
    """Return the call to approve, as `HumanInTheLoopMiddleware` has it."""
    about = asked.metadata or {}
    return {"name": about["name"], "args": about["args"], "description": asked.message}


# -- HumanInTheLoopMiddleware (langchain.agents.middleware.human_in_the_loop) --------------------


class _ToolCall(BaseModel):
    name: StrictStr
    args: dict[str, object]
    description: object = None


class _ToolApproval(_ToolCall):
    type: Literal["tool_approval"]
    tool_call_id: object = None


class _Review(BaseModel):
    allowed_decisions: object = None


class _BatchedApproval(BaseModel):
    action_requests: list[_ToolCall] = Field(min_length=1)
    review_configs: list[_Review]


_APPROVAL = TypeAdapter[_ToolApproval | _BatchedApproval](_ToolApproval | _BatchedApproval)


def _approval_in(value: object) -> _ToolApproval | _BatchedApproval | None:
    """Return the approval in the value of an interrupt; None for a question of the graph's own."""
    try:
        return _APPROVAL.validate_python(value)
    except ValidationError:
        return None


def _batched(
    interrupt_id: str, approval: _BatchedApproval, calls: Sequence[ToolCall], redact: Redact
) -> list[InterruptRequest]:
    found = _match_calls([(call.name, call.args) for call in approval.action_requests], calls)
    requests = []
    for number, call in enumerate(approval.action_requests):
        named = approval.review_configs[number].allowed_decisions
        allowed = tuple(map(str, named)) if isinstance(named, list | tuple) else ALL_DECISIONS
        action = Action(call.name, call.args, found[number], allowed)
        interrupt = _approval(f"{interrupt_id}:{number}", call, action, redact)
        requests.append(InterruptRequest(interrupt, action, batch=interrupt_id))
    return requests


def _match_calls(
    actions: Sequence[tuple[str, object]], calls: Sequence[ToolCall]
) -> list[str | None]:
    """Return the ids of the calls that a batched approval names by tool and arguments.

    None where several calls look the same and not all of them need approval.
    """
    ids: list[str | None] = []
    for number, action in enumerate(actions):
        alike = [call["id"] for call in calls if (call["name"], call["args"]) == action]
        sure = len(alike) == actions.count(action)
        ids.append(alike[actions[:number].count(action)] if sure else None)
    return ids


def _per_call(
    interrupt: GraphInterrupt, approval: _ToolApproval, redact: Redact
) -> InterruptRequest:
    schema = _schema_of(interrupt, interrupt.value)
    allowed, args_schema = _per_call_decisions(schema)
    call_id = approval.tool_call_id if isinstance(approval.tool_call_id, str) else None
    action = Action(approval.name, approval.args, call_id, allowed)
    return InterruptRequest(
        _approval(interrupt.id, approval, action, redact, args_schema), action, schema
    )


def _per_call_decisions(
    schema: Mapping[str, object] | None,
) -> tuple[tuple[str, ...], Mapping[str, object] | None]:
    """Return the decisions that a per-call schema allows, and its schema of edited arguments."""
    try:
        whole = dereference_refs(dict(schema or {}))
    except (KeyError, ValueError):  # a reference leads nowhere
        whole = {}
    branches = [
        branch.get("properties", {})
        for branch in whole.get("oneOf") or whole.get("anyOf") or [whole]
    ]
    by_type = {fields.get("type", {}).get("const"): fields for fields in branches}
    allowed = tuple(kind for kind in ALL_DECISIONS if kind in by_type)
    edited = by_type.get("edit", {}).get("edited_action", {})
    return allowed or ALL_DECISIONS, edited.get("properties", {}).get("args")


def _approval(
    request_id: str,
    call: _ToolCall,
    action: Action,
    redact: Redact,
    args_schema: Mapping[str, object] | None = None,
) -> Interrupt:
    description = call.description if isinstance(call.description, str) else ""
    return Interrupt(
        id=request_id,
        reason="tool_call",
        message=description or f"May {call.name} run?",
        tool_call_id=action.call_id,
        response_schema=answer_schema(action.allowed, args_schema),
        metadata={
            "name": call.name,
            "args": redact(call.args),
            "allowedDecisions": list(action.allowed),
        },
    )


# -- any other interrupt -------------------------------------------------------------------------


def _plain(interrupt: GraphInterrupt, value: object) -> InterruptRequest:
    fields: Mapping[str, object] = value if isinstance(value, Mapping) else {}
    reason = _text(fields, "reason") or ""
    if ":" not in reason and reason not in _AGUI_REASONS:
        reason = "input_required"
    schema = _schema_of(interrupt, fields)
    metadata = fields.get("metadata")
    shown = Interrupt(
        id=interrupt.id,
        reason=reason,
        message=value if isinstance(value, str) else _text(fields, *_MESSAGE_KEYS),
        tool_call_id=_text(fields, "toolCallId", "tool_call_id"),
        response_schema=dict(schema) if schema is not None else None,
        expires_at=_text(fields, "expiresAt", "expires_at"),
        metadata={**(metadata if isinstance(metadata, Mapping) else {}), VALUE: value},
    )
    if_cancelled = Decision("reject", {CANCELLED: True}) if CANCELLED in fields else None
    return InterruptRequest(shown, schema=schema, if_cancelled=if_cancelled)


def _schema_of(
    interrupt: GraphInterrupt, value: Mapping[str, object]
) -> Mapping[str, object] | None:
    """Return the `response_schema` of `interrupt(...)`, else a schema in the value itself."""
    given = (interrupt.response_schema, value.get("responseSchema"), value.get("response_schema"))
    return next((schema for schema in given if isinstance(schema, Mapping)), None)


def _text(fields: Mapping[str, object], *keys: str) -> str | None:
    return next((text for key in keys if isinstance(text := fields.get(key), str) and text), None)
