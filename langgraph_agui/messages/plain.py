"""User and tool messages, both ways: what they hold is shown, what showing loses travels in an envelope.

The content of a LangChain message enters `hold`, what a client sees of it and an envelope leave; `restored` makes the
content again. An envelope is needed where showing changes the shape: a list of texts is shown as one string, a block
has keys that no AG-UI part has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, cast

from ag_ui.core import ContentPart, TextPart, ToolMessage

from langgraph_agui.messages.blocks import Block
from langgraph_agui.messages.media import content_parts
from langgraph_agui.messages.parts import content_blocks
from langgraph_agui.messages.template import Damaged, Seen, same_json
from langgraph_agui.messages.values import Envelope

Shown: TypeAlias = str | list[ContentPart]


def hold(content: str | Sequence[str | Block], message_id: str) -> tuple[Shown, dict[str, object]]:
    """Return what a client sees of a content, and what its envelope must hold besides: nothing, for most."""
    shown = content_parts(content)
    if same_json(content_blocks(shown, message_id=message_id), content):
        return shown, {}
    words = _words(shown)
    return shown, {"c": words.pack(content), "h": words.check}


def restored(
    shown: Shown, envelope: Envelope, message_id: str
) -> Any:  # `content` is typed more narrowly than it takes
    """Return the content that is shown as `shown`; the shown one itself if the envelope is not about it."""
    words = _words(shown)
    if "c" in envelope and envelope.get("h") == words.check:
        try:
            content = words.fill(envelope["c"])
        except Damaged:
            content = None
        if isinstance(content, str) or (isinstance(content, list) and all(isinstance(b, str | dict) for b in content)):
            return content
    return content_blocks(shown, message_id=message_id)


def tool_content(message: ToolMessage) -> Shown:
    """What a tool's result says to the model: a failure that its content does not tell is told by `error`."""
    content, error = message.content, message.error
    if not error or (isinstance(content, str) and error in content):
        return content
    if not content:
        return error
    if isinstance(content, str):
        return f"{content}\n\n{error}"
    return [*content, TextPart(text=error)]


def _words(shown: Shown) -> Seen:
    if isinstance(shown, str):
        return Seen(text=shown)
    texts = [part.text for part in shown if isinstance(part, TextPart)]
    return Seen(text="".join(texts), media=[part.source.value for part in shown if not isinstance(part, TextPart)])


def as_content(content: object) -> str | Sequence[str | Block]:
    """The content of a message, typed as what its packages put there."""
    return cast("str | Sequence[str | Block]", content)
