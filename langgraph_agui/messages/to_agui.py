"""LangChain history as AG-UI messages, under the ids and in the order that the live stream gives them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, cast
from uuid import uuid4

from ag_ui.core import Message, ToolMessage, UserMessage
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage
from langchain_core.messages import ToolMessage as LCToolMessage

from langgraph_agui.messages.blocks import Block
from langgraph_agui.messages.conversation import Conversation
from langgraph_agui.messages.media import content_parts
from langgraph_agui.messages.record import Record

logger = logging.getLogger(__name__)

FAILED = {"status": "error"}
"""Metadata of the result of a tool that failed; `TOOL_CALL_RESULT` has no field for it (AG-UI 1.0, tools)."""

HIDDEN = "agui_hidden"
"""Key in `response_metadata` of what a `nostream` model said. It stays with the message in the checkpoint, so that the
next run, another process included, hides it too; no provider is sent it."""

SUMMARIZATION = "summarization"
"""`lc_source` of what LangChain's `SummarizationMiddleware` says to the model in the user's place."""

Shown = Literal["assistant", "user", "tool"]

_CHAT_ROLES: Mapping[str, Shown] = {"assistant": "assistant", "ai": "assistant", "user": "user", "human": "user"}


def shown_as(message: BaseMessage) -> Shown | None:
    """The role under which a client sees `message`; None for what stays on the server (prompts, hidden calls)."""
    if isinstance(message, AIMessage):
        return None if HIDDEN in message.response_metadata else "assistant"
    if isinstance(message, LCToolMessage):
        return "tool"
    if isinstance(message, HumanMessage):
        return None if message.additional_kwargs.get("lc_source") == SUMMARIZATION else "user"
    if isinstance(message, ChatMessage):
        return _CHAT_ROLES.get(message.role)
    return None


def user_message(message: BaseMessage, message_id: str) -> UserMessage:
    """A human message, its media as parts."""
    content = content_parts(cast("str | Sequence[str | Block]", message.content))
    return UserMessage(id=message_id, role="user", content=content, name=message.name or None)


def tool_message(message: LCToolMessage, message_id: str) -> ToolMessage:
    """A tool's result, its media as parts. A failed one carries its text as `error` and is marked in metadata."""
    content = content_parts(cast("str | Sequence[str | Block]", message.content))
    failed = message.status == "error"
    return ToolMessage(
        id=message_id,
        role="tool",
        content=content,
        tool_call_id=message.tool_call_id,
        error=(content if isinstance(content, str) else "tool failed") if failed else None,
        metadata=dict(FAILED) if failed else None,
    )


def langchain_messages_to_agui(messages: Iterable[BaseMessage]) -> list[Message]:
    """Return `messages` as an AG-UI client would hold them after streaming them.

    System messages and messages of unknown kinds are left out; a message without an id gets a random one. Reasoning
    becomes messages of its own before the assistant message it led to, with its opaque values in `encryptedValue`.
    """
    conversation = Conversation()
    for message in messages:
        say(conversation, message, message.id or str(uuid4()))
    return conversation.messages()


def say(conversation: Conversation, message: BaseMessage, message_id: str) -> None:
    """Append a whole LangChain message to `conversation` under `message_id`."""
    match shown_as(message):
        case "assistant":
            conversation.hold(Record.of(message, message_id, conversation.ids))
        case "tool":
            conversation.answer(tool_message(cast("LCToolMessage", message), message_id))
        case "user":
            conversation.add(user_message(message, message_id))
        case None:
            if message.type not in ("system", "remove"):
                logger.warning("A message of type %r has no AG-UI role and was left out.", message.type)
