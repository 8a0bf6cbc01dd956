"""Judges AG-UI streams as the reference client does, and on request by what it leaves unchecked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from ag_ui.core import (
    PROTOCOL_VERSION,
    ActivitySnapshotEvent,
    BaseEvent,
    Event,
    MessagesSnapshotEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessageStartEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    TextMessageStartEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)

from langgraph_agui.protocol.chunks import ChunkExpander
from langgraph_agui.protocol.event_order import EventOrder
from langgraph_agui.protocol.fold import Fold
from langgraph_agui.protocol.schema import examine, log_notes
from langgraph_agui.protocol.wire import ProtocolError, wire_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ag_ui.core import Message, TokenUsage

MessageKind: TypeAlias = Literal["text", "reasoning", "tool", "activity"]


class StrictRules:
    """Holds one stream, already found to be in order, against the rules for producers.

    Follows what the client holds with a :class:`Fold` that starts from ``input``. Without ``input`` ids are
    compared within the stream only, no tool is a frontend tool, and nothing is history.
    """

    def __init__(self, input: RunAgentInput | None) -> None:  # noqa: A002
        self._input = input
        self._fold = Fold(input.messages, input.state) if input else Fold()
        self._frontend_tools = {tool.name for tool in (input.tools if input else None) or ()}
        self._answered = _answered(input.messages if input else ())
        self._run: RunStartedEvent | None = None
        self._thread_id = input.thread_id if input else None
        self._streamed: set[str] = set()
        self._started_calls: dict[str, None] = {}
        self._run_answers: set[str] = set()

    def feed(self, event: Event) -> None:
        """Take the next event; raise :class:`ProtocolError` if a producer must not send it."""
        match event:
            case RunStartedEvent():
                self._begin_run(event)
            case RunFinishedEvent():
                self._finish_run(event)
            case RunErrorEvent():
                _check_usage(event, event.usage)
            case TextMessageStartEvent():
                self._open_message(event, "text")
            case ReasoningMessageStartEvent():
                self._open_message(event, "reasoning")
            case ToolCallStartEvent():
                self._open_call(event)
            case ToolCallResultEvent():
                self._result(event)
            case ReasoningEncryptedValueEvent():
                self._encrypted(event)
            case ActivitySnapshotEvent():
                self._one_kind(event, event.message_id, "activity")
            case MessagesSnapshotEvent():
                self._snapshot(event)
        self._fold.feed(event)
        if self._fold.warnings:
            _refuse("client-warning", event, f"a client would warn: {self._fold.warnings[0]}")

    def finish(self) -> None:
        """Judge the end of the stream, known to hold complete runs only."""
        if self._input is not None and self._run is not None and self._run.run_id != self._input.run_id:
            _refuse("run-id", self._run, f"the requested run is {self._input.run_id!r}")

    def _begin_run(self, event: RunStartedEvent) -> None:
        if event.protocol_version != PROTOCOL_VERSION:
            _refuse("protocol-version", event, f"protocolVersion must be {PROTOCOL_VERSION!r}")
        if self._thread_id is not None and event.thread_id != self._thread_id:
            _refuse("thread-id", event, f"the thread is {self._thread_id!r}")
        self._thread_id, self._run = event.thread_id, event
        self._streamed, self._started_calls, self._run_answers = set(), {}, set()

    def _finish_run(self, event: RunFinishedEvent) -> None:
        if self._run is not None and event.thread_id != self._run.thread_id:
            _refuse("thread-id", event, f"the run began on thread {self._run.thread_id!r}")
        if self._run is not None and event.run_id != self._run.run_id:
            _refuse("run-id", event, f"the run began as {self._run.run_id!r}")
        _check_usage(event, event.usage)
        outcome = event.outcome
        if isinstance(outcome, RunFinishedInterruptOutcome):
            if twice := _twice(interrupt.id for interrupt in outcome.interrupts):
                _refuse("duplicate-interrupt", event, f"two interrupts are called {twice!r}")
        elif outcome is None or isinstance(outcome, RunFinishedSuccessOutcome):
            named = (outcome.pending_tool_call_ids if outcome else None) or []
            pending = [call for call in self._started_calls if call not in self._run_answers]
            if named != pending:
                _refuse("pending-tool-calls", event, f"the pending calls are {pending}, not {named}")

    def _open_message(self, event: TextMessageStartEvent | ReasoningMessageStartEvent, kind: MessageKind) -> None:
        message_id = event.message_id
        self._one_kind(event, message_id, kind)
        held = self._fold.conversation.find(message_id)
        # Reasoning cannot be deleted by a snapshot that has none, only emptied: then it may be said anew.
        emptied = held is not None and kind == "reasoning" and not held.model.content
        if held is not None and message_id not in self._streamed and not emptied:
            _refuse("restreamed-message", event, f"message {message_id!r} is history and would grow")
        self._streamed.add(message_id)

    def _open_call(self, event: ToolCallStartEvent) -> None:
        call_id, conversation = event.tool_call_id, self._fold.conversation
        if conversation.find_call(call_id) is not None and call_id not in self._started_calls:
            _refuse("restreamed-call", event, f"call {call_id!r} is history and its arguments would double")
        holder = event.parent_message_id or call_id
        if call_id not in self._started_calls and conversation.find(holder) is None:
            self._streamed.add(holder)
        elif call_id not in self._started_calls and not event.parent_message_id:
            _refuse("id-reused", event, f"{call_id!r} is a message's id already, and the call has no parent")
        self._started_calls[call_id] = None

    def _result(self, event: ToolCallResultEvent) -> None:
        call_id, conversation = event.tool_call_id, self._fold.conversation
        call = conversation.find_call(call_id)
        if call is None:
            _refuse("unknown-call", event, f"no call {call_id!r} is known")
        if call.name in self._frontend_tools:
            _refuse("frontend-tool-result", event, f"{call.name!r} is the application's to answer")
        if call_id in self._answered:
            _refuse("answered-call", event, f"call {call_id!r} has a result already")
        if conversation.find(event.message_id) is not None:
            _refuse("id-reused", event, f"message {event.message_id!r} exists already")
        self._answered.add(call_id)
        self._run_answers.add(call_id)

    def _encrypted(self, event: ReasoningEncryptedValueEvent) -> None:
        conversation = self._fold.conversation
        if event.subtype == "tool-call":
            known = conversation.find_call(event.entity_id) is not None
        else:
            held = conversation.find(event.entity_id)
            known = held is not None and held.model.role != "activity"
        if not known:
            _refuse("unknown-entity", event, f"the client holds no {event.subtype} {event.entity_id!r}")

    def _snapshot(self, event: MessagesSnapshotEvent) -> None:
        if twice := _twice(message.id for message in event.messages):
            _refuse("id-reused", event, f"two messages are called {twice!r}")
        for message in event.messages:
            self._one_kind(event, message.id, _kind(message))
        self._answered = _answered(event.messages) | self._run_answers

    def _one_kind(self, event: Event, message_id: str, kind: MessageKind) -> None:
        held = self._fold.conversation.find(message_id)
        if held is not None and _kind(held.model) != kind:
            _refuse("id-reused", event, f"{message_id!r} is a {_kind(held.model)} message, not a {kind} message")


def _kind(message: Message) -> MessageKind:
    role = message.role
    return role if role in ("reasoning", "tool", "activity") else "text"


def _answered(messages: Iterable[Message]) -> set[str]:
    return {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}


def _twice(names: Iterable[str]) -> str | None:
    counts = Counter(names)
    return next((name for name, count in counts.items() if count > 1), None)


def _check_usage(event: Event, usage: list[TokenUsage] | None) -> None:
    for entry in usage or ():
        parts = (entry.input_tokens, entry.output_tokens)
        if entry.total_tokens is not None and None not in parts and entry.total_tokens != sum(filter(None, parts)):
            _refuse("usage", event, f"{entry.total_tokens} tokens in total are not {parts[0]} and {parts[1]}")
    if twice := _twice(f"{entry.provider} {entry.model}" for entry in usage or ()):
        _refuse("usage", event, f"two usage entries are for {twice}")


def _refuse(code: str, event: Event, reason: str) -> NoReturn:
    raise ProtocolError(code, f"Unexpected {event.type.value}: {reason}.", wire_fields(event))


class Verifier:
    """The consumer's pipeline for one stream: schema, chunk expansion, order of events (AG-UI 1.0, client).

    As it stands a stream passes exactly if ``@ag-ui/client`` 1.0 takes it without an error; a stream that breaks
    off, or that is empty, is among those. ``strict`` adds what the protocol asks of producers and the client does
    not check: everything is closed by a terminal event, ids are echoed, unique and known, nothing is streamed or
    answered twice, pending calls and usage add up, and no client would have a reason to warn. For that ``input``
    says what the run was asked: its ids, messages, state and frontend tools.
    """

    def __init__(self, strict: bool = False, *, input: RunAgentInput | None = None) -> None:  # noqa: A002
        self._chunks = ChunkExpander()
        self._sequence = EventOrder()
        self._strict = StrictRules(input) if strict else None

    def feed(self, event: Mapping[str, object] | BaseEvent) -> list[Event]:
        """Judge the next event, an SDK event or a wire object, and return what it expands to.

        Raises :class:`~langgraph_agui.protocol.wire.ProtocolError`; the stream is over then.
        """
        parsed, notes = examine(event)
        if notes and self._strict is not None:
            wire = wire_fields(event) if isinstance(event, BaseEvent) else event
            raise ProtocolError("non-conforming", f"A client would warn: {notes[0]}", wire)
        log_notes(notes)
        if parsed is None:
            return []
        expanded = self._chunks.feed(parsed)
        for item in expanded:
            self._sequence.feed(item)
            if self._strict is not None:
                self._strict.feed(item)
        return expanded

    def finish(self) -> None:
        """Say that the stream has ended; raises :class:`ProtocolError` if ``strict`` finds it must not have."""
        if self._strict is None:
            return
        if self._sequence.status == "empty":
            raise ProtocolError("empty-stream", "The stream holds no event.")
        if self._sequence.status == "active":
            raise ProtocolError("truncated-stream", "The stream ends within a run.")
        self._strict.finish()


def verify(
    events: Iterable[Mapping[str, object] | BaseEvent],
    *,
    strict: bool = False,
    input: RunAgentInput | None = None,  # noqa: A002
) -> list[Event]:
    """Judge a whole stream and return its events with chunks expanded; see :class:`Verifier`."""
    verifier = Verifier(strict, input=input)
    expanded = [item for event in events for item in verifier.feed(event)]
    verifier.finish()
    return expanded
