"""The answer to one run, from its bytes to events, and what they come to.

In: the bytes of a response body. Out: verified events, one by one; beside them the messages and state that a client
holds, and how the run ended. It knows no HTTP, so that both transports share it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, TypeAlias

from ag_ui.core import (
    Event,
    Interrupt,
    Message,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TokenUsage,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from langgraph_agui.client.errors import (
    AgentError,
    EventTooLargeError,
    RunFailedError,
    StreamInvalidError,
    StreamTruncatedError,
)
from langgraph_agui.protocol.fold import Fold
from langgraph_agui.protocol.schema import log_notes
from langgraph_agui.protocol.sse import SSEDecoder
from langgraph_agui.protocol.verify import Verifier
from langgraph_agui.protocol.wire import ProtocolError

if TYPE_CHECKING:
    from langgraph_agui.protocol.jsonable import JsonValue

Outcome: TypeAlias = Literal["success", "interrupt", "cancelled", "error"]


class RunReader:
    """Reads one answer. A stream may hold several runs (a replay); what is told of "the run" is told of the last.

    Args:
        run_input: What was sent: the messages and the state that the events apply to.
        max_event: The longest event that is taken, in characters.
    """

    def __init__(self, run_input: RunAgentInput, max_event: int) -> None:
        self.begun = False
        """Whether the agent has said anything."""
        self.outcome: Outcome | None = None
        self.end: RunFinishedEvent | RunErrorEvent | None = None
        self._fold = Fold(run_input.messages, run_input.state)
        self._decoder = SSEDecoder(max_event)
        self._verifier = Verifier()
        self._calls: dict[str, bool] = {}
        """The calls that the run has started, each with whether it was answered."""

    @property
    def messages(self) -> list[Message]:
        """The conversation as it stands. Shared with the events: read only."""
        return self._fold.messages

    @property
    def state(self) -> object:
        """The shared state as it stands. Shared with the events: read only."""
        return self._fold.state

    @property
    def usage(self) -> list[TokenUsage]:
        """The tokens of the run, one entry for each provider and model; known at its end."""
        return (self.end.usage if self.end is not None else None) or []

    @property
    def result(self) -> object:
        """What the run returned, if it was a success."""
        return self.end.result if self.outcome == "success" and isinstance(self.end, RunFinishedEvent) else None

    @property
    def interrupts(self) -> list[Interrupt]:
        """What the run waits for, if it has paused."""
        told = self.end.outcome if isinstance(self.end, RunFinishedEvent) else None
        return list(told.interrupts) if isinstance(told, RunFinishedInterruptOutcome) else []

    @property
    def pending_tool_call_ids(self) -> list[str]:
        """The calls that the run has left without a result: told, or else those it started and did not answer."""
        if self.outcome not in ("success", "interrupt"):
            return []
        told = self.end.outcome if isinstance(self.end, RunFinishedEvent) else None
        named = told.pending_tool_call_ids if isinstance(told, RunFinishedSuccessOutcome) else None
        return named or [call for call, answered in self._calls.items() if not answered]

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that these bytes complete, each applied; `*_CHUNK` events as what they stand for.

        What cannot be applied, such as a patch that fails, is left out with a warning.

        Raises:
            StreamInvalidError: The stream broke a rule; the events before the fault come first.
        """
        try:
            yield from self._events_of(self._decoder.feed(chunk))
            self._decoder.feed(b"")  # raises what it held back for the events before it
        except ProtocolError as error:
            raise self.broken(error) from error

    def finish(self) -> Iterator[Event]:
        """Yield what the end of the body completes, then judge the run.

        Raises:
            StreamInvalidError: As in `feed`.
            StreamTruncatedError: No run has come to an end, or one is open.
            RunFailedError: The run failed, be it after it had finished (AG-UI 1.0, runs).
        """
        try:
            yield from self._events_of(self._decoder.finish())
            self._decoder.feed(b"")
        except ProtocolError as error:
            raise self.broken(error) from error
        if self.outcome is None:
            told = "before its run did" if self.begun else "without a run"
            raise self.broken(StreamTruncatedError(f"The stream ended {told}."))
        if isinstance(self.end, RunErrorEvent):
            raise self.broken(RunFailedError(self.end))

    def broken(self, error: AgentError | ProtocolError) -> AgentError:
        """Return `error` with what had been delivered."""
        if isinstance(error, ProtocolError):
            error = EventTooLargeError(error) if error.code == "frame-too-large" else StreamInvalidError(error)
        error.messages, error.state = self.messages, self.state
        return error

    def _events_of(self, frames: list[dict[str, JsonValue]]) -> Iterator[Event]:
        for frame in frames:
            for event in self._verifier.feed(frame):
                _check_questions(event, frame)
                self._fold.apply(event)
                log_notes(self._fold.warnings)
                self._fold.warnings.clear()
                self._note(event)
                yield event

    def _note(self, event: Event) -> None:
        self.begun = True
        match event:
            case RunStartedEvent():
                self.outcome, self.end, self._calls = None, None, {}
            case ToolCallStartEvent():
                self._calls.setdefault(event.tool_call_id, False)
            case ToolCallResultEvent():
                self._calls[event.tool_call_id] = True
            case RunErrorEvent():
                self.outcome, self.end = "error", event
            case RunFinishedEvent():
                self.outcome, self.end = _outcome(event), event


def _check_questions(event: Event, wire: dict[str, JsonValue]) -> None:
    """Refuse interrupts that share an id (AG-UI 1.0, interrupts): the answer to one would be taken for the other's."""
    outcome = event.outcome if isinstance(event, RunFinishedEvent) else None
    if isinstance(outcome, RunFinishedInterruptOutcome):
        name, times = Counter(one.id for one in outcome.interrupts).most_common(1)[0]
        if times > 1:
            raise ProtocolError("duplicate-interrupt", f"RUN_FINISHED: {times} interrupts are called {name!r}", wire)


def _outcome(event: RunFinishedEvent) -> Outcome:
    match event.outcome:
        case RunFinishedInterruptOutcome():
            return "interrupt"
        case RunFinishedCancelledOutcome():
            return "cancelled"
        case _:
            return "success"
