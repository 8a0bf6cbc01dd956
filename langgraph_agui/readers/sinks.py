"""Where the events of a run go: to every reader, as objects or as SSE bytes.

Events enter through a `Sink`, fragments of text through the `Writer` of their block. They leave
into an `Outlet`, such as the `Subscription` of one reader. On the way to bytes no object is built
for a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Message, RunAgentInput

from langgraph_agui.kernel.errors import CodedError, ErrorCode
from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.messages.blocks import BlockKind
from langgraph_agui.messages.conversation import merge_messages
from langgraph_agui.protocol.json import to_jsonable
from langgraph_agui.protocol.sse import MAX_FRAME, DeltaFrame, DeltaType, encode

logger = run_logger(__name__)

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

# The most characters in one delta: clients refuse an event of more than 10 Mi (AG-UI 1.0, HTTP
# binding).
PIECE = 1_000_000

# Receives the fragments of one block. It is called for every token.
Writer = Callable[[str], object]


class Sink(Protocol):
    """Receives the events of one run, in order."""

    def event(self, event: BaseEvent, /) -> object:
        """Receive a whole event."""

    def writer(self, kind: BlockKind, block_id: str, subagent_run_id: str | None = None) -> Writer:
        """Return the writer of a block's fragments."""


class Outlet(Protocol[T_contra]):
    """Takes the items that a sink makes of events."""

    def put(self, item: T_contra, /) -> object:
        """Take an item."""

    def writer(self, make: Callable[[str], T_contra], /) -> Writer:
        """Return the writer of a block's fragments. `make` makes an item of one fragment, or
        of several.
        """


class Unmerged(Generic[T]):
    """An outlet that makes an item of each fragment.

    Args:
        put: Takes the items.
    """

    def __init__(self, put: Callable[[T], object]) -> None:
        self.put = put

    def writer(self, make: Callable[[str], T]) -> Writer:
        """Return a writer that makes an item of each fragment."""
        put = self.put
        return lambda text: put(make(text))


# Makes the sink that puts items, in the form that one reader wants, into the reader's outlet:
# `EventSink`, `SSESink`.
MakeSink: TypeAlias = "Callable[[Outlet[T]], Sink]"


class EventSink:
    """Puts `BaseEvent` objects into an outlet."""

    def __init__(self, outlet: Outlet[BaseEvent]) -> None:
        self._outlet = outlet

    def event(self, event: BaseEvent) -> None:
        """Put an event. State goes out as a copy, because the next patches are made from what was
        sent.
        """
        match event:
            case agui.StateSnapshotEvent():
                event = event.model_copy(update={"snapshot": to_jsonable(event.snapshot)})
            case agui.StateDeltaEvent():
                event = event.model_copy(deep=True)
        self._outlet.put(event)

    def writer(self, kind: BlockKind, block_id: str, subagent_run_id: str | None = None) -> Writer:
        """Return the writer that puts the content events of a block."""
        template: (
            agui.TextMessageContentEvent
            | agui.ReasoningMessageContentEvent
            | agui.ToolCallArgsEvent
        )
        if kind == "text":
            template = agui.TextMessageContentEvent(message_id=block_id, delta="")
        elif kind == "reasoning":
            template = agui.ReasoningMessageContentEvent(message_id=block_id, delta="")
        else:
            template = agui.ToolCallArgsEvent(tool_call_id=block_id, delta="")
        if subagent_run_id is not None:
            template.subagent_run_id = subagent_run_id

        def make(text: str) -> BaseEvent:
            return template.model_copy(update={"delta": text})

        return self._outlet.writer(make)


_DELTA_TYPES: Mapping[BlockKind, DeltaType] = {
    "text": "TEXT_MESSAGE_CONTENT",
    "reasoning": "REASONING_MESSAGE_CONTENT",
    "call": "TOOL_CALL_ARGS",
}


class SSESink:
    """Puts SSE frames into an outlet. The frame of a fragment is its block's ready-made frame
    around a JSON string.
    """

    def __init__(self, outlet: Outlet[bytes]) -> None:
        self._outlet = outlet

    def event(self, event: BaseEvent) -> None:
        """Encode a whole event. A snapshot that no client would accept is left out, with a warning.

        Raises a `CodedError` (`event_too_large`) for any other event of that size.
        """
        frame = encode(event)
        # clients count so
        if len(frame) > MAX_FRAME and len(frame.decode().encode("utf-16-le")) > 2 * MAX_FRAME:
            if not isinstance(event, agui.MessagesSnapshotEvent | agui.StateSnapshotEvent):
                raise CodedError(
                    ErrorCode.EVENT_TOO_LARGE, f"{event.type.value}: {len(frame)} bytes"
                )
            logger.warning(
                "A %s of %d bytes is too large for a client and is left out.",
                event.type.value,
                len(frame),
            )
            count_dropped("large_snapshot")
            return
        self._outlet.put(frame)

    def writer(self, kind: BlockKind, block_id: str, subagent_run_id: str | None = None) -> Writer:
        """Return the writer that puts the frames of a block's fragments."""
        return self._outlet.writer(DeltaFrame(_DELTA_TYPES[kind], block_id, subagent_run_id).encode)


