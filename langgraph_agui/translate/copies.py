"""Recognise a message that repeats what a model said."""

from __future__ import annotations

import threading

from langchain_core.messages import AIMessage, BaseMessage


class CopyDetector:
    """Recognises a node's message that repeats what a model streamed under another id.

    `return {"messages": [AIMessage(reply.content)]}` is common: its words are already on the client's screen.
    """

    def __init__(self) -> None:
        self._said: list[tuple[str, str | None, AIMessage]] = []
        self._lock = threading.Lock()

    def say(self, namespace: str, message: BaseMessage, tag: str | None) -> None:
        """Note what a model (under this `subagentRunId`) said in the task with this checkpoint namespace."""
        if isinstance(message, AIMessage) and message.id is not None:
            self._said.append((namespace, tag, message))

    def original(self, namespace: str, message: BaseMessage, returned: set[str], tag: str | None) -> str | None:
        """The id of the message that `message` copies, said by its node or inside it and not returned itself.

        Each is copied once: a node may return the same words several times. What a subagent has said, the agent says
        once more: it is another's.
        """
        if not isinstance(message, AIMessage) or not message.text:
            return None
        with self._lock:  # nodes may end at once, each in a thread of its own
            return self._take(namespace, message, returned, tag)

    def _take(self, namespace: str, message: AIMessage, returned: set[str], tag: str | None) -> str | None:
        calls = [call["id"] for call in message.tool_calls]
        for position, (said_in, speaker, said) in enumerate(self._said):
            if (
                said.id not in returned
                and speaker == tag
                and (said_in == namespace or said_in.startswith(f"{namespace}|"))
                and said.text == message.text
                and [call["id"] for call in said.tool_calls] == calls
            ):
                del self._said[position]
                return said.id
        return None
