"""A stream of events, read with `async for` or `for`; and one that is decoded from the bytes of a response.

In: bytes. Out: verified events as they come, and what they add up to: messages, state, outcome. It knows no HTTP.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar
from weakref import ref

from ag_ui import core

from langgraph_agui.client import errors
from langgraph_agui.protocol.fold import Fold
from langgraph_agui.protocol.schema import log_notes
from langgraph_agui.protocol.sse import SSEDecoder
from langgraph_agui.protocol.verify import Verifier
from langgraph_agui.protocol.wire import ProtocolError

if TYPE_CHECKING:
    from langgraph_agui.protocol.jsonable import JsonValue

T = TypeVar("T")
Outcome: TypeAlias = Literal["success", "interrupt", "cancelled", "error"]


class EventStream(ABC):
    """A stream of events that starts when you iterate it, or await it: then it is read to its end.

    To stop reading, cancel the task that reads it, leave its `async with` (`with`) block, or call `aclose` (`close`) in
    that task (thread). A bare `break` stops it too: `for` at once, `async for` a few turns of the event loop later,
    when Python finalizes the abandoned generator.
    """

    def __init__(self) -> None:
        self._started = False
        # What `async with` closes.
        self._entered: AsyncGenerator[core.Event] | None = None
        # A weak reference: only the loop holds the generator, so leaving the loop ends it.
        self._reading: Callable[[], AsyncGenerator[core.Event] | Generator[core.Event] | None] = lambda: None

    @property
    def abandoned(self) -> bool:
        """Whether nobody can read on: it never started, has ended or was left."""
        return self._reading() is None

    @abstractmethod
    def _read(self, blocking: bool) -> AsyncGenerator[core.Event]:
        """Yield the events. If `blocking`, there is no event loop: block instead of awaiting."""

    def __aiter__(self) -> AsyncIterator[core.Event]:
        """Start; yields events as they come. Raises `RuntimeError` the second time."""
        self._start()
        events = self._entered or self._read(blocking=False)
        self._reading = ref(events)
        return events

    def __iter__(self) -> Iterator[core.Event]:
        """Start; yields events as they come, and blocks in between. Raises `RuntimeError` the second time."""
        self._start()
        events = _iterate(self._read(blocking=True))
        self._reading = ref(events)
        return events

    def _start(self) -> None:
        if self._started:
            raise RuntimeError(f"A {type(self).__name__} can be read once; start another one.")
        self._started = True

    def __await__(self) -> Generator[Any, None, Self]:
        """Read it to its end; returns the stream itself."""
        return self._await_end().__await__()

    async def _await_end(self) -> Self:
        async for _ in self:
            pass
        return self

    def wait(self) -> Self:
        """Read it to its end; returns the stream itself. Blocks."""
        for _ in self:
            pass
        return self

    async def aclose(self) -> None:
        """Stop what `async for` reads; nothing happens if it has ended."""
        if isinstance(events := self._reading(), AsyncGenerator):
            await events.aclose()

    def close(self) -> None:
        """Stop what `for` reads; nothing happens if it has ended."""
        if isinstance(events := self._reading(), Generator):
            events.close()

    async def __aenter__(self) -> Self:
        """Stop reading at the end of the block."""
        self._entered = self._read(blocking=False)
        return self

    async def __aexit__(self, *error: object) -> None:
        """Stop reading."""
        await self.aclose()

    def __enter__(self) -> Self:
        """Stop reading at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Stop reading."""
        self.close()


class RunReader(EventStream):
    """A stream that is decoded from the bytes of a response. Subclasses bring the bytes.

    A stream may hold several runs, as a replay does; the attributes describe the last of them.

    Args:
        run_input: What was sent: the events apply to its messages and state.
        max_event: The longest event that is accepted, in characters.
    """

    def __init__(self, run_input: core.RunAgentInput, max_event: int) -> None:
        super().__init__()
        self.begun = False
        self._end: core.RunFinishedEvent | core.RunErrorEvent | None = None
        self._fold = Fold(run_input.messages, run_input.state)
        self._decoder, self._verifier = SSEDecoder(max_event), Verifier()
        # The calls that the run has started, in their order, and whether each has a result.
        self._calls: dict[str, bool] = {}

    @property
    def messages(self) -> list[core.Message]:
        """The conversation so far. Shared with the events: read only."""
        return self._fold.messages

    @property
    def state(self) -> object:
        """The shared state so far. Shared with the events: read only."""
        return self._fold.state

    @property
    def outcome(self) -> Outcome | None:
        """How the run has ended; None while it is going on, or if its stream broke off."""
        if isinstance(self._end, core.RunFinishedEvent):
            return self._end.outcome.type if self._end.outcome is not None else "success"
        return None if self._end is None else "error"

    @property
    def usage(self) -> list[core.TokenUsage]:
        """The tokens of the run, one entry for each provider and model; known at its end."""
        return (self._end.usage if self._end is not None else None) or []

    @property
    def result(self) -> object:
        """What the run returned, if it was a success."""
        return self._end.result if self.outcome == "success" and isinstance(self._end, core.RunFinishedEvent) else None

    @property
    def interrupts(self) -> list[core.Interrupt]:
        """What the run waits for, if it has paused."""
        outcome = self._end.outcome if isinstance(self._end, core.RunFinishedEvent) else None
        return list(outcome.interrupts) if isinstance(outcome, core.RunFinishedInterruptOutcome) else []

    @property
    def pending_tool_call_ids(self) -> list[str]:
        """The calls that the run left without a result: those it names, else those it started and did not answer."""
        if self.outcome not in ("success", "interrupt"):
            return []
        outcome = self._end.outcome if isinstance(self._end, core.RunFinishedEvent) else None
        named = outcome.pending_tool_call_ids if isinstance(outcome, core.RunFinishedSuccessOutcome) else None
        return named or [call_id for call_id, answered in self._calls.items() if not answered]

    @property
    def open_call_ids(self) -> list[str]:
        """The calls that the run left open, and those of the last assistant message, which it may have inherited.

        A run that follows an approval, or only reads the thread, does not name calls that it did not start.
        """
        if self.outcome not in ("success", "interrupt"):
            return []
        last = next(
            (one for one in reversed(self.messages) if isinstance(one, core.AssistantMessage | core.UserMessage)), None
        )
        at_end = [call.id for call in last.tool_calls or ()] if isinstance(last, core.AssistantMessage) else []
        return list(dict.fromkeys([*self.pending_tool_call_ids, *at_end]))

    def _feed(self, chunk: bytes | None) -> Iterator[core.Event]:
        """Yield the events that these bytes complete, or the end of the body (None), each applied.

        An event that cannot be applied, such as a patch that fails, changes nothing and logs a warning.

        Raises:
            StreamInvalidError: The stream broke a rule; the events before the fault come first.
        """
        try:
            for frame in self._decoder.finish() if chunk is None else self._decoder.feed(chunk):
                for event in self._verifier.feed(frame):
                    _check_interrupt_ids(event, frame)
                    self._apply(event)
                    yield event
            self._decoder.feed(b"")  # raises the error of a frame that came behind valid ones
        except ProtocolError as error:
            kind = errors.EventTooLargeError if error.code == "frame-too-large" else errors.StreamInvalidError
            raise self.broken(kind(error)) from error

    def _check_end(self) -> None:
        """Judge the run at the end of the body.

        Raises:
            StreamTruncatedError: The stream has no run, or ended before its run did.
            RunFailedError: The run failed, even if it had finished before (AG-UI 1.0, runs).
        """
        if self._end is None:
            where = "before its run did" if self.begun else "without a run"
            raise self.broken(errors.StreamTruncatedError(f"The stream ended {where}."))
        if isinstance(self._end, core.RunErrorEvent):
            raise self.broken(errors.RunFailedError(self._end))

    def broken(self, error: errors.AgentError) -> errors.AgentError:
        """Return `error` with the messages and state received so far."""
        error.messages, error.state = self.messages, self.state
        return error

    def _apply(self, event: core.Event) -> None:
        self.begun = True
        self._fold.apply(event)
        log_notes(self._fold.warnings)
        self._fold.warnings.clear()
        match event:
            case core.RunStartedEvent():
                self._end, self._calls = None, {}
            case core.ToolCallStartEvent():
                self._calls.setdefault(event.tool_call_id, False)
            case core.ToolCallResultEvent():
                self._calls[event.tool_call_id] = True
            case core.RunErrorEvent() | core.RunFinishedEvent():
                self._end = event


def _iterate(events: AsyncGenerator[core.Event]) -> Generator[core.Event]:
    """Yield events that are read with `blocking`, so that none of them waits for an event loop."""
    try:
        while True:
            yield _run_at_once(anext(events))
    except StopAsyncIteration:
        pass
    finally:
        _run_at_once(events.aclose())


def _run_at_once(work: Awaitable[T]) -> T:
    """Run work that never suspends."""
    try:
        next(iter(work.__await__()))
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("A blocking read must not wait for an event loop.")


def _check_interrupt_ids(event: core.Event, wire: dict[str, JsonValue]) -> None:
    """Refuse interrupts that share an id (AG-UI 1.0, interrupts): an answer could not tell them apart."""
    outcome = event.outcome if isinstance(event, core.RunFinishedEvent) else None
    if isinstance(outcome, core.RunFinishedInterruptOutcome):
        name, times = Counter(interrupt.id for interrupt in outcome.interrupts).most_common(1)[0]
        if times > 1:
            raise ProtocolError("duplicate-interrupt", f"RUN_FINISHED: {times} interrupts have the id {name!r}.", wire)
