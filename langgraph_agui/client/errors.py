"""The errors of running a remote agent.

Every error keeps what was received before it: `messages` and `state`, as the reference client would
hold them. None shows headers, or the user and query of a URL.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from ag_ui.core import Message, RunErrorEvent, TokenUsage

from langgraph_agui.protocol.wire import ProtocolError

# Why an answer is refused; a `LangGraphAgent` has the same names as `RUN_ERROR` codes.
ResumeFault: TypeAlias = Literal[
    "interrupt_unanswered", "interrupt_unknown", "interrupt_duplicate", "interrupt_expired"
]


class AgentError(Exception):
    """A run of a remote agent did not come to its end. The base of all errors here.

    Attributes:
        messages: The messages sent, and those received so far; empty if no run was asked for.
        state: The shared state as far as it was received.
    """

    messages: Sequence[Message] = ()
    state: object = None

    def __reduce__(
        self,
    ) -> tuple[Callable[..., "AgentError"], tuple[object, ...], dict[str, object]]:
        """Pickle all attributes: the default passes only the message to the constructor."""
        return type(self).__new__, (type(self), *self.args), self.__dict__


class AgentUnreachableError(AgentError):
    """Nothing answers at the URL: no connection, or it breaks before an answer's first byte."""


class AgentStatusError(AgentError):
    """The answer is an HTTP error, as for bad input (AG-UI 1.0, HTTP transport).

    Attributes:
        status: The HTTP status.
        body: The text of the answer, cut after 64 KiB.
        payload: The value of the text if it is JSON, else None.
        code: The stable name of the fault if the payload has one, such as `thread_busy` from a
            `LangGraphAgent`.
    """

    def __init__(self, url: str, status: int, body: str, payload: object = None) -> None:
        super().__init__(f"{url} answered HTTP {status}: {body.strip()[:500]}")
        self.url, self.status, self.body, self.payload = url, status, body, payload
        code = payload.get("code") if isinstance(payload, Mapping) else None
        self.code = code if isinstance(code, str) else None


class RedirectError(AgentStatusError):
    """The answer is a redirect that leaves the origin of the URL, or one redirect too many."""


class NotAnEventStreamError(AgentError):
    """The answer is no AG-UI event stream, by its content type."""


class StreamTruncatedError(AgentError):
    """The stream ended, broke off or fell silent before its run had ended (AG-UI 1.0, runs)."""


class StreamInvalidError(AgentError):
    """The stream broke a rule of AG-UI that ends the run.

    Attributes:
        code: The kebab-case name of the rule, as in `ProtocolError`.
        event: The offending event in its wire form; None when the fault is in the bytes.
    """

    def __init__(self, error: ProtocolError) -> None:
        super().__init__(str(error))
        self.code, self.event = error.code, error.event


class EventTooLargeError(StreamInvalidError):
    """An event is longer than the client accepts: 10 Mi characters by default (AG-UI 1.0)."""


class RunLimitError(AgentError):
    """The run was stopped: it went beyond one of the client's limits.

    Attributes:
        option: The name of the limit in `ClientLimits`.
    """

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"{reason} ClientLimits({option}=...) sets the limit.")
        self.option = option


class RunFailedError(AgentError):
    """The agent reported that its run failed (`RUN_ERROR`).

    Attributes:
        event: The event.
        code: The agent's name of the fault, if it has one. Any name is possible.
        usage: The tokens that the run had used.
        correlation_id: The id under which a `LangGraphAgent` has logged the exception, if it sent
            one.
    """

    def __init__(self, event: RunErrorEvent) -> None:
        super().__init__(f"{event.message} [{event.code}]" if event.code else event.message)
        self.event, self.code = event, event.code
        self.usage: list[TokenUsage] = event.usage or []
        found = (event.metadata or {}).get("correlationId")
        self.correlation_id = found if isinstance(found, str) else None


class ToolNotCalledError(AgentError):
    """The agent called no tool that `tool_choice` asks for. AG-UI cannot force a call."""


class ResumeError(AgentError):
    """The answers do not fit the open interrupts, so nothing was sent (AG-UI 1.0, interrupts).

    Attributes:
        code: Why.
        interrupt_ids: The interrupts it is about.
    """

    def __init__(self, code: ResumeFault, interrupt_ids: Sequence[str], message: str) -> None:
        super().__init__(message)
        self.code, self.interrupt_ids = code, tuple(interrupt_ids)
