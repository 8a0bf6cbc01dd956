"""AG-UI events as the chunks of one LangChain message.

In: the events of a run, one by one. Out: `AIMessageChunk`s in LangChain's standard form
(`output_version` v1).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final, TypeAlias

from ag_ui import core as agui
from ag_ui.core import Event, Message
from langchain_core.messages import AIMessage, AIMessageChunk

from langgraph_agui.client.langchain.approvals import Approvals
from langgraph_agui.client.langchain.event_history import EventHistory, results_in
from langgraph_agui.client.langchain.to_agui_request import PROVIDER, normalized_args
from langgraph_agui.messages.content import REMOTE_KWARG
from langgraph_agui.protocol.event_order import (
    ChunkExpander,
    EventOrder,
    Growing,
    ItemKind,
    item_of,
)
from langgraph_agui.protocol.fold import Fold
from langgraph_agui.protocol.json import are_whole, broke_off, clean_text, to_jsonable
from langgraph_agui.protocol.message_store import StoredMessage, StoredToolCall
from langgraph_agui.protocol.wire import ProtocolError

_Key: TypeAlias = tuple[ItemKind, str]
_Stored: TypeAlias = StoredMessage | StoredToolCall

# Arguments that are nested deeper are cut off: parsers fail some hundred levels later, at the end
# of the stack.
_MAX_DEPTH: Final = 200

_BRACKETS_AND_QUOTES: Final = re.compile(r'\\.|["\[\]{}]', re.DOTALL)

# One of them makes any JSON invalid: a wrong bracket, after the end of a string if one is open.
_INVALID_ENDINGS: Final = ("", "}", "]", '"}', '"]', '""}', '""]')


class MessageChunks:
    """Makes the chunks of one run of a remote agent.

    The sum of all chunks is one `AIMessage`, however many reasoning and assistant messages the run
    has. Its blocks are in the order in which the agent began them: `text` blocks have the id of
    their assistant message, `reasoning` blocks that of their reasoning message, with the agent's
    encrypted value in `extras`; calls are `tool_call_chunk` blocks and `tool_call_chunks`.
    `additional_kwargs["agui"]` has everything else that `agui_messages_of` needs to rebuild the
    AG-UI messages.

    The `id` of a chunk with text or a call is that of its assistant message. Reasoning comes before
    the message that it leads to, whose id is not known yet: its chunks have no id and belong to the
    next chunk that has one. The sum has the id of the run's first assistant message.

    Values that a later event may overwrite (encrypted values, metadata) come with the last chunk,
    from `finish`: adding chunks joins strings. Messages of subagents (`subagentRunId`) and of other
    roles than assistant are not part of the message. State, steps, snapshots and the like give no
    chunks; the caller judges how the run ended.

    The message contains the same messages as `fold` if no two of them share an id, as AG-UI 1.0
    asks of producers. Reasoning and text under one id, which a client would join, stay apart here.

    Args:
        tools: The names of the tools that the caller runs. Calls of any other tool run on the
            agent's side: they become `server_tool_call_chunk` blocks instead of tool calls. Results
            become `server_tool_result` blocks. A call of the caller's that the agent answers after
            all (it has a tool of the same name, or a limit that the call exceeds) ends among
            `invalid_tool_calls`, so that it does not run twice. So does one that the run's outcome
            asks about, so that it does not run before there is an answer, one of a run that was
            cancelled, and one whose arguments are no whole JSON object. None: every call is a tool
            call, and results give no chunks.
        history: The messages that the agent was sent. Text that it adds to one of another role, or
            of a subagent, gives no chunks; nor does a call of the agent's own that is open in them,
            if it announces the call again. A result that comes now for a call in them gives one.
            An open call of the caller's becomes a tool call again, under another id, but
            `agui_messages_of` leaves it out.

    Arguments that are nested too deeply to be parsed are cut off, and the call is not the caller's
    to run.
    """

    def __init__(
        self, tools: Collection[str] | None = None, history: Iterable[Message] = ()
    ) -> None:
        self._expander, self._order, self._fold = ChunkExpander(), EventOrder(), Fold(history)
        self._history = EventHistory(self._fold.conversation)
        self._builder = ChunkBuilder(self._history, tools)

    def feed(self, event: Event) -> list[AIMessageChunk]:
        """Return the chunks of the next event; a `*_CHUNK` event is expanded first.

        `RUN_STARTED` may be left out. Raises `ProtocolError` for an event that
        the reference client would refuse at this point, with the code that
        `Verifier` has for it. An encrypted value of an unknown message or call
        is no error (AG-UI 1.0, reasoning): it gives no chunk.
        """
        if self._order.status == "empty" and event.type not in (
            agui.EventType.RUN_STARTED,
            agui.EventType.RUN_ERROR,
        ):
            self._order.feed(agui.RunStartedEvent(thread_id="", run_id=""))
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

        The very last chunk has `chunk_position="last"` and contains encrypted values, metadata and
        names. Raises `ProtocolError` (`open-text-messages`, `open-tool-calls`, ...) if
        something is still open, unless the run ended with `RUN_ERROR`.
        """
        if self._order.status == "active":
            try:
                self.feed(agui.RunFinishedEvent(thread_id="", run_id=""))
            except ProtocolError as error:
                reason = str(error).partition(": ")[2]
                raise ProtocolError(error.code, f"The stream ends too soon: {reason}") from None
        return self._builder.finish()


