"""Reads a conversation for the scripts of these examples."""

from __future__ import annotations

from langchain_core.messages import BaseMessage, ToolMessage


def results(messages: list[BaseMessage]) -> list[str]:
    """Return the results of tools since the last user message."""
    last = max(number for number, message in enumerate(messages) if message.type == "human")
    return [message.text for message in messages[last:] if isinstance(message, ToolMessage)]
