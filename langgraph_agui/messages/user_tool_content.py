"""User and tool messages, both ways: what they hold is shown, what showing loses travels in an envelope.

A LangChain message enters `hold`, what a client sees of its content and an envelope leave; `restored` makes the content
again. An envelope is needed where showing changes the shape: a list of texts is shown as one string, a block has keys
that no AG-UI part has.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from ag_ui.core import ContentPart, TextPart, ToolMessage, UserMessage
from langchain_core.messages import BaseMessage
from langchain_core.messages import ToolMessage as LCToolMessage

from langgraph_agui.messages.blocks import ContentBlock
from langgraph_agui.messages.encrypted_values import VERSION, Envelope
from langgraph_agui.messages.media import content_parts
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.messages.parts import content_blocks
from langgraph_agui.messages.redaction import hides_reasoning, redact_content, warn_reasoning_dropped
from langgraph_agui.messages.template import InvalidEnvelope, VisibleText, same_json

logger = logging.getLogger(__name__)

Content: TypeAlias = str | list[ContentPart]

FAILED_WITHOUT_TEXT = "tool failed"
"""The `error` of a tool message whose content is no text; it says nothing that `metadata.status` does not."""


class MessageContent(NamedTuple):
    """What a LangChain message has besides ids and status."""

    content: Any  # typed more narrowly in a message than what it takes
    kwargs: dict[str, object]
    name: str | None
    call_id: str | None = None


def encode_content(
    message: BaseMessage, message_id: str, name: str | None, options: ReasoningOptions, call_id: str | None = None
) -> tuple[Content, Envelope | None]:
    """Return what a client sees of a message's content, and what it does not see of the message: nothing, for most.

    Args:
        message: A human message, or a tool's result. It holds reasoning if it repeats what a model said.
        message_id: Its public id.
        name: The name that the client knows.
        options: Who sees reasoning.
        call_id: The id that the client knows the call by that a tool's result answers.
    """
    content = as_content(message.content)
    withheld = hides_reasoning(message, options)
    shown = content_parts(as_content(redact_content(content, options)) if withheld else content)
    if withheld and options.seal is None:
        warn_reasoning_dropped()
        return shown, None
    words, own = _words(shown), dict[str, object]()
    try:
        if not same_json(content_blocks(shown, message_id=message_id), content):
            own["c"] = words.pack(content)
        if message.additional_kwargs:
            own["k"] = words.pack(message.additional_kwargs)
    except RecursionError:
        logger.warning("Message %r is nested too deeply; only what the client sees of it is kept.", message_id)
        return shown, None
    if message.name != name:
        own["n"] = message.name
    if isinstance(message, LCToolMessage) and message.tool_call_id != call_id:
        own["i"] = message.tool_call_id
    return shown, {"v": VERSION, **own, "h": words.check} if own else None


def decode_content(message: UserMessage | ToolMessage, envelope: Envelope | None, name: str | None) -> MessageContent:
    """Return what the LangChain message holds that is shown as `message`; without an envelope, what is shown.

    Raises:
        Damaged: The envelope is not one of this message, or words of it have changed.
    """
    said = tool_content(message) if isinstance(message, ToolMessage) else message.content
    content: object = content_blocks(said, message_id=message.id)
    if envelope is None:
        return MessageContent(content, {}, name)
    words = _words(message.content)
    if envelope.get("h") != words.check:
        raise InvalidEnvelope
    if "c" in envelope:
        content = words.fill(envelope["c"])
    kwargs = words.fill(envelope.get("k", {}))
    own_name, call_id = envelope.get("n", name), envelope.get("i")
    if not (_is_content(content) and isinstance(kwargs, dict) and isinstance(own_name, str | None)):
        raise InvalidEnvelope
    return MessageContent(content, kwargs, own_name, call_id if isinstance(call_id, str) else None)


def _is_content(content: object) -> bool:
    return isinstance(content, str) or (
        isinstance(content, list) and all(isinstance(block, str | dict) for block in content)
    )


def tool_content(message: ToolMessage) -> Content:
    """What a tool's result says to the model: a failure that its content does not tell is told by `error`."""
    content, error = message.content, message.error
    if not error or error == FAILED_WITHOUT_TEXT or (isinstance(content, str) and error in content):
        return content
    if not content:
        return error
    if isinstance(content, str):
        return f"{content}\n\n{error}"
    return [*content, TextPart(text=error)]


def text_of(shown: Content) -> str:
    """The text of what a client sees, its media left out."""
    return shown if isinstance(shown, str) else "".join(part.text for part in shown if isinstance(part, TextPart))


def _words(shown: Content) -> VisibleText:
    media = () if isinstance(shown, str) else [part.source.value for part in shown if not isinstance(part, TextPart)]
    return VisibleText(text=text_of(shown), media=media)


def as_content(content: object) -> str | Sequence[str | ContentBlock]:
    """The content of a message, typed as what its packages put there."""
    return cast("str | Sequence[str | ContentBlock]", content)
