"""What a paused thread waits for, as the interrupts that a client sees (AG-UI 1.0, interrupts).

The state of a thread enters `PendingInterruptReader.read`, `PendingInterrupts` leave. The end of a run, `connect` and
the check of a resume all read it here, so what a client was shown and what it may answer cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias, cast

from ag_ui.core import Interrupt
from langchain_core.messages import ToolCall
from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt as GraphInterrupt
from langgraph.types import StateSnapshot

from langgraph_agui.custom_events import CANCELLED
from langgraph_agui.graphs import GraphAdapter
from langgraph_agui.interrupts.decisions import (
    ALL_DECISIONS,
    Action,
    Decision,
    answer_schema,
    check_schema,
    read_decision,
)
from langgraph_agui.messages.extract import extract_messages
from langgraph_agui.messages.to_agui import open_tool_calls
from langgraph_agui.namespaces import subagent_run_id
from langgraph_agui.protocol.jsonable import to_jsonable

Redact: TypeAlias = Callable[[object], object]
"""Makes of a graph's value what a client may see of it, as JSON data."""

BREAKPOINT = "langgraph:breakpoint"
"""Reason of the interrupt for a static breakpoint."""

_BREAKPOINT_DECISIONS = ("approve", "reject")
_AGUI_REASONS = frozenset({"tool_call", "input_required", "confirmation"})  # any other is `framework:name`
_MESSAGE_KEYS = ("message", "question", "description")


@dataclass(frozen=True, slots=True)
class InterruptRequest:
    """One thing that a client has to answer.

    Attributes:
        interrupt: The request as AG-UI has it.
        action: The call to be approved; None where the answer goes to the graph as it is.
        schema: The JSON Schema under which LangGraph takes the answer, if it publishes one.
        if_cancelled: The decision if the client cancels, where the graph asked to be resumed then.
    """

    interrupt: Interrupt
    action: Action | None = None
    schema: Mapping[str, object] | None = None
    if_cancelled: Decision | None = None

    @property
    def id(self) -> str:
        """The id under which it is answered."""
        return self.interrupt.id

    def read(self, payload: object) -> Decision:
        """Return the decision in a payload. Raises `InvalidAnswer` if it does not answer the request."""
        if self.action is None:
            check_schema(payload, self.schema, self.interrupt.message or self.id)
            return Decision("answer", {"value": payload})
        decision = read_decision(payload, self.action)
        check_schema(dict(decision.value), self.schema, self.action.name)
        return decision

    def updated(self, **fields: object) -> InterruptRequest:
        """Return the same with other fields of the AG-UI interrupt."""
        return replace(self, interrupt=self.interrupt.model_copy(update=fields))


@dataclass(frozen=True, slots=True)
class PendingInterrupt:
    """A LangGraph interrupt and its requests; one that is `batched` takes their answers together."""

    id: str
    requests: Sequence[InterruptRequest]
    batched: bool = False

    @property
    def interrupts(self) -> list[Interrupt]:
        """Its requests as AG-UI has them."""
        return [request.interrupt for request in self.requests]

    def resume_value(self, decisions: Sequence[Decision]) -> object:
        """Return what LangGraph is resumed with, for the decisions about the requests in their order."""
        values = [
            decision.value["value"] if decision.type == "answer" else dict(decision.value) for decision in decisions
        ]
        return {"decisions": values} if self.batched else values[0]


@dataclass(frozen=True, slots=True)
class PendingInterrupts:
    """All that a thread waits for; false, if it waits for nothing.

    Attributes:
        pending: The open interrupts.
        at_breakpoint: Whether it waits at a static breakpoint. That is the one request, without a LangGraph interrupt.
    """

    pending: Sequence[PendingInterrupt] = ()
    at_breakpoint: bool = False

    def __bool__(self) -> bool:
        return bool(self.pending)

    @property
    def requests(self) -> list[InterruptRequest]:
        """The requests, in the order in which they were raised."""
        return [request for one in self.pending for request in one.requests]


@dataclass(frozen=True, slots=True)
class PendingInterruptReader:
    """Reads what threads wait for.

    Attributes:
        graph: The graph.
        messages_key: The state channel that holds the conversation.
        redact: Makes of values what a client may see of them.
        timeout: For how long a request may be answered; None for ever. A request with an expiry of its own keeps it.
    """

    graph: GraphAdapter
    messages_key: str = "messages"
    redact: Redact = to_jsonable
    timeout: timedelta | None = None

    async def read(self, stored: StateSnapshot, config: RunnableConfig) -> PendingInterrupts:
        """Return what a thread waits for, by its checkpoint."""
        failed = {interrupt.id for task in stored.tasks if task.error is not None for interrupt in task.interrupts}
        if failed:
            failed -= await self.graph.reopened_interrupts(config, stored)
        waiting = [interrupt for interrupt in stored.interrupts if interrupt.id not in failed]
        if not waiting:
            return await self._read_breakpoint(stored)
        root_calls = open_tool_calls(self.graph.thread_messages(stored, self.messages_key))
        holders = await self.graph.find_holders(config, [interrupt.id for interrupt in waiting])
        pending = []
        for interrupt in waiting:
            holder = holders.get(interrupt.id)
            if holder is not None and holder.namespace:
                calls = open_tool_calls(extract_messages(holder.values, self.messages_key))
                one = pending_interrupt(interrupt, calls, self.redact)
                subagent = _subagent_at(holder.namespace, stored)
                one = replace(one, requests=[each.updated(subagent_run_id=subagent) for each in one.requests])
            else:
                one = pending_interrupt(interrupt, root_calls, self.redact)
            since = holder.created_at if holder is not None else stored.created_at
            pending.append(replace(one, requests=[self._with_expiry(each, since) for each in one.requests]))
        return PendingInterrupts(pending)

    async def _read_breakpoint(self, stored: StateSnapshot) -> PendingInterrupts:
        nodes = await self.graph.stopped_before(stored)
        if not nodes:
            return PendingInterrupts()
        name = ", ".join(nodes)
        checkpoint = str(stored.config["configurable"].get("checkpoint_id", ""))
        interrupt = Interrupt(
            id=f"breakpoint:{checkpoint}",
            reason=BREAKPOINT,
            message=f"The agent stopped before {name}.",
            response_schema=answer_schema(_BREAKPOINT_DECISIONS),
            metadata={"next": list(nodes)},
        )
        request = InterruptRequest(interrupt, Action(name, allowed=_BREAKPOINT_DECISIONS))
        one = PendingInterrupt(interrupt.id, [self._with_expiry(request, stored.created_at)])
        return PendingInterrupts([one], at_breakpoint=True)

    def _with_expiry(self, request: InterruptRequest, since: str | None) -> InterruptRequest:
        if self.timeout is None or request.interrupt.expires_at is not None or since is None:
            return request
        return request.updated(expires_at=(datetime.fromisoformat(since) + self.timeout).isoformat())


def _subagent_at(namespace: str, stored: StateSnapshot) -> str | None:
    """Return the `subagentRunId` of the graph with this checkpoint namespace.

    The namespace of a graph that keeps its own state does not name the task that runs it: the running task does.
    """
    run_id = subagent_run_id(namespace.split("|"))
    running = {task.name: f"{task.name}:{task.id}" for task in stored.tasks}
    return running.get(run_id, run_id) if run_id is not None else None


def pending_interrupt(
    interrupt: GraphInterrupt, calls: Sequence[ToolCall], redact: Redact = to_jsonable
) -> PendingInterrupt:
    """Return the requests in a LangGraph interrupt.

    Args:
        interrupt: An `interrupt()` of a node or a tool, or one of LangChain's `HumanInTheLoopMiddleware`.
        calls: The open calls of the graph that paused: a batched approval does not name the calls that it is about.
        redact: Makes of values what a client may see of them.
    """
    value = interrupt.value
    if isinstance(value, Mapping):
        if _is_batched(value):
            return _batched(interrupt, value, calls, redact)
        if value.get("type") == "tool_approval" and _is_action(value):
            return _per_call(interrupt, value, redact)
    return PendingInterrupt(interrupt.id, [_plain(interrupt, redact(value))])


# -- HumanInTheLoopMiddleware (langchain.agents.middleware.human_in_the_loop) -----------------------------------------


def _is_action(value: object) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("name"), str) and isinstance(value.get("args"), Mapping)


def _is_batched(value: Mapping[str, object]) -> bool:
    """Return whether this is the middleware's own form: a graph's own value may have the same keys."""
    requests, reviews = value.get("action_requests"), value.get("review_configs")
    return (
        isinstance(requests, list)
        and isinstance(reviews, list)
        and 0 < len(requests) == len(reviews)
        and all(_is_action(request) for request in requests)
        and all(isinstance(review, Mapping) for review in reviews)
    )


def _batched(
    interrupt: GraphInterrupt, value: Mapping[str, object], calls: Sequence[ToolCall], redact: Redact
) -> PendingInterrupt:
    actions = cast("Sequence[Mapping[str, object]]", value["action_requests"])
    reviews = cast("Sequence[Mapping[str, object]]", value["review_configs"])
    found = _match_calls([(str(action["name"]), action["args"]) for action in actions], calls)
    requests = []
    for number, (action, review, call_id) in enumerate(zip(actions, reviews, found, strict=True)):
        named = review.get("allowed_decisions")
        allowed = tuple(map(str, named)) if isinstance(named, list | tuple) else ALL_DECISIONS
        requests.append(_approval(f"{interrupt.id}:{number}", action, call_id, allowed, redact))
    return PendingInterrupt(interrupt.id, requests, batched=True)


