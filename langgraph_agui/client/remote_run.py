"""One run of a remote agent, read with `async for` or `for`.

In: an endpoint and a run's input. Out: verified events as they come, and what they add up to: messages, state, outcome.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AsyncExitStack, aclosing, suppress
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar
from weakref import ref

import httpx2
from ag_ui.core import (
    Event,
    Interrupt,
    Message,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TokenUsage,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from langgraph_agui.client.endpoint import MAX_BODY, Endpoint, HTTPClient, is_event_stream, response_error, tls
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
        self._entered: AsyncGenerator[Event] | None = None
        """What `async with` closes."""
        self._reading: Callable[[], AsyncGenerator[Event] | Generator[Event] | None] = lambda: None
        """A weak reference: only the loop holds the generator, so leaving the loop ends it."""

    @property
    def abandoned(self) -> bool:
        """Whether nobody can read on: it never started, has ended or was left."""
        return self._reading() is None

    @abstractmethod
    def _read(self, blocking: bool) -> AsyncGenerator[Event]:
        """Yield the events. If `blocking`, there is no event loop: block instead of awaiting."""

    def __aiter__(self) -> AsyncIterator[Event]:
        """Start; yields events as they come. Raises `RuntimeError` the second time."""
        self._start()
        events = self._entered or self._read(blocking=False)
        self._reading = ref(events)
        return events

    def __iter__(self) -> Iterator[Event]:
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


class RunReader:
    """Reads the body of one response. It knows no HTTP.

    A stream may hold several runs, as a replay does; the attributes describe the last of them.

    Args:
        run_input: What was sent: the events apply to its messages and state.
        max_event: The longest event that is accepted, in characters.
    """

    def __init__(self, run_input: RunAgentInput, max_event: int) -> None:
        self.begun = False
        """Whether an event has come."""
        self.end: RunFinishedEvent | RunErrorEvent | None = None
        """The event that ended the run."""
        self._fold = Fold(run_input.messages, run_input.state)
        self._decoder = SSEDecoder(max_event)
        self._verifier = Verifier()
        self._calls: dict[str, bool] = {}
        """The calls that the run has started, in their order, and whether each has a result."""

    @property
    def messages(self) -> list[Message]:
        """The conversation so far. Shared with the events: read only."""
        return self._fold.messages

    @property
    def state(self) -> object:
        """The shared state so far. Shared with the events: read only."""
        return self._fold.state

    @property
    def outcome(self) -> Outcome | None:
        """How the run has ended; None while it is going on, or if its stream broke off."""
        if isinstance(self.end, RunFinishedEvent):
            return self.end.outcome.type if self.end.outcome is not None else "success"
        return None if self.end is None else "error"

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
        outcome = self.end.outcome if isinstance(self.end, RunFinishedEvent) else None
        return list(outcome.interrupts) if isinstance(outcome, RunFinishedInterruptOutcome) else []

    @property
    def pending_tool_call_ids(self) -> list[str]:
        """The calls that the run left without a result: those it names, else those it started and did not answer."""
        if self.outcome not in ("success", "interrupt"):
            return []
        outcome = self.end.outcome if isinstance(self.end, RunFinishedEvent) else None
        named = outcome.pending_tool_call_ids if isinstance(outcome, RunFinishedSuccessOutcome) else None
        return named or [call_id for call_id, answered in self._calls.items() if not answered]

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Yield the events that these bytes complete, each applied; chunk events are expanded.

        An event that cannot be applied, such as a patch that fails, changes nothing and logs a warning.

        Raises:
            StreamInvalidError: The stream broke a rule; the events before the fault come first.
        """
        yield from self._events_of(chunk)

    def finish(self) -> Iterator[Event]:
        """Yield the events that the end of the body completes, then judge the run.

        Raises:
            StreamInvalidError: As in `feed`.
            StreamTruncatedError: The stream has no run, or ended before its run did.
            RunFailedError: The run failed, even if it had finished before (AG-UI 1.0, runs).
        """
        yield from self._events_of(None)
        if self.end is None:
            where = "before its run did" if self.begun else "without a run"
            raise self.broken(StreamTruncatedError(f"The stream ended {where}."))
        if isinstance(self.end, RunErrorEvent):
            raise self.broken(RunFailedError(self.end))

    def broken(self, error: AgentError) -> AgentError:
        """Return `error` with the messages and state received so far."""
        error.messages, error.state = self.messages, self.state
        return error

    def _events_of(self, chunk: bytes | None) -> Iterator[Event]:
        try:
            for frame in self._decoder.finish() if chunk is None else self._decoder.feed(chunk):
                for event in self._verifier.feed(frame):
                    _check_interrupt_ids(event, frame)
                    self._apply(event)
                    yield event
            self._decoder.feed(b"")  # raises the error of a frame that came behind valid ones
        except ProtocolError as error:
            kind = EventTooLargeError if error.code == "frame-too-large" else StreamInvalidError
            raise self.broken(kind(error)) from error

    def _apply(self, event: Event) -> None:
        self._fold.apply(event)
        log_notes(self._fold.warnings)
        self._fold.warnings.clear()
        self.begun = True
        match event:
            case RunStartedEvent():
                self.end, self._calls = None, {}
            case ToolCallStartEvent():
                self._calls.setdefault(event.tool_call_id, False)
            case ToolCallResultEvent():
                self._calls[event.tool_call_id] = True
            case RunErrorEvent() | RunFinishedEvent():
                self.end = event


