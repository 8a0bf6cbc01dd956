"""Histories that providers take: every call answered behind the message that makes it, no result without a call.

A run that was killed, stopped or has failed leaves calls without results, a client that forgets leaves results without
calls. Providers refuse both, and the thread could never run again. Messages enter, messages leave.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langgraph_agui.messages.to_agui import interrupted

logger = logging.getLogger(__name__)


def close_gaps(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return a conversation with its gaps closed.

    A call that is unanswered though the conversation has gone on is answered as interrupted; a result that came too
    late goes behind its call; a result that answers nothing, or what is answered already, is left out. The calls at
    the end may still be answered.
    """
    used: set[int] = set()
    result: list[BaseMessage] = []
    last = max((index for index, message in enumerate(messages) if not isinstance(message, ToolMessage)), default=-1)
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if index not in used:
                logger.warning("A result that answers no open call was left out: %r.", message.tool_call_id)
            continue
        result.append(message)
        if not isinstance(message, AIMessage):
            continue
        answers: dict[str | None, int] = {}
        for call_id in (call["id"] for call in (*message.tool_calls, *message.invalid_tool_calls)):
            if (found := _find_result(messages, index, call_id, used)) is not None:
                used.add(found)
                answers[call_id] = found
        result += [messages[found] for found in sorted(answers.values())]
        if index < last:
            open_ = [call for call in message.tool_calls if call["id"] not in answers]
            result += [interrupted(call["id"] or "", call["name"]) for call in open_]
    return result


def _find_result(messages: Sequence[BaseMessage], index: int, call_id: str | None, used: set[int]) -> int | None:
    """Return the index of the result of a call: behind it, before another call of the same id."""
    for found in range(index + 1, len(messages)):
        message = messages[found]
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id and found not in used:
            return found
        if isinstance(message, AIMessage) and any(other["id"] == call_id for other in message.tool_calls):
            return None
    return None


def append_update(thread: Sequence[BaseMessage], whole: Sequence[BaseMessage], *, removes: bool) -> list[BaseMessage]:
    """Return the update that turns a stored thread into the conversation `whole`.

    Args:
        thread: What is stored.
        whole: What it is to become.
        removes: Whether the channel can remove messages; if not, a gap inside the thread stays.
    """
    if list(whole[: len(thread)]) == list(thread):
        return list(whole[len(thread) :])
    if removes:
        return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *whole]
    known = {id(message) for message in thread}
    return [message for message in whole if id(message) not in known]