def _match_calls(actions: Sequence[tuple[str, object]], calls: Sequence[ToolCall]) -> list[str | None]:
    """Return the ids of the calls that a batched approval is about, which names them only by tool and arguments.

    None where several calls look the same and not all of them need approval.
    """
    ids: list[str | None] = []
    for number, action in enumerate(actions):
        alike = [call["id"] for call in calls if (call["name"], call["args"]) == action]
        sure = len(alike) == actions.count(action)
        ids.append(alike[actions[:number].count(action)] if sure else None)
    return ids


def _per_call(interrupt: GraphInterrupt, value: Mapping[str, object], redact: Redact) -> PendingInterrupt:
    schema = _schema_of(interrupt, value)
    call_id = value.get("tool_call_id")
    allowed, args_schema = _per_call_decisions(schema)
    request = _approval(
        interrupt.id, value, call_id if isinstance(call_id, str) else None, allowed, redact, schema, args_schema
    )
    return PendingInterrupt(interrupt.id, [request])


def _per_call_decisions(schema: Mapping[str, object] | None) -> tuple[tuple[str, ...], Mapping[str, object] | None]:
    """Return the decisions that a per-call schema allows, and its schema of edited arguments."""
    if schema is None:
        return ALL_DECISIONS, None
    definitions = cast("Mapping[str, Mapping[str, object]]", schema.get("$defs", {}))

    def resolved(branch: Mapping[str, object]) -> Mapping[str, object]:
        reference = branch.get("$ref")
        return definitions.get(reference.rpartition("/")[2], {}) if isinstance(reference, str) else branch

    def member(branch: Mapping[str, object], name: str) -> Mapping[str, object]:
        properties = cast("Mapping[str, Mapping[str, object]]", resolved(branch).get("properties", {}))
        return resolved(properties.get(name, {}))

    branches = cast("Sequence[Mapping[str, object]]", schema.get("oneOf") or schema.get("anyOf") or [schema])
    by_type = {member(branch, "type").get("const"): branch for branch in branches}
    allowed = tuple(kind for kind in ALL_DECISIONS if kind in by_type)
    args = member(member(by_type["edit"], "edited_action"), "args") if "edit" in by_type else None
    # Nested models are referred to from the root.
    return allowed or ALL_DECISIONS, {**args, "$defs": definitions} if args and "$ref" in str(args) else args


def _approval(
    request_id: str,
    requested: Mapping[str, object],
    call_id: str | None,
    allowed: tuple[str, ...],
    redact: Redact,
    schema: Mapping[str, object] | None = None,
    args_schema: Mapping[str, object] | None = None,
) -> InterruptRequest:
    name, args = str(requested["name"]), cast("Mapping[str, object]", requested["args"])
    description = requested.get("description")
    interrupt = Interrupt(
        id=request_id,
        reason="tool_call",
        message=description if isinstance(description, str) and description else f"May {name} run?",
        tool_call_id=call_id,
        response_schema=answer_schema(allowed, args_schema),
        metadata={"name": name, "args": redact(args), "allowedDecisions": list(allowed)},
    )
    return InterruptRequest(interrupt, Action(name, args, call_id, allowed), schema)


# -- any other interrupt ----------------------------------------------------------------------------------------------


def _plain(interrupt: GraphInterrupt, value: object) -> InterruptRequest:
    fields: Mapping[str, object] = value if isinstance(value, Mapping) else {}
    reason = _text(fields, "reason")
    schema = _schema_of(interrupt, fields)
    metadata = fields.get("metadata")
    shown = Interrupt(
        id=interrupt.id,
        reason=reason if reason and (reason in _AGUI_REASONS or ":" in reason) else "input_required",
        message=value if isinstance(value, str) else _text(fields, *_MESSAGE_KEYS),
        tool_call_id=_text(fields, "toolCallId", "tool_call_id"),
        response_schema=dict(schema) if schema is not None else None,
        expires_at=_text(fields, "expiresAt", "expires_at"),
        metadata={**(metadata if isinstance(metadata, Mapping) else {}), "value": value},
    )
    if_cancelled = Decision("reject", {CANCELLED: True}) if CANCELLED in fields else None
    return InterruptRequest(shown, schema=schema, if_cancelled=if_cancelled)


def _schema_of(interrupt: GraphInterrupt, value: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return the schema that `interrupt(value, response_schema=...)` was given, else one in the value itself."""
    for schema in (interrupt.response_schema, value.get("responseSchema"), value.get("response_schema")):
        if isinstance(schema, Mapping):
            return schema
    return None


def _text(fields: Mapping[str, object], *keys: str) -> str | None:
    return next((text for key in keys if isinstance(text := fields.get(key), str) and text), None)