class Broadcaster:
    """The sink of a run: passes everything on to all of its readers.

    Args:
        first: The first reader.
        watch: Called with each whole event, when the readers have it. Fragments do not pass it.
    """

    def __init__(self, first: Sink, watch: Callable[[BaseEvent], object]) -> None:
        self._sinks: list[Sink] = [first]
        self._watch = watch

    def add(self, sink: Sink) -> None:
        """Add a reader: it receives all later events."""
        self._sinks.append(sink)

    def remove(self, sink: Sink) -> None:
        """Remove a reader."""
        if sink in self._sinks:
            self._sinks.remove(sink)

    def event(self, event: BaseEvent) -> None:
        """Pass a whole event on."""
        for sink in self._sinks:
            sink.event(event)
        self._watch(event)

    def writer(self, kind: BlockKind, block_id: str, subagent_run_id: str | None = None) -> Writer:
        """Return the writer to the present readers. With one reader it is that
        reader's own writer.
        """
        writers = [sink.writer(kind, block_id, subagent_run_id) for sink in self._sinks]
        if len(writers) == 1:
            return writers[0]

        def write(text: str) -> None:
            for write_one in writers:
                write_one(text)

        return write


class IdleTimer:
    """A sink that watches: it calls `expired` when nothing has come for `seconds`, until it is
    cancelled.
    """

    def __init__(self, seconds: float, expired: Callable[[], object]) -> None:
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._expired = expired
        self._last = self._loop.time()
        self._timer = self._loop.call_later(seconds, self._check)

    def cancel(self) -> None:
        """Stop watching."""
        self._timer.cancel()

    def event(self, _event: BaseEvent) -> None:
        """Note that an event has come."""
        self._last = self._loop.time()

    def writer(
        self, _kind: BlockKind, _block_id: str, _subagent_run_id: str | None = None
    ) -> Writer:
        """Return a writer that notes each fragment."""
        return lambda _text: setattr(self, "_last", self._loop.time())

    def _check(self) -> None:
        left = self._last + self._seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check)
        else:
            self._expired()


class JoinedSink:
    """A sink for a client that joins another client's run: makes the events fit its run id,
    messages and state.

    Args:
        sink: Receives the client's events.
        run_input: The client's input.

    Attributes:
        own_state: The part of the client's state that is its own.
    """

    def __init__(self, sink: Sink, run_input: RunAgentInput) -> None:
        self._sink = sink
        self._run_id = run_input.run_id
        self._messages: Sequence[Message] = [
            one for one in run_input.messages if not isinstance(one, agui.ActivityMessage)
        ]
        self._shown: set[str] = set()
        self._calls: dict[str, int] = {}
        self.own_state: Mapping[str, object] = {}
        self.writer = sink.writer

    def retract(self, message_ids: Collection[str]) -> None:
        """Remove messages from the client's list: they are gone, or are emitted again from their
        beginning.

        A snapshot deletes what it leaves out, but for reasoning (AG-UI 1.0, client apply step):
        that is emptied.
        """
        kept: list[Message] = []
        for message in self._messages:
            if message.id not in message_ids:
                kept.append(message)
            elif isinstance(message, agui.ReasoningMessage):
                owner = message.subagent_run_id
                kept.append(
                    agui.ReasoningMessage(
                        id=message.id, role="reasoning", content="", subagent_run_id=owner
                    )
                )
        self._messages = kept

    def event(self, event: BaseEvent) -> None:
        """Pass an event on in the client's terms."""
        match event:
            case agui.ToolCallStartEvent():
                self._calls[event.tool_call_id] = len(self._calls)
            case agui.RunFinishedEvent():
                event = event.model_copy(
                    update={"run_id": self._run_id, "outcome": self._ordered(event.outcome)}
                )
            case agui.MessagesSnapshotEvent():
                truth = [(message.id, [message]) for message in event.messages]
                now = {message.id for message in event.messages}
                # the graph has removed them since the last snapshot
                self.retract(self._shown - now)
                self._shown = now
                event = event.model_copy(update={"messages": merge_messages(self._messages, truth)})
            case agui.StateSnapshotEvent() if self.own_state and isinstance(
                event.snapshot, Mapping
            ):
                event = event.model_copy(update={"snapshot": {**self.own_state, **event.snapshot}})
        self._sink.event(event)

    def _ordered(self, outcome: agui.RunFinishedOutcome | None) -> agui.RunFinishedOutcome | None:
        """Return the outcome with its pending calls in the order in which this client received
        them.
        """
        if (
            not isinstance(outcome, agui.RunFinishedSuccessOutcome)
            or not outcome.pending_tool_call_ids
        ):
            return outcome
        pending = sorted(
            outcome.pending_tool_call_ids, key=lambda call_id: self._calls.get(call_id, -1)
        )
        return outcome.model_copy(update={"pending_tool_call_ids": pending})
