"""The interrupts that a thread waits for, as a client sees them (AG-UI 1.0, interrupts).

The state of a thread enters `PendingInterruptReader.read`, `PendingInterrupts` leave. The end of a
run, `connect` and the check of a resume all read it here, so a client can answer all questions that
it was shown, and no others.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TypeAlias

from ag_ui.core import Interrupt
from langchain_core.messages import ToolCall
from langchain_core.runnables import RunnableConfig
from langgraph.types import Interrupt as GraphInterrupt
from langgraph.types import PregelTask, StateSnapshot

from langgraph_agui.graphs.adapter import GraphAdapter, InterruptHolder
from langgraph_agui.interrupts.decisions import (
    Action,
    Decision,
    answer_schema,
    read_decision,
    rejection,
)
from langgraph_agui.interrupts.forms import ArgsSchemas, Questions, questions_in
from langgraph_agui.interrupts.used_answers import ANSWERED, UsedAnswers, graph_id
from langgraph_agui.kernel.aio import Duration, seconds
from langgraph_agui.kernel.configs import graph_run_at
from langgraph_agui.kernel.quoting import quoted
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.messages.content import unanswered_calls
from langgraph_agui.messages.extract import extract_messages
from langgraph_agui.options import Question, QuestionForm
from langgraph_agui.protocol.json import to_jsonable
from langgraph_agui.protocol.response_schema import InvalidAnswer, check_schema

logger = run_logger(__name__)

# Returns the part of a graph's value that a client may see, as JSON data.
Redact: TypeAlias = Callable[[object], object]

# Key in the metadata of an interrupt: the graph's value.
VALUE = "value"

# Reason of the interrupt for a static breakpoint.
BREAKPOINT = "langgraph:breakpoint"

_BREAKPOINT_DECISIONS = ("approve", "reject")


@dataclass(frozen=True, slots=True)
class InterruptRequest:
    """One thing that a client has to answer.

    Attributes:
        interrupt: The request as AG-UI has it.
        question: The question; it knows which answers it takes.
        action: The call to be approved; None where the question is no approval.
        batch: All questions of its LangGraph interrupt, if that takes the answers to several.
    """

    interrupt: Interrupt
    question: Question
    action: Action | None = None
    batch: Questions | None = None

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
        if self.batch is not None and len(self.batch.asked) == 1:
            payloads = self.payloads(payload)
            payload = payloads[0] if len(payloads) == 1 else payload
        with self._refusing():
            payload = self.question.decode(payload)
            if self.action is not None:
                return self._encoded(read_decision(payload, self.action))
            check_schema(payload, self.question.response_schema, self._subject)
            return self._encoded(Decision("answer", payload))

    def cancel(self) -> Decision:
        """Return the decision of a client that cancels. Raises as `read` does."""
        if self.question.if_cancelled is not None:
            return Decision("reject", self.question.if_cancelled)
        if self.action is None or "reject" not in self.action.allowed:
            return Decision("cancel", {})
        with self._refusing():
            return self._encoded(rejection())

    def payloads(self, answer: object) -> list[object]:
        """Return the payloads in an answer to all questions of its LangGraph interrupt."""
        payloads = self.batch.split(answer) if self.batch is not None else None
        return [answer] if payloads is None else payloads

    def resume_value(self, values: list[object]) -> object:
        """Return the value to resume with, of the values for all questions of its LangGraph
        interrupt. Raises `InvalidAnswer` if LangGraph would not take it.
        """
        if self.batch is None:
            return values[0]
        value = self.batch.join(values)
        check_schema(value, self.batch.schema, self._subject)
        return value

    @property
    def _subject(self) -> str:
        return self.action.name if self.action is not None else self.interrupt.message or self.id

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Refuse an answer that the question's own functions refuse."""
        try:
            yield
        except ValueError as error:
            logger.info("The answer to %s was refused: %s", quoted(self._subject), error)
            raise InvalidAnswer(f"The answer to {self._subject!r} is malformed.") from error

    def _encoded(self, decision: Decision) -> Decision:
        return replace(decision, value=self.question.encode(decision.value))


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
        messages_key: The state channel with the conversation.
        redact: Returns the part of a value that a client may see.
        timeout: For how long a request may be answered; None for ever. A request with an expiry of
            its own keeps it.
        forms: The forms of the application's own questions.
    """

    graph: GraphAdapter
    messages_key: str = "messages"
    redact: Redact = to_jsonable
    timeout: Duration | None = None
    forms: Sequence[QuestionForm] = ()

    async def read(self, stored: StateSnapshot, config: RunnableConfig) -> PendingInterrupts:
        """Return the interrupts that a thread waits for, by its checkpoint."""
        if not stored.tasks:
            return PendingInterrupts()
        used = UsedAnswers(await self.graph.load_records(stored))
        failed_tasks = [task for task in stored.tasks if task.error is not None]
        if any(self._has_used_approval(task, stored) for task in failed_tasks):
            # LangGraph would run the failed task again, beside the open ones
            return PendingInterrupts(used=used)
        failed = {interrupt.id for task in failed_tasks for interrupt in task.interrupts}
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
            calls = unanswered_calls(inner)
            tools = partial(self.graph.args_schema, namespace=holder.namespace)
            for request in interrupt_requests(interrupt, calls, self.redact, self.forms, tools):
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
        question = Question(tool=name, decisions=_BREAKPOINT_DECISIONS)
        request = InterruptRequest(interrupt, question, Action(name, allowed=_BREAKPOINT_DECISIONS))
        return PendingInterrupts([request], at_breakpoint=True, used=used)

    def _has_used_approval(self, failed: PregelTask, stored: StateSnapshot) -> bool:
        """Return whether a failed task may have run an approved call.

        The approval was asked for by the task itself, or was given before the superstep.
        """
        if not failed.interrupts:
            return ANSWERED in (stored.metadata or {})
        return any(
            request.action is not None
            for interrupt in failed.interrupts
            for request in interrupt_requests(interrupt, (), self.redact, self.forms)
        )

    def _set_expiry(self, interrupt: Interrupt, since: str | None) -> None:
        timeout = seconds(self.timeout)
        if timeout is not None and interrupt.expires_at is None and since is not None:
            with suppress(OverflowError):  # later than any date, which is never
                end = datetime.fromisoformat(since) + timedelta(seconds=timeout)
                interrupt.expires_at = end.isoformat()


def _subagent_at(namespace: str, stored: StateSnapshot) -> str | None:
    """Return the `subagentRunId` of the graph with this checkpoint namespace.

    The namespace of a graph that keeps its own state does not name the task that runs it: the
    running task does.
    """
    run_id = graph_run_at(namespace)
    running = {task.name: f"{task.name}:{task.id}" for task in stored.tasks}
    return running.get(run_id, run_id) if run_id is not None else None


def interrupt_requests(
    interrupt: GraphInterrupt,
    calls: Sequence[ToolCall],
    redact: Redact,
    forms: Sequence[QuestionForm] = (),
    args_schemas: ArgsSchemas = lambda _: None,
) -> list[InterruptRequest]:
    """Return the requests in a LangGraph interrupt.

    Args:
        interrupt: An `interrupt()` of a node or a tool.
        calls: The open calls of the graph that paused: not every question names the call that it is
            about.
        redact: Returns the part of a value that a client may see.
        forms: The forms of the application's own questions.
        args_schemas: Knows the tools of the graph that paused.
    """
    value = redact(interrupt.value)
    asked = questions_in(interrupt, value, forms, args_schemas)
    if isinstance(asked, Question):
        [call_id] = _find_calls([asked], calls)
        requests = [_request(interrupt.id, asked, call_id, redact)]
    else:
        requests = [
            _request(f"{interrupt.id}:{number}", question, call_id, redact, asked)
            for number, (question, call_id) in enumerate(
                zip(asked.asked, _find_calls(asked.asked, calls), strict=True)
            )
        ]
    # The metadata of the middleware's approvals hold all of its value in parts.
    if requests[0].action is None or value_of([request.interrupt for request in requests]) != value:
        requests[0].interrupt.metadata = {**(requests[0].interrupt.metadata or {}), VALUE: value}
    return requests


def _request(
    request_id: str,
    question: Question,
    call_id: str | None,
    redact: Redact,
    batch: Questions | None = None,
) -> InterruptRequest:
    """Return a question as a client sees it, about the call with this id."""
    message = None if question.message is None else str(redact(question.message))
    reason = question.reason or "input_required"
    schema = question.response_schema
    metadata: dict[str, object] = {key: redact(value) for key, value in question.metadata.items()}
    action = None
    if question.decisions is not None:
        action = Action(
            question.tool or "", question.args or {}, call_id, tuple(question.decisions)
        )
        message = message or f"May {action.name} run?"
        reason = question.reason or "tool_call"
        if schema is None:
            schema = answer_schema(action.allowed)
        metadata["name"] = action.name
        metadata["args"] = redact(action.args)
        metadata["allowedDecisions"] = list(action.allowed)
    interrupt = Interrupt(
        id=request_id,
        reason=reason,
        message=message,
        tool_call_id=call_id,
        response_schema=dict(schema) if schema is not None else None,
        expires_at=question.expires_at,
        metadata=metadata or None,
    )
    return InterruptRequest(interrupt, question, action, batch)


def _find_calls(questions: Sequence[Question], calls: Sequence[ToolCall]) -> list[str | None]:
    """Return the ids of the calls that questions are about, by tool and arguments.

    None where several calls look the same and not all of them are asked about.
    """
    ids: list[str | None] = []
    for number, question in enumerate(questions):
        alike = [
            one["id"]
            for one in calls
            if one["name"] == question.tool and question.args in (None, one["args"])
        ]
        # Each question is about a call of its own, unless it does not name the arguments.
        same = [number]
        if question.args is not None:
            call = (question.tool, question.args)
            same = [at for at, one in enumerate(questions) if (one.tool, one.args) == call]
        found = alike[same.index(number)] if len(alike) == len(same) else None
        ids.append(question.tool_call_id or found)
    return ids


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
