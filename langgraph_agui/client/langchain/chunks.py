"""An AG-UI event stream as the chunks of one LangChain message.

In: the events of a run, one by one. Out: `AIMessageChunk`s in LangChain's standard form (`output_version` v1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import count
from typing import Any, TypeAlias

from ag_ui.core import (
    ActivitySnapshotEvent,
    AssistantMessage,
    Event,
    EventType,
    FunctionCall,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk
from langchain_core.messages.tool import tool_call as make_call

from langgraph_agui.client.langchain.approved import asks_about
from langgraph_agui.client.langchain.blocks import Block, call_details, chunk_of, readable, say
from langgraph_agui.client.langchain.history import AGUI
from langgraph_agui.client.langchain.results import Results, open_calls
from langgraph_agui.messages.assistant_turn import Block as TurnBlock
from langgraph_agui.messages.blocks import BlockKind
from langgraph_agui.protocol.chunks import ChunkExpander
from langgraph_agui.protocol.event_order import EventOrder, ItemKind, item_of
from langgraph_agui.protocol.wire import ProtocolError

Key: TypeAlias = tuple[ItemKind, str]
_Growing: TypeAlias = TextMessageContentEvent | ReasoningMessageContentEvent | ToolCallArgsEvent
_Message: TypeAlias = TextMessageStartEvent | ReasoningMessageStartEvent
_Ending: TypeAlias = TextMessageEndEvent | ReasoningMessageEndEvent | ToolCallEndEvent

_KINDS: Mapping[ItemKind, BlockKind] = {"text message": "text", "reasoning message": "reasoning", "tool call": "call"}


class MessageChunks:
    """Makes the chunks of one run of a remote agent.

    The sum of all chunks is one `AIMessage`, however many reasoning and assistant messages the run holds. Its blocks
    stand in the order in which the agent began them: `text` blocks have the id of their assistant message, `reasoning`
    blocks that of their reasoning message, with the agent's encrypted value in `extras`; calls are `tool_call_chunk`
    blocks and `tool_call_chunks`. `additional_kwargs["agui"]` has the rest, so that
    :func:`~langgraph_agui.client.langchain.history.agui_messages_of` finds the AG-UI messages again.

    The `id` of a chunk with text or a call is that of its assistant message. Reasoning stands before the message that
    it leads to, whose id is not known yet: its chunks have no id and belong with the next chunk that has one. The sum
    has the id of the run's first assistant message.

    What may be overwritten (encrypted values, metadata) comes with the last chunk, from `finish`: adding up chunks
    joins strings. What subagents say (`subagentRunId`) is no part of the message, nor is what is said in other roles
    than assistant. State, steps, snapshots and the like give no chunks; a run's end is the caller's to judge.

    The message says what :func:`~langgraph_agui.protocol.fold.fold` holds of the stream if no two messages share an id,
    as AG-UI 1.0 asks of producers. Reasoning and text under one id, which a client would join, stay apart here.

    Args:
        tools: The names of the tools that the caller runs. Calls of any other tool are the agent's own affair: they
            become `server_tool_call_chunk` blocks instead of tool calls. Results become `server_tool_result` blocks; a
            call of the caller's that the agent answers after all (it has a tool of the same name, or a limit that the
            call exceeds) ends among `invalid_tool_calls`, so that it is not run twice; so does one that the run's
            outcome asks about, so that it is not run before there is an answer. None: every call is a tool call, and
            results give no chunks.
        history: The messages that the agent was sent: what it adds to one of another role, or of a subagent, gives no
            chunks, nor do the agent's own calls that are open in them if it announces them again; the results of calls
            among them do, if they come only now. An open call of the caller's is a tool call once more, under another
            id, but no part of what :func:`~langgraph_agui.client.langchain.history.agui_messages_of` finds.

    Arguments that are nested too deeply to be parsed are cut off, and the call is not the caller's to run.
    """

    def __init__(self, tools: Collection[str] | None = None, history: Iterable[Message] = ()) -> None:
        self._tools = tools
        self._expander = ChunkExpander()
        self._sequence = EventOrder()
        self._indices = count()
        self._blocks: dict[Key, Block] = {}
        self._messages: dict[str, dict[str, Any]] = {}
        """The assistant messages, each with its details."""
        self._others: set[Key] = set()
        """Items that are no part of the message: those of subagents, and messages in other roles."""
        self._subagents: set[str] = set()
        """The assistant messages of subagents."""
        self._open: set[str] = set()
        """The caller's calls that the history has left open."""
        self._results = Results()
        self._recall(list(history))

    def feed(self, event: Event) -> list[AIMessageChunk]:
        """Return the chunks of the next event; a `*_CHUNK` event stands for what it expands to.

        `RUN_STARTED` may be left out. Raises :class:`~langgraph_agui.protocol.wire.ProtocolError` for an event that
        the reference client would refuse at this point, with the code that
        :class:`~langgraph_agui.protocol.verify.Verifier` has for it. An encrypted value of something that nobody has
        named is no error (AG-UI 1.0, reasoning): it gives no chunk.
        """
        if self._sequence.status == "empty" and event.type not in (EventType.RUN_STARTED, EventType.RUN_ERROR):
            self._sequence.feed(RunStartedEvent(thread_id="", run_id=""))
        chunks: list[AIMessageChunk] = []
        for item in self._expander.feed(event):
            self._sequence.feed(item)
            if (chunk := self._take(item)) is not None:
                chunks.append(chunk)
        return chunks

    def finish(self) -> list[AIMessageChunk]:
        """Return what completes the message; to be called once, after the last event.

        The very last chunk has `chunk_position="last"` and tells encrypted values, metadata and names. Raises
        :class:`~langgraph_agui.protocol.wire.ProtocolError` (`open-text-messages`, `open-tool-calls`, ...) if
        something is still open, unless the run ended with `RUN_ERROR`.
        """
        if self._sequence.status == "active":
            self._close()
        blocks = self._blocks.values()
        rests = [say(block, rest) for block in blocks if (rest := block.item.end()) and not block.is_spoilt]
        calls = {block.item.id: call_details(block) for block in blocks if block.item.kind == "call"}
        spoken = {key: value for key, value in self._messages.items() if value}
        told = {"messages": spoken, "calls": calls, "results": self._results.details}
        extras: list[str | dict[Any, Any]] = [
            {"type": block.type, "index": block.index, "extras": block.details}
            for block in blocks
            if block.item.kind == "reasoning" and block.details
        ]
        kwargs = {AGUI: {key: value for key, value in told.items() if value}} if any(told.values()) else {}
        return [*rests, chunk_of(None, extras, additional_kwargs=kwargs, chunk_position="last")]

    @property
    def leaves_calls(self) -> bool:
        """Whether there are calls for the caller to run."""
        return any(block.type == "tool_call_chunk" and not block.is_spoilt for block in self._blocks.values())

    def again(self, call: ToolCall) -> AIMessageChunk:
        """Return a call of the history, which is over but for this, as the caller's to run."""
        block = self._add(("tool call", call.id), None, call.function.name)
        return say(block, readable(block, block.item.grow(call.function.arguments)), opening=True)

    def said_again(self, call_id: str) -> ToolCall | None:
        """Return a call of the history as the agent has announced it once more; None if it has not."""
        block = self._blocks.get(("tool call", call_id))
        if block is None or "again" not in block.details:
            return None
        return ToolCall(id=call_id, function=FunctionCall(name=block.item.name or "", arguments=block.item.text))

    def withhold(self, call_ids: Iterable[str]) -> AIMessageChunk | None:
        """Return the chunk after which nobody can run these calls; None if nobody could before."""
        content, calls = self._taken_back(call_ids)
        return chunk_of(None, content, tool_call_chunks=calls) if calls else None

    def _close(self) -> None:
        try:
            self.feed(RunFinishedEvent(thread_id="", run_id=""))
        except ProtocolError as error:
            reason = str(error).partition(": ")[2]
            raise ProtocolError(error.code, f"The stream ends too soon: {reason}") from None

    def _take(self, event: Event) -> AIMessageChunk | None:
        match event:
            case TextMessageContentEvent() | ReasoningMessageContentEvent() | ToolCallArgsEvent():
                return self._grow(event)
            case TextMessageStartEvent() | ReasoningMessageStartEvent():
                return self._begin(event)
            case ToolCallStartEvent():
                return self._begin_call(event)
            case TextMessageEndEvent() | ReasoningMessageEndEvent() | ToolCallEndEvent():
                self._merge(event)
            case ToolCallResultEvent():
                return self._result(event)
            case ReasoningEncryptedValueEvent():
                self._encrypt(event)
            case MessagesSnapshotEvent():
                return self._restated(event.messages)
            case RunFinishedEvent(outcome=RunFinishedInterruptOutcome(interrupts=asked)) if self._tools is not None:
                return self.withhold(self._asked(asked))
            case RunStartedEvent() if event.input is not None:
                self._recall(event.input.messages)
            case ActivitySnapshotEvent():
                self._others.add(("text message", event.message_id))
        return None

    def _recall(self, history: Collection[Message]) -> None:
        self._know(history)
        still_open = open_calls(history)
        for message in history:
            if isinstance(message, ToolMessage) and message.tool_call_id not in still_open:
                self._results.know(message)
        self._open = {call.id for call in still_open.values() if call.function.name in (self._tools or ())}
        # Some agents announce a call again once it is approved: the caller has it, and would have it twice.
        self._others.update(("tool call", call) for call in still_open.keys() - self._open)

    def _know(self, messages: Iterable[Message]) -> None:
        for message in messages:
            if not isinstance(message, AssistantMessage):
                self._others.add(("text message", message.id))
                continue
            if message.subagent_run_id is not None:
                self._foreign(message.id)
                continue
            for call in message.tool_calls or () if self._tools is not None else ():
                self._results.expect(call.id)

    def _restated(self, messages: Iterable[Message]) -> AIMessageChunk | None:
        """Take a snapshot: the results in it that were not streamed."""
        messages = list(messages)
        self._know(messages)
        results = [self._results.restate(message) for message in messages if isinstance(message, ToolMessage)]
        return self._answered(None, [result for result in results if result is not None])

    def _foreign(self, message_id: str) -> None:
        """Note an assistant message of a subagent: its text and calls are no part of the message."""
        self._others.add(("text message", message_id))
        self._subagents.add(message_id)

    def _begin(self, event: _Message) -> AIMessageChunk | None:
        """Open the block of a message; one that is opened again goes on."""
        key, chunk = item_of(event), None
        if self._details(*key) is None:
            if not self._is_ours(event):
                return None
            message_id = None
            if isinstance(event, TextMessageStartEvent):
                message_id = event.message_id
                self._messages[message_id] = {} if event.name is None else {"name": event.name}
            chunk = say(self._add(key, message_id), "")
        self._merge(event)
        return chunk

    def _is_ours(self, event: _Message) -> bool:
        """Whether a new message is the parent agent's, and thought or said as an assistant; note it otherwise."""
        key = item_of(event)
        assistant = isinstance(event, TextMessageStartEvent) and event.role in (None, "assistant")
        if key in self._others:
            return False
        if event.subagent_run_id is not None and assistant:
            self._foreign(event.message_id)
            return False
        if event.subagent_run_id is not None or not (assistant or isinstance(event, ReasoningMessageStartEvent)):
            self._others.add(key)
            return False
        return True

    def _begin_call(self, event: ToolCallStartEvent) -> AIMessageChunk | None:
        key, name, chunk = item_of(event), event.tool_call_name, None
        block = self._blocks.get(key)
        if block is None:
            message_id = None if key in self._others else self._holder(event)
            if message_id is None:
                self._others.add(key)
                return None
            block = self._add(key, message_id, name)
            block.details["message_id"] = message_id
            chunk = say(block, "", opening=True)
        elif name != block.item.name:
            # Chunks cannot take a name back; a client renames the call.
            block.details["name"] = name
        self._merge(event)
        return chunk

    def _add(self, key: Key, message_id: str | None, name: str | None = None) -> Block:
        kind = _KINDS[key[0]]
        type_: str = kind
        if kind == "call":
            own = self._tools is not None and name not in self._tools
            type_ = "server_tool_call_chunk" if own else "tool_call_chunk"
            if self._tools is not None:
                self._results.announce(key[1])
        again = kind == "call" and key[1] in self._open
        item = TurnBlock(kind, f"{key[1]}:approved" if again else key[1], None, name=name)
        block = self._blocks[key] = Block(type_, next(self._indices), item, message_id)
        if again:
            block.details["again"] = key[1]
        return block

    def _holder(self, event: ToolCallStartEvent) -> str | None:
        """The assistant message that a new call goes into, as a client finds it; None if it is a subagent's."""
        parent, holder = event.parent_message_id, event.tool_call_id
        if parent:
            text: Key = ("text message", parent)
            thought: Key = ("reasoning message", parent)
            if parent in self._messages:
                return parent
            if parent in self._subagents:
                return None
            if text not in self._others and thought not in self._others and thought not in self._blocks:
                holder = parent
        if event.subagent_run_id is not None:
            self._foreign(holder)
            return None
        self._messages.setdefault(holder, {})
        return holder

    def _grow(self, event: _Growing) -> AIMessageChunk | None:
        key = kind, item_id = item_of(event)
        block, fresh = self._blocks.get(key), False
        if block is None:
            if kind != "text message" or item_id not in self._messages:
                return None
            # A call began the message: it has no text before its first content.
            block, fresh = self._add(key, item_id), True
        self._merge(event)
        text = block.item.grow(event.delta)
        if kind == "tool call":
            text = readable(block, text)
        return say(block, text) if text or fresh else None

    def _details(self, kind: ItemKind, item_id: str) -> dict[str, Any] | None:
        if kind == "text message":
            return self._messages.get(item_id)
        block = self._blocks.get((kind, item_id))
        return None if block is None else block.details

    def _merge(self, event: _Message | ToolCallStartEvent | _Growing | _Ending) -> None:
        """Merge metadata key by key, the last value of each staying (AG-UI 1.0, client apply step)."""
        if event.metadata is not None and (details := self._details(*item_of(event))) is not None:
            details["metadata"] = {**details.get("metadata", {}), **event.metadata}

    def _encrypt(self, event: ReasoningEncryptedValueEvent) -> None:
        subtype, entity = event.subtype, event.entity_id
        kinds: list[ItemKind] = ["tool call"] if subtype == "tool-call" else ["text message", "reasoning message"]
        for kind in kinds:
            if (details := self._details(kind, entity)) is not None:
                details["encrypted_value"] = event.encrypted_value
                return
        if subtype == "message":
            self._results.encrypt(entity, event.encrypted_value)

    def _result(self, event: ToolCallResultEvent) -> AIMessageChunk | None:
        self._others.add(("text message", event.message_id))
        result = self._results.take(event)
        call = self._blocks.get(("tool call", event.tool_call_id))
        return self._answered(call.message_id if call is not None else None, [] if result is None else [result])

    def _answered(self, message_id: str | None, results: list[dict[str, Any]]) -> AIMessageChunk | None:
        """The chunk of results. A call of the caller's that the agent has answered becomes one that nobody can run."""
        if not results:
            return None
        content: list[str | dict[Any, Any]] = [{**result, "index": next(self._indices)} for result in results]
        rests, calls = self._taken_back([result["tool_call_id"] for result in results])
        return chunk_of(message_id, [*content, *rests], tool_call_chunks=calls)

    def _asked(self, interrupts: Iterable[Interrupt]) -> list[str]:
        """The calls of the run that `interrupts` are about."""
        made = [
            make_call(id=call_id, name=block.item.name or "", args={})
            for (kind, call_id), block in self._blocks.items()
            if kind == "tool call"
        ]
        asked = list(interrupts)
        return [call["id"] or "" for call in made if any(asks_about(one, call) for one in asked)]

    def _taken_back(self, call_ids: Iterable[str]) -> tuple[list[str | dict[Any, Any]], list[ToolCallChunk]]:
        """Blocks and chunks that make calls of the caller's unreadable: nothing else takes back what was said."""
        content: list[str | dict[Any, Any]] = []
        calls = []
        for call_id in call_ids:
            call = self._blocks.get(("tool call", call_id))
            if call is not None and call.type == "tool_call_chunk" and not call.is_spoilt:
                rest = call.spoil(call.item.text)
                calls.append(tool_call_chunk(args=rest, index=call.index))
                content.append({"type": call.type, "args": rest, "index": call.index})
        return content, calls
