"""AG-UI events as the chunks of one LangChain message.

In: the events of a run, one by one. Out: `AIMessageChunk`s in LangChain's standard form (`output_version` v1).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ag_ui.core import (
    Event,
    EventType,
    FunctionCall,
    Message,
    MessagesSnapshotEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageStartEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk

from langgraph_agui.client.langchain.approvals import asks_about
from langgraph_agui.client.langchain.event_history import EventHistory, result_event
from langgraph_agui.client.langchain.to_agui_request import AGUI, PROVIDER, normalized_arguments
from langgraph_agui.messages.assistant_turn import Block as TurnBlock
from langgraph_agui.messages.blocks import BlockKind
from langgraph_agui.protocol.chunks import ChunkExpander
from langgraph_agui.protocol.event_order import EventOrder, ItemKind, item_of
from langgraph_agui.protocol.fold import Fold
from langgraph_agui.protocol.jsonable import to_jsonable
from langgraph_agui.protocol.message_store import StoredMessage, StoredToolCall
from langgraph_agui.protocol.wire import ProtocolError

_Content: TypeAlias = list[str | dict[Any, Any]]
_Key: TypeAlias = tuple[ItemKind, str]

_KINDS: Final[Mapping[ItemKind, BlockKind]] = {
    "text message": "text",
    "reasoning message": "reasoning",
    "tool call": "call",
}

_MAX_DEPTH: Final = 200
"""Arguments that are nested deeper are cut off: parsers fail some hundred levels later, at the end of the stack."""

_BRACKETS_AND_QUOTES: Final = re.compile(r'\\.|["\[\]{}]', re.DOTALL)

_UNPARSEABLE_ENDINGS: Final = ("", "}", "]", '"}', '"]', '""}', '""]')
"""One of them makes any JSON invalid: a wrong bracket, after the end of a string if one is open."""


class MessageChunks:
    """Makes the chunks of one run of a remote agent.

    The sum of all chunks is one `AIMessage`, however many reasoning and assistant messages the run has. Its blocks are
    in the order in which the agent began them: `text` blocks have the id of their assistant message, `reasoning` blocks
    that of their reasoning message, with the agent's encrypted value in `extras`; calls are `tool_call_chunk` blocks
    and `tool_call_chunks`. `additional_kwargs["agui"]` has everything else that
    :func:`~langgraph_agui.client.langchain.to_agui_request.agui_messages_of` needs to rebuild the AG-UI messages.

    The `id` of a chunk with text or a call is that of its assistant message. Reasoning comes before the message that it
    leads to, whose id is not known yet: its chunks have no id and belong to the next chunk that has one. The sum has
    the id of the run's first assistant message.

    What a later event may overwrite (encrypted values, metadata) comes with the last chunk, from `finish`: adding
    chunks joins strings. Messages of subagents (`subagentRunId`) and of other roles than assistant are not part of the
    message. State, steps, snapshots and the like give no chunks; the caller judges how the run ended.

    The message contains what :func:`~langgraph_agui.protocol.fold.fold` makes of the stream if no two messages share an
    id, as AG-UI 1.0 asks of producers. Reasoning and text under one id, which a client would join, stay apart here.

    Args:
        tools: The names of the tools that the caller runs. Calls of any other tool run on the agent's side: they become
            `server_tool_call_chunk` blocks instead of tool calls. Results become `server_tool_result` blocks. A call of
            the caller's that the agent answers after all (it has a tool of the same name, or a limit that the call
            exceeds) ends among `invalid_tool_calls`, so that it does not run twice. So does one that the run's outcome
            asks about, so that it does not run before there is an answer. None: every call is a tool call, and results
            give no chunks.
        history: The messages that the agent was sent. What it adds to one of another role, or of a subagent, gives no
            chunks; nor does a call of the agent's own that is open in them, if it announces the call again. A result
            that comes only now for a call in them gives one. An open call of the caller's becomes a tool call again,
            under another id, but `agui_messages_of` leaves it out.

    Arguments that are nested too deeply to be parsed are cut off, and the call is not the caller's to run.
    """

    def __init__(self, tools: Collection[str] | None = None, history: Iterable[Message] = ()) -> None:
        self._expander, self._order, self._fold = ChunkExpander(), EventOrder(), Fold(history)
        self._history = EventHistory(self._fold)
        self._builder = ChunkBuilder(self._history, tools)

    def feed(self, event: Event) -> list[AIMessageChunk]:
        """Return the chunks of the next event; a `*_CHUNK` event is expanded first.

        `RUN_STARTED` may be left out. Raises :class:`~langgraph_agui.protocol.wire.ProtocolError` for an event that
        the reference client would refuse at this point, with the code that
        :class:`~langgraph_agui.protocol.verify.Verifier` has for it. An encrypted value of an unknown message or call
        is no error (AG-UI 1.0, reasoning): it gives no chunk.
        """
        if self._order.status == "empty" and event.type not in (EventType.RUN_STARTED, EventType.RUN_ERROR):
            self._order.feed(RunStartedEvent(thread_id="", run_id=""))
        chunks: list[AIMessageChunk] = []
        for expanded in self._expander.feed(event):
            self._order.feed(expanded)
            self._fold.apply(expanded)
            self._fold.warnings.clear()
            self._history.observe(expanded)
            chunks += self._builder.feed(expanded)
        return chunks

    def finish(self) -> list[AIMessageChunk]:
        """Return the chunks that complete the message. Call it once, after the last event.

        The very last chunk has `chunk_position="last"` and contains encrypted values, metadata and names. Raises
        :class:`~langgraph_agui.protocol.wire.ProtocolError` (`open-text-messages`, `open-tool-calls`, ...) if
        something is still open, unless the run ended with `RUN_ERROR`.
        """
        if self._order.status == "active":
            try:
                self.feed(RunFinishedEvent(thread_id="", run_id=""))
            except ProtocolError as error:
                reason = str(error).partition(": ")[2]
                raise ProtocolError(error.code, f"The stream ends too soon: {reason}") from None
        return self._builder.finish()


@dataclass(slots=True, eq=False)
class _Block:
    """One content block that grows. `item` is its text so far, `stored` the message or call in the reducer."""

    type: str
    index: int
    item: TurnBlock
    stored: StoredMessage | StoredToolCall | None
    message_id: str | None
    """The assistant message of a text or call."""
    repeats: str | None = None
    """The agent's id of a call that an earlier message has already."""
    depth: int = 0
    in_string: bool = False
    escape: str = ""
    """A backslash at the end of the last part, which escapes what comes next."""
    is_invalid: bool = False
    """Whether the arguments in the chunks cannot be parsed, so that the call cannot run."""

    @property
    def is_runnable(self) -> bool:
        """Whether the caller can run this call."""
        return self.type == "tool_call_chunk" and not self.is_invalid

    def append(self, delta: str) -> str:
        """Add text. Return as much of it as a chunk may contain."""
        text = self.item.grow(delta)
        if self.is_invalid:
            return ""
        if self.item.kind == "call" and self._is_too_deep(text):
            return self.invalidate("".join(self.item.pieces[:-1]))
        return text

    def invalidate(self, sent: str) -> str:
        """Return what makes a call's arguments unparseable, of which chunks have contained `sent`."""
        self.is_invalid = True
        return next(ending for ending in _UNPARSEABLE_ENDINGS if normalized_arguments(sent + ending) is None)

    def _is_too_deep(self, text: str) -> bool:
        text, deepest = self.escape + text, 0
        for mark in _BRACKETS_AND_QUOTES.findall(text):
            if mark == '"':
                self.in_string = not self.in_string
            elif not self.in_string and mark in "[{":
                self.depth += 1
                deepest = max(deepest, self.depth)
            elif not self.in_string and mark in "]}":
                self.depth -= 1
        # An odd number of backslashes at the end: the last one is not escaped itself.
        self.escape = "\\" if (len(text) - len(text.rstrip("\\"))) % 2 else ""
        return deepest > _MAX_DEPTH

    def chunk(self, text: str, *, opening: bool = False) -> AIMessageChunk:
        """Return the chunk with `text`; one that is `opening` a call has its id and name."""
        if self.item.kind != "call":
            block = {"type": self.type, self.type: text, "id": self.item.id, "index": self.index}
            return _chunk(self.message_id, [block])
        call_id, name = (self.item.id, self.item.name) if opening else (None, None)
        block = {"type": self.type, "id": call_id, "name": name, "args": text, "index": self.index}
        if self.type == "server_tool_call_chunk":
            return _chunk(self.message_id, [{key: value for key, value in block.items() if value is not None}])
        call = tool_call_chunk(name=name, args=text, id=call_id, index=self.index)
        return _chunk(self.message_id, [block], tool_call_chunks=[call])


