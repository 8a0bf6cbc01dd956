"""Histories that providers take: every call answered behind the message that makes it, no result without a call.

A run that was killed, stopped or has failed leaves calls without results, a client that forgets leaves results without
calls; providers refuse both, and the thread would be dead. Messages enter, messages leave.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolCall, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langgraph_agui.messages.to_agui import cancelled, interrupted

logger = logging.getLogger(__name__)


def close_gaps(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return a conversation with its gaps closed.

    A call that is unanswered though the conversation has gone on is answered as interrupted; a result that came too
    late goes behind its call; a result that answers nothing, or what is answered already, is left out. The calls at
    the end may still be answered.
    """
    taken: set[int] = set()
    result: list[BaseMessage] = []
    last = max((place for place, message in enumerate(messages) if not isinstance(message, ToolMessage)), default=-1)
    for place, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if place not in taken:
                logger.warning("A result that answers no open call was left out: %r.", message.tool_call_id)
            continue
        result.append(message)
        calls = message.tool_calls if isinstance(message, AIMessage) else ()
        invalid = [call["id"] for call in message.invalid_tool_calls] if isinstance(message, AIMessage) else []
        made = [*(call["id"] for call in calls), *invalid]
        answers = {
            call_id: found for call_id in made if (found := _answer(messages, place, call_id, taken)) is not None
        }
        result += [messages[found] for found in sorted(answers.values())]
        if place < last:
            result += [interrupted(call["id"] or "", call["name"]) for call in calls if call["id"] not in answers]
    return result


def _answer(messages: Sequence[BaseMessage], place: int, call_id: str | None, taken: set[int]) -> int | None:
    """Where the answer to a call is: behind it, before another call of the same id."""
    for found in range(place + 1, len(messages)):
        message = messages[found]
        if isinstance(message, ToolMessage) and message.tool_call_id == call_id and found not in taken:
            taken.add(found)
            return found
        if isinstance(message, AIMessage) and any(other["id"] == call_id for other in message.tool_calls):
            return None
    return None


def open_calls(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """The calls of the last assistant message that have no result yet."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return [call for call in message.tool_calls if call["id"] not in answered]
        else:
            break
    return []


def cancelled_results(messages: Sequence[BaseMessage]) -> list[ToolMessage]:
    """Results for the open calls of a pause that is given up."""
    return [cancelled(call["id"] or "", call["name"]) for call in open_calls(messages)]


def appended(thread: Sequence[BaseMessage], whole: Sequence[BaseMessage], *, replaces: bool) -> list[BaseMessage]:
    """The update that turns a stored thread into the conversation `whole`.

    Args:
        thread: What is stored.
        whole: What it is to become.
        replaces: Whether the channel can take messages out; if not, a gap inside the thread stays.
    """
    if list(whole[: len(thread)]) == list(thread):
        return list(whole[len(thread) :])
    if replaces:
        return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *whole]
    known = {id(message) for message in thread}
    return [message for message in whole if id(message) not in known]
