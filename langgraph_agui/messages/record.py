"""One assistant message, held as the AG-UI messages that a client makes of it.

Parts go in (`Record.item` says which item each belongs to), `Message` objects come out. The live stream fills a
record part by part, history fills one with a whole message: both hold the same items under the same ids.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Iterable
from dataclasses import dataclass, field

from ag_ui.core import AssistantMessage, FunctionCall, ReasoningMessage, ToolCall
from langchain_core.messages import AIMessage, BaseMessage

from langgraph_agui.messages.blocks import Kind, Part, read
from langgraph_agui.messages.reasoning import Opaque, opaque

_HIGH, _LOW = "\ud800", "\udc00"


@dataclass(slots=True, eq=False)
class Item:
    """One text, reasoning block or tool call. `id` is its public id; `say`, while it is open, tells the client more."""

    kind: Kind
    id: str
    key: Hashable
    provider_id: str | None = None
    name: str | None = None
    pieces: list[str] = field(default_factory=list)
    half: str = ""
    encrypted: str | None = None
    say: Callable[[str], object] | None = None

    @property
    def text(self) -> str:
        """All that the item said so far."""
        return "".join(self.pieces)

    def grow(self, text: str) -> str:
        """Append `text` and return what may be shown of it now.

        Half of a surrogate pair waits for its other half; one that never comes is shown as U+FFFD.
        """
        if self.half or not text.isascii():
            text = self._well_formed(text)
        self.pieces.append(text)
        return text

    def end(self) -> str:
        """Return what is left to show when nothing more will come: a replacement for half a pair."""
        rest, self.half = "\ufffd" if self.half else "", ""
        if rest:
            self.pieces.append(rest)
        return rest

    def _well_formed(self, text: str) -> str:
        text, self.half = self.half + text, ""
        if text and _HIGH <= text[-1] < _LOW:
            text, self.half = text[:-1], text[-1]
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text


class Record:
    """What one LangChain assistant message says, as items in the order in which they were begun.

    Args:
        message_id: The public id of the assistant message; text and calls hang on it.
        taken: Ids that other messages have. A provider's reasoning id among them is not used again.
    """

    def __init__(self, message_id: str, taken: Collection[str] = ()) -> None:
        self.message_id = message_id
        self.items: list[Item] = []
        self.encrypted: str | None = None
        self._taken = taken
        self._by_key: dict[tuple[Kind, Hashable], Item] = {}
        self._said: Item | None = None

    @classmethod
    def of(cls, message: BaseMessage, message_id: str, taken: Collection[str] = ()) -> Record:
        """Hold a whole message: its text, reasoning, calls and opaque values."""
        record = cls(message_id, taken)
        for part in read(message, whole=True):
            record.item(part).grow(part.text)
        for item in record.items:
            item.end()
        if isinstance(message, AIMessage):
            record.seal(opaque(message))
        return record

    def rename(self, message_id: str) -> None:
        """Take a better id, unless the client has seen the assistant message: reasoning stands on its own."""
        if all(item.kind == "reasoning" for item in self.items):
            self.message_id = message_id

    def item(self, part: Part) -> Item:
        """Return the item that `part` belongs to, a new one at the end if it begins one."""
        said = self._said
        if (
            said is not None
            and said.kind == part.kind
            and said.key == part.key
            and part.id is None
            and part.name is None
        ):
            return said
        item = self._known(part) or self._begin(part)
        if item.provider_id is None and part.id is not None:
            item.provider_id = part.id
            if part.kind == "call":
                item.id = part.id
        item.name = item.name or part.name
        self._said = item
        return item

    def _known(self, part: Part) -> Item | None:
        if part.key is None and part.kind != "text" and part.id is None:
            # No index and no id: the block that is being said goes on.
            return self._said if self._said is not None and self._said.kind == part.kind else None
        item = self._by_key.get((part.kind, part.id if part.key is None and part.kind == "call" else part.key))
        if item is not None and part.id is not None and item.provider_id not in (None, part.id):
            return None  # the same index under another id is another block
        return item

    def _begin(self, part: Part) -> Item:
        key = part.id if part.key is None and part.kind == "call" else part.key
        if part.kind == "reasoning" and part.id is None and isinstance(key, tuple):
            # A further summary part: its block was named with the first one.
            first = self._by_key.get((part.kind, (key[0], 0)))
            part = part._replace(id=first.provider_id if first is not None else None)
        item = Item(part.kind, self._public_id(part), key, part.id, part.name)
        self.items.append(item)
        self._by_key[part.kind, key] = item
        return item

    def _public_id(self, part: Part) -> str:
        match part.kind:
            case "text":
                return self.message_id
            case "call":
                count = sum(item.kind == "call" for item in self.items)
                return part.id or f"{self.message_id}:call:{count}"
            case "reasoning":
                number = sum(item.kind == "reasoning" for item in self.items)
                if part.id is not None:
                    same = sum(item.provider_id == part.id and item.kind == "reasoning" for item in self.items)
                    provided = f"{part.id}:{same}" if same else part.id
                    if provided not in self._taken:
                        return provided
                return f"{self.message_id}:reasoning:{number}"

    def seal(self, values: Opaque) -> Iterable[tuple[Item | None, str]]:
        """Attach opaque values; return those that are new, each with its item (None: the assistant message)."""
        fresh: list[tuple[Item | None, str]] = []
        blocks = [item for item in self.items if item.kind == "reasoning"]
        calls = {item.id: item for item in self.items if item.kind == "call"}
        pairs = [(blocks[number], value) for number, value in values.reasoning if number < len(blocks)]
        pairs += [(calls[call_id], value) for call_id, value in values.calls if call_id in calls]
        for item, value in pairs:
            if item.encrypted != value:
                item.encrypted = value
                fresh.append((item, value))
        if values.message is not None and self.encrypted != values.message:
            self.encrypted = values.message
            fresh.append((None, values.message))
        return fresh

    def says_the_same(self, other: Record) -> bool:
        """Whether both say the same words, thoughts and calls; spacing inside JSON arguments does not count."""
        return self._content() == other._content()

    def _content(self) -> tuple[str, str, list[tuple[str, str | None, object]]]:
        def joined(kind: Kind) -> str:
            return "".join(item.text for item in self.items if item.kind == kind)

        calls = [(item.id, item.name, _parsed(item.text)) for item in self.items if item.kind == "call"]
        return joined("text"), joined("reasoning"), calls

    def reasoning(self, item: Item) -> ReasoningMessage:
        """The AG-UI message of one reasoning item."""
        return ReasoningMessage(id=item.id, role="reasoning", content=item.text, encrypted_value=item.encrypted)

    def assistant(self) -> AssistantMessage:
        """The AG-UI message that holds the text and the calls; no content where no text was said."""
        texts = [item.text for item in self.items if item.kind == "text"]
        calls = [
            ToolCall(
                id=item.id,
                type="function",
                function=FunctionCall(name=item.name or "", arguments=item.text),
                encrypted_value=item.encrypted,
            )
            for item in self.items
            if item.kind == "call"
        ]
        return AssistantMessage(
            id=self.message_id,
            role="assistant",
            content="".join(texts) if texts else None,
            tool_calls=calls or None,
            encrypted_value=self.encrypted,
        )


def _parsed(arguments: str) -> object:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments
