"""What can go wrong when a remote agent is run.

Every error keeps what had been delivered before it: `messages` and `state`, as the reference client would hold them.
None shows headers, or the user and query parts of a URL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from ag_ui.core import Message, RunErrorEvent, TokenUsage

    from langgraph_agui.protocol.wire import ProtocolError

ResumeFault: TypeAlias = Literal[
    "interrupt_unanswered", "interrupt_unknown", "interrupt_duplicate", "interrupt_expired"
]
"""Why an answer is refused; the names are those of the `RUN_ERROR` codes that `LangGraphAgent` has for it."""


class AgentError(Exception):
    """A run of a remote agent did not come to its end. The base of all errors here."""

    messages: Sequence[Message] = ()
    """The conversation as far as it had been delivered, what was sent included; empty if no run was asked for."""
    state: object = None
    """The shared state as far as it had been delivered."""

    def __reduce__(self) -> tuple[Callable[..., AgentError], tuple[object, ...]]:
        """Survive pickling with all that the error keeps; exceptions would call the constructor with the message."""
        return _restored, (type(self), self.args, self.__dict__)


class AgentUnreachableError(AgentError):
    """Nobody answers at the URL: no connection, or one that breaks before the first byte of an answer."""


class AgentStatusError(AgentError):
    """The answer is an HTTP error (AG-UI 1.0, HTTP transport: bad input is refused before the stream).

    `status` is the HTTP status, `body` the text of the answer, cut after 64 KiB, `payload` its value if it is JSON.
    """

    def __init__(self, url: str, status: int, body: str, payload: object = None) -> None:
        super().__init__(f"{url} answered HTTP {status}: {body.strip()[:500]}")
        self.url, self.status, self.body, self.payload = url, status, body, payload

    @property
    def code(self) -> str | None:
        """The stable name of the fault where the answer has one: `LangGraphAgent` says `thread_busy`, for instance."""
        code = self.payload.get("code") if isinstance(self.payload, Mapping) else None
        return code if isinstance(code, str) else None


class NotAnEventStreamError(AgentError):
    """The answer is no AG-UI event stream, by its content type."""


class StreamTruncatedError(AgentError):
    """The stream ended, broke off or fell silent before its run did: that is no success (AG-UI 1.0, runs)."""


class StreamInvalidError(AgentError):
    """The stream broke a rule of AG-UI that ends the run.

    `code` is the kebab-case name of the rule, as in :class:`~langgraph_agui.protocol.wire.ProtocolError`, `event` the
    offending event in its wire form; None when the fault is in the bytes.
    """

    def __init__(self, error: ProtocolError) -> None:
        super().__init__(str(error))
        self.code, self.event = error.code, error.event


class EventTooLargeError(StreamInvalidError):
    """An event is longer than the client takes (10 MiB of characters, AG-UI 1.0, HTTP transport)."""


class RunFailedError(AgentError):
    """The agent reported that its run failed (`RUN_ERROR`).

    `code` is the agent's, if it gave one; `usage` the tokens so far; `event` all of it.
    """

    def __init__(self, event: RunErrorEvent) -> None:
        super().__init__(f"{event.message} [{event.code}]" if event.code else event.message)
        self.event = event

    @property
    def code(self) -> str | None:
        """The agent's name of the fault, an open set."""
        return self.event.code

    @property
    def usage(self) -> list[TokenUsage]:
        """The tokens that the run had used."""
        return self.event.usage or []

    @property
    def correlation_id(self) -> str | None:
        """Under what a `LangGraphAgent` has logged the exception."""
        found = (self.event.metadata or {}).get("correlationId")
        return found if isinstance(found, str) else None


class ToolNotCalledError(AgentError):
    """The agent has called none of the tools that it was to call (`tool_choice`): AG-UI has no way to make it."""


class ResumeError(AgentError):
    """The answers do not fit what is open, so nothing was sent (AG-UI 1.0, interrupts).

    `code` says why, `interrupt_ids` which questions it is about.
    """

    def __init__(self, code: ResumeFault, interrupt_ids: Sequence[str], message: str) -> None:
        super().__init__(message)
        self.code, self.interrupt_ids = code, tuple(interrupt_ids)


def _restored(kind: type[AgentError], args: tuple[object, ...], fields: dict[str, object]) -> AgentError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(fields)
    return error
