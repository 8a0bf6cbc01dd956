"""Runs as an operator sees them: fields of log records, and the spans and metrics of OpenTelemetry.

`Run` reports its beginning, its whole events and its end to a `RunWatch`. Other code counts errors
and what it leaves out. Without `opentelemetry-api` (extra: telemetry) nothing is measured; log
records have their fields in any case.
"""

from __future__ import annotations

import logging
from asyncio import Event
from collections.abc import Iterable, Mapping
from contextvars import Context, ContextVar, copy_context
from time import perf_counter
from typing import Final, Literal, NamedTuple, Protocol, Self, TypeAlias
from uuid import uuid4
from weakref import WeakKeyDictionary

from ag_ui import core as agui
from ag_ui.core import BaseEvent, RunAgentInput

from langgraph_agui.kernel.errors import ErrorCode
from langgraph_agui.kernel.quoting import printable


class _Nothing:
    """Stands for OpenTelemetry where it is not installed: whatever is called on it does nothing."""

    def __getattr__(self, _name: str) -> Self:
        return self

    def __call__(self, *_args: object, **_options: object) -> Self:
        return self


try:
    from opentelemetry import context, metrics, trace
except ImportError:
    context = metrics = trace = _Nothing()  # type: ignore[assignment]

# Kinds of values that may be left out.
ValueKind: TypeAlias = Literal[
    "client_state",
    "content",
    "hidden_state",
    "input",
    "large_snapshot",
    "large_state",
    "message",
    "opaque_value",
    "pending_writes",
    "state_patch",
    "tool",
    "tool_result",
]

_AGENT: Final = "gen_ai.agent.name"
_OUTCOME: Final = "agui.run.outcome"
_ERROR: Final = "error.type"

# Seconds; the default boundaries of OpenTelemetry are meant for milliseconds.
_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)

# The start of the first one is the moment of the first token.
_BLOCK_STARTS = (
    agui.TextMessageStartEvent,
    agui.ReasoningMessageStartEvent,
    agui.ToolCallStartEvent,
)
_TERMINAL = (agui.RunFinishedEvent, agui.RunErrorEvent)

# -- the fields of log records --------------------------------------------------------------------


class _Current(NamedTuple):
    """The run that code belongs to: its agent, and the fields of its log records."""

    agent: str
    fields: Mapping[str, str]


_current: ContextVar[_Current | None] = ContextVar("langgraph_agui_run", default=None)


def run_context(agent: str, run_input: RunAgentInput) -> Context:
    """Return a copy of the present context in which log records have the ids of a run, with a new
    correlation id.
    """
    copy = copy_context()
    copy.run(_current.set, _Current(agent, {**_ids(run_input), "correlation_id": str(uuid4())}))
    return copy


def log_fields(run_input: RunAgentInput | None) -> Mapping[str, str]:
    """Return `thread_id`, `run_id` and `correlation_id` of a run. The last is new unless this is
    code of that run. A request without an input has no ids.
    """
    ids, current = _ids(run_input) if run_input is not None else {}, _current.get()
    if current is not None and ids.items() <= current.fields.items():
        return current.fields
    return {**ids, "correlation_id": str(uuid4())}


def add_run_fields(record: logging.LogRecord) -> bool:
    """Add the fields of the present run to a log record, if there is a run: a filter for loggers
    and handlers.
    """
    if (current := _current.get()) is not None:
        for name, value in current.fields.items():
            vars(record).setdefault(name, value)
    return True


def run_logger(name: str) -> logging.Logger:
    """Return the logger of a module whose code belongs to runs."""
    logger = logging.getLogger(name)
    logger.addFilter(add_run_fields)
    return logger


def _ids(run_input: RunAgentInput) -> dict[str, str]:
    return {"thread_id": printable(run_input.thread_id), "run_id": printable(run_input.run_id)}


# -- metrics -------------------------------------------------------------------------------------

_tracer = trace.get_tracer("langgraph_agui")
_meter = metrics.get_meter("langgraph_agui")


def _histogram(name: str, description: str) -> metrics.Histogram:
    try:
        return _meter.create_histogram(
            name, "s", description, explicit_bucket_boundaries_advisory=_SECONDS
        )
    except TypeError:  # an older version takes no boundaries
        return _meter.create_histogram(name, "s", description)


_duration = _histogram("agui.run.duration", "Time of a run until its terminal event")
_first_event = _histogram(
    "agui.run.time_to_first_event", "Time until the first event after RUN_STARTED"
)
_first_token = _histogram(
    "agui.run.time_to_first_token", "Time until the first text, reasoning or tool call opens"
)
_active = _meter.create_up_down_counter(
    "agui.runs.active", "{run}", "Active runs, and runs that wait for their thread"
)
_interrupts = _meter.create_counter(
    "agui.interrupts", "{interrupt}", "Interrupts at which runs have paused"
)
_errors = _meter.create_counter("agui.errors", "{error}", "Errors that clients got, by code")
_dropped = _meter.create_counter(
    "agui.values.dropped", "{value}", "Values that were left out, by kind"
)


