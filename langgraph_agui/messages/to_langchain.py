"""AG-UI history as LangChain messages, reasoning included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from ag_ui.core import Message, MessagesSnapshotEvent
from langchain_core.messages import BaseMessage

from langgraph_agui.messages.encrypted_values import EncryptedValueCodec
from langgraph_agui.messages.history import History
from langgraph_agui.messages.options import ReasoningOptions
from langgraph_agui.messages.provider_filter import for_provider
from langgraph_agui.protocol.input import known_messages


def agui_messages_to_langchain(
    messages: Iterable[Message | Mapping[str, object]] | MessagesSnapshotEvent,
    *,
    reasoning: ReasoningOptions | None = None,
    thread_id: str = "",
    provider: str | Sequence[str] | None = None,
    instructions: Literal["ignore", "accept"] = "ignore",
) -> list[BaseMessage]:
    """Return the messages of an AG-UI client as LangChain messages, with the same ids.

    User, assistant and tool messages come over, media parts included; reasoning becomes part of the assistant message
    that it led to, so that a provider gets the bytes that it would have got had nothing been forgotten. Activity
    messages never come over (AG-UI 1.0, activities), nor do the client's system and developer messages, unless they are
    accepted: instructions are the server's.
    Total: what is malformed, unknown or foreign is left out with a warning; arguments that are no JSON object make an
    invalid tool call.

    Args:
        messages: Messages, as objects or as the JSON that a client sends, or the event that holds them all.
        reasoning: The options under which the messages went out.
        thread_id: The thread that they belong to: sealed values open in no other.
        provider: Who is about to be sent the messages, by LangChain's name or names (`model_provider`). Of what others
            said, text and calls stay. By default `reasoning.provider`; with neither, nothing is filtered.
        instructions: Whether system and developer messages become system messages (`"accept"`), at their place. A
            developer's is marked as such, as LangChain does for OpenAI.
    """
    options = reasoning or ReasoningOptions()
    result = History(
        known_messages(messages), EncryptedValueCodec(options, thread_id), instructions == "accept"
    ).to_langchain()
    targets = replace(options, provider=provider).providers if provider else options.providers
    return for_provider(result, *targets) if targets else result
