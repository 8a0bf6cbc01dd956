"""`AGUIClient`: a remote AG-UI agent over HTTP, and `RemoteRun`: one run of it.

In: the agent's address, and inputs of runs. Out: the verified events of each run as they come, and
the messages and state that they make; the agent's capabilities.
"""

import json
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from typing import Literal, TypeAlias, TypeVar

import httpx2
from ag_ui import core as agui

from langgraph_agui.client import errors
from langgraph_agui.client.call_ids import CallIds
from langgraph_agui.client.endpoint import RETRIES, TIMEOUT, Endpoint, HTTPClient
from langgraph_agui.client.event_stream import EventStream
from langgraph_agui.client.limits import DEFAULT_LIMITS, ClientLimits, Deadline
from langgraph_agui.kernel.checks import check_type
from langgraph_agui.messages.content import without_calls
from langgraph_agui.protocol.event_order import Growing
from langgraph_agui.protocol.fold import Fold
from langgraph_agui.protocol.json import broke_off, to_jsonable
from langgraph_agui.protocol.message_store import MessageStore
from langgraph_agui.protocol.schema import log_notes
from langgraph_agui.protocol.sse import SSEDecoder
from langgraph_agui.protocol.verify import Verifier, check_interrupt_ids
from langgraph_agui.protocol.wire import ProtocolError

T = TypeVar("T")
Outcome: TypeAlias = Literal["success", "interrupt", "cancelled", "error"]


class AGUIClient:
    """Any agent that speaks AG-UI 1.0 over HTTP. A client keeps no conversation, and serves many.

    ```python
    client = AGUIClient("http://127.0.0.1:8000/agent", headers={"Authorization": f"Bearer {token}"})
    async for event in client.run(run_input):  # or `for event in ...`
        ...
    ```

    Args:
        url: The agent's address. Its user and password are sent as `Authorization`, unless
            `headers` has one. Errors show neither them nor its query, but httpx2 logs the query
            with each request (logger `httpx2`, INFO).
        headers: Sent with each request. A redirect is followed within the same origin (scheme, host
            and port), whatever `http_client` would do; any other one is a `RedirectError`, and
            nothing is sent there.
        timeout: The limit in seconds for connecting, for sending, and for the silence between two
            bytes, or an `httpx2.Timeout`; None turns them off. By default 10 to connect and 600 of
            silence. It overrides that of `http_client`.
        http_client: Your own HTTP client, to set proxies, certificates or a connection pool: an
            `httpx2.AsyncClient` for `async for`, an `httpx2.Client` for `for`. You close it.
            Without one, each run opens its own connection.
        retries: How often a request is repeated before the first byte of its stream has come: when
            the connection fails, the answer is HTTP 429, 502 or 503, or the thread is busy. Later,
            nothing is repeated.
        limits: Limits of a run here: bytes, time, rounds of local tools.

    Raises:
        TypeError: An option is of another type.
        ValueError: `url` is not an HTTP address, or HTTP cannot carry one of the `headers`.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | httpx2.Timeout | None = TIMEOUT,
        http_client: HTTPClient | None = None,
        retries: int = RETRIES,
        limits: ClientLimits = DEFAULT_LIMITS,
    ) -> None:
        check_type("headers", headers, Mapping[str, str] | None)
        check_type("http_client", http_client, HTTPClient | None)
        check_type("retries", retries, int)
        check_type("limits", limits, ClientLimits)
        self._endpoint = Endpoint(
            url, headers=headers, timeout=timeout, http_client=http_client, retries=retries
        )
        self.limits = limits

    def __repr__(self) -> str:
        """Show neither headers nor credentials."""
        return f"AGUIClient({self.public_url!r})"

    @property
    def url(self) -> str:
        """The agent's address as it was given, with its user and query."""
        return self._endpoint.url

    @property
    def public_url(self) -> str:
        """The agent's address as it may be shown: without its user, password and query."""
        return self._endpoint.public_url

    @property
    def is_blocking(self) -> bool:
        """Whether its `http_client` reads without an event loop."""
        return self._endpoint.is_blocking

    def run(self, run_input: agui.RunAgentInput) -> "RemoteRun":
        """Return a run of the agent, which starts when you iterate it.

        It yields `ag_ui.core` events, verified as the reference client does: an invalid stream
        raises. Chunk events arrive as start, content and end events. Unknown events and fields are
        dropped with a warning. A tool call whose id the thread has already gets another one, the
        same in each run. See `RemoteRun` for its errors, and for how to stop reading.

        Args:
            run_input: Sent as it is, except that activity messages are left out, which are not for
                agents (AG-UI 1.0, client), that the protocol version is ours, and that calls which
                were renamed have the agent's ids again.
        """
        return RemoteRun(self._endpoint, "", run_input, self.limits)

    def connect(self, run_input: agui.RunAgentInput) -> "RemoteRun":
        """Return a run that reads a thread and changes nothing, from `POST <url>/connect`.

        `LangGraphAgent` serves this route. AG-UI 1.0 does not define it: other agents answer 404.
        """
        return RemoteRun(self._endpoint, "/connect", run_input, self.limits)

    async def capabilities(self) -> agui.AgentCapabilities:
        """Return the capabilities that the agent states, from `GET <url>/capabilities`.

        AG-UI 1.0 defines the form of capabilities but no route for them.

        Raises:
            AgentUnreachableError: Nothing answers.
            AgentStatusError: The answer is an HTTP error.
            NotAnEventStreamError: The answer is something other than capabilities.
        """
        url, body = await self._ask("GET", "/capabilities")
        try:
            return agui.AgentCapabilities.model_validate_json(body)
        except ValueError as error:
            raise errors.NotAnEventStreamError(f"{url} answered no AG-UI capabilities.") from error

    async def cancel(self, thread_id: str, run_id: str) -> None:
        """Ask the agent to stop a run that outlives its client, with `POST <url>/cancel`.

        AG-UI 1.0 does not define this route; `langgraph-agui serve` has it.

        Raises:
            AgentUnreachableError: Nothing answers.
            AgentStatusError: The answer is an HTTP error, such as 404 from an agent without this
                route.
        """
        await self._ask("POST", "/cancel", {"threadId": thread_id, "runId": run_id})

    async def _ask(self, method: str, path: str, content: object = None) -> tuple[str, bytes]:
        deadline = Deadline(self.limits.run_timeout, blocking=False)
        return await self._endpoint.ask(method, path, content, deadline, self.limits.max_event)


