"""Recognise a message that repeats what a model said, and tell where in a graph a callback belongs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from langchain_core.messages import AIMessage, BaseMessage


class Copies:
    """Recognises a node's message that repeats what a model streamed under another id.

    `return {"messages": [AIMessage(reply.content)]}` is common: its words are already on the client's screen.
    """

    def __init__(self) -> None:
        self._said: list[tuple[str, AIMessage]] = []

    def say(self, namespace: str, message: BaseMessage) -> None:
        """Note what a model said in the task with this checkpoint namespace."""
        if isinstance(message, AIMessage) and message.id is not None:
            self._said.append((namespace, message))

    def original(self, namespace: str, message: BaseMessage, returned: set[str]) -> str | None:
        """The id of the message that `message` copies, said by its node or inside it and not returned itself."""
        if not isinstance(message, AIMessage) or not message.text:
            return None
        calls = [call["id"] for call in message.tool_calls]
        for said_in, said in reversed(self._said):
            if (
                said.id not in returned
                and (said_in == namespace or said_in.startswith(f"{namespace}|"))
                and said.text == message.text
                and [call["id"] for call in said.tool_calls] == calls
            ):
                return said.id
        return None


def namespace_of(metadata: Mapping[str, object] | None) -> str:
    """The checkpoint namespace of the task that a callback belongs to; "" outside a graph."""
    return cast("str", (metadata or {}).get("langgraph_checkpoint_ns") or "")


def task_id(namespace: str) -> str:
    """The id of the task whose namespace this is."""
    return namespace.rpartition(":")[2]
