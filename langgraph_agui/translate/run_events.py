"""The first and the last event of a run (AG-UI 1.0, runs)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from uuid import uuid4

from ag_ui.core import (
    PROTOCOL_VERSION,
    BaseEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedOutcome,
    RunStartedEvent,
    TokenUsage,
)

from langgraph_agui.errors import SAFE_MESSAGES, ErrorClassifier, ErrorCode, RunInputError

logger = logging.getLogger(__name__)


def run_started(run_input: RunAgentInput) -> RunStartedEvent:
    """The event that begins a run."""
    return RunStartedEvent(
        thread_id=run_input.thread_id,
        run_id=run_input.run_id,
        parent_run_id=run_input.parent_run_id,
        protocol_version=PROTOCOL_VERSION,
    )


def run_finished(
    run_input: RunAgentInput, outcome: RunFinishedOutcome, result: object, usage: Sequence[TokenUsage] | None
) -> RunFinishedEvent:
    """The event that ends a run that did not fail."""
    return RunFinishedEvent(
        thread_id=run_input.thread_id,
        run_id=run_input.run_id,
        outcome=outcome,
        result=result,
        usage=list(usage) if usage is not None else None,
    )


def run_error(
    run_input: RunAgentInput,
    error: BaseException,
    code: ErrorCode,
    usage: Sequence[TokenUsage] | None = None,
    *,
    expose: bool = False,
) -> RunErrorEvent:
    """The event that ends a run that failed: a code and a safe text. The exception goes into the log.

    Args:
        run_input: What the client sent.
        error: Why it failed.
        code: What that means for the client.
        usage: The tokens used so far.
        expose: Whether the text may be the exception's own.
    """
    correlation_id = str(uuid4())
    refused = isinstance(error, RunInputError)
    log = logger.warning if refused else logger.error
    log("Run %s failed: %s [%s]", run_input.run_id, code, correlation_id, exc_info=None if refused else error)
    return RunErrorEvent(
        message=str(error) if refused or expose else SAFE_MESSAGES[code],
        code=code.value,
        usage=list(usage) if usage is not None else None,
        metadata={"correlationId": correlation_id},
    )


def refused_run(run_input: RunAgentInput, error: Exception) -> list[BaseEvent]:
    """The events of a run that was refused before it began."""
    return [run_started(run_input), run_error(run_input, error, ErrorClassifier().code(error, ErrorCode.INTERNAL))]