class ChunkBuilder:
    """Makes the chunks of one message, of events that are expanded, checked and in `history`.

    Args:
        history: What the run has said so far. `observe` comes before `feed`.
        tools: The names of the tools that the caller runs; see `MessageChunks`.
    """

    def __init__(self, history: EventHistory, tools: Collection[str] | None = None) -> None:
        self._history, self._tools = history, tools
        self._size = 0
        self._blocks: dict[_Key, _Block] = {}
        self._messages: dict[str, StoredMessage | None] = {}
        """The assistant messages of the blocks."""
        self._results: dict[str, StoredMessage] = {}
        """The results of the blocks, by call."""

    def feed(self, event: Event) -> list[AIMessageChunk]:
        """Return the chunks of the next event."""
        match event:
            case TextMessageContentEvent() | ReasoningMessageContentEvent() | ToolCallArgsEvent():
                return self._append(event)
            case TextMessageStartEvent() | ReasoningMessageStartEvent():
                return self._begin_message(event)
            case ToolCallStartEvent():
                return self._begin_call(event)
            case ToolCallResultEvent():
                return self._add_result(event)
            case MessagesSnapshotEvent():
                results = [result_event(one) for one in event.messages if isinstance(one, ToolMessage)]
                return [chunk for result in results for chunk in self._add_result(result)]
            case RunFinishedEvent(outcome=RunFinishedInterruptOutcome(interrupts=asked)) if self._tools is not None:
                calls = [(key[1], block.item.name) for key, block in self._blocks.items() if block.item.kind == "call"]
                return self.withhold(
                    call_id for call_id, name in calls if any(asks_about(a, call_id, name) for a in asked)
                )
        return []

    def finish(self) -> list[AIMessageChunk]:
        """Return the chunks that complete the message; the last one has what may change until the run ends."""
        blocks = self._blocks.values()
        texts = [block.chunk(text) for block in blocks if (text := block.item.end()) and not block.is_invalid]
        extras = self._reasoning_extras()
        content: _Content = [
            {"type": block.type, "index": block.index, "extras": extras[block.item.id]}
            for block in blocks
            if block.item.kind == "reasoning" and extras[block.item.id]
        ]
        details = self._details()
        kwargs = {AGUI: details} if details else {}
        return [*texts, _chunk(None, content, additional_kwargs=kwargs, chunk_position="last")]

    def update(self, message: AIMessage) -> AIMessage:
        """Return the sum of the chunks with what has changed since `finish`."""
        extras = {key: value for key, value in self._reasoning_extras().items() if value}
        content = message.content
        if isinstance(content, list):
            content = [
                {**block, "extras": extras[block["id"]]}
                if isinstance(block, dict) and block.get("type") == "reasoning" and block.get("id") in extras
                else block
                for block in content
            ]
        kwargs = {**message.additional_kwargs, AGUI: {**message.additional_kwargs.get(AGUI, {}), **self._details()}}
        return message.model_copy(update={"content": content, "additional_kwargs": kwargs})

    @property
    def leaves_calls(self) -> bool:
        """Whether there are calls for the caller to run."""
        return any(block.is_runnable for block in self._blocks.values())

    def repeat_call(self, call: ToolCall) -> AIMessageChunk:
        """Return a call that the agent was sent as one for the caller to run."""
        block = self._add(("tool call", call.id), None, None, call.function.name)
        return block.chunk(block.append(call.function.arguments), opening=True)

    def repeated_call(self, call_id: str) -> ToolCall | None:
        """Return a call that the agent was sent as the agent has announced it again; None if it has not."""
        block = self._blocks.get(("tool call", call_id))
        if block is None or block.repeats is None:
            return None
        return ToolCall(id=call_id, function=FunctionCall(name=block.item.name or "", arguments=block.item.text))

    def withhold(self, call_ids: Iterable[str]) -> list[AIMessageChunk]:
        """Return the chunk after which nobody can run these calls; nothing if nobody could before."""
        content, calls = self._invalidate(call_ids)
        return [_chunk(None, content, tool_call_chunks=calls)] if calls else []

    def _begin_message(self, event: TextMessageStartEvent | ReasoningMessageStartEvent) -> list[AIMessageChunk]:
        """Open the block of a message. One that is opened again continues."""
        key, message = item_of(event), self._history.own_message(event)
        if message is None or key in self._blocks:
            return []
        if isinstance(event, ReasoningMessageStartEvent):
            return [self._add(key, message, None).chunk("")]
        if event.message_id in self._messages:  # a call began it; its text begins with its first content
            return []
        self._messages[event.message_id] = message
        return [self._add(key, message, event.message_id).chunk("")]

    def _begin_call(self, event: ToolCallStartEvent) -> list[AIMessageChunk]:
        key, call_id, name = item_of(event), event.tool_call_id, event.tool_call_name
        sent = self._history.open_calls.get(call_id)
        # Some agents announce a call again once it is approved. The caller has it, and would have it twice.
        is_known = sent is not None and sent.function.name not in (self._tools or ())
        message_id = self._message_of(event)
        if key in self._blocks or is_known or message_id is None:
            return []
        return [self._add(key, self._history.calls[call_id], message_id, name).chunk("", opening=True)]

    def _message_of(self, event: ToolCallStartEvent) -> str | None:
        """Return the id of the assistant message that a call goes into; None if it is a subagent's."""
        parent, holder = event.parent_message_id, self._history.own_holder(event.tool_call_id)
        if holder is None:
            return None
        message_id = holder.model.id
        if parent and (parent in self._messages or event.tool_call_id in self._history.sent_calls):
            message_id = parent
        elif event.tool_call_id in self._history.sent_calls:  # the reducer goes on with the call that was sent
            message_id = event.tool_call_id
        self._messages.setdefault(message_id, self._history.find(message_id))
        return message_id

    def _add(
        self, key: _Key, held: StoredMessage | StoredToolCall | None, message_id: str | None, name: str | None = None
    ) -> _Block:
        kind, item_id = _KINDS[key[0]], key[1]
        type_: str = kind
        if kind == "call":
            is_agents = self._tools is not None and name not in self._tools
            type_ = "server_tool_call_chunk" if is_agents else "tool_call_chunk"
        repeats = item_id if kind == "call" and item_id in self._history.open_calls else None
        item = TurnBlock(kind, f"{item_id}:approved" if repeats else item_id, None, name=name)
        block = self._blocks[key] = _Block(type_, self._next_index(), item, held, message_id, repeats)
        return block

    def _next_index(self) -> int:
        self._size += 1
        return self._size - 1

    def _append(
        self, event: TextMessageContentEvent | ReasoningMessageContentEvent | ToolCallArgsEvent
    ) -> list[AIMessageChunk]:
        key = item_of(event)
        block, is_new = self._blocks.get(key), False
        if block is None:
            if key[0] != "text message" or key[1] not in self._messages:
                return []
            block, is_new = self._add(key, self._messages[key[1]], key[1]), True
        text = block.append(event.delta)
        return [block.chunk(text)] if text or is_new else []

    def _add_result(self, event: ToolCallResultEvent) -> list[AIMessageChunk]:
        """Add a result, once for each call. A call of the caller's that has one is not the caller's to run."""
        call_id, call = event.tool_call_id, self._blocks.get(("tool call", event.tool_call_id))
        held = self._history.find(event.message_id)
        is_expected = call is not None or call_id in self._history.open_calls
        if self._tools is None or held is None or not is_expected or call_id in self._results:
            return []
        if not self._history.is_own(event.subagent_run_id):
            return []
        self._results[call_id] = held
        result = {
            "type": "server_tool_result",
            "id": event.message_id,
            "tool_call_id": call_id,
            "status": "error" if self._history.has_failed(event) else "success",
            "output": event.content if isinstance(event.content, str) else to_jsonable(event.content),
            **({} if event.metadata is None else {"extras": {"metadata": event.metadata}}),
            "index": self._next_index(),
        }
        content, calls = self._invalidate([call_id])
        return [_chunk(call.message_id if call is not None else None, [result, *content], tool_call_chunks=calls)]

    def _invalidate(self, call_ids: Iterable[str]) -> tuple[_Content, list[ToolCallChunk]]:
        """Make calls of the caller's unparseable: nothing else takes back what was sent of them."""
        content: _Content = []
        calls: list[ToolCallChunk] = []
        for call_id in call_ids:
            call = self._blocks.get(("tool call", call_id))
            if call is not None and call.is_runnable:
                ending = call.invalidate(call.item.text)
                calls.append(tool_call_chunk(args=ending, index=call.index))
                content.append({"type": call.type, "args": ending, "index": call.index})
        return content, calls

    def _details(self) -> dict[str, dict[str, Any]]:
        """Return what the blocks have no place for, as `to_agui_request` describes it."""
        messages = {key: self._history.details(held) for key, held in self._messages.items() if held is not None}
        details = {
            "messages": {key: value for key, value in messages.items() if value},
            "calls": {
                block.item.id: self._call_details(block) for block in self._blocks.values() if block.item.kind == "call"
            },
            "results": self._history.result_details(self._results),
        }
        return {key: value for key, value in details.items() if value}

    def _call_details(self, block: _Block) -> dict[str, Any]:
        details: dict[str, Any] = {"message_id": block.message_id, "again": block.repeats}
        if block.stored is not None:
            details |= self._history.details(block.stored)
        if isinstance(block.stored, StoredToolCall) and block.stored.name != block.item.name:
            details["name"] = block.stored.name  # chunks cannot rename a call
        arguments = block.item.text
        if block.is_invalid or normalized_arguments(arguments) != arguments:
            details["arguments"] = arguments
        return {key: value for key, value in details.items() if value is not None}

    def _reasoning_extras(self) -> dict[str, dict[str, Any]]:
        blocks = [block for block in self._blocks.values() if block.item.kind == "reasoning"]
        return {block.item.id: self._history.details(block.stored) for block in blocks if block.stored is not None}


def _chunk(message_id: str | None, content: _Content, **fields: Any) -> AIMessageChunk:
    """Return a chunk with these blocks, of the assistant message with this id."""
    metadata = {"output_version": "v1", "model_provider": PROVIDER}
    return AIMessageChunk(content=content, id=message_id, response_metadata=metadata, **fields)