@dataclass(slots=True, eq=False)
class _Block:
    """One content block that grows.

    Attributes:
        kind: The kind of item that the agent has begun.
        type: The type of the content block.
        index: Its place in the message.
        id: The id of the text or reasoning message, or of the call.
        stored: The message or call of the reducer.
        message_id: The assistant message of a text or call.
        name: The tool of a call.
        is_invalid: The arguments cannot be parsed, so that nobody can run the call.
        broke_off: The run was cancelled before the call was whole.
    """

    kind: ItemKind
    type: str
    index: int
    id: str
    stored: _Stored
    message_id: str | None = None
    name: str | None = None
    is_invalid: bool = False
    broke_off: bool = False
    pieces: list[str] = field(default_factory=list)
    # The first half of a surrogate pair, until the other half comes.
    half: str = ""
    depth: int = 0
    in_string: bool = False
    escape: str = ""

    @property
    def is_runnable(self) -> bool:
        """Whether the caller can run this call."""
        return self.type == "tool_call_chunk" and not self.is_invalid

    @property
    def text(self) -> str:
        """The text so far, or the arguments."""
        return "".join(self.pieces)

    def append(self, delta: str) -> str:
        """Add text. Return as much of it as a chunk may contain."""
        text, self.half = self.half + delta, ""
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self.half = text[:-1], text[-1]
        self.pieces.append(text := clean_text(text))
        if self.is_invalid:
            return ""
        if self.kind == "tool call" and self._is_too_deep(text):
            return self.invalidate("".join(self.pieces[:-1]))
        return text

    def close(self) -> str:
        """Return the text for the first half of a surrogate pair whose other half never came."""
        self.pieces.append(text := clean_text(self.half))
        return "" if self.is_invalid else text

    def _is_too_deep(self, text: str) -> bool:
        text, deepest = self.escape + text, 0
        for mark in _BRACKETS_AND_QUOTES.findall(text):
            if mark == '"':
                self.in_string = not self.in_string
            elif not self.in_string and len(mark) == 1:
                self.depth += 1 if mark in "[{" else -1
                deepest = max(deepest, self.depth)
        # An odd number of backslashes at the end: the last one escapes what comes next.
        self.escape = "\\" if (len(text) - len(text.rstrip("\\"))) % 2 else ""
        return deepest > _MAX_DEPTH

    def invalidate(self, sent: str) -> str:
        """Return an ending that makes the arguments unparseable; chunks have contained `sent`."""
        self.is_invalid = True
        return next(ending for ending in _INVALID_ENDINGS if normalized_args(sent + ending) is None)

    def chunk(self, text: str, *, is_opening: bool = False) -> AIMessageChunk:
        """Return the chunk with `text`; one that opens a call has its id and name."""
        if self.kind != "tool call":
            content = {"type": self.type, self.type: text, "id": self.id, "index": self.index}
            return _chunk(self.message_id, content)
        call_id, name = (self.id, self.name) if is_opening else (None, None)
        block = {"type": self.type, "id": call_id, "name": name, "args": text, "index": self.index}
        if self.type == "tool_call_chunk":
            return _chunk(self.message_id, block, tool_call_chunks=[block])
        known = {key: value for key, value in block.items() if value is not None}
        return _chunk(self.message_id, known)


