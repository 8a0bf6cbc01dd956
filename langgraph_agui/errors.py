"""What can go wrong in a run, as codes that a client can act on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from enum import StrEnum

from langgraph.errors import GraphRecursionError


class ErrorCode(StrEnum):
    """`RUN_ERROR.code`. Stable: a code is never renamed, new ones may come."""

    INVALID_INPUT = "invalid_input"
    """The input does not fit the graph; nothing was run."""
    INTERRUPT_UNANSWERED = "interrupt_unanswered"
    """The thread waits for answers that the input does not give; nothing was run."""
    INTERRUPT_UNKNOWN = "interrupt_unknown"
    """The input answers something that the thread does not ask; nothing was run."""
    INTERRUPT_DUPLICATE = "interrupt_duplicate"
    """The input answers one interrupt twice; nothing was run."""
    INTERRUPT_EXPIRED = "interrupt_expired"
    """The input answers after the interrupt's `expiresAt`; nothing was run. It can still be cancelled."""
    INTERRUPT_INVALID = "interrupt_invalid"
    """The input answers with what does not fit the question; nothing was run."""
    THREAD_BUSY = "thread_busy"
    """Another run is going on in the thread; nothing was run."""
    APPROVAL_REFUSED = "approval_refused"
    """The server did not accept an answer (`on_approval` raised); nothing was run."""
    STATE_ERROR = "state_error"
    """The thread's checkpoint could not be read; nothing was run."""
    STATE_REFUSED = "state_refused"
    """The client has changed a key of the state that it may not change; nothing was run."""
    STATE_INVALID = "state_invalid"
    """The client's state does not fit the graph's schema, and nothing was run; or, in development, the graph's own."""
    RECURSION_LIMIT = "recursion_limit"
    """The graph took more steps than its recursion limit allows."""
    MODEL_ERROR = "model_error"
    """A model call failed."""
    TOOL_ERROR = "tool_error"
    """A tool failed, and the graph did not handle it."""
    GRAPH_ERROR = "graph_error"
    """The code of a node failed."""
    EVENT_TOO_LARGE = "event_too_large"
    """What the graph said, a tool result for example, is more than a client takes in one event."""
    INTERNAL = "internal"
    """The adapter itself failed."""


SAFE_MESSAGES = {
    ErrorCode.INVALID_INPUT: "The input does not fit this agent.",
    ErrorCode.INTERRUPT_UNANSWERED: "This thread is waiting for an answer. Answer every open interrupt to go on.",
    ErrorCode.INTERRUPT_UNKNOWN: "The answer is for an interrupt that is not open on this thread.",
    ErrorCode.INTERRUPT_DUPLICATE: "An interrupt is answered more than once.",
    ErrorCode.INTERRUPT_EXPIRED: "The time to answer is over. Cancel the interrupt to go on.",
    ErrorCode.INTERRUPT_INVALID: "The answer does not fit what was asked.",
    ErrorCode.THREAD_BUSY: "Another run is going on in this thread.",
    ErrorCode.APPROVAL_REFUSED: "The answer was not accepted.",
    ErrorCode.STATE_ERROR: "The conversation could not be loaded.",
    ErrorCode.STATE_REFUSED: "This part of the state cannot be changed.",
    ErrorCode.STATE_INVALID: "The state does not fit its schema.",
    ErrorCode.RECURSION_LIMIT: "The agent took too many steps and was stopped.",
    ErrorCode.MODEL_ERROR: "The model could not answer.",
    ErrorCode.TOOL_ERROR: "A tool failed.",
    ErrorCode.GRAPH_ERROR: "The agent failed.",
    ErrorCode.EVENT_TOO_LARGE: "An answer was too large to be sent.",
    ErrorCode.INTERNAL: "Something went wrong.",
}


class RunInputError(Exception):
    """The input of a run was refused before anything ran. Its text is safe to show to the client."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or SAFE_MESSAGES[code])
        self.code = code


class ApprovalRefused(Exception):  # noqa: N818  # named after its code
    """The agent's `on_approval` has raised; the cause is chained."""


class StateError(Exception):
    """The thread's checkpoint could not be read; the cause is chained."""


class StateMismatch(Exception):  # noqa: N818  # named for what it says
    """What the graph has written does not fit the agent's `state_schema`."""


class EventTooLarge(Exception):  # noqa: N818  # named after its code
    """An event is larger than clients accept (AG-UI 1.0, HTTP binding: 10 Mi characters)."""


class RunStopped(Exception):  # noqa: N818  # not an error: the run was left, and says so to the code still in it
    """Raised inside callbacks of a run that was stopped, to end work that cancelling cannot reach (threads)."""


class ErrorClassifier:
    """Remembers which exceptions came out of a model or a tool, to name the code of the run's failure."""

    def __init__(self) -> None:
        self._known: list[tuple[BaseException, ErrorCode]] = []

    def put(self, error: BaseException, code: ErrorCode) -> None:
        """Note that `error` was raised by the part of the graph that `code` names; the first note stands."""
        if not any(known is error for known, _ in self._known):
            self._known.append((error, code))

    def code(self, error: BaseException, otherwise: ErrorCode) -> ErrorCode:
        """The code for a run that failed with `error`; `otherwise`, if nothing is known of it."""
        for cause in _causes(error):
            if isinstance(cause, RunInputError):
                return cause.code
            if isinstance(cause, EventTooLarge):
                return ErrorCode.EVENT_TOO_LARGE
            if isinstance(cause, ApprovalRefused):
                return ErrorCode.APPROVAL_REFUSED
            if isinstance(cause, StateError):
                return ErrorCode.STATE_ERROR
            if isinstance(cause, StateMismatch):
                return ErrorCode.STATE_INVALID
            if isinstance(cause, GraphRecursionError):
                return ErrorCode.RECURSION_LIMIT
            for known, code in self._known:
                if known is cause:
                    return code
        return otherwise


def _causes(error: BaseException) -> Iterator[BaseException]:
    """`error` and everything that it was raised from, the nearest first, each once."""
    pending, seen = [error], set[int]()
    while pending:
        cause = pending.pop(0)
        if id(cause) in seen or isinstance(cause, asyncio.CancelledError):
            continue
        seen.add(id(cause))
        yield cause
        if isinstance(cause, BaseExceptionGroup):
            pending.extend(cause.exceptions)
        if cause.__cause__ is not None:
            pending.append(cause.__cause__)
