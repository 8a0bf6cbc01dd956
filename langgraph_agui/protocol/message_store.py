"""The messages that a fold holds: text grows cheaply, messages and calls are found by id.

SDK messages and fragments of text enter; SDK messages leave.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from ag_ui import core as agui
from ag_ui.core.types import GeneratedBaseModel

_Model = TypeVar("_Model", bound=GeneratedBaseModel)


class _Stored(Generic[_Model]):
    """A message or call to which text is still appended."""

    __slots__ = ("_pieces", "model")

    def __init__(self, model: _Model) -> None:
        # The message or call as of the last `view`.
        self.model = model
        self._pieces: list[str] = []

    def update(self, **fields: object) -> None:
        """Replace fields, by their Python names."""
        self.model = self.model.model_copy(update=fields)

    def append(self, delta: str) -> None:
        """Append to the text or the arguments; content that is no text is replaced."""
        self._pieces.append(delta)

    def replace(self, model: _Model) -> None:
        """Replace the message or call, with all that was appended."""
        self.model = model
        self._pieces = []

    def merge(self, metadata: Mapping[str, object] | None) -> None:
        """Merge `metadata` key by key."""
        if metadata is not None:
            self.update(metadata={**(getattr(self.model, "metadata", None) or {}), **metadata})

    def _take_text(self, before: object) -> str:
        text = joined([before if isinstance(before, str) else "", *self._pieces])
        self._pieces = []
        return text


class StoredToolCall(_Stored[agui.ToolCall]):
    """A tool call whose arguments may still grow."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.model.function.name

    def view(self) -> agui.ToolCall:
        """Return the call as it stands."""
        if self._pieces:
            function = self.model.function
            self.update(
                function=function.model_copy(
                    update={"arguments": self._take_text(function.arguments)}
                )
            )
        return self.model


class StoredMessage(_Stored[agui.Message]):
    """A message whose text and tool calls may still grow."""

    __slots__ = ("calls",)

    def __init__(self, model: agui.Message) -> None:
        super().__init__(model)
        calls = model.tool_calls if isinstance(model, agui.AssistantMessage) else None
        self.calls = None if calls is None else [StoredToolCall(call) for call in calls]

    def view(self) -> agui.Message:
        """Return the message as it stands; the same object as long as nothing changes."""
        if self._pieces:
            self.update(content=self._take_text(self.model.content))
        if self.calls is not None:
            calls = [call.view() for call in self.calls]
            known = self.model.tool_calls if isinstance(self.model, agui.AssistantMessage) else None
            if known is None or [*map(id, known)] != [*map(id, calls)]:
                self.update(tool_calls=calls)
        return self.model


class MessageStore:
    """An ordered list of messages. Of two with one id the first is found, as in the client."""

    def __init__(self, messages: Iterable[agui.Message]) -> None:
        self._messages = [StoredMessage(message) for message in messages]
        self._index()

    def _index(self) -> None:
        self._by_id: dict[str, StoredMessage] = {}
        self._calls: dict[str, tuple[StoredMessage, StoredToolCall]] = {}
        # By the message of the call: the last result behind it, so that many are not passed one by
        # one.
        self._last_results: dict[StoredMessage, StoredMessage] = {}
        for stored in self._messages:
            self._enter(stored)

    def _enter(self, stored: StoredMessage) -> None:
        self._by_id.setdefault(stored.model.id, stored)
        for call in stored.calls or ():
            self._calls.setdefault(call.view().id, (stored, call))

    def views(self) -> list[agui.Message]:
        """Return every message as it stands."""
        return [stored.view() for stored in self._messages]

    def find(self, message_id: str) -> StoredMessage | None:
        """Return the first message of that id."""
        return self._by_id.get(message_id)

    def find_call(self, call_id: str) -> StoredToolCall | None:
        """Return the first tool call of that id."""
        return self._calls[call_id][1] if call_id in self._calls else None

    def find_holder(self, call_id: str) -> StoredMessage | None:
        """Return the message that has the first tool call of that id."""
        return self._calls[call_id][0] if call_id in self._calls else None

    def find_entity(
        self, event: agui.ReasoningEncryptedValueEvent
    ) -> StoredMessage | StoredToolCall | None:
        """Return the owner of an encrypted value. Activities take none."""
        if event.subtype == "tool-call":
            return self.find_call(event.entity_id)
        stored = self.find(event.entity_id)
        return None if stored is None or stored.model.role == "activity" else stored

    def add(self, message: agui.Message) -> StoredMessage:
        """Append a message."""
        stored = StoredMessage(message)
        self._messages.append(stored)
        self._enter(stored)
        return stored

    def add_call(self, stored: StoredMessage, call_id: str, name: str) -> StoredToolCall:
        """Add a tool call without arguments to a message."""
        call = StoredToolCall(
            agui.ToolCall(id=call_id, function=agui.FunctionCall(name=name, arguments=""))
        )
        if stored.calls is None:
            stored.calls = []
        stored.calls.append(call)
        self._calls.setdefault(call_id, (stored, call))
        return call

    def add_result(self, message: agui.ToolMessage) -> StoredMessage:
        """Put a tool message behind its call and the results already there, else at the end."""
        holder = self.find_holder(message.tool_call_id)
        if holder is None:
            return self.add(message)
        place = self._messages.index(self._last_results.get(holder, holder)) + 1
        while place < len(self._messages) and self._messages[place].model.role == "tool":
            place += 1
        stored = self._last_results[holder] = StoredMessage(message)
        known = self._by_id.get(message.id)
        if known is None or place <= self._messages.index(known):
            self._by_id[message.id] = stored
        self._messages.insert(place, stored)
        return stored

    def replace(self, old: StoredMessage, message: agui.ActivityMessage) -> StoredMessage:
        """Put an activity in the place of `old`, the first message of its id."""
        calls, old.calls = old.calls, None
        old.replace(message)
        self._last_results.clear()  # it may stand among results
        if calls:
            self._index()
        return old

    def restate(
        self, messages: Sequence[agui.Message], keep: Callable[[agui.Message], bool]
    ) -> None:
        """Replace messages by those of the same id, drop the others unless to `keep`, append the
        new.
        """
        new = [StoredMessage(message) for message in messages]
        by_id = {stored.model.id: stored for stored in new}
        merged = [
            by_id.get(one.model.id, one)
            for one in self._messages
            if one.model.id in by_id or keep(one.model)
        ]
        known = {stored.model.id for stored in merged}
        self._messages = merged + [stored for stored in new if stored.model.id not in known]
        self._index()


def joined(pieces: Iterable[str]) -> str:
    """Join streamed text; a surrogate pair that was split between two pieces becomes its
    character.
    """
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def open_tool_calls(messages: Iterable[agui.Message]) -> dict[str, agui.ToolCall]:
    """Return the calls that no later message answers, by id, in their order; those of subagents
    included.
    """
    calls: dict[str, agui.ToolCall] = {}
    for message in messages:
        if isinstance(message, agui.AssistantMessage):
            calls.update((call.id, call) for call in message.tool_calls or ())
        elif isinstance(message, agui.ToolMessage):
            calls.pop(message.tool_call_id, None)
    return calls
