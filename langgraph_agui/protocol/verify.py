"""Judges AG-UI streams as the reference client does and, on request, by the rules that the client
does not check.

Wire objects or SDK events enter; conforming SDK events with chunks expanded leave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, Coroutine, Iterable, Mapping
from typing import Any, Literal, TypeAlias, overload

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Event, RunAgentInput

from langgraph_agui.protocol.event_order import ChunkExpander, EventOrder
from langgraph_agui.protocol.fold import Fold
from langgraph_agui.protocol.json import parse_json
from langgraph_agui.protocol.schema import examine, log_notes
from langgraph_agui.protocol.wire import ProtocolError, refuse, wire_fields

_Wire: TypeAlias = Mapping[str, object] | BaseEvent
MessageKind: TypeAlias = Literal["text", "reasoning", "tool", "activity"]


class Verifier:
    """The consumer's pipeline for one stream: schema, chunk expansion, order of events (AG-UI 1.0,
    client).

    Without `strict`, a stream passes exactly if `@ag-ui/client` 1.0 takes it without an error, or
    would but for what `old_spellings` reads. That includes an empty stream, and one that breaks
    off.

    Args:
        strict: Whether to apply the rules for producers too: a terminal event closes everything,
            ids are echoed, unique and known, nothing is streamed or answered twice, pending calls
            and usage add up, no client would warn.
        input: The run that was asked for. `strict` compares its ids, messages, state and frontend
            tools.
    """

    def __init__(self, strict: bool = False, *, input: RunAgentInput | None = None) -> None:  # noqa: A002
        self._chunks = ChunkExpander()
        self._order = EventOrder()
        self._strict = _ProducerRules(input) if strict else None

    def feed(self, event: _Wire) -> list[Event]:
        """Judge the next event, an SDK event or a wire object, and return its expansion.

        Raises:
            ProtocolError: The event breaks a rule; the stream is over then.
        """
        parsed, notes = examine(event)
        if notes and self._strict is not None:
            wire = wire_fields(event) if isinstance(event, BaseEvent) else event
            raise ProtocolError("non-conforming", f"A client would warn: {notes[0]}", wire)
        if notes:
            log_notes(notes)
        expanded = self._chunks.feed(parsed) if parsed is not None else []
        for item in expanded:
            self._order.feed(item)
            if self._strict is not None:
                self._strict.feed(item)
        return expanded

    def finish(self) -> None:
        """End the stream. With `strict`, raises `ProtocolError` if it must not end here."""
        if self._strict is None:
            return
        if self._order.status == "empty":
            raise ProtocolError("empty-stream", "The stream has no events.")
        if self._order.status == "active":
            raise ProtocolError("truncated-stream", "The stream ends within a run.")
        self._strict.finish()


@overload
def verify(
    events: Iterable[_Wire], *, strict: bool = ..., input: RunAgentInput | None = ...
) -> list[Event]: ...
@overload
def verify(
    events: AsyncIterable[_Wire], *, strict: bool = ..., input: RunAgentInput | None = ...
) -> Coroutine[Any, Any, list[Event]]: ...
def verify(
    events: Iterable[_Wire] | AsyncIterable[_Wire],
    *,
    strict: bool = False,
    input: RunAgentInput | None = None,  # noqa: A002
) -> list[Event] | Coroutine[Any, Any, list[Event]]:
    """Judge a whole stream and return its events with chunks expanded; see `Verifier`.

    The result for an asynchronous stream is awaited: `await verify(agent.run(run_input))`.
    """
    verifier = Verifier(strict, input=input)
    if isinstance(events, AsyncIterable) and not isinstance(events, Iterable):
        return _verify_async(events, verifier)
    expanded = [item for event in events for item in verifier.feed(event)]
    verifier.finish()
    return expanded


async def _verify_async(events: AsyncIterable[_Wire], verifier: Verifier) -> list[Event]:
    expanded = [item async for event in events for item in verifier.feed(event)]
    verifier.finish()
    return expanded


class _ProducerRules:
    """Checks one stream, known to be in order, by the rules for producers.

    A `Fold` that starts from `input` follows the client's messages and state. Without `input`, ids
    are compared within the stream only, no tool is a frontend tool, and no message is history.
    """

    def __init__(self, input: RunAgentInput | None) -> None:  # noqa: A002
        self._input = input
        self._fold = Fold(input.messages, input.state) if input else Fold()
        self._frontend_tools = {tool.name for tool in (input.tools if input else None) or ()}
        self._answered = _answered(input.messages if input else ())
        self._run: agui.RunStartedEvent | None = None
        self._thread_id = input.thread_id if input else None
        self._streamed: set[str] = set()
        self._started_calls: dict[str, None] = {}
        self._run_answers: set[str] = set()
        # Results for calls of frontend tools. A call that the client has lost by the end of the run
        # may have one.
        self._frontend_results: list[agui.ToolCallResultEvent] = []

    def feed(self, event: Event) -> None:
        """Check the next event. Raises `ProtocolError` if a producer must not send it."""
        match event:
            case agui.RunStartedEvent():
                self._begin_run(event)
            case agui.RunFinishedEvent():
                self._finish_run(event)
            case agui.RunErrorEvent():
                _check_usage(event, event.usage)
                self._check_frontend_results()
            case agui.TextMessageStartEvent() | agui.ReasoningMessageStartEvent():
                self._open_message(event)
            case agui.ToolCallStartEvent():
                self._open_call(event)
            case agui.ToolCallResultEvent():
                self._result(event)
            case agui.ReasoningEncryptedValueEvent() if (
                self._fold.conversation.find_entity(event) is None
            ):
                refuse(
                    "unknown-entity",
                    event,
                    f"the client has no {event.subtype} {event.entity_id!r}",
                )
            case agui.ActivitySnapshotEvent():
                self._check_kind(event, event.message_id, "activity")
            case agui.MessagesSnapshotEvent():
                self._snapshot(event)
        self._fold.apply(event)
        if self._fold.warnings:
            refuse("client-warning", event, f"a client would warn: {self._fold.warnings[0]}")

    def finish(self) -> None:
        """Check the end of the stream, which is known to hold complete runs only."""
        if (
            self._input is not None
            and self._run is not None
            and self._run.run_id != self._input.run_id
        ):
            refuse("run-id", self._run, f"the requested run is {self._input.run_id!r}")

    def _begin_run(self, event: agui.RunStartedEvent) -> None:
        if event.protocol_version != agui.PROTOCOL_VERSION:
            refuse("protocol-version", event, f"protocolVersion must be {agui.PROTOCOL_VERSION!r}")
        if self._thread_id is not None and event.thread_id != self._thread_id:
            refuse("thread-id", event, f"the thread is {self._thread_id!r}")
        self._thread_id, self._run = event.thread_id, event
        self._streamed, self._started_calls, self._run_answers = set(), {}, set()
        self._frontend_results = []

    def _finish_run(self, event: agui.RunFinishedEvent) -> None:
        if self._run is not None and event.thread_id != self._run.thread_id:
            refuse("thread-id", event, f"the run began on thread {self._run.thread_id!r}")
        if self._run is not None and event.run_id != self._run.run_id:
            refuse("run-id", event, f"the run began as {self._run.run_id!r}")
        _check_usage(event, event.usage)
        self._check_frontend_results()
        outcome = event.outcome
        check_interrupt_ids(event)
        if outcome is None and self._input is not None and self._input.protocol_version is None:
            return  # clients of before 1.0 count pending calls themselves, and some refuse the list
        if outcome is None or isinstance(outcome, agui.RunFinishedSuccessOutcome):
            named = (outcome.pending_tool_call_ids if outcome else None) or []
            pending = [call for call in self._started_calls if call not in self._run_answers]
            if named != pending:
                refuse("pending-tool-calls", event, f"the pending calls are {pending}, not {named}")

    def _check_frontend_results(self) -> None:
        for result in self._frontend_results:
            if (call := self._fold.conversation.find_call(result.tool_call_id)) is not None:
                refuse(
                    "frontend-tool-result", result, f"{call.name!r} is the application's to answer"
                )

    def _open_message(
        self, event: agui.TextMessageStartEvent | agui.ReasoningMessageStartEvent
    ) -> None:
        message_id = event.message_id
        kind: MessageKind = "text" if isinstance(event, agui.TextMessageStartEvent) else "reasoning"
        self._check_kind(event, message_id, kind)
        stored = self._fold.conversation.find(message_id)
        # A snapshot cannot delete reasoning, only empty it: then it may be streamed again.
        emptied = stored is not None and kind == "reasoning" and not stored.model.content
        if stored is not None and message_id not in self._streamed and not emptied:
            refuse("restreamed-message", event, f"message {message_id!r} is history and would grow")
        calls = (stored.calls if stored is not None else None) or ()
        if any(call.model.id in self._run_answers for call in calls):
            refuse(
                "continued-message",
                event,
                f"message {message_id!r} starts again after the result of its call, and a client "
                "would show its text before that",
            )
        self._streamed.add(message_id)

    def _open_call(self, event: agui.ToolCallStartEvent) -> None:
        call_id, conversation = event.tool_call_id, self._fold.conversation
        holder = conversation.find_holder(call_id)
        if holder is not None and self._is_another_call(event, holder.model.id):
            refuse(
                "call-id-reused",
                event,
                f"message {holder.model.id!r} has a call {call_id!r} already, and a client would "
                "make one call of both",
            )
        if call_id in self._started_calls:
            return
        if holder is not None:
            refuse(
                "restreamed-call",
                event,
                f"call {call_id!r} is history and its arguments would double",
            )
        message_id = event.parent_message_id or call_id
        if conversation.find(message_id) is None:
            self._streamed.add(message_id)
        elif not event.parent_message_id:
            refuse(
                "id-reused",
                event,
                f"{call_id!r} is a message's id already, and the call has no parent",
            )
        self._started_calls[call_id] = None

    def _is_another_call(self, event: agui.ToolCallStartEvent, holder_id: str) -> bool:
        """Return whether a call is not the one that the message `holder_id` has under its id.

        A call that is open may be continued. A run with answers may also announce it again in
        another message.
        """
        call_id, parent = event.tool_call_id, event.parent_message_id
        is_elsewhere = bool(parent) and parent != holder_id
        if call_id in self._started_calls:
            return is_elsewhere or call_id in self._run_answers
        has_answers = self._input is not None and bool(self._input.resume)
        return is_elsewhere and (call_id in self._answered or not has_answers)

    def _result(self, event: agui.ToolCallResultEvent) -> None:
        call_id, conversation = event.tool_call_id, self._fold.conversation
        call = conversation.find_call(call_id)
        if call is None:
            refuse("unknown-call", event, f"no call {call_id!r} is known")
        if call.name in self._frontend_tools and _can_run(call.view()):
            self._frontend_results.append(event)
        if call_id in self._answered:
            refuse("answered-call", event, f"call {call_id!r} has a result already")
        if conversation.find(event.message_id) is not None:
            refuse("id-reused", event, f"message {event.message_id!r} exists already")
        self._answered.add(call_id)
        self._run_answers.add(call_id)

    def _snapshot(self, event: agui.MessagesSnapshotEvent) -> None:
        if twice := repeated(message.id for message in event.messages):
            refuse("id-reused", event, f"two messages are called {twice!r}")
        calls, held = _calls(event.messages), Counter(_calls(self._fold.messages))
        # The client's own messages may repeat ids.
        if twice := repeated(call for call in calls if held[call] < 2):
            refuse("call-id-reused", event, f"two tool calls have the id {twice!r}")
        for message in event.messages:
            self._check_kind(event, message.id, _kind(message))
        # The client loses the other calls: their ids are free.
        self._started_calls = {call: None for call in self._started_calls if call in calls}
        self._run_answers.intersection_update(calls)
        self._answered = _answered(event.messages) | self._run_answers

    def _check_kind(self, event: Event, message_id: str, kind: MessageKind) -> None:
        stored = self._fold.conversation.find(message_id)
        if stored is not None and _kind(stored.model) != kind:
            refuse(
                "id-reused",
                event,
                f"{message_id!r} is a {_kind(stored.model)} message, not a {kind} message",
            )


def _kind(message: agui.Message) -> MessageKind:
    role = message.role
    return role if role in ("reasoning", "tool", "activity") else "text"


def _calls(messages: Iterable[agui.Message]) -> list[str]:
    """Return the ids of all tool calls of these messages."""
    return [
        call.id
        for message in messages
        if isinstance(message, agui.AssistantMessage)
        for call in message.tool_calls or ()
    ]


def _answered(messages: Iterable[agui.Message]) -> set[str]:
    return {message.tool_call_id for message in messages if isinstance(message, agui.ToolMessage)}


def check_interrupt_ids(event: Event) -> None:
    """Refuse interrupts that share an id (AG-UI 1.0, interrupts): no answer could name one of
    them.
    """
    match event:
        case agui.RunFinishedEvent(outcome=agui.RunFinishedInterruptOutcome(interrupts=interrupts)):
            if twice := repeated(interrupt.id for interrupt in interrupts):
                refuse("duplicate-interrupt", event, f"two interrupts have the id {twice!r}")


def repeated(names: Iterable[str]) -> str | None:
    """Return the first name that comes more than once; None if there is none."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _can_run(call: agui.ToolCall) -> bool:
    """Return whether an application can run a call: its arguments are an object. An agent may
    answer other calls.
    """
    try:
        return isinstance(parse_json(call.function.arguments or "{}"), dict)
    except (ProtocolError, ValueError):
        return False


def _check_usage(event: Event, usage: list[agui.TokenUsage] | None) -> None:
    for entry in usage or ():
        parts = (entry.input_tokens, entry.output_tokens)
        if (
            entry.total_tokens is not None
            and None not in parts
            and entry.total_tokens != sum(filter(None, parts))
        ):
            refuse(
                "usage",
                event,
                f"{entry.total_tokens} tokens in total are not {parts[0]} and {parts[1]}",
            )
    if twice := repeated(f"{entry.provider} {entry.model}" for entry in usage or ()):
        refuse("usage", event, f"two usage entries are for {twice}")