class RemoteRun(EventStream, RunReader):
    """A run that starts when you iterate it, once, with `async for` or `for`.

    `messages`, `state`, `outcome`, `interrupts`, `pending_tool_call_ids`, `usage` and `result` describe the run as far
    as it has come. It raises the errors of :mod:`langgraph_agui.client.errors`, each after the events that came before
    it, `RUN_ERROR` included.

    When you stop reading, the connection closes, and so the agent is told to stop;
    :class:`~langgraph_agui.client.remote_run.EventStream` lists the ways to stop.
    """

    def __init__(
        self, endpoint: Endpoint, path: str, run_input: RunAgentInput, http_client: HTTPClient | None = None
    ) -> None:
        EventStream.__init__(self)
        RunReader.__init__(self, run_input, endpoint.max_event)
        self.input = run_input
        """What is sent."""
        self._endpoint, self._path, self._http = endpoint, path, http_client

    async def _read(self, blocking: bool) -> AsyncGenerator[Event]:
        async with AsyncExitStack() as stack:
            response = await self._open(await self._client(stack, blocking), blocking)
            stack.push_async_callback(_close, response, blocking)
            chunks = await stack.enter_async_context(aclosing(_chunks(response, blocking)))
            try:
                async for chunk in chunks:
                    for event in self.feed(chunk):
                        yield event
            except httpx2.RequestError as error:
                if self.end is None:  # a connection that breaks after the run's end does no harm
                    what = "fell silent" if isinstance(error, httpx2.ReadTimeout) else "broke off"
                    raise self.broken(StreamTruncatedError(f"The stream {what} before its run had ended.")) from error
            for event in self.finish():
                yield event

    async def _client(self, stack: AsyncExitStack, blocking: bool) -> HTTPClient:
        if self._http is None and blocking:
            return stack.enter_context(httpx2.Client(verify=tls(), follow_redirects=True))
        if self._http is None:
            return await stack.enter_async_context(httpx2.AsyncClient(verify=tls(), follow_redirects=True))
        wanted = httpx2.Client if blocking else httpx2.AsyncClient
        if not isinstance(self._http, wanted):
            loop = "for" if blocking else "async for"
            raise TypeError(f"`{loop}` needs an http_client that is an httpx2.{wanted.__name__}.")
        return self._http

    async def _open(self, client: HTTPClient, blocking: bool) -> httpx2.Response:
        """Send the request, again where it may be repeated; return the response once it is an event stream."""
        sleep: Callable[[float], Awaitable[None] | None] = time.sleep if blocking else asyncio.sleep
        attempt = 0
        while True:
            cause: httpx2.RequestError | None = None
            retry_after = ""
            try:
                request = self._endpoint.request(client, self._path, self.input)
                response = await _resolve(client.send(request, stream=True))
            except httpx2.RequestError as error:
                cause, fault = error, self._endpoint.unreachable(self._path, error)
            else:
                if is_event_stream(response):
                    return response
                fault = response_error(response, await _error_body(response, blocking))
                retry_after = response.headers.get("retry-after", "")
            delay = self._endpoint.retry_delay(attempt, cause or fault, retry_after)
            if delay is None:
                raise self.broken(fault) from cause
            await _resolve(sleep(delay))
            attempt += 1


async def _resolve(value: T | Awaitable[T]) -> T:
    """Return `value`, awaited if it comes from an async client: the same code drives both kinds of clients."""
    return await value if isinstance(value, Awaitable) else value


async def _chunks(response: httpx2.Response, blocking: bool) -> AsyncGenerator[bytes]:
    if blocking:
        for chunk in response.iter_bytes():
            yield chunk
    else:
        async with aclosing(response.aiter_bytes()) as chunks:
            async for chunk in chunks:
                yield chunk


async def _close(response: httpx2.Response, blocking: bool) -> None:
    if blocking:
        response.close()
    else:
        await response.aclose()


async def _error_body(response: httpx2.Response, blocking: bool) -> bytes:
    """Read what an HTTP error says, up to `MAX_BODY`, and close it. A body that breaks off is cut there."""
    body = bytearray()
    try:
        if not response.is_success:
            with suppress(httpx2.RequestError):
                async with aclosing(_chunks(response, blocking)) as chunks:
                    async for chunk in chunks:
                        body += chunk
                        if len(body) > MAX_BODY:
                            break
    finally:
        await _close(response, blocking)
    return bytes(body)


def _iterate(events: AsyncGenerator[Event]) -> Generator[Event]:
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


def _check_interrupt_ids(event: Event, wire: dict[str, JsonValue]) -> None:
    """Refuse interrupts that share an id (AG-UI 1.0, interrupts): an answer could not tell them apart."""
    outcome = event.outcome if isinstance(event, RunFinishedEvent) else None
    if isinstance(outcome, RunFinishedInterruptOutcome):
        name, times = Counter(interrupt.id for interrupt in outcome.interrupts).most_common(1)[0]
        if times > 1:
            raise ProtocolError("duplicate-interrupt", f"RUN_FINISHED: {times} interrupts have the id {name!r}.", wire)
