"""AG-UI history as LangChain messages."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    ContentPart,
    DataSource,
    Message,
    TextPart,
    ToolCall,
    ToolMessage,
    UrlSource,
    UserMessage,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, InvalidToolCall
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.messages.tool import ToolCall as LCToolCall
from langchain_core.messages.tool import invalid_tool_call, tool_call

logger = logging.getLogger(__name__)

_BLOCKS = {"image": "image", "audio": "audio", "video": "video", "document": "file"}


def agui_messages_to_langchain(messages: Iterable[Message]) -> list[BaseMessage]:
    """Return the messages of an AG-UI client as LangChain messages, with the same ids.

    User, assistant and tool messages come over, media parts included. Activity messages never do (AG-UI 1.0,
    activities), nor do the client's system and developer messages: instructions are the server's. Arguments that are
    no JSON object make an invalid tool call rather than an error.
    """
    result: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, UserMessage):
            result.append(HumanMessage(_content(message.content), id=message.id, name=message.name))
        elif isinstance(message, AssistantMessage):
            result.append(_assistant(message))
        elif isinstance(message, ToolMessage):
            result.append(_tool(message))
        else:
            logger.debug("A message with role %r is not given to the graph.", message.role)
    return result


def _assistant(message: AssistantMessage) -> AIMessage:
    calls: list[LCToolCall] = []
    invalid: list[InvalidToolCall] = []
    for call in message.tool_calls or ():
        _sort(call, calls, invalid)
    return AIMessage(message.content or "", id=message.id, tool_calls=calls, invalid_tool_calls=invalid)


def _sort(call: ToolCall, calls: list[LCToolCall], invalid: list[InvalidToolCall]) -> None:
    try:
        arguments = json.loads(call.function.arguments or "{}")
    except ValueError:
        arguments = None
    if isinstance(arguments, dict):
        calls.append(tool_call(name=call.function.name, args=arguments, id=call.id))
    else:
        invalid.append(
            invalid_tool_call(
                name=call.function.name,
                args=call.function.arguments,
                id=call.id,
                error="The arguments are not a JSON object.",
            )
        )


def _tool(message: ToolMessage) -> LCToolMessage:
    return LCToolMessage(
        _content(message.content),
        id=message.id,
        tool_call_id=message.tool_call_id,
        status="error" if message.error is not None else "success",
    )


def _content(
    content: str | list[ContentPart],
) -> Any:  # `content` of a message is typed more narrowly than it takes
    if isinstance(content, str):
        return content
    return [_block(part) for part in content]


def _block(part: ContentPart) -> dict[str, object]:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    block: dict[str, object] = {"type": _BLOCKS[part.type]}
    source = part.source
    if isinstance(source, DataSource):
        block["base64"] = source.value
    elif isinstance(source, UrlSource):
        block["url"] = source.value
    else:
        block["file_id"] = source.value
    if source.mime_type is not None:
        block["mime_type"] = source.mime_type
    return block
