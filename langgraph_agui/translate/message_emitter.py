"""Open, grow and close items: the one place that says TEXT_MESSAGE_*, REASONING_* and TOOL_CALL_*.

Parts of a model's message enter `LiveMessage.feed`, whole messages and tool results enter `Items`; events leave
through the sink, and everything said is held in the `Conversation`. The rules are those of AG-UI 1.0 (text messages,
reasoning, tool calls): reasoning is closed before text or a call opens, a call hangs on its assistant message, an
opaque value comes after the message or call that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from time import monotonic
from typing import cast

from ag_ui.core import (
    AssistantMessage,
    BaseEvent,
    Message,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
    UserMessage,
)
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages import ToolMessage as LCToolMessage

from langgraph_agui.messages.assistant_turn import AssistantTurn, Block
from langgraph_agui.messages.blocks import BlockDelta, BlockKind, continuation_text, read_blocks
from langgraph_agui.messages.conversation import Conversation
from langgraph_agui.messages.encrypted_values import (
    EncryptedValueCodec,
    MessageSource,
    subagent_of,
    visible_subagent_of,
)
from langgraph_agui.messages.to_agui import agui_role, tool_message, user_message
from langgraph_agui.messages.tool_calls import interrupted
from langgraph_agui.messages.user_tool_content import text_of
from langgraph_agui.translate.call_ids import CallIds
from langgraph_agui.translate.event_sinks import Sink
from langgraph_agui.translate.subagents import subagent_sink

PIECE = 1_000_000
"""Characters of one delta, at the most: clients refuse an event of more than 10 Mi (AG-UI 1.0, HTTP binding)."""


class StreamingMessage:
    """One assistant message while it is being said; one that is not `streamed` is said at once."""

    def __init__(self, record: AssistantTurn, conversation: Conversation, sink: Sink, *, streamed: bool) -> None:
        self.record = record
        self._streamed = streamed
        self._conversation = conversation
        self._sink = subagent_sink(sink, visible_subagent_of(record.speaker))
        self._said: Block | None = None
        self.message: AIMessage | None = None
        self._name: str | None = None

    def hear(self, chunk: BaseMessage) -> None:
        """Say what a chunk of the message says. The hot path."""
        item = self._said
        if item is None or item.say is None or (text := continuation_text(chunk, item.kind, item.key)) is None:
            self.feed(read_blocks(chunk))
        elif text and (shown := item.grow(text)):
            item.say(shown)

    def feed(self, parts: Iterable[BlockDelta]) -> None:
        """Say `parts`: open what they begin, close what they end."""
        self._feed(self.record.split(parts))

    def _feed(self, parts: Iterable[BlockDelta]) -> None:
        for part in parts:
            known = len(self.record.items)
            item = self.record.item(part)
            text = item.grow(part.text) if part.text else ""
            if item.say is None:
                if item.kind == "call" and not (item.name and item.provider_id):
                    continue
                if item.kind != "call" and not text and known == len(self.record.items):
                    continue  # what a late chunk adds without words goes into the opaque values
                self._open(item)
                text = item.text if item.kind == "call" else text
            # What a splitter may have to split goes the long way.
            self._said = item if self.record.splitter is None else None
            self._say(item, text)

    def _say(self, item: Block, text: str) -> None:
        if item.say is not None:
            for start in range(0, len(text), PIECE):
                item.say(text[start : start + PIECE])

    def _open(self, item: Block) -> None:
        for other in self.record.items:
            if other.say is not None and other.kind != "call":
                self._close(other)
        self._conversation.begin(self.record, item)
        item.say = self._sink.writer(item.kind, item.id)
        item.since = monotonic() if self._streamed and item.kind == "reasoning" else None
        self._begin(item, self._sink.event)

    def _begin(self, item: Block, emit: Callable[[BaseEvent], object]) -> None:
        match item.kind:
            case "text":
                emit(TextMessageStartEvent(message_id=item.id, role="assistant"))
            case "reasoning":
                emit(ReasoningStartEvent(message_id=item.id))
                emit(ReasoningMessageStartEvent(message_id=item.id, role="reasoning", metadata=item.metadata))
            case "call":
                emit(
                    ToolCallStartEvent(
                        tool_call_id=item.id,
                        tool_call_name=item.name or "",
                        parent_message_id=self.record.message_id,
                    )
                )

    def reopen(self, sink: Sink, answered: Collection[str]) -> None:
        """Say to one more reader, who hears from now on, what is open: items, and calls without a result."""
        sink = subagent_sink(sink, visible_subagent_of(self.record.speaker))
        for item in self.record.items:
            if item.say is not None or self._waits(item, answered):
                self._begin(item, sink.event)
                if item.text:
                    sink.writer(item.kind, item.id)(item.text)
                if item.say is None:
                    sink.event(ToolCallEndEvent(tool_call_id=item.id))
                    self._tell_value(item, sink.event)

    def _waits(self, item: Block, answered: Collection[str]) -> bool:
        return item.kind == "call" and self._conversation.knows_call(item.id) and item.id not in answered

    def unsettled(self, answered: Collection[str]) -> set[tuple[BlockKind, str]]:
        """What `reopen` says: it cannot be said in a snapshot as well."""
        return {
            (item.kind, item.id) for item in self.record.items if item.say is not None or self._waits(item, answered)
        }

    def rewrite(self) -> None:
        """Tell the open items to those who read now."""
        for item in self.record.items:
            if item.say is not None:
                item.say = self._sink.writer(item.kind, item.id)

    def _close(self, item: Block) -> None:
        if item.kind == "call" and not item.text and item.say is not None:
            item.say(item.grow("{}"))  # a call without arguments: some models say nothing, clients parse JSON
        item.say = None
        emit = self._sink.event
        match item.kind:
            case "text":
                emit(TextMessageEndEvent(message_id=item.id))
            case "reasoning":
                emit(ReasoningMessageEndEvent(message_id=item.id, metadata=item.lasted()))
                emit(ReasoningEndEvent(message_id=item.id))
            case "call":
                emit(ToolCallEndEvent(tool_call_id=item.id))

    def close(self) -> None:
        """Close every open item; a call that never learned its name or id is announced with what is known."""
        self._feed(self.record.rest())
        for item in self.record.items:
            rest = item.end()
            if item.kind == "call" and not self._conversation.knows_call(item.id):
                rest = item.text
            elif not rest and item.say is None:
                continue
            if item.say is None:
                self._open(item)
            self._say(item, rest)
            self._close(item)

    def seal(self, message: AIMessage) -> None:
        """Send the opaque values of the finished message, each for the message or call that it belongs to."""
        self.message, self._name = message, message.name
        for item, value in self.record.seal(message):
            entity = item.id if item is not None else self.record.message_id
            if item is None and entity not in self._conversation.ids:
                self._conversation.begin_assistant(self.record)
                self._sink.event(TextMessageStartEvent(message_id=entity, role="assistant"))
                self._sink.event(TextMessageEndEvent(message_id=entity))
            if item is not None and item.kind == "call":
                self._tell_value(item, self._sink.event)
            else:
                event = ReasoningEncryptedValueEvent(subtype="message", entity_id=entity, encrypted_value=value)
                self._sink.event(event)

    def _tell_value(self, call: Block, emit: Callable[[BaseEvent], object]) -> None:
        if (value := call.encrypted) is not None:
            emit(ReasoningEncryptedValueEvent(subtype="tool-call", entity_id=call.id, encrypted_value=value))

    def stored(self, message: AIMessage) -> None:
        """Take the message as its node has returned it: what the node has made of it goes back to the provider."""
        if self.message is not None and (message is not self.message or message.name != self._name):
            self.seal(message)


class MessageEmitter:
    """All messages of one run: those being said, those said whole, and the results of tools.

    Args:
        conversation: What the client holds.
        sink: Takes the events.
        values: Writes the opaque values.
    """

    def __init__(self, conversation: Conversation, sink: Sink, values: EncryptedValueCodec) -> None:
        self.conversation = conversation
        self.call_ids = CallIds(conversation)
        self._sink = sink
        self._values = values
        self._open: list[StreamingMessage] = []
        self._failed: list[StreamingMessage] = []
        self._answered: set[str] = set()
        self._said: list[StreamingMessage] = []
        self._live: dict[AssistantTurn, StreamingMessage] = {}

    def begin(
        self,
        message_id: str,
        provider: str | None = None,
        model: str | None = None,
        *,
        speaker: MessageSource | None = None,
        streamed: bool = True,
    ) -> StreamingMessage:
        """Begin an assistant message. `message_id` must be new to the conversation."""
        record = AssistantTurn(
            message_id,
            self.conversation.ids,
            self._values,
            provider=provider,
            model=model,
            speaker=speaker,
            public_call=partial(self.call_ids.announce, subagent_of(speaker)),
        )
        live = StreamingMessage(record, self.conversation, self._sink, streamed=streamed)
        self._open.append(live)
        self._said.append(live)
        self._live[record] = live
        return live

    def finish(self, live: StreamingMessage, message: BaseMessage | None = None) -> None:
        """End a message: close its items and, if it has come to its end, send its opaque values."""
        live.close()
        self._open.remove(live)
        if isinstance(message, AIMessage):
            live.seal(message)

    def fail(self, live: StreamingMessage) -> None:
        """End a message whose model failed: what was said stays, what was signed is not replayed."""
        self.finish(live)
        self._failed.append(live)

    def whole(self, message: BaseMessage, message_id: str, speaker: MessageSource | None = None) -> None:
        """Say a message that arrives in one piece."""
        match agui_role(message):
            case "assistant":
                told = message.response_metadata
                provider, model = told.get("model_provider"), told.get("model_name")
                live = self.begin(message_id, provider, model, speaker=speaker, streamed=False)
                live.feed(read_blocks(message, whole=True))
                self.finish(live, message)
            case "tool":
                self._tool(cast("LCToolMessage", message), message_id, speaker)
            case "user":
                user = user_message(message, message_id, self._values, speaker)
                sink = subagent_sink(self._sink, visible_subagent_of(speaker))
                sink.event(TextMessageStartEvent(message_id=message_id, role="user", name=user.name))
                if text := text_of(user.content):
                    sink.event(TextMessageContentEvent(message_id=message_id, delta=text))
                sink.event(TextMessageEndEvent(message_id=message_id))
                self.conversation.add(user, speaker)
                self._value(user)

    def _tool(self, message: LCToolMessage, message_id: str, speaker: MessageSource | None) -> None:
        call_id = self.call_ids.of(subagent_of(speaker), message.tool_call_id)
        name = self.conversation.call_name(call_id)
        self._result(tool_message(message, message_id, self._values, name, speaker, call_id), speaker)

    def _value(self, message: ToolMessage | UserMessage) -> None:
        if message.encrypted_value is not None:
            self._sink.event(
                ReasoningEncryptedValueEvent(
                    subtype="message",
                    entity_id=message.id,
                    encrypted_value=message.encrypted_value,
                    subagent_run_id=message.subagent_run_id,
                )
            )

    def _result(self, result: ToolMessage, speaker: MessageSource | None) -> None:
        call_id = result.tool_call_id
        if call_id in self.conversation.answered or not self.conversation.holds_call(call_id):
            return  # a hidden call's result is hidden, one that the client lacks comes with it, and none is told twice
        self._answered.add(call_id)
        self.conversation.answer(result, speaker)
        self._sink.event(
            ToolCallResultEvent(
                message_id=result.id,
                tool_call_id=call_id,
                content=result.content,
                role="tool",
                metadata=result.metadata,
                subagent_run_id=result.subagent_run_id,
            )
        )
        self._value(result)

    def stored(self, record: AssistantTurn, message: BaseMessage) -> None:
        """Take a message of this run as its node has returned it."""
        if isinstance(message, AIMessage):
            self._live[record].stored(message)

    def of_thread(self, message: BaseMessage, message_id: str) -> None:
        """Note that what a subagent said in this run is in the agent's own history, too."""
        speaker, held = self.conversation.claim(message_id), self.conversation.held(message_id)
        if isinstance(held, AssistantTurn):
            held.speaker = speaker
            if isinstance(message, AIMessage):
                self._live[held].seal(message)
        elif isinstance(held, ToolMessage):
            name = self.conversation.call_name(held.tool_call_id)
            result = cast("LCToolMessage", message)
            kept = tool_message(result, message_id, self._values, name, speaker, held.tool_call_id)
            self.conversation.replace(kept)
            self._value(kept)
        elif isinstance(held, UserMessage):
            said = user_message(message, message_id, self._values, speaker)
            self.conversation.replace(said)
            self._value(said)

    def answer_failed(self, ended: Collection[str], theirs: Collection[str]) -> None:
        """Answer calls that nobody will answer as interrupted: the run has gone on without them.

        Args:
            ended: Subagents that have come to their end, or have handed over.
            theirs: Tools of the client, which answers itself.
        """
        for live in self._said:
            if live in self._failed:
                self._interrupt(live)
            elif live.record.speaker is not None and live.record.speaker.lane in ended:
                self._interrupt(live, theirs)

    def abandon(self, lane: str) -> None:
        """Answer the open calls of a subagent that has failed as interrupted."""
        for live in self._said:
            if subagent_of(live.record.speaker) == lane:
                if live in self._open:
                    self.finish(live)
                self._interrupt(live)

    def _interrupt(self, live: StreamingMessage, but: Collection[str] = ()) -> None:
        for item in live.record.items:
            if item.kind == "call" and item.id not in self._answered and item.name not in but:
                self._tool(interrupted(item.id, item.name), f"{item.id}:interrupted", live.record.speaker)

    def close(self, lane: str | None = None) -> None:
        """Close what a subagent has left open, or (None) everything that is."""
        for live in list(self._open):
            if lane is None or visible_subagent_of(live.record.speaker) == lane:
                self.finish(live)

    def settled(self, messages: Iterable[Message]) -> list[Message]:
        """`messages` without what is open: that is said to a reader who joins by `reopen`."""
        open_ = {one for live in self._said for one in live.unsettled(self._answered)}
        result: list[Message] = []
        for message in messages:
            if ("reasoning", message.id) in open_:
                continue
            if isinstance(message, AssistantMessage):
                calls = [call for call in message.tool_calls or () if ("call", call.id) not in open_]
                content = None if ("text", message.id) in open_ else message.content
                if content is None and not calls and (message.content is not None or message.tool_calls):
                    continue
                message = message.model_copy(update={"content": content, "tool_calls": calls or None})
            result.append(message)
        return result

    def reopen(self, sink: Sink) -> None:
        """Say to one more reader what is open."""
        for live in self._said:
            live.reopen(sink, self._answered)

    def rewrite(self) -> None:
        """Tell what is open to those who read now."""
        for live in self._open:
            live.rewrite()

    def pending(self) -> list[str]:
        """The calls of this run without a result in it, in order (AG-UI 1.0, `pendingToolCallIds`)."""
        said = {item.id for live in self._said for item in live.record.items if item.kind == "call"}
        return self.conversation.in_order(said - self._answered)
