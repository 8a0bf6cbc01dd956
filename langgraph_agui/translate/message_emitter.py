"""Emits messages: the one place that makes TEXT_MESSAGE_*, REASONING_* and TOOL_CALL_* events.

The chunks of a model's message enter `StreamingMessage.receive_chunk`; whole messages and tool results enter
`MessageEmitter`. Events leave through the sink, and the `Conversation` keeps what was emitted. The rules are those of
AG-UI 1.0 (text messages, reasoning, tool calls): reasoning closes before text or a call opens, a call belongs to its
assistant message, an encrypted value follows the message or call that it belongs to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from time import monotonic
from typing import Literal, cast

from ag_ui import core as agui
from ag_ui.core import Message
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_agui.messages.assistant_turn import AssistantTurn, Block
from langgraph_agui.messages.blocks import BlockDelta, BlockKind, continuation_text, read_blocks
from langgraph_agui.messages.conversation import Conversation
from langgraph_agui.messages.encrypted_values import AGENT, EncryptedValueCodec, MessageSource
from langgraph_agui.messages.to_agui import agui_role, interrupted, text_of, tool_message, user_message
from langgraph_agui.translate.event_sinks import Sink, Writer
from langgraph_agui.translate.subagents import PublicCallIds, subagent_sink

# The most characters in one delta: clients refuse an event of more than 10 Mi (AG-UI 1.0, HTTP binding).
PIECE = 1_000_000


class StreamingMessage:
    """One assistant message while it is emitted; one that is not `streamed` arrived in one piece.

    Args:
        turn: The message as a document. This class grows it.
        conversation: What the client holds.
        sink: Receives the events.
        streamed: Whether the message arrives in pieces. Only then is the time of its reasoning known.

    Attributes:
        is_open: Whether more may come.
        failed: Whether the model call failed.
    """

    def __init__(self, turn: AssistantTurn, conversation: Conversation, sink: Sink, *, streamed: bool) -> None:
        self.turn = turn
        self.is_open = True
        self.failed = False
        self._streamed = streamed
        self._conversation = conversation
        self._sink = subagent_sink(sink, turn.source.visible_id)
        self._writers: dict[Block, Writer] = {}
        self._started: dict[Block, float] = {}
        self._current: Block | None = None
        self._write: Writer = str
        self._message: AIMessage | None = None
        self._name: str | None = None

    def receive_chunk(self, chunk: BaseMessage) -> None:
        """Emit what a chunk of the message adds. The hot path."""
        block = self._current
        if block is None or (text := continuation_text(chunk, block.kind, block.key)) is None:
            self.emit_deltas(read_blocks(chunk))
        elif text and (visible := block.grow(text)):
            self._write(visible)

    def emit_deltas(self, deltas: Iterable[BlockDelta]) -> None:
        """Emit `deltas`: open the blocks that they begin, close those that they end."""
        self._emit_split(self.turn.split(deltas))

    def _emit_split(self, deltas: Iterable[BlockDelta]) -> None:
        for delta in deltas:
            known = len(self.turn.blocks)
            block = self.turn.block(delta)
            text = block.grow(delta.text) if delta.text else ""
            if block not in self._writers:
                if block.kind == "call" and not (block.name and block.provider_id):
                    continue
                if block.kind != "call" and not text and known == len(self.turn.blocks):
                    continue  # what a late chunk adds without words goes into the encrypted values
                self._open(block)
                text = block.text if block.kind == "call" else text
            # A splitter must see every text, so its messages do not take the short way.
            self._current = block if self.turn.splitter is None else None
            self._write = self._writers[block]
            self._write_text(block, text)

    def _write_text(self, block: Block, text: str) -> None:
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
        self._emit_start(block, self._sink)

    def _emit_start(self, block: Block, sink: Sink) -> None:
        match block.kind:
            case "text":
                sink.event(agui.TextMessageStartEvent(message_id=block.id, role="assistant"))
            case "reasoning":
                sink.event(agui.ReasoningStartEvent(message_id=block.id))
                metadata = block.metadata
                sink.event(agui.ReasoningMessageStartEvent(message_id=block.id, role="reasoning", metadata=metadata))
            case "call":
                name, turn_id = block.name or "", self.turn.message_id
                sink.event(
                    agui.ToolCallStartEvent(tool_call_id=block.id, tool_call_name=name, parent_message_id=turn_id)
                )

    def _close(self, block: Block) -> None:
        if block.kind == "call" and not block.text:  # some models send no arguments at all, clients parse JSON
            self._write_text(block, block.grow("{}"))
        del self._writers[block]
        if block is self._current:
            self._current = None
        match block.kind:
            case "text":
                self._sink.event(agui.TextMessageEndEvent(message_id=block.id))
            case "reasoning":
                self._sink.event(agui.ReasoningMessageEndEvent(message_id=block.id, metadata=self._duration(block)))
                self._sink.event(agui.ReasoningEndEvent(message_id=block.id))
            case "call":
                self._sink.event(agui.ToolCallEndEvent(tool_call_id=block.id))

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
        self._emit_split(self.turn.flush())
        for block in self.turn.blocks:
            rest = block.end()
            if block.kind == "call" and block.id not in self._conversation.call_names:
                rest = block.text
            elif not rest and block not in self._writers:
                continue
            if block not in self._writers:
                self._open(block)
            self._write_text(block, rest)
            self._close(block)
        self.is_open = False

    def emit_values(self, message: AIMessage) -> None:
        """Emit the encrypted values of the finished message, each for the message or call that it belongs to."""
        self._message, self._name = message, message.name
        for block, value in self.turn.encode_values(message):
            entity = block.id if block is not None else self.turn.message_id
            if block is None and entity not in self._conversation.ids:
                self._conversation.begin_assistant(self.turn)
                self._sink.event(agui.TextMessageStartEvent(message_id=entity, role="assistant"))
                self._sink.event(agui.TextMessageEndEvent(message_id=entity))
            _emit_value(entity, value, self._sink, is_call=block is not None and block.kind == "call")

    def update(self, message: AIMessage) -> None:
        """Take the message as its node has returned it: the provider gets back what the node has made of it."""
        if self._message is not None and (message is not self._message or message.name != self._name):
            self.emit_values(message)

    # -- readers that join ------------------------------------------------------------------------------------------

    def unfinished(self, answered: Collection[str]) -> set[tuple[BlockKind, str]]:
        """Return kind and id of the open blocks and of the calls without a result. A snapshot must leave them out."""
        return {(block.kind, block.id) for block in self.turn.blocks if self._is_unfinished(block, answered)}

    def _is_unfinished(self, block: Block, answered: Collection[str]) -> bool:
        if block in self._writers:
            return True
        return block.kind == "call" and block.id in self._conversation.call_names and block.id not in answered

    def replay(self, sink: Sink, answered: Collection[str]) -> None:
        """Emit the unfinished blocks to a new reader, from their beginning."""
        sink = subagent_sink(sink, self.turn.source.visible_id)
        for block in self.turn.blocks:
            if self._is_unfinished(block, answered):
                self._emit_start(block, sink)
                if block.text:
                    sink.writer(block.kind, block.id)(block.text)
                if block not in self._writers:
                    sink.event(agui.ToolCallEndEvent(tool_call_id=block.id))
                    _emit_value(block.id, block.encrypted, sink, is_call=True)

    def refresh_writers(self) -> None:
        """Make the open blocks write to the present readers."""
        for block in self._writers:
            self._writers[block] = self._sink.writer(block.kind, block.id)
        if self._current is not None:
            self._write = self._writers[self._current]


class MessageEmitter:
    """Emits the messages of one run: streamed ones, whole ones and the results of tools.

    Args:
        conversation: What the client holds.
        call_ids: The client's ids of tool calls.
        sink: Receives the events.
        codec: Encodes the encrypted values.
    """

    def __init__(
        self, conversation: Conversation, call_ids: PublicCallIds, sink: Sink, codec: EncryptedValueCodec
    ) -> None:
        self._conversation = conversation
        self._call_ids = call_ids
        self._sink = sink
        self._codec = codec
        self._messages: dict[AssistantTurn, StreamingMessage] = {}
        self._answered: set[str] = set()

    def open(
        self,
        message_id: str,
        provider: str | None = None,
        model: str | None = None,
        *,
        source: MessageSource = AGENT,
        streamed: bool = True,
    ) -> StreamingMessage:
        """Open an assistant message. `message_id` must be new to the conversation."""
        ids = self._conversation.ids
        public_call = partial(self._call_ids.assign, source.subagent_run_id)
        turn = AssistantTurn(
            message_id, ids, self._codec, provider=provider, model=model, source=source, public_call=public_call
        )
        live = StreamingMessage(turn, self._conversation, self._sink, streamed=streamed)
        self._messages[turn] = live
        return live

    def emit_whole(self, message: BaseMessage, message_id: str, source: MessageSource = AGENT) -> None:
        """Emit a message that arrives in one piece."""
        match agui_role(message):
            case "assistant":
                metadata = message.response_metadata
                provider, model = metadata.get("model_provider"), metadata.get("model_name")
                live = self.open(message_id, provider, model, source=source, streamed=False)
                live.emit_deltas(read_blocks(message, whole=True))
                live.close()
                if isinstance(message, AIMessage):
                    live.emit_values(message)
            case "tool":
                self._emit_result(cast("ToolMessage", message), message_id, source)
            case "user":
                user = user_message(message, message_id, self._codec, source)
                sink = subagent_sink(self._sink, source.visible_id)
                sink.event(agui.TextMessageStartEvent(message_id=message_id, role="user", name=user.name))
                if text := text_of(user.content):
                    sink.event(agui.TextMessageContentEvent(message_id=message_id, delta=text))
                sink.event(agui.TextMessageEndEvent(message_id=message_id))
                self._conversation.add(user, source)
                _emit_value(message_id, user.encrypted_value, sink)

    def _emit_result(self, message: ToolMessage, message_id: str, source: MessageSource) -> None:
        call_id = self._call_ids.find(source.subagent_run_id, message.tool_call_id)
        if call_id in self._conversation.answered or call_id not in self._conversation.holders:
            return  # the client has a result, or the call is hidden; a call that the client lacks comes with its result
        name = self._conversation.call_names.get(call_id)
        result = tool_message(message, message_id, self._codec, name, source, call_id)
        self._answered.add(call_id)
        self._conversation.answer(result, source)
        event = agui.ToolCallResultEvent(
            message_id=result.id,
            tool_call_id=call_id,
            content=result.content,
            role="tool",
            metadata=result.metadata,
            subagent_run_id=result.subagent_run_id,
        )
        self._sink.event(event)
        _emit_value(result.id, result.encrypted_value, subagent_sink(self._sink, source.visible_id))

    @property
    def is_open(self) -> bool:
        """Whether a message is open, so that a snapshot would hold a part of it."""
        return any(live.is_open for live in self._messages.values())

    def has_failed(self, turn: AssistantTurn) -> bool:
        """Return whether the model call of a message of this run has failed."""
        return self._messages[turn].failed

    def withdraw(self, turn: AssistantTurn) -> None:
        """Take back a message of this run. Its open calls get a result first: clients count calls, not messages."""
        live = self._messages[turn]
        if live.is_open:
            live.close()
        self._interrupt(live)
        del self._messages[turn]
        self._call_ids.withdraw(self._conversation.withdraw(turn))

    def update(self, turn: AssistantTurn, message: BaseMessage) -> None:
        """Take a message of this run as its node has returned it."""
        if isinstance(message, AIMessage):
            self._messages[turn].update(message)

    def mark_in_thread(self, message: BaseMessage, message_id: str) -> None:
        """Note that the main agent's own history holds a message that a subagent sent in this run."""
        source, held = self._conversation.claim(message_id), self._conversation.find(message_id)
        if isinstance(held, AssistantTurn):
            held.source = source
            if isinstance(message, AIMessage):
                self._messages[held].emit_values(message)
            return
        kept: agui.ToolMessage | agui.UserMessage
        if isinstance(held, agui.ToolMessage):
            name, result = self._conversation.call_names.get(held.tool_call_id), cast("ToolMessage", message)
            kept = tool_message(result, message_id, self._codec, name, source, held.tool_call_id)
        else:
            kept = user_message(message, message_id, self._codec, source)
        self._conversation.replace(kept)
        _emit_value(kept.id, kept.encrypted_value, subagent_sink(self._sink, source.visible_id))

    # -- the end ------------------------------------------------------------------------------------------------------

    def interrupt_calls(self, ended: Collection[str], client_tools: Collection[str]) -> None:
        """Answer calls that nobody will answer as interrupted: the run has continued without them.

        Args:
            ended: The subagents that have ended, or have handed over.
            client_tools: The client's tools; it answers their calls itself.
        """
        for live in self._messages.values():
            if live.failed:
                self._interrupt(live)
            elif live.turn.source.subagent_run_id in ended:
                self._interrupt(live, client_tools)

    def abandon(self, subagent_run_id: str) -> None:
        """Close the messages of a subagent that has failed, and answer its open calls as interrupted."""
        for live in self._messages.values():
            if live.turn.source.subagent_run_id == subagent_run_id:
                if live.is_open:
                    live.close()
                self._interrupt(live)

    def _interrupt(self, live: StreamingMessage, excluded: Collection[str] = ()) -> None:
        for block in live.turn.blocks:
            if block.kind == "call" and block.id not in self._answered and block.name not in excluded:
                result = interrupted(block.id, block.name)
                self._emit_result(result, f"{block.id}:interrupted", live.turn.source)

    def close(self, subagent_run_id: str | None = None) -> None:
        """Close the open messages of a subagent, or (None) all that are open."""
        for live in self._messages.values():
            if live.is_open and subagent_run_id in (None, live.turn.source.visible_id):
                live.close()

    def pending_calls(self) -> list[str]:
        """Return the calls of this run without a result, in order (AG-UI 1.0, `pendingToolCallIds`)."""
        blocks = (block for live in self._messages.values() for block in live.turn.blocks)
        calls = {block.id for block in blocks if block.kind == "call"}
        return self._conversation.in_order(calls - self._answered)

    # -- readers that join ------------------------------------------------------------------------------------------

    def without_unfinished(self, messages: Iterable[Message]) -> list[Message]:
        """Return `messages` without what is unfinished, which `replay` emits."""
        unfinished = {block for live in self._messages.values() for block in live.unfinished(self._answered)}
        result: list[Message] = []
        for message in messages:
            if ("reasoning", message.id) in unfinished:
                continue
            if isinstance(message, agui.AssistantMessage):
                calls = [call for call in message.tool_calls or () if ("call", call.id) not in unfinished]
                content = None if ("text", message.id) in unfinished else message.content
                if content is None and not calls and (message.content is not None or message.tool_calls):
                    continue
                message = message.model_copy(update={"content": content, "tool_calls": calls or None})
            result.append(message)
        return result

    def replay(self, sink: Sink) -> None:
        """Emit what is unfinished to a new reader."""
        for live in self._messages.values():
            live.replay(sink, self._answered)

    def refresh_writers(self) -> None:
        """Make what is open write to the present readers."""
        for live in self._messages.values():
            live.refresh_writers()


def _emit_value(entity_id: str, value: str | None, sink: Sink, *, is_call: bool = False) -> None:
    if value is not None:
        kind: Literal["tool-call", "message"] = "tool-call" if is_call else "message"
        sink.event(agui.ReasoningEncryptedValueEvent(subtype=kind, entity_id=entity_id, encrypted_value=value))
