"""One assistant message while it is emitted: makes its TEXT_MESSAGE_*, REASONING_* and TOOL_CALL_*
events.

The blocks of a message enter `StreamingMessage.emit_deltas`; text that only continues the
`current` one enters `fragment`. Events leave through the sink. The rules are those of AG-UI 1.0
(text messages, reasoning, tool calls): reasoning closes before text or a call opens, a call belongs
to its assistant message, the encrypted value follows when the message is complete.
"""

from collections.abc import Iterable
from time import monotonic

from ag_ui import core as agui
from langchain_core.messages import AIMessage, BaseMessage

from langgraph_agui.messages.assistant_turn import AssistantTurn, Block
from langgraph_agui.messages.blocks import CALLS, BlockDelta
from langgraph_agui.messages.citations import CITATIONS
from langgraph_agui.messages.conversation import Conversation, Record
from langgraph_agui.messages.encrypted_values import MessageSource
from langgraph_agui.messages.made import activity_event, emptied
from langgraph_agui.readers.sinks import Sink
from langgraph_agui.translate.subagents import subagent_sink


class StreamingMessage(Record):
    """The record of an assistant message that this run emits.

    Args:
        message_id: The client's id of the message.
        source: Which agent writes it.
        conversation: The client's messages.
        sink: Receives the events.
        streamed: Whether the message arrives in pieces. If not, it is here in one piece, and
            nobody knows how long its reasoning took.

    Attributes:
        turn: The message as a document, which this class grows. The maker of the record sets it.
        is_open: Whether more may come.
        failed: Whether its model has failed, or was stopped.
        current: The open block that the next chunk continues, as a rule.
        fragment: Emits more of an open block.
    """

    turn: AssistantTurn

    def __init__(
        self,
        message_id: str,
        source: MessageSource,
        conversation: Conversation,
        sink: Sink,
        *,
        streamed: bool,
    ) -> None:
        super().__init__(message_id, source=source)
        self.is_open = True
        self.failed = False
        self._streamed = streamed
        self._conversation = conversation
        self._sink = subagent_sink(sink, source.visible_id)
        self._open_blocks: list[Block] = []
        self._begun: set[Block] = set()
        self._started: dict[Block, float] = {}
        self.current: Block | None = None
        self.fragment = self._sink.fragment
        self._name: str | None = None

    def emit_deltas(self, deltas: Iterable[BlockDelta]) -> None:
        """Emit `deltas`: open the blocks that they begin, close those that they end."""
        self._emit_split(self.turn.split(deltas))

    def _emit_split(self, deltas: Iterable[BlockDelta]) -> None:
        for delta in deltas:
            known = len(self.turn.blocks)
            block = self.turn.block(delta)
            text = block.grow(delta.text) if delta.text else ""
            if block.kind == "server_result":
                for call in [one for one in self._open_blocks if one.id == block.key]:
                    self._close(call)
                continue
            if block not in self._open_blocks:
                if block.kind == "call" and not (block.name and block.provider_id):
                    continue
                if block.kind not in CALLS and not text and known == len(self.turn.blocks):
                    continue  # additions of a late chunk without words go into the encrypted values
                self._open(block)
                text = block.text if block.kind in CALLS else text
            self.current = block if self.turn.takes_fragments else None
            if text:
                self.fragment(block, text)

    def _open(self, block: Block) -> None:
        for other in [*self._open_blocks]:
            if other.kind not in CALLS:
                self._close(other)
        self._conversation.begin(self, block)
        self._begun.add(block)
        self._open_blocks.append(block)
        if self._streamed and block.kind == "reasoning":
            self._started[block] = monotonic()
        sink = self._sink
        match block.kind:
            case "text":
                sink.event(agui.TextMessageStartEvent(message_id=block.id, role="assistant"))
            case "reasoning":
                sink.event(agui.ReasoningStartEvent(message_id=block.id))
                metadata = block.metadata
                sink.event(
                    agui.ReasoningMessageStartEvent(
                        message_id=block.id, role="reasoning", metadata=metadata
                    )
                )
            case "call" | "server_call":
                sink.event(
                    agui.ToolCallStartEvent(
                        tool_call_id=block.id,
                        tool_call_name=block.name or "",
                        parent_message_id=self.turn.message_id,
                        metadata=block.metadata,
                    )
                )
        self.fragment = sink.fragment

    def _close(self, block: Block) -> None:
        # some models send no arguments at all, clients parse JSON
        if block.kind in CALLS and not block.text:
            self.fragment(block, block.grow("{}"))
        self._open_blocks.remove(block)
        if block is self.current:
            self.current = None
        match block.kind:
            case "text":
                self._sink.event(agui.TextMessageEndEvent(message_id=block.id))
            case "reasoning":
                self._sink.event(
                    agui.ReasoningMessageEndEvent(
                        message_id=block.id, metadata=self._duration(block)
                    )
                )
                self._sink.event(agui.ReasoningEndEvent(message_id=block.id))
            case "call" | "server_call":
                self._sink.event(agui.ToolCallEndEvent(tool_call_id=block.id))

    def _duration(self, block: Block) -> dict[str, object] | None:
        """Add to the metadata of reasoning how long it took, and return what was added."""
        started = self._started.pop(block, None)
        if block.metadata is None or started is None:
            return None
        added: dict[str, object] = {"durationMs": round((monotonic() - started) * 1000)}
        block.metadata.update(added)
        return added

    def close(self, message: BaseMessage | None) -> None:
        """Close every open block. A call whose name or id never came is emitted with what is
        known.

        Args:
            message: The finished message; None if its model has failed or was stopped.
        """
        self._emit_split(self.turn.flush(message))
        for block in self.turn.blocks:
            rest = block.end()
            if block.kind == "server_result":
                continue
            if block.kind == "call" and block not in self._begun:
                rest = block.text
            elif not rest and block not in self._open_blocks:
                continue
            if block not in self._open_blocks:
                self._open(block)
            if rest:
                self.fragment(block, rest)
            self._close(block)
        self.is_open, self.failed = False, message is None

    def finish(self, message: AIMessage) -> None:
        """Emit what stands behind the blocks of the finished message, if it is new: citations, the
        encrypted value, the results of the server's calls, media.
        """
        self.message, self._name = message, message.name
        turn = self.turn
        encrypted, citations, media = turn.encrypted, turn.citations, turn.media
        turn.finish(message)
        is_new = turn.encrypted != encrypted
        # No text follows results: the snapshot has citations that a node adds later.
        cites = turn.citations != citations and not self.results
        if cites or (is_new and turn.value_holder is None and self.content is None):
            self._conversation.begin_assistant(self)
            metadata = {CITATIONS: turn.citations} if cites else None
            message_id = turn.message_id
            self._sink.event(agui.TextMessageStartEvent(message_id=message_id, role="assistant"))
            self._sink.event(agui.TextMessageEndEvent(message_id=message_id, metadata=metadata))
        if is_new:
            holder = turn.value_holder
            emit_value(holder.id if holder else turn.message_id, turn.encrypted, self._sink)
        self.emit_results()
        if turn.media is not None and turn.media != media:
            self._sink.event(activity_event(turn.media))

    def emit_results(self) -> None:
        """Emit the results of the server's calls. They stand behind the whole message, so nothing
        of that may follow.
        """
        for block in self.turn.of_kind("server_result"):
            if block in self._begun:
                continue
            self._begun.add(block)
            self._conversation.begin(self, block)
            self._sink.event(
                agui.ToolCallResultEvent(
                    message_id=block.id,
                    tool_call_id=str(block.key),
                    content=block.text,
                    role="tool",
                    metadata=block.metadata,
                )
            )

    def withdraw_media(self) -> None:
        """Empty the activity with the media of the message: no snapshot removes it."""
        media, self.turn.media = self.turn.media, None
        if media is not None:
            self._sink.event(activity_event(emptied(media)))

    def update(self, message: AIMessage) -> None:
        """Take the message as its node has returned it: the provider gets back what the node has
        made of it.
        """
        if self.message is not None and (message is not self.message or message.name != self._name):
            self.finish(message)

    def rename(self, message_id: str) -> None:
        """Take a better id, unless the client has seen the assistant message: reasoning stands on
        its own.
        """
        if all(block.kind == "reasoning" for block in self.turn.blocks):
            self._conversation.rename(self, message_id)
            self.turn.message_id = message_id


def emit_value(message_id: str, value: str | None, sink: Sink) -> None:
    """Emit the encrypted value of a message, if it has one."""
    if value is not None:
        sink.event(
            agui.ReasoningEncryptedValueEvent(
                subtype="message", entity_id=message_id, encrypted_value=value
            )
        )