class ChunkBuilder:
    """Makes the chunks of one message, of events that are expanded and checked.

    Args:
        history: The messages and calls of the run. It observes each event before `feed` gets it.
        tools: The names of the tools that the caller runs; see `MessageChunks`.
        joins: Whether to join the fragments of each block, until anything else comes. The sum is
            the same.
    """

    def __init__(
        self, history: EventHistory, tools: Collection[str] | None = None, *, joins: bool = False
    ) -> None:
        self._history, self._tools, self._indices = history, tools, count()
        self._joins = joins
        # The text that waits to be joined, by block.
        self._waiting: defaultdict[_Key, list[str]] = defaultdict(list)
        self._blocks: dict[_Key, _Block] = {}
        # The assistant messages of the blocks, as the reducer holds them.
        self._messages: dict[str, StoredMessage] = {}
        # The calls whose results are among the blocks.
        self._answered: set[str] = set()

    def feed(self, event: Event) -> list[AIMessageChunk]:
        """Return the chunks of the next event."""
        if isinstance(event, Growing):
            return self._append(event)
        return [*self._joined(), *self._feed(event)]

    def _feed(self, event: Event) -> list[AIMessageChunk]:
        match event:
            case agui.TextMessageStartEvent() | agui.ReasoningMessageStartEvent():
                return self._begin_message(event)
            case agui.ToolCallStartEvent():
                return self._begin_call(event)
            case agui.ToolCallResultEvent():
                return self._add_result(event)
            case agui.MessagesSnapshotEvent():
                results = results_in(event.messages)
                return [chunk for result in results for chunk in self._add_result(result)]
            case agui.RunFinishedEvent(outcome=agui.RunFinishedInterruptOutcome(interrupts=asked)):
                approvals, calls = Approvals(asked), self._calls.items()
                waiting = [key for key, call in calls if approvals.ask_about(key, call.name)]
                return [chunk for call_id in waiting for chunk in self.withhold(call_id)]
            case agui.RunFinishedEvent(outcome=agui.RunFinishedCancelledOutcome()):
                return self._cancel()
            case agui.ToolCallEndEvent(tool_call_id=call_id):
                call = self._blocks.get(item_of(event))
                if call is not None and not are_whole(call.text):
                    return self.withhold(call_id)
        return []

    def _cancel(self) -> list[AIMessageChunk]:
        """Return the chunks that withhold all calls, as those of a run that was cancelled."""
        if self._tools is None:
            return []
        for call_id, call in self._calls.items():
            call.broke_off = call_id not in self._answered and broke_off(call.text)
        return [chunk for call_id in self._calls for chunk in self.withhold(call_id)]

    @property
    def _calls(self) -> dict[str, _Block]:
        """The calls by the ids that the agent gave them."""
        blocks = self._blocks.items()
        return {item_id: block for (kind, item_id), block in blocks if kind == "tool call"}

    def finish(self, **details: object) -> list[AIMessageChunk]:
        """Return the chunks that complete the message.

        The last one has `details` and the values that may change until the end.
        """
        chunks = self._joined()
        chunks += [block.chunk(text) for block in self._blocks.values() if (text := block.close())]
        details = {**self._details(), **details}
        kwargs = {REMOTE_KWARG: details} if details else {}
        last = _chunk(None, *self._extras(), additional_kwargs=kwargs, chunk_position="last")
        return [*chunks, last]

    def update(self, message: AIMessage) -> AIMessage:
        """Return the sum of the chunks with the values that have changed since `finish`."""
        extras = {block["index"]: block for block in self._extras()}
        content = message.content
        if isinstance(content, list):
            content = [
                {**one, **extras.get(one.get("index"), {})} if isinstance(one, dict) else one
                for one in content
            ]
        details = {**message.additional_kwargs.get(REMOTE_KWARG, {}), **self._details()}
        kwargs = {**message.additional_kwargs, REMOTE_KWARG: details}
        return message.model_copy(update={"content": content, "additional_kwargs": kwargs})

    @property
    def leaves_calls(self) -> bool:
        """Whether there are calls for the caller to run."""
        return any(block.is_runnable for block in self._blocks.values())

    def repeat_call(self, call: agui.ToolCall) -> AIMessageChunk:
        """Return the chunk that gives the caller a call to run, which the agent was sent."""
        key: _Key = ("tool call", call.id)
        block = self._add(key, self._history.calls[call.id], name=call.function.name)
        return block.chunk(block.append(call.function.arguments), is_opening=True)

    def repeated_call(self, call_id: str) -> agui.ToolCall | None:
        """Return a call that the agent was sent and has announced again, as it stands there."""
        block = self._blocks.get(("tool call", call_id))
        if block is None or block.id == call_id:
            return None
        function = agui.FunctionCall(name=block.name or "", arguments=block.text)
        return agui.ToolCall(id=call_id, function=function)

    def withhold(self, call_id: str) -> list[AIMessageChunk]:
        """Return the chunk that makes a call of the caller's unparseable.

        Nothing else takes back a call that chunks contain.
        """
        call = self._blocks.get(("tool call", call_id))
        if self._tools is None or call is None or not call.is_runnable:
            return []
        ending = call.invalidate(call.text)
        return [call.chunk(ending)] if ending else []

    def _begin_message(
        self, event: agui.TextMessageStartEvent | agui.ReasoningMessageStartEvent
    ) -> list[AIMessageChunk]:
        """Open the block of a message.

        A message that is opened again continues; one that a call began waits for content.
        """
        key, message = item_of(event), self._history.own_message(event.message_id)
        message_id = event.message_id if isinstance(event, agui.TextMessageStartEvent) else None
        if message is None or key in self._blocks or message_id in self._messages:
            return []
        if message_id is not None:
            self._messages[message_id] = message
        return [self._add(key, message, message_id).chunk("")]

    def _begin_call(self, event: agui.ToolCallStartEvent) -> list[AIMessageChunk]:
        key, call_id, history = item_of(event), event.tool_call_id, self._history
        holder, sent = history.own_holder(call_id), history.open_calls.get(call_id)
        # Some agents announce a call again once it is approved. The caller has it, and would have
        # it twice.
        is_known = sent is not None and sent.function.name not in (self._tools or ())
        if key in self._blocks or is_known or holder is None:
            return []
        message_id = holder.model.id
        # The reducer continues a call that was sent, and finds no parent where reasoning and text
        # share an id.
        if call_id in history.sent_calls or event.parent_message_id in self._messages:
            message_id = event.parent_message_id or call_id
        new = StoredMessage(agui.AssistantMessage(id=message_id))
        self._messages.setdefault(message_id, history.store.find(message_id) or new)
        block = self._add(key, history.calls[call_id], message_id, event.tool_call_name)
        return [block.chunk("", is_opening=True)]

    def _add(
        self, key: _Key, stored: _Stored, message_id: str | None = None, name: str | None = None
    ) -> _Block:
        kind, own_id = key
        type_ = kind.split()[0]
        if kind == "tool call":
            is_agents = self._tools is not None and name not in self._tools
            type_ = "server_tool_call_chunk" if is_agents else "tool_call_chunk"
            if own_id in self._history.open_calls:
                own_id += ":approved"  # an earlier message has the call under its own id
        index = next(self._indices)
        self._blocks[key] = _Block(kind, type_, index, own_id, stored, message_id, name)
        return self._blocks[key]

    def _append(self, event: Growing) -> list[AIMessageChunk]:
        key = item_of(event)
        block, is_new = self._blocks.get(key), False
        if block is None:
            if key[0] != "text message" or key[1] not in self._messages:
                return []
            block, is_new = self._add(key, self._messages[key[1]], key[1]), True
        text = block.append(event.delta)
        if self._joins and not is_new:
            self._waiting[key].append(text)
            return []
        return [block.chunk(text)] if text or is_new else []

    def _joined(self) -> list[AIMessageChunk]:
        """Return the chunks of the text that waits."""
        waiting, self._waiting = self._waiting, defaultdict(list)
        texts = {key: "".join(pieces) for key, pieces in waiting.items()}
        return [self._blocks[key].chunk(text) for key, text in texts.items() if text]

    def _add_result(self, event: agui.ToolCallResultEvent) -> list[AIMessageChunk]:
        """Add a result, one for each call. The caller cannot run a call that has one."""
        call_id, content = event.tool_call_id, event.content
        call = self._blocks.get(("tool call", call_id))
        is_known = call is not None or call_id in self._history.open_calls
        is_own = self._history.is_own(event.subagent_run_id)
        if self._tools is None or call_id in self._answered or not (is_known and is_own):
            return []
        self._answered.add(call_id)
        block = {
            "type": "server_tool_result",
            "id": event.message_id,
            "tool_call_id": call_id,
            "status": "error" if self._history.has_failed(event) else "success",
            "output": content if isinstance(content, str) else to_jsonable(content),
            **({} if event.metadata is None else {"extras": {"metadata": event.metadata}}),
            "index": next(self._indices),
        }
        message_id = None if call is None else call.message_id
        return [_chunk(message_id, block), *self.withhold(call_id)]

    def _details(self) -> dict[str, object]:
        """Return the details that blocks have no place for; `to_agui_request` describes them."""
        messages = {key: self._history.details(stored) for key, stored in self._messages.items()}
        calls = {block.id: self._call_details(key, block) for key, block in self._calls.items()}
        results = self._history.result_details()
        details = {
            "messages": {key: value for key, value in messages.items() if value},
            "calls": calls,
            "results": {key: value for key, value in results.items() if key in self._answered},
        }
        return {key: value for key, value in details.items() if value}

    def _call_details(self, call_id: str, block: _Block) -> dict[str, Any]:
        details: dict[str, Any] = {
            "message_id": block.message_id,
            "again": call_id if block.id != call_id else None,
            "broke_off": block.broke_off or None,
        }
        if isinstance(block.stored, StoredToolCall):
            details |= self._history.details(block.stored)
            # Chunks cannot rename a call.
            details["name"] = block.stored.name if block.stored.name != block.name else None
        if block.is_invalid or normalized_args(block.text) != block.text:
            details["arguments"] = block.text
        return {key: value for key, value in details.items() if value is not None}

    def _extras(self) -> list[dict[str, Any]]:
        """Return the details of reasoning, as parts of its blocks."""
        return [
            {"type": "reasoning", "index": block.index, "extras": details}
            for block in self._blocks.values()
            if block.type == "reasoning" and (details := self._history.details(block.stored))
        ]


def _chunk(message_id: str | None, *content: str | dict[Any, Any], **fields: Any) -> AIMessageChunk:
    """Return a chunk with these blocks, of the assistant message with this id."""
    metadata = {"output_version": "v1", "model_provider": PROVIDER}
    return AIMessageChunk(
        content=list(content), id=message_id, response_metadata=metadata, **fields
    )
