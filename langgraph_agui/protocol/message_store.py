"""The messages that a fold holds: cheap to grow text in, found by id, given out as SDK models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ag_ui.core import AssistantMessage, FunctionCall, Message, ToolCall, ToolMessage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class StoredToolCall:
    """A tool call whose arguments may still grow."""

    __slots__ = ("_arguments", "_model")

    def __init__(self, model: ToolCall) -> None:
        self._model = model
        self._arguments: list[str] | None = None

    @property
    def name(self) -> str:
        """The tool's name."""
        return self._model.function.name

    def rename(self, name: str) -> None:
        """Give the call another tool's name."""
        function = self._model.function.model_copy(update={"name": name})
        self._model = self._model.model_copy(update={"function": function})

    def append(self, delta: str) -> None:
        """Append to the arguments."""
        if self._arguments is None:
            self._arguments = [self._model.function.arguments]
        self._arguments.append(delta)

    def merge(self, metadata: Mapping[str, object] | None) -> None:
        """Merge ``metadata`` key by key."""
        if metadata is not None:
            self._model = self._model.model_copy(update={"metadata": {**(self._model.metadata or {}), **metadata}})

    def encrypt(self, value: str) -> None:
        """Set the encrypted value."""
        self._model = self._model.model_copy(update={"encrypted_value": value})

    def view(self) -> ToolCall:
        """The call as it stands."""
        if self._arguments is not None:
            arguments, self._arguments = joined(self._arguments), None
            function = self._model.function.model_copy(update={"arguments": arguments})
            self._model = self._model.model_copy(update={"function": function})
        return self._model


class StoredMessage:
    """A message whose text and tool calls may still grow."""

    __slots__ = ("_model", "_text", "calls")

    def __init__(self, model: Message) -> None:
        self._model = model
        self._text: list[str] | None = None
        calls = model.tool_calls if isinstance(model, AssistantMessage) else None
        self.calls = None if calls is None else [StoredToolCall(call) for call in calls]

    @property
    def model(self) -> Message:
        """The message; its text and calls may be behind, see :meth:`view`."""
        return self._model

    def update(self, **fields: object) -> None:
        """Replace fields, by their Python names."""
        self._model = self._model.model_copy(update=fields)

    def append(self, delta: str) -> None:
        """Append to the text; content that is no text is replaced."""
        if self._text is None:
            content = self._model.content
            self._text = [content] if isinstance(content, str) else []
        self._text.append(delta)

    def merge(self, metadata: Mapping[str, object] | None) -> None:
        """Merge ``metadata`` key by key."""
        if metadata is not None:
            self.update(metadata={**(self._model.metadata or {}), **metadata})

    def add_call(self, call_id: str, name: str) -> StoredToolCall:
        """Add a tool call without arguments."""
        call = StoredToolCall(ToolCall(id=call_id, function=FunctionCall(name=name, arguments="")))
        if self.calls is None:
            self.calls = []
        self.calls.append(call)
        return call

    def view(self) -> Message:
        """The message as it stands; the same object as long as nothing changes."""
        if self._text is not None:
            text, self._text = joined(self._text), None
            self.update(content=text)
        if self.calls is not None:
            calls = [call.view() for call in self.calls]
            shown = self._model.tool_calls if isinstance(self._model, AssistantMessage) else None
            if shown is None or len(shown) != len(calls) or any(a is not b for a, b in zip(shown, calls, strict=True)):
                self.update(tool_calls=calls)
        return self._model


class MessageStore:
    """An ordered list of messages. Of two with one id the first is found, as in the client."""

    def __init__(self, messages: Iterable[Message]) -> None:
        self._held = [StoredMessage(message) for message in messages]
        self._index()

    def _index(self) -> None:
        self._by_id: dict[str, StoredMessage] = {}
        self._call_holders: dict[str, tuple[StoredMessage, StoredToolCall]] = {}
        for held in self._held:
            self._enter(held)

    def _enter(self, held: StoredMessage) -> None:
        self._by_id.setdefault(held.model.id, held)
        for call in held.calls or ():
            self._call_holders.setdefault(call.view().id, (held, call))

    def views(self) -> list[Message]:
        """Every message as it stands."""
        return [held.view() for held in self._held]

    def find(self, message_id: str) -> StoredMessage | None:
        """The first message of that id."""
        return self._by_id.get(message_id)

    def find_call(self, call_id: str) -> StoredToolCall | None:
        """The first tool call of that id."""
        holder = self._call_holders.get(call_id)
        return None if holder is None else holder[1]

    def find_holder(self, call_id: str) -> StoredMessage | None:
        """The message that has the first tool call of that id."""
        holder = self._call_holders.get(call_id)
        return None if holder is None else holder[0]

    def add(self, message: Message) -> StoredMessage:
        """Append a message."""
        held = StoredMessage(message)
        self._held.append(held)
        self._enter(held)
        return held

    def add_call(self, held: StoredMessage, call_id: str, name: str) -> StoredToolCall:
        """Add a tool call to a held message."""
        call = held.add_call(call_id, name)
        self._call_holders.setdefault(call_id, (held, call))
        return call

    def add_result(self, message: ToolMessage) -> StoredMessage:
        """Put a tool message behind its call and the results already there, else at the end."""
        holder = self._call_holders.get(message.tool_call_id)
        if holder is None:
            return self.add(message)
        place = self._held.index(holder[0]) + 1
        while place < len(self._held) and self._held[place].model.role == "tool":
            place += 1
        held = StoredMessage(message)
        self._held.insert(place, held)
        if message.id in self._by_id:
            self._index()
        else:
            self._by_id[message.id] = held
        return held

    def replace(self, old: StoredMessage, message: Message) -> StoredMessage:
        """Put ``message``, of the same id, in the first place of ``old``."""
        held = StoredMessage(message)
        self._held[self._held.index(old)] = held
        if old.calls or held.calls:
            self._index()
        else:
            self._by_id[message.id] = held
        return held

    def restate(self, messages: Sequence[Message], keep: Callable[[Message], bool]) -> None:
        """Replace messages by those of the same id, drop the others unless to ``keep``, append the new."""
        stated = [StoredMessage(message) for message in messages]
        by_id = {held.model.id: held for held in stated}
        merged = [by_id.get(held.model.id, held) for held in self._held if held.model.id in by_id or keep(held.model)]
        known = {held.model.id for held in merged}
        self._held = merged + [held for held in stated if held.model.id not in known]
        self._index()


def joined(pieces: Iterable[str]) -> str:
    """Join streamed text; a surrogate pair that was split between two pieces becomes its character."""
    text = "".join(pieces)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def open_tool_calls(messages: Iterable[Message]) -> dict[str, ToolCall]:
    """Return the calls that no later message answers, by id, in their order; those of subagents included."""
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls.update((call.id, call) for call in message.tool_calls or ())
        elif isinstance(message, ToolMessage):
            calls.pop(message.tool_call_id, None)
    return calls
