"""Who hears a run: its own reader, and those who join it while it goes on.

Events and fragments enter once, as in any sink, and leave to every reader. A reader who joins later holds other
messages than the one who began the run, and asked under another run id: what those concern is told in its own terms.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Generic, TypeVar

from ag_ui.core import (
    ActivityMessage,
    BaseEvent,
    Message,
    MessagesSnapshotEvent,
    ReasoningMessage,
    RunAgentInput,
    RunFinishedEvent,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    StateSnapshotEvent,
    ToolCallStartEvent,
)

from langgraph_agui.messages.blocks import BlockKind
from langgraph_agui.messages.conversation import merge_messages
from langgraph_agui.translate.event_queue import EventQueue
from langgraph_agui.translate.event_sinks import Sink, Writer

T = TypeVar("T")


class JoinedSink:
    """A sink for a reader who has joined a run of somebody else's.

    Args:
        sink: Takes what the reader is told.
        run_input: What the reader sent.

    Attributes:
        own: What the reader keeps in its state for itself.
    """

    def __init__(self, sink: Sink, run_input: RunAgentInput) -> None:
        self._sink = sink
        self._input = run_input
        self._held: Sequence[Message] = [
            message for message in run_input.messages if not isinstance(message, ActivityMessage)
        ]
        self._calls: dict[str, int] = {}
        self.own: Mapping[str, object] = {}
        self.writer = sink.writer

    def take_back(self, message_ids: Collection[str]) -> None:
        """Take back what the reader holds of messages that it will be told from their beginning.

        Snapshots delete what they leave out, but for reasoning (AG-UI 1.0, client apply step): that is emptied.
        """

        def emptied(message: Message) -> Message:
            return ReasoningMessage(
                id=message.id, role="reasoning", content="", subagent_run_id=message.subagent_run_id
            )

        self._held = [
            emptied(message) if message.id in message_ids else message
            for message in self._held
            if message.id not in message_ids or isinstance(message, ReasoningMessage)
        ]

    def event(self, event: BaseEvent) -> None:
        """Pass an event on, in the reader's terms."""
        match event:
            case ToolCallStartEvent():
                self._calls[event.tool_call_id] = len(self._calls)
            case RunFinishedEvent():
                event = event.model_copy(update={"run_id": self._input.run_id, "outcome": self._ordered(event.outcome)})
            case MessagesSnapshotEvent():
                truth = [(message.id, [message]) for message in event.messages]
                event = event.model_copy(update={"messages": merge_messages(self._held, truth)})
            case StateSnapshotEvent() if self.own and isinstance(event.snapshot, Mapping):
                event = event.model_copy(update={"snapshot": {**self.own, **event.snapshot}})
        self._sink.event(event)

    def _ordered(self, outcome: RunFinishedOutcome | None) -> RunFinishedOutcome | None:
        """The outcome with its pending calls in the order in which this reader has heard of them."""
        if not isinstance(outcome, RunFinishedSuccessOutcome) or not outcome.pending_tool_call_ids:
            return outcome
        pending = sorted(outcome.pending_tool_call_ids, key=lambda call_id: self._calls.get(call_id, -1))
        return outcome.model_copy(update={"pending_tool_call_ids": pending})


class Broadcaster:
    """The sink of a run: whatever it takes, all of its readers hear."""

    def __init__(self, first: Sink) -> None:
        self._sinks: list[Sink] = [first]

    def add(self, sink: Sink) -> None:
        """Let one more reader hear what comes."""
        self._sinks.append(sink)

    def remove(self, sink: Sink) -> None:
        """Tell a reader nothing more."""
        if sink in self._sinks:
            self._sinks.remove(sink)

    def event(self, event: BaseEvent) -> None:
        """Tell a whole event."""
        for sink in self._sinks:
            sink.event(event)

    def writer(self, kind: BlockKind, item_id: str, tag: str | None = None) -> Writer:
        """Return what tells the fragments of an item to those who read now: one reader costs nothing extra."""
        writers = [sink.writer(kind, item_id, tag) for sink in self._sinks]
        if len(writers) == 1:
            return writers[0]

        def tell(text: str) -> None:
            for write in writers:
                write(text)

        return tell


class Subscription(Generic[T]):
    """One reader of a run: the queue that it reads from, to be used as a context manager.

    Args:
        sink: Makes the sink that puts events, in the form that the reader wants, into the queue.
    """

    def __init__(self, sink: Callable[[Callable[[T], object]], Sink]) -> None:
        self.outlet = EventQueue[T]()
        self.sink = sink(self.outlet.put)
        self.leave: Callable[[], Awaitable[None]] | None = None

    async def __aenter__(self) -> EventQueue[T]:
        """Read: what is said comes out of the outlet."""
        return self.outlet

    async def __aexit__(self, *_: object) -> None:
        """Read no more."""
        self.outlet.abandon()
        if self.leave is not None:
            await self.leave()
