"""The events of a run that are no messages: its start and end, steps and token usage (AG-UI
1.0).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from itertools import count
from typing import NamedTuple, TypeAlias

from ag_ui import core as agui
from ag_ui.core import BaseEvent, RunAgentInput
from langchain_core.messages import AIMessage, BaseMessage

from langgraph_agui.kernel.configs import is_hook, namespace_of
from langgraph_agui.kernel.errors import ErrorClassifier, ErrorCode, RunInputError, error_text
from langgraph_agui.kernel.telemetry import count_error, log_fields, run_logger
from langgraph_agui.messages.providers import vendor
from langgraph_agui.readers.sinks import Sink

logger = run_logger(__name__)

# One entry for each provider and model; None if no call reported any.
TokenUsages: TypeAlias = list[agui.TokenUsage] | None


def run_started(run_input: RunAgentInput) -> agui.RunStartedEvent:
    """Return the event that begins a run."""
    return agui.RunStartedEvent(
        thread_id=run_input.thread_id,
        run_id=run_input.run_id,
        parent_run_id=run_input.parent_run_id,
        protocol_version=agui.PROTOCOL_VERSION,
    )


def is_last(event: agui.BaseEvent) -> bool:
    """Whether this is the terminal event of its run."""
    return isinstance(event, agui.RunFinishedEvent | agui.RunErrorEvent)


def run_error(
    run_input: RunAgentInput,
    error: BaseException,
    code: ErrorCode,
    usage: TokenUsages = None,
    *,
    expose: bool | None = None,
    fields: Mapping[str, str] | None = None,
    agent: str | None = None,
) -> agui.RunErrorEvent:
    """Return the event that ends a run that failed: a code and a safe text, which says where the
    exception is. That goes to the log.

    Args:
        run_input: The client's input.
        error: Why the run failed.
        code: The code for the client.
        usage: The tokens used so far.
        expose: Whether the text may be the exception's own; None if there is no option for it.
        fields: The fields of the run's log records, if it has begun.
        agent: The name of the agent; by default that of the run in which this is called.
    """
    fields = fields or log_fields(run_input)
    correlation_id = fields["correlation_id"]
    count_error(code, agent)
    refused = isinstance(error, RunInputError)
    log = logger.warning if refused else logger.error
    extra = {**fields, "code": code.value}
    cause = None if refused else error
    log(
        "Run %.80r failed: %s [%s]",
        run_input.run_id,
        code,
        correlation_id,
        exc_info=cause,
        extra=extra,
    )
    text = error_text(error)
    message = text if refused or expose else code.message
    if message != text:
        option = "" if expose is None else "; in development, expose_errors=True shows it here"
        message = f"{message} The server log has the error under {correlation_id}{option}."
    metadata = {"correlationId": correlation_id}
    return agui.RunErrorEvent(message=message, code=code.value, usage=usage, metadata=metadata)


def refused_run(
    run_input: RunAgentInput, error: Exception, agent: str | None = None
) -> list[BaseEvent]:
    """Return the events of a run of an agent that was refused before it began."""
    code = ErrorClassifier().classify(error, ErrorCode.INTERNAL)
    return [run_started(run_input), run_error(run_input, error, code, agent=agent)]


class Usage:
    """The tokens that the model calls of one run report, hidden calls included."""

    def __init__(self) -> None:
        self._calls: list[agui.TokenUsage] = []
        self._by_task: defaultdict[str, list[dict[str, object]]] = defaultdict(list)

    def add(self, message: BaseMessage, metadata: Mapping[str, object]) -> None:
        """Count one finished call, from its whole message and the metadata of its start."""
        if not isinstance(message, AIMessage) or not message.usage_metadata:
            return
        provider = message.response_metadata.get("model_provider") or metadata.get("ls_provider")
        model = message.response_metadata.get("model_name") or metadata.get("ls_model_name")
        entry = agui.token_usage_from_langchain_metadata(
            message.usage_metadata,
            provider=vendor(provider) if isinstance(provider, str) else None,
            model=model if isinstance(model, str) else None,
        )
        if entry is not None:
            self._calls.append(entry)
            fields = entry.model_dump(mode="json", by_alias=True, exclude_none=True)
            self._by_task[namespace_of(metadata)].append(fields)

    def take_calls(self, namespace: str) -> list[dict[str, object]]:
        """Return the usage of each call that a task has made since this was last asked, in the form
        of the wire.
        """
        return self._by_task.pop(namespace, [])

    def total(self) -> TokenUsages:
        """Return the usage of all calls."""
        return agui.aggregate_token_usage(self._calls) or None


class _Step(NamedTuple):
    """An open step: its name, its subagent, the node, which of the node's open steps it is, and the
    namespace of the node's task.
    """

    name: str
    subagent_run_id: str | None
    node: str
    number: int
    namespace: str


class Steps:
    """The open steps of one run: one for each run of a node. Their ends carry the tokens of their
    model calls.

    Args:
        sink: Receives the events.
        usage: The tokens of the run.
        shows_middleware: Whether the hooks of middleware are steps.
    """

    def __init__(self, sink: Sink, usage: Usage, *, shows_middleware: bool = False) -> None:
        self._sink, self._usage, self._shows_middleware = sink, usage, shows_middleware
        self._open: dict[Hashable, _Step] = {}
        # By agent, the keys of its open steps by their names. By agent and node, the lowest number
        # that may be free.
        self._names: defaultdict[str | None, dict[str, Hashable]] = defaultdict(dict)
        self._free: dict[tuple[str | None, str], int] = {}

    def start(
        self, key: Hashable, node: str, subagent_run_id: str | None = None, namespace: str = ""
    ) -> None:
        """Open a step for `node`, as "name (2)" while the same agent has a step of that name open.

        `key` is what `finish` closes it by, `namespace` the checkpoint namespace of the node's
        task.
        """
        if not self._shows_middleware and is_hook(node):
            return
        names = self._names[subagent_run_id]
        for number in count(self._free.get((subagent_run_id, node), 1)):
            name = node if number == 1 else f"{node} ({number})"
            if name not in names:
                break
        self._free[subagent_run_id, node] = number + 1
        names[name] = key
        self._open[key] = _Step(name, subagent_run_id, node, number, namespace)
        event = agui.StepStartedEvent(step_name=name, subagent_run_id=subagent_run_id)
        self._sink.event(event)

    def finish(self, key: Hashable) -> None:
        """Close the step of `key`, if it is open."""
        if (step := self._open.pop(key, None)) is not None:
            agent = step.subagent_run_id
            del self._names[agent][step.name]
            self._free[agent, step.node] = min(self._free[agent, step.node], step.number)
            calls = self._usage.take_calls(step.namespace)
            # as in RUN_FINISHED, with an entry for each model call
            metadata = {"usage": calls} if calls else None
            event = agui.StepFinishedEvent(
                step_name=step.name, subagent_run_id=agent, metadata=metadata
            )
            self._sink.event(event)

    def close(self, subagent_run_id: str | None = None) -> None:
        """Close the open steps of a subagent, or (None) of all, innermost first."""
        for key in reversed(
            [*(self._open if subagent_run_id is None else self._names[subagent_run_id].values())]
        ):
            self.finish(key)
