"""LangChain history as AG-UI messages, under the ids and in the order that the live stream gives them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Literal, cast
from uuid import uuid4

from ag_ui.core import Message, ToolMessage, UserMessage
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage
from langchain_core.messages import ToolMessage as LCToolMessage

from langgraph_agui.messages.assistant_turn import AssistantTurn
from langgraph_agui.messages.conversation import Conversation
from langgraph_agui.messages.encrypted_values import (
    AGENT,
    EncryptedValueCodec,
    Envelope,
    Holder,
    MessageSource,
)
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.messages.user_tool_content import FAILED_WITHOUT_TEXT, encode_content
from langgraph_agui.protocol.jsonable import clean_text

logger = logging.getLogger(__name__)

FAILED = {"status": "error"}
"""Metadata of the result of a tool that failed; `TOOL_CALL_RESULT` has no field for it (AG-UI 1.0, tools)."""

HIDDEN = "agui_hidden"
"""Key in `response_metadata` of what a `nostream` model said. It stays with the message in the checkpoint, so that the
next run, another process included, hides it too; no provider is sent it."""

SUMMARIZATION = "summarization"
"""`lc_source` of what LangChain's `SummarizationMiddleware` says to the model in the user's place."""

Role = Literal["assistant", "user", "tool"]

_CHAT_ROLES: Mapping[str, Role] = {"assistant": "assistant", "ai": "assistant", "user": "user", "human": "user"}


def agui_role(message: BaseMessage) -> Role | None:
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


def user_message(
    message: BaseMessage, message_id: str, values: EncryptedValueCodec, source: MessageSource = AGENT
) -> UserMessage:
    """A human message, its media as parts; or one that a subagent tells."""
    name = clean_text(message.name) if message.name else None
    content, own = encode_content(message, message_id, name, values.options)
    return UserMessage(
        id=message_id,
        role="user",
        content=content,
        name=name,
        encrypted_value=_value(values, "user", message_id, own, source),
        subagent_run_id=source.visible_id,
    )


def tool_message(
    message: LCToolMessage,
    message_id: str,
    values: EncryptedValueCodec,
    call_name: str | None,
    source: MessageSource = AGENT,
    call_id: str | None = None,
) -> ToolMessage:
    """A tool's result, its media as parts. A failed one carries its text as `error` and is marked in metadata.

    Args:
        message: The result.
        message_id: Its public id.
        values: Writes its opaque value.
        call_name: The tool that its call names, as the client knows it.
        source: Which agent's tool has answered.
        call_id: The id that the client knows its call by, if not the call's own.
    """
    call_id = call_id or message.tool_call_id
    content, own = encode_content(message, message_id, call_name, values.options, call_id)
    failed = message.status == "error"
    return ToolMessage(
        id=message_id,
        role="tool",
        content=content,
        tool_call_id=call_id,
        error=(content if isinstance(content, str) else FAILED_WITHOUT_TEXT) if failed else None,
        metadata=dict(FAILED) if failed else None,
        encrypted_value=_value(values, "tool", message_id, own, source),
        subagent_run_id=source.visible_id,
    )


def _value(
    values: EncryptedValueCodec, holder: Holder, message_id: str, own: Envelope | None, source: MessageSource
) -> str | None:
    own = source.mark(own)
    if own is None:
        return None
    value = values.encode(holder, message_id, own)
    if value is None:
        logger.warning("The opaque value of message %r exceeds max_bytes and is left out.", message_id)
    return value


def langchain_messages_to_agui(
    messages: Iterable[BaseMessage], *, reasoning: ReasoningOptions | None = None, thread_id: str = ""
) -> list[Message]:
    """Return `messages` as an AG-UI client would hold them after streaming them.

    System messages and messages of unknown kinds are left out; a message without an id gets a random one. Reasoning
    becomes messages of its own before the assistant message it led to. What a client does not see of a message, but its
    provider needs, is in `encryptedValue`: `agui_messages_to_langchain` makes the same messages again.

    Args:
        messages: LangChain messages; what is none is left out with a warning.
        reasoning: Who sees reasoning, and how opaque values travel.
        thread_id: The thread that sealed values are bound to.
    """
    conversation, values = Conversation(), EncryptedValueCodec(reasoning, thread_id)
    for message in cast("Iterable[object]", messages if isinstance(messages, Iterable) else [messages]):
        if isinstance(message, BaseMessage):
            say(conversation, message, message.id or str(uuid4()), values)
        else:
            logger.warning("A %s is no LangChain message and was left out.", type(message).__name__)
    return conversation.messages()


def say(conversation: Conversation, message: BaseMessage, message_id: str, values: EncryptedValueCodec) -> None:
    """Append a whole LangChain message to `conversation` under `message_id`."""
    match agui_role(message):
        case "assistant":
            record = AssistantTurn.from_message(message, message_id, conversation.ids, values)
            if isinstance(message, AIMessage):
                record.encode_values(message)
            conversation.hold(record)
        case "tool":
            result = cast("LCToolMessage", message)
            name = conversation.call_name(result.tool_call_id)
            conversation.answer(tool_message(result, message_id, values, name))
        case "user":
            conversation.add(user_message(message, message_id, values))
        case None:
            if message.type not in ("system", "remove"):
                logger.warning("A message of type %r has no AG-UI role and was left out.", message.type)
