"""The parts of a message that the graph's author hides: clients do not see them, the model still
gets them back.

It stays with the message in `response_metadata`, and so in the checkpoint: the next run hides it
too, also in another process. No provider is sent it.
"""

from typing import Final, NamedTuple, TypeVar

from langchain_core.messages import BaseMessage

from langgraph_agui.messages.blocks import BlockDelta, read_blocks

Message = TypeVar("Message", bound=BaseMessage)

# The key in `response_metadata`; True where the whole message is hidden.
HIDDEN: Final = "agui_hidden"


class Hidden(NamedTuple):
    """The parts of a message that clients do not see.

    Attributes:
        text: Whether its text is hidden.
        shown_tools: The tools whose calls are shown; None for all.
    """

    text: bool = False
    shown_tools: tuple[str, ...] | None = None

    @property
    def is_total(self) -> bool:
        """Whether neither text nor calls are shown. Then nothing is."""
        return self.text and self.shown_tools == ()

    def hides_call(self, tool: str) -> bool:
        """Return whether calls of this tool are hidden."""
        return self.shown_tools is not None and tool not in self.shown_tools

    def for_message(self, message: BaseMessage) -> "Hidden":
        """Return the hidden parts of a message: all, if nothing would be left to see."""
        if self == NOTHING or any(self._shows(delta) for delta in read_blocks(message, whole=True)):
            return self
        return EVERYTHING

    def _shows(self, delta: BlockDelta) -> bool:
        match delta.kind:
            case "text":
                return bool(delta.text) and not self.text
            case "call" | "server_call":
                return not self.hides_call(delta.name or "")
            case "server_result":
                return False  # it is shown with its call
        return True

    def marked(self, message: Message) -> Message:
        """Return the message with the mark of its hidden parts: a copy, if its mark is another.
        Caches share messages.
        """
        copy = message if hidden_in(message) == self else message.model_copy()
        self.mark(copy)
        return copy

    def mark(self, message: BaseMessage) -> None:
        """Put the mark of the hidden parts into a message."""
        if hidden_in(message) == self:
            return
        metadata = {key: value for key, value in message.response_metadata.items() if key != HIDDEN}
        if self.is_total:
            metadata[HIDDEN] = True
        elif self != NOTHING:
            tools = None if self.shown_tools is None else [*self.shown_tools]
            metadata[HIDDEN] = {"text": self.text, "shown_tools": tools}
        message.response_metadata = metadata


NOTHING: Final = Hidden()
EVERYTHING: Final = Hidden(text=True, shown_tools=())


def hidden_in(message: BaseMessage) -> "Hidden":
    """Return the hidden parts of a message."""
    match message.response_metadata.get(HIDDEN):
        case None:
            return NOTHING
        case {"text": bool(text), "shown_tools": list(tools) | (None as tools)}:
            return Hidden(text, None if tools is None else tuple(map(str, tools)))
    return EVERYTHING


def hidden_of(text: bool, calls: object) -> "Hidden":
    """Return the hidden parts if `text` is hidden, and calls are shown as `calls` sets: not
    (False), of these tools, or all.
    """
    match calls:
        case False:
            return Hidden(text, ())
        case str(tool):
            return Hidden(text, (tool,))
        case [*tools]:
            return Hidden(text, tuple(map(str, tools)))
    return Hidden(text)
