"""The failures of a run, as codes that a client can act on. Exceptions enter
`ErrorClassifier`, codes leave.
"""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from traceback import walk_tb
from typing import Self

from langgraph.errors import GraphRecursionError

from langgraph_agui.kernel.quoting import printable


class ErrorCode(StrEnum):
    """The values of `RUN_ERROR.code`. A code is never renamed; new ones may be added.

    Attributes:
        message: A text that is safe to show to the client.
    """

    message: str

    def __new__(cls, code: str, message: str) -> Self:
        """Make a code with its message."""
        member = str.__new__(cls, code)
        member._value_, member.message = code, message
        return member

    # The input does not fit the graph; nothing was run.
    INVALID_INPUT = "invalid_input", "The input does not fit this agent."
    # The thread waits for answers that are not in the input; nothing was run.
    INTERRUPT_UNANSWERED = (
        "interrupt_unanswered",
        "This thread is waiting for answers. Answer every open interrupt.",
    )
    # The input answers an interrupt that is not open in the thread; nothing was run.
    INTERRUPT_UNKNOWN = (
        "interrupt_unknown",
        "The answer is for an interrupt that is not open on this thread.",
    )
    # The input answers one interrupt twice; nothing was run.
    INTERRUPT_DUPLICATE = "interrupt_duplicate", "An interrupt is answered more than once."
    # The input answers after the interrupt's `expiresAt`; nothing was run. It can still be
    # cancelled.
    INTERRUPT_EXPIRED = (
        "interrupt_expired",
        "The time to answer is over. Cancel the interrupt to continue.",
    )
    # An answer does not fit its interrupt; nothing was run.
    INTERRUPT_INVALID = "interrupt_invalid", "The answer does not fit the interrupt."
    # Another run is going on in the thread; nothing was run.
    THREAD_BUSY = "thread_busy", "Another run is active in this thread."
    # As many runs are going on as the agent allows; nothing was run.
    TOO_MANY_RUNS = "too_many_runs", "The agent is busy. Try again later."
    # As many clients follow the run as the agent allows.
    TOO_MANY_READERS = "too_many_readers", "Too many clients are following this run."
    # No such run is going on in this process, or in another one that shares its runs with this one.
    RUN_UNKNOWN = "run_unknown", "No such run is active here. It may have ended."
    # The run goes on, or went on, in another server process, which is gone or cannot be reached.
    RUN_LOST = "run_lost", "The connection to this run was lost. Connect to the thread again."
    # The server is stopping: it begins no run, or has ended this one.
    SERVER_STOPPING = "server_stopping", "The server is stopping. Try again later."
    # The server did not accept an answer (`ApprovalOptions.on_answer` raised); nothing was run.
    APPROVAL_REFUSED = "approval_refused", "The answer was not accepted."
    # The thread's checkpoints could not be read or written. No guarded tool has run without a
    # record of its approval.
    STATE_ERROR = "state_error", "The conversation could not be loaded or saved."
    # The graph wants to pause, and has no checkpointer to keep the thread until the answer.
    NO_CHECKPOINTER = (
        "no_checkpointer",
        "The agent cannot ask: its graph needs a checkpointer, such as InMemorySaver().",
    )
    # Connections of the agent belong to another event loop; nothing was run.
    WRONG_EVENT_LOOP = (
        "wrong_event_loop",
        (
            "An agent with a run store or a Postgres checkpointer works in one event loop, and "
            "this is another one. Make all of them in the event loop that uses them."
        ),
    )
    # A function of the application, such as `ApprovalOptions.on_answer`, took longer than the agent
    # allows; nothing was run.
    HOOK_TIMEOUT = "hook_timeout", "The server took too long to decide. Try again later."
    # The client changed a key of the state that it may not change; nothing was run.
    STATE_REFUSED = "state_refused", "This part of the state cannot be changed."
    # The client's state does not fit the graph's schema, and nothing was run; or, in development,
    # the graph's own.
    STATE_INVALID = "state_invalid", "The state does not fit its schema."
    # The run, or its silence, took longer than the agent allows.
    RUN_TIMEOUT = "run_timeout", "The agent took too long and was stopped."
    # The client did not read the run's events. The run goes on, or not, as `on_disconnect`
    # decides.
    READER_TOO_SLOW = (
        "reader_too_slow",
        "This client reads too slowly. Connect to the thread again.",
    )
    # The graph took more steps than its recursion limit allows.
    RECURSION_LIMIT = "recursion_limit", "The agent took too many steps and was stopped."
    # A model call failed.
    MODEL_ERROR = "model_error", "The model could not answer."
    # A tool failed, and the graph did not handle it.
    TOOL_ERROR = "tool_error", "A tool failed."
    # The code of a node failed.
    GRAPH_ERROR = "graph_error", "The agent failed."
    # An event, a tool result for example, is larger than clients accept.
    EVENT_TOO_LARGE = "event_too_large", "An answer was too large to be sent."
    # The adapter itself failed.
    INTERNAL = "internal", "Something went wrong."


class CodedError(Exception):
    """An error of ours that ends a run. Its text is for the log, unless a subclass decides
    otherwise.
    """

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(message or code.message)
        self.code = code


class RunInputError(CodedError):
    """The input of a run was refused before anything ran. Its text is safe to show to the client,
    and printable.
    """

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(code, printable(message, 1000) if message else None)


class StateError(CodedError):
    """The thread's checkpoints could not be read or written; the cause is chained."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(ErrorCode.STATE_ERROR, message)


class RunStopped(Exception):  # noqa: N818  # not an error
    """Raised inside callbacks of a run that was stopped, to end work in threads, which cancelling
    cannot reach.
    """


class ErrorClassifier:
    """Remembers which exceptions came out of a model or a tool, to name the code of the run's
    failure.
    """

    def __init__(self) -> None:
        self._recorded: dict[int, tuple[BaseException, ErrorCode]] = {}

    def record(self, error: BaseException, code: ErrorCode) -> None:
        """Note that the part of the graph that `code` names raised `error`; the first note
        stands.
        """
        self._recorded.setdefault(id(error), (error, code))

    def classify(
        self, error: BaseException, otherwise: ErrorCode = ErrorCode.GRAPH_ERROR
    ) -> ErrorCode:
        """Return the code of a run that failed with `error`; `otherwise`, if nothing is known of
        it.
        """
        for cause in _causes(error):
            if isinstance(cause, CodedError):
                return cause.code
            if isinstance(cause, GraphRecursionError):
                return ErrorCode.RECURSION_LIMIT
            if id(cause) in self._recorded:
                return self._recorded[id(cause)][1]
        return otherwise


def error_text(error: BaseException) -> str:
    """Return the text of an exception; that of one that has none, or fails to make it, says its
    class.
    """
    with suppress(Exception):  # the class may be the application's
        if text := str(error):
            return text
    return f"{type(error).__name__}()"


def is_caused_by(error: BaseException, cause: BaseException) -> bool:
    """Return whether an error is `cause`, or was raised from it."""
    return any(one is cause for one in _causes(error))


def is_data_refused(error: BaseException) -> bool:
    """Return whether a store has refused the data itself (SQLSTATE class 22, or no UTF-8): it will
    do so each time.
    """
    return any(
        isinstance(cause, UnicodeError) or str(getattr(cause, "sqlstate", "")).startswith("22")
        for cause in _causes(error)
    )


def as_state_error(error: BaseException, store: object) -> BaseException:
    """Return an error that a method of the `store` has raised, or let through, as a `StateError`;
    others as they are.

    LangGraph calls the store in many places, and wraps nothing that it raises. A value that the
    store's serializer refuses is the graph's fault.
    """
    for cause in _causes(error):
        if store is None or isinstance(cause, CodedError):
            break
        frames = [frame for frame, _ in walk_tb(cause.__traceback__)]
        if any(frame.f_code.co_name == "dumps_typed" for frame in frames):
            continue
        if any(frame.f_locals.get("self") is store for frame in frames):
            coded = StateError(error_text(error))
            coded.__cause__ = error
            return coded
    return error


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield `error` and everything that it was raised from, the nearest first, each once."""
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
