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

from langgraph_agui.messages.assistant_turn import AssistantTurn, Block, with_public_ids
from langgraph_agui.messages.blocks import BlockDelta, BlockKind, continuation_text, read_blocks
from langgraph_agui.messages.conversation import Conversation
from langgraph_agui.messages.encrypted_values import (
    AGENT,
    EncryptedValueCodec,
    MessageSource,
)
from langgraph_agui.messages.to_agui import agui_role, tool_message, user_message
from langgraph_agui.messages.tool_calls import interrupted
from langgraph_agui.messages.user_tool_content import text_of
from langgraph_agui.translate.call_ids import CallIds
from langgraph_agui.translate.event_sinks import Sink, Writer
from langgraph_agui.translate.subagents import subagent_sink

PIECE = 1_000_000
"""Characters of one delta, at the most: clients refuse an event of more than 10 Mi (AG-UI 1.0, HTTP binding)."""


class StreamingMessage:
    """One assistant message while it is emitted; one that is not `streamed` arrived in one piece.

    Args:
        turn: The message as a document. This grows it.
        conversation: What the client holds.
        sink: Takes the events.
        public_call: Gives the id that the client knows a call by, from the id that the model gave it.
        streamed: Whether the message arrives in pieces. Only then is the time of its reasoning known.
    """

    def __init__(
        self,
        turn: AssistantTurn,
        conversation: Conversation,
        sink: Sink,
        public_call: Callable[[str], str],
        *,
        streamed: bool,
    ) -> None:
        self.turn = turn
        self._streamed = streamed
        self._conversation = conversation
        self._public_call = public_call
        self._sink = subagent_sink(sink, turn.source.visible_id)
        self._writers: dict[Block, Writer] = {}
        self._started: dict[Block, float] = {}
        self._current: Block | None = None
        self._write: Writer = str
        self.message: AIMessage | None = None
        self._name: str | None = None

    def add_chunk(self, chunk: BaseMessage) -> None:
        """Emit what a chunk of the message adds. The hot path."""
        block = self._current
        if block is None or (text := continuation_text(chunk, block.kind, block.key)) is None:
            self.feed(read_blocks(chunk))
        elif text and (visible := block.grow(text)):
            self._write(visible)

    def feed(self, deltas: Iterable[BlockDelta]) -> None:
        """Emit `deltas`: open the blocks that they begin, close those that they end."""
        self._feed(self.turn.split(with_public_ids(deltas, self._public_call)))

    def _feed(self, deltas: Iterable[BlockDelta]) -> None:
        for delta in deltas:
            known = len(self.turn.blocks)
            block = self.turn.block(delta)
            text = block.grow(delta.text) if delta.text else ""
            if block not in self._writers:
                if block.kind == "call" and not (block.name and block.provider_id):
                    continue
                if block.kind != "call" and not text and known == len(self.turn.blocks):
                    continue  # what a late chunk adds without words goes into the opaque values
                self._open(block)
                text = block.text if block.kind == "call" else text
            # A splitter must see every text, so its messages do not take the short way.
            self._current = block if self.turn.splitter is None else None
            self._write = self._writers[block]
            self._emit(block, text)

    def _emit(self, block: Block, text: str) -> None:
        for start in range(0, len(text), PIECE):
            self._writers[block](text[start : start + PIECE])

    def _open(self, block: Block) -> None:
        for other in list(self._writers):
            if other.kind != "call":
                self._close(other)
        self._conversation.begin(self.turn, block)
        self._writers[block] = self._sink.writer(block.kind, block.id)
        if self._streamed and block.kind == "reasoning":
            self._started[block] = monotonic()
        self._begin(block, self._sink.event)

    def _begin(self, block: Block, emit: Callable[[BaseEvent], object]) -> None:
        match block.kind:
            case "text":
                emit(TextMessageStartEvent(message_id=block.id, role="assistant"))
            case "reasoning":
                emit(ReasoningStartEvent(message_id=block.id))
                emit(ReasoningMessageStartEvent(message_id=block.id, role="reasoning", metadata=block.metadata))
            case "call":
                emit(
                    ToolCallStartEvent(
                        tool_call_id=block.id,
                        tool_call_name=block.name or "",
                        parent_message_id=self.turn.message_id,
                    )
                )

    def reopen(self, sink: Sink, answered: Collection[str]) -> None:
        """Emit to one more reader what is open: blocks, and calls without a result."""
        sink = subagent_sink(sink, self.turn.source.visible_id)
        for block in self.turn.blocks:
            if block in self._writers or self._waits(block, answered):
                self._begin(block, sink.event)
                if block.text:
                    sink.writer(block.kind, block.id)(block.text)
                if block not in self._writers:
                    sink.event(ToolCallEndEvent(tool_call_id=block.id))
                    self._emit_call_value(block, sink.event)

    def _waits(self, block: Block, answered: Collection[str]) -> bool:
        return block.kind == "call" and self._conversation.knows_call(block.id) and block.id not in answered

    def unsettled(self, answered: Collection[str]) -> set[tuple[BlockKind, str]]:
        """Return kind and id of the blocks that `reopen` emits: a snapshot must leave them out."""
        return {
            (block.kind, block.id)
            for block in self.turn.blocks
            if block in self._writers or self._waits(block, answered)
        }

    def renew_writers(self) -> None:
        """Let the open blocks go to those who read now."""
        for block in self._writers:
            self._writers[block] = self._sink.writer(block.kind, block.id)
        if self._current is not None:
            self._write = self._writers[self._current]

    def _close(self, block: Block) -> None:
        if block.kind == "call" and not block.text:
            self._emit(
                block, block.grow("{}")
            )  # a call without arguments: some models send nothing, clients parse JSON
        del self._writers[block]
        if block is self._current:
            self._current = None
        emit = self._sink.event
        match block.kind:
            case "text":
                emit(TextMessageEndEvent(message_id=block.id))
            case "reasoning":
                emit(ReasoningMessageEndEvent(message_id=block.id, metadata=self._duration(block)))
                emit(ReasoningEndEvent(message_id=block.id))
            case "call":
                emit(ToolCallEndEvent(tool_call_id=block.id))

    def _duration(self, block: Block) -> dict[str, object] | None:
        """Add to the metadata of reasoning how long it took, and return what was added."""
        started = self._started.pop(block, None)
        if block.metadata is None or started is None:
            return None
        added: dict[str, object] = {"durationMs": round((monotonic() - started) * 1000)}
        block.metadata.update(added)
        return added

    def close(self) -> None:
        """Close every open block. A call whose name or id never came is emitted with what is known."""
        self._feed(self.turn.flush())
        for block in self.turn.blocks:
            rest = block.end()
            if block.kind == "call" and not self._conversation.knows_call(block.id):
                rest = block.text
            elif not rest and block not in self._writers:
                continue
            if block not in self._writers:
                self._open(block)
            self._emit(block, rest)
            self._close(block)

    def emit_values(self, message: AIMessage) -> None:
        """Emit the opaque values of the finished message, each for the message or call that it belongs to."""
        self.message, self._name = message, message.name
        for block, value in self.turn.encode_values(message):
            entity = block.id if block is not None else self.turn.message_id
            if block is None and entity not in self._conversation.ids:
                self._conversation.begin_assistant(self.turn)
                self._sink.event(TextMessageStartEvent(message_id=entity, role="assistant"))
                self._sink.event(TextMessageEndEvent(message_id=entity))
            if block is not None and block.kind == "call":
                self._emit_call_value(block, self._sink.event)
            else:
                event = ReasoningEncryptedValueEvent(subtype="message", entity_id=entity, encrypted_value=value)
                self._sink.event(event)

    def _emit_call_value(self, call: Block, emit: Callable[[BaseEvent], object]) -> None:
        if (value := call.encrypted) is not None:
            emit(ReasoningEncryptedValueEvent(subtype="tool-call", entity_id=call.id, encrypted_value=value))

    def stored(self, message: AIMessage) -> None:
        """Take the message as its node has returned it: what the node has made of it goes back to the provider."""
        if self.message is not None and (message is not self.message or message.name != self._name):
            self.emit_values(message)


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
        source: MessageSource = AGENT,
        streamed: bool = True,
    ) -> StreamingMessage:
        """Begin an assistant message. `message_id` must be new to the conversation."""
        turn = AssistantTurn(
            message_id,
            self.conversation.ids,
            self._values,
            provider=provider,
            model=model,
            source=source,
        )
        public_call = partial(self.call_ids.announce, source.subagent_run_id)
        live = StreamingMessage(turn, self.conversation, self._sink, public_call, streamed=streamed)
        self._open.append(live)
        self._said.append(live)
        self._live[turn] = live
        return live

    def finish(self, live: StreamingMessage, message: BaseMessage | None = None) -> None:
        """End a message: close its items and, if it has come to its end, send its opaque values."""
        live.close()
        self._open.remove(live)
        if isinstance(message, AIMessage):
            live.emit_values(message)

    def fail(self, live: StreamingMessage) -> None:
        """End a message whose model failed: what was said stays, what was signed is not replayed."""
        self.finish(live)
        self._failed.append(live)

    def whole(self, message: BaseMessage, message_id: str, source: MessageSource = AGENT) -> None:
        """Say a message that arrives in one piece."""
        match agui_role(message):
            case "assistant":
                told = message.response_metadata
                provider, model = told.get("model_provider"), told.get("model_name")
                live = self.begin(message_id, provider, model, source=source, streamed=False)
                live.feed(read_blocks(message, whole=True))
                self.finish(live, message)
            case "tool":
                self._tool(cast("LCToolMessage", message), message_id, source)
            case "user":
                user = user_message(message, message_id, self._values, source)
                sink = subagent_sink(self._sink, source.visible_id)
                sink.event(TextMessageStartEvent(message_id=message_id, role="user", name=user.name))
                if text := text_of(user.content):
                    sink.event(TextMessageContentEvent(message_id=message_id, delta=text))
                sink.event(TextMessageEndEvent(message_id=message_id))
                self.conversation.add(user, source)
                self._value(user)

    def _tool(self, message: LCToolMessage, message_id: str, source: MessageSource) -> None:
        call_id = self.call_ids.of(source.subagent_run_id, message.tool_call_id)
        name = self.conversation.call_name(call_id)
        self._result(tool_message(message, message_id, self._values, name, source, call_id), source)

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

    def _result(self, result: ToolMessage, source: MessageSource) -> None:
        call_id = result.tool_call_id
        if call_id in self.conversation.answered or not self.conversation.holds_call(call_id):
            return  # a hidden call's result is hidden, one that the client lacks comes with it, and none is told twice
        self._answered.add(call_id)
        self.conversation.answer(result, source)
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

    def stored(self, turn: AssistantTurn, message: BaseMessage) -> None:
        """Take a message of this run as its node has returned it."""
        if isinstance(message, AIMessage):
            self._live[turn].stored(message)

    def of_thread(self, message: BaseMessage, message_id: str) -> None:
        """Note that what a subagent said in this run is in the agent's own history, too."""
        source, held = self.conversation.claim(message_id), self.conversation.held(message_id)
        if isinstance(held, AssistantTurn):
            held.source = source
            if isinstance(message, AIMessage):
                self._live[held].emit_values(message)
        elif isinstance(held, ToolMessage):
            name = self.conversation.call_name(held.tool_call_id)
            result = cast("LCToolMessage", message)
            kept = tool_message(result, message_id, self._values, name, source, held.tool_call_id)
            self.conversation.replace(kept)
            self._value(kept)
        elif isinstance(held, UserMessage):
            said = user_message(message, message_id, self._values, source)
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
            elif live.turn.source.subagent_run_id in ended:
                self._interrupt(live, theirs)

    def abandon(self, lane: str) -> None:
        """Answer the open calls of a subagent that has failed as interrupted."""
        for live in self._said:
            if live.turn.source.subagent_run_id == lane:
                if live in self._open:
                    self.finish(live)
                self._interrupt(live)

    def _interrupt(self, live: StreamingMessage, but: Collection[str] = ()) -> None:
        for item in live.turn.blocks:
            if item.kind == "call" and item.id not in self._answered and item.name not in but:
                self._tool(interrupted(item.id, item.name), f"{item.id}:interrupted", live.turn.source)

    def close(self, lane: str | None = None) -> None:
        """Close what a subagent has left open, or (None) everything that is."""
        for live in list(self._open):
            if lane is None or live.turn.source.visible_id == lane:
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
            live.renew_writers()

    def pending(self) -> list[str]:
        """The calls of this run without a result in it, in order (AG-UI 1.0, `pendingToolCallIds`)."""
        said = {item.id for live in self._said for item in live.turn.blocks if item.kind == "call"}
        return self.conversation.in_order(said - self._answered)