class RemoteRun(EventStream):
    """A run that starts when you iterate it, once, with `async for` or `for`.

    `messages`, `state`, `outcome`, `interrupts`, `pending_tool_call_ids`, `usage` and `result`
    describe the run as far as it has come; `input` is its request. It raises the errors of
    `langgraph_agui.client.errors`, each after the events that came before it, `RUN_ERROR` included.

    It ends with its `RUN_FINISHED` or `RUN_ERROR`; the connection closes half a second later at
    the latest. If another run begins in that time, as in a recording, it is read too, and they
    describe the last one. A `RUN_ERROR` makes a run that had finished one that failed. Other events
    behind the end are ignored with a warning.

    When you stop reading, the connection closes, and so the agent stops;
    docs/guides/client.md lists the ways to stop.
    """

    def __init__(
        self, endpoint: Endpoint, path: str, run_input: agui.RunAgentInput, limits: ClientLimits
    ) -> None:
        check_type("run_input", run_input, agui.RunAgentInput, "RunAgentInput.model_validate(data)")
        super().__init__()
        self.input = run_input
        self._endpoint, self._path, self._limits = endpoint, path, limits
        self.begun = False
        self._end: agui.RunFinishedEvent | agui.RunErrorEvent | None = None
        self._call_ids = CallIds(run_input)
        self._fold = Fold(self._call_ids.messages, run_input.state, limits.max_weight)
        self._decoder, self._verifier = SSEDecoder(limits.max_event), Verifier()
        # The calls that the run has started, in their order, and whether each has a result.
        self._calls: dict[str, bool] = {}
        # Whether a fault came behind the end of the run: nothing is read after it.
        self._is_over = False

    @property
    def messages(self) -> list[agui.Message]:
        """The conversation so far. Shared with the events: read only."""
        return self._fold.messages

    @property
    def whole_messages(self) -> list[agui.Message]:
        """The conversation so far, without the calls that broke off because the run did.

        Nobody can run or answer such a call.
        """
        if self.outcome in ("success", "interrupt"):
            return self.messages
        open_ids = [call_id for call_id, answered in self._calls.items() if not answered]
        stored = [self.conversation.find_call(one) for one in open_ids]
        calls = [one.view() for one in stored if one is not None]
        broken = {call.id for call in calls if broke_off(call.function.arguments)}
        return without_calls(self.messages, lambda call, _: call.id in broken)

    @property
    def conversation(self) -> MessageStore:
        """The same as the run's reducer holds it: each message and call stays one object."""
        return self._fold.conversation

    @property
    def state(self) -> object:
        """The shared state so far. Shared with the events: read only."""
        return self._fold.state

    @property
    def outcome(self) -> Outcome | None:
        """How the run has ended; None while it is active, or if its stream broke off."""
        if isinstance(self._end, agui.RunFinishedEvent):
            return self._end.outcome.type if self._end.outcome is not None else "success"
        return None if self._end is None else "error"

    @property
    def usage(self) -> list[agui.TokenUsage]:
        """The tokens of the run, one entry for each provider and model; known at its end."""
        return getattr(self._end, "usage", None) or []

    @property
    def result(self) -> object:
        """The return value of the run, if it was a success."""
        return getattr(self._end, "result", None) if self.outcome == "success" else None

    @property
    def interrupts(self) -> list[agui.Interrupt]:
        """The interrupts that the run waits for, if it has paused."""
        outcome = getattr(self._end, "outcome", None)
        if isinstance(outcome, agui.RunFinishedInterruptOutcome):
            return list(outcome.interrupts)
        return []

    @property
    def pending_tool_call_ids(self) -> list[str]:
        """The calls that the run left without a result: those it names, else those it started."""
        if self.outcome not in ("success", "interrupt"):
            return []
        outcome = getattr(self._end, "outcome", None)
        if isinstance(outcome, agui.RunFinishedSuccessOutcome) and outcome.pending_tool_call_ids:
            return outcome.pending_tool_call_ids
        return [call_id for call_id, answered in self._calls.items() if not answered]

    @property
    def open_call_ids(self) -> list[str]:
        """The calls that the run left open, and those of the last assistant message.

        A run that follows an approval, or only reads the thread, does not name calls that it did
        not start.
        """
        if self.outcome not in ("success", "interrupt"):
            return []
        last = next(
            (one for one in reversed(self.messages) if one.role in ("assistant", "user")), None
        )
        at_end = [call.id for call in getattr(last, "tool_calls", None) or ()]
        return list(dict.fromkeys([*self.pending_tool_call_ids, *at_end]))

    def _feed(self, chunk: bytes | None) -> Iterator[agui.Event]:
        """Yield the events that these bytes complete, or the end of the body (None), each applied.

        An event that cannot be applied, such as a patch that fails, changes nothing and logs a
        warning. So does a fault behind the end of the run; nothing is read after it.

        Raises:
            StreamInvalidError: The run broke a rule; the events before the fault come first.
            RunLimitError: A patch makes too heavy a document.
        """
        if self._is_over:
            return
        try:
            for frame in self._decoder.finish() if chunk is None else self._decoder.feed(chunk):
                for verified in self._verifier.feed(frame):
                    event = self._call_ids.receive(verified)
                    self._apply(event)
                    yield event
            self._decoder.feed(b"")  # raises the error of a frame that came behind valid ones
        except ProtocolError as error:
            if self._end is not None:
                log_notes([f"behind the end of the run, ignored with all that follows: {error}"])
                self._is_over = True
                return
            if chunk is None and error.code == "invalid-json":
                return  # the body was cut within an event
            if error.code == "document-too-heavy":
                raise errors.RunLimitError("max_weight", str(error)) from error
            if error.code == "frame-too-large":
                raise errors.EventTooLargeError(error) from error
            raise errors.StreamInvalidError(error) from error

    def _check_end(self) -> None:
        """Judge the run at the end of the body.

        Raises:
            StreamTruncatedError: The stream has no run, or ended before its run did.
            RunFailedError: The run failed, even if it had finished before (AG-UI 1.0, runs).
        """
        if self._end is None:
            if self.begun:
                raise errors.StreamTruncatedError("The stream ended before its run did.")
            raise errors.StreamTruncatedError(
                "The stream ended without a run: no `data:` line had a RUN_STARTED event."
            )
        if isinstance(self._end, agui.RunErrorEvent):
            raise errors.RunFailedError(self._end)

    def broken(self, error: errors.AgentError) -> errors.AgentError:
        """Return `error` with the messages and state received so far."""
        error.messages, error.state = self.messages, self.state
        return error

    def _apply(self, event: agui.Event) -> None:
        self._fold.apply(event)
        if isinstance(event, Growing) and not self._fold.warnings:
            return
        log_notes(self._fold.warnings)
        self._fold.warnings.clear()
        check_interrupt_ids(event)
        self.begun = True
        match event:
            case agui.RunStartedEvent():
                self._end, self._calls = None, {}
            case agui.ToolCallStartEvent():
                self._calls.setdefault(event.tool_call_id, False)
            case agui.ToolCallResultEvent():
                self._calls[event.tool_call_id] = True
            case agui.RunErrorEvent() | agui.RunFinishedEvent():
                self._end = event

    async def read(self, blocking: bool) -> AsyncGenerator[agui.Event]:
        """See `EventStream`."""
        deadline, received = Deadline(self._limits.run_timeout, blocking=blocking), 0
        sent = _sent(self.input, self._call_ids.to_agent())
        try:
            async with self._endpoint.stream(self._path, sent, deadline) as body:
                while (chunk := await body.take(ended=self._end is not None)) is not None:
                    received += len(chunk)
                    if self._end is None:
                        self._limits.check_bytes(received)
                    for event in self._feed(chunk):
                        yield event
                    if self._is_over:
                        break
            if self._end is None:  # else half a frame may be left, which nobody waits for
                for event in self._feed(None):
                    yield event
            self._check_end()
        except errors.AgentError as error:
            self.broken(error)
            raise


def _sent(run_input: agui.RunAgentInput, messages: Iterable[agui.Message]) -> bytes:
    """Return a run's input as it is sent, with these messages: see `AGUIClient.run`."""
    sent_messages = [one for one in messages if not isinstance(one, agui.ActivityMessage)]
    update = {"messages": sent_messages, "protocol_version": agui.PROTOCOL_VERSION}
    sent = to_jsonable(run_input.model_copy(update=update))
    return json.dumps(sent, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