def count_error(code: ErrorCode, agent: str | None = None) -> None:
    """Count an error of an agent, by default that of the present run."""
    _errors.add(1, {**_agent(agent), _ERROR: code.value})


def count_dropped(kind: ValueKind, count: int = 1) -> None:
    """Count values that were left out."""
    _dropped.add(count, {**_agent(), "agui.value.kind": kind})


def _agent(name: str | None = None) -> dict[str, str]:
    current = _current.get()
    name = name if name is not None or current is None else current.agent
    return {} if name is None else {_AGENT: name}


class Queue(Protocol):
    """The queue of a reader: the bytes that wait in it, and whether the reader has left."""

    @property
    def waiting(self) -> int:
        """The bytes that wait."""

    left: Event


_queues: WeakKeyDictionary[Queue, str] = WeakKeyDictionary()
_seen: set[str] = set()  # agents that have had readers: without them now, they have none of 0 bytes


def watch_queue(queue: Queue, agent: str) -> None:
    """Measure the queue of a reader until the reader leaves."""
    _seen.add(agent)
    _queues[queue] = agent


def _sum_queues(*, of_bytes: bool) -> Iterable[metrics.Observation]:
    totals = dict.fromkeys(_seen, 0)
    for ref in _queues.keyrefs():  # a list of its own: this is called in the thread of an exporter
        queue = ref()
        if queue is not None and not queue.left.is_set():
            agent = _queues[queue]
            totals[agent] = totals.get(agent, 0) + (queue.waiting if of_bytes else 1)
    return [metrics.Observation(total, {_AGENT: agent}) for agent, total in totals.items()]


_meter.create_observable_up_down_counter(
    "agui.readers",
    [lambda _: _sum_queues(of_bytes=False)],
    "{reader}",
    "Clients that follow a run or a thread",
)
_meter.create_observable_gauge(
    "agui.queue.bytes",
    [lambda _: _sum_queues(of_bytes=True)],
    "By",
    "Approximate bytes that wait for readers",
)

# -- one run --------------------------------------------------------------------------------------


class RunWatch:
    """Measures one run, and makes its span.

    Args:
        agent: The agent's name.
        run_input: The client's input.

    Attributes:
        context: The context of the run's code: log records get the ids of the run, spans become
            children of its own.
    """

    def __init__(self, agent: str, run_input: RunAgentInput) -> None:
        self.context = run_context(agent, run_input)
        self._fields = self.context.run(log_fields, run_input)
        self._agent = {_AGENT: agent}
        self._began = perf_counter()
        self._is_silent = self._is_mute = True  # no event yet; no token yet
        self._last: agui.RunFinishedEvent | agui.RunErrorEvent | None = None

    def start(self) -> Context:
        """Note that the run begins; return the context for its task. Call `end` in any case
        then.
        """
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            **self._agent,
            "gen_ai.conversation.id": self._fields["thread_id"],
            "agui.run.id": self._fields["run_id"],
            "agui.correlation_id": self._fields["correlation_id"],
        }
        self._span = _tracer.start_span(
            f"invoke_agent {self._agent[_AGENT]}", attributes=attributes
        )
        # the context ends with the run
        self.context.run(context.attach, trace.set_span_in_context(self._span))
        _active.add(1, self._agent)
        return self.context

    def event(self, event: BaseEvent) -> None:
        """Receive a whole event of the run."""
        if self._is_silent and not isinstance(event, agui.RunStartedEvent):
            self._is_silent = False
            _first_event.record(perf_counter() - self._began, self._agent)
        if self._is_mute and isinstance(event, _BLOCK_STARTS):
            self._is_mute = False
            _first_token.record(perf_counter() - self._began, self._agent)
        if isinstance(event, _TERMINAL):
            self._last = event

    def end(self) -> None:
        """Note that the run has ended, and its terminal event was emitted."""
        last, paused_at = self._last, 0
        ended = {_OUTCOME: "error", _ERROR: ErrorCode.INTERNAL.value}
        if isinstance(last, agui.RunErrorEvent):
            ended[_ERROR] = last.code or ErrorCode.INTERNAL.value
        elif last is not None and last.outcome is not None:
            ended = {_OUTCOME: last.outcome.type}
            if isinstance(last.outcome, agui.RunFinishedInterruptOutcome):
                paused_at = len(last.outcome.interrupts)
                _interrupts.add(paused_at, self._agent)
        _active.add(-1, self._agent)
        _duration.record(perf_counter() - self._began, {**self._agent, **ended})
        self._span.set_attributes({**ended, "agui.run.interrupts": paused_at})
        if last is not None and last.usage:
            self._span.set_attribute(
                "gen_ai.usage.input_tokens", sum(one.input_tokens or 0 for one in last.usage)
            )
            self._span.set_attribute(
                "gen_ai.usage.output_tokens", sum(one.output_tokens or 0 for one in last.usage)
            )
        if _ERROR in ended:
            self._span.set_status(trace.StatusCode.ERROR)
        self._span.end()
