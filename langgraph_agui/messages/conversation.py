"""The conversation as the client holds it: which messages, in which order.

Messages that the client sent, items as they are begun and tool results go in; the list that the reference client
has made of the same events comes out (AG-UI 1.0, client apply step: messages are appended when their first event
arrives, a tool result goes behind the message that holds its call).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ag_ui.core import AssistantMessage, Message, ToolMessage

from langgraph_agui.messages.assistant_turn import AssistantTurn, Block
from langgraph_agui.messages.encrypted_values import AGENT, MessageSource


@dataclass(slots=True)
class _Slot:
    """The place of one message of a record: of a reasoning item, or (None) of the assistant message."""

    record: AssistantTurn
    item: Block | None

    @property
    def id(self) -> str:
        return self.item.id if self.item is not None else self.record.message_id

    def message(self) -> Message:
        return self.record.reasoning_message(self.item) if self.item is not None else self.record.assistant_message()


_Entry: TypeAlias = Message | _Slot


class Conversation:
    """An ordered set of messages, each under one id.

    Args:
        held: What the client holds already.

    Attributes:
        sources: The subagents that say messages, by the message's id.
        accounts: The messages that subagents have said since, and that the agent's own history is not known to hold.
    """

    def __init__(self, held: Sequence[Message] = ()) -> None:
        self._entries: list[_Entry] = list(held)
        self._plain: dict[str, Message] = {}
        self.ids: set[str] = {entry.id for entry in self._entries}
        self.records: dict[str, AssistantTurn] = {}
        self._holders: dict[str, str] = {}
        self._call_names: dict[str, str] = {}
        self._elsewhere: set[str] = set()
        self.answered: set[str] = set()
        self.sources = {entry.id: MessageSource(entry.subagent_run_id) for entry in held if entry.subagent_run_id}
        self.accounts: set[str] = set()
        for entry in self._entries:
            if isinstance(entry, AssistantMessage):
                for call in entry.tool_calls or ():
                    self._hold(call.id, call.function.name, entry.id)
            elif isinstance(entry, ToolMessage):
                self.answered.add(entry.tool_call_id)

    def held(self, message_id: str) -> AssistantTurn | Message:
        """What was said under this id since."""
        return self.records.get(message_id) or self._plain[message_id]

    def replace(self, message: Message) -> None:
        """Put a message that is not made of items in the place of the one with its id."""
        self._plain[message.id] = message

    def holder(self, call_id: str) -> str | None:
        """The id of the message that holds a tool call, if the client holds it."""
        return self._holders.get(call_id)

    def _hold(self, call_id: str, name: str, message_id: str) -> None:
        self._holders[call_id] = message_id
        self._call_names[call_id] = name

    def call_name(self, call_id: str) -> str | None:
        """The name of the tool that a call of this conversation names."""
        return self._call_names.get(call_id)

    def knows_call(self, call_id: str) -> bool:
        """Whether a message of the conversation, or of the thread behind it, holds this tool call."""
        return call_id in self._holders or call_id in self._elsewhere

    def in_order(self, call_ids: Container[str]) -> list[str]:
        """Those of these calls that the client holds, in the order in which it got to know them."""
        return [call_id for call_id in self._holders if call_id in call_ids]

    def holds_call(self, call_id: str) -> bool:
        """Whether the client holds the message of this tool call."""
        return call_id in self._holders

    def know_calls(self, calls: Iterable[tuple[str | None, str]]) -> None:
        """Take note of calls (id and tool) in messages of the thread that the client may not hold yet."""
        for call_id, name in calls:
            if call_id is not None:
                self._elsewhere.add(call_id)
                self._call_names.setdefault(call_id, name)

    def begin(self, record: AssistantTurn, item: Block) -> None:
        """Give `item` its place: the client is about to see it for the first time."""
        self._place(_Slot(record, item if item.kind == "reasoning" else None))
        if item.kind == "call":
            self._hold(item.id, item.name or "", record.message_id)

    def begin_assistant(self, record: AssistantTurn) -> None:
        """Give the assistant message of `record` its place, also when nothing was said in it."""
        self._place(_Slot(record, None))

    def _place(self, slot: _Slot) -> None:
        if slot.id not in self.ids:
            self._entries.append(slot)
            self.ids.add(slot.id)
        self.records[slot.record.message_id] = slot.record
        self._spoken(slot.record.message_id, slot.record.source)

    def hold(self, record: AssistantTurn) -> None:
        """Append a whole message."""
        for item in record.blocks:
            self.begin(record, item)
        if record.encrypted is not None:
            self.begin_assistant(record)

    def add(self, message: Message, source: MessageSource = AGENT) -> None:
        """Append a message that is not made of items."""
        self._entries.append(message)
        self._plain[message.id] = message
        self.ids.add(message.id)
        self._spoken(message.id, source)

    def _spoken(self, message_id: str, source: MessageSource) -> None:
        if source.subagent_run_id is not None and message_id not in self.sources:
            self.sources[message_id] = source
            self.accounts.add(message_id)

    def claim(self, message_id: str) -> MessageSource:
        """Note that the agent's own history holds this account; return who says it."""
        self.accounts.discard(message_id)
        source = self.sources[message_id] = self.sources[message_id]._replace(in_thread=True)
        return source

    def answer(self, result: ToolMessage, source: MessageSource = AGENT) -> None:
        """Put a tool result behind the message that holds its call, after the results already there."""
        position = len(self._entries)
        if (holder := self._holders.get(result.tool_call_id)) is not None:
            # From the end: the call is nearly always among the last messages.
            position = next(p for p in range(position - 1, -1, -1) if self._entries[p].id == holder) + 1
            while position < len(self._entries) and isinstance(self._entries[position], ToolMessage):
                position += 1
        self._entries.insert(position, result)
        self._plain[result.id] = result
        self.ids.add(result.id)
        self._spoken(result.id, source)
        self.answered.add(result.tool_call_id)

    def messages(self) -> list[Message]:
        """All messages, in the client's order."""
        plain = self._plain
        return [entry.message() if isinstance(entry, _Slot) else plain.get(entry.id, entry) for entry in self._entries]


def merge_messages(held: Sequence[Message], truth: Iterable[tuple[str, Sequence[Message]]]) -> list[Message]:
    """Return `held` with the server's messages in it, losing nothing that the client holds.

    Args:
        held: The client's messages.
        truth: For each message of the server, in order: the id that marks its place, and the messages to put there
            (none where the client's copy stands). A message whose id the client holds replaces the client's copy;
            one that is new to the client goes behind the place of the server's message before it.
    """
    place = {message.id: message for message in held}
    behind: dict[str | None, list[Message]] = {}
    anchor: str | None = None
    for message_id, messages in truth:
        for message in messages:
            if message.id in place:
                place[message.id] = message
                anchor = message.id
            else:
                behind.setdefault(anchor, []).append(message)
        if message_id in place:
            anchor = message_id
    result = list(behind.get(None, ()))
    for message_id, message in place.items():  # a client may hold one id twice
        result.append(message)
        result.extend(behind.get(message_id, ()))
    return result
