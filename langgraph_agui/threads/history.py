"""What a client's messages mean for a thread that the server owns: decided by ids, never by counts.

The client's list and the thread's messages enter; what is new leaves, or from where the thread is to run again. A
message whose id the thread does not know is new if it is a user message, or the result of a call that the thread holds
open. A last message that names a known user message means "run again from there", with other content "edit and fork".
Everything else is known already, was removed by the graph, or was never said.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ag_ui.core import (
    ActivityMessage,
    DeveloperMessage,
    Message,
    ReasoningMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from langchain_core.messages import BaseMessage, HumanMessage

Same = Callable[[UserMessage, BaseMessage], bool]
"""Whether a client's user message says what the thread's message of that id says."""


class Fork(NamedTuple):
    """The request to run again from a message of the thread; `edited` is what it says now, if that has changed."""

    message_id: str
    edited: UserMessage | None


def forked(client: Sequence[Message], thread: Sequence[BaseMessage], same: Same) -> Fork | None:
    """The request to run again from a message of the thread, with its old content or a new one; None if there is none.

    Only the last message of the client's list asks for that. One before it that differs is a client's that has missed a
    change of the graph's (a redaction, a summary) or has dropped what it no longer shows, not a user's who has edited.
    """
    human = {message.id: message for message in thread if isinstance(message, HumanMessage)}
    spoken = [message for message in own(client) if not isinstance(message, ActivityMessage | ReasoningMessage)]
    last = spoken[-1] if spoken else None
    if not isinstance(last, UserMessage) or last.id not in human:
        return None
    return Fork(last.id, None if same(last, human[last.id]) else last)


def own(client: Sequence[Message], known: Collection[str | None] = ()) -> list[Message]:
    """A client's list without what subagents have said, which is no business of the thread's unless it is `known`."""
    return [message for message in client if message.subagent_run_id is None or message.id in known]


def behind(client: Sequence[Message], thread: Sequence[BaseMessage]) -> int | None:
    """Where the user messages and results at the end of a client's list begin, behind all that the thread has said.

    None, if the list shares nothing with the thread: then nothing tells what of it is new.
    """
    known = {message.id for message in thread}
    settled = [
        place
        for place, message in enumerate(client)
        if message.id in known
        or message.subagent_run_id is not None
        or not isinstance(message, UserMessage | ToolMessage)
    ]
    return settled[-1] + 1 if settled else None


def news(
    client: Sequence[Message],
    thread: Sequence[BaseMessage],
    open_calls: Sequence[str | None],
    *,
    instructions: bool,
    unheard: bool = False,
    waiting: Collection[str] = (),
) -> list[Message]:
    """What is to be appended to the thread, in the client's order.

    A user message is new behind the last message that the thread knows; what the graph has removed before that stays
    so. Of a client that shares no message with the thread, the last user messages are new.

    Args:
        client: The client's messages.
        thread: The thread's.
        open_calls: The calls that the client may answer.
        instructions: Whether system and developer messages are heard.
        unheard: Whether the thread is unknown, or its first run was killed before it had taken its input: then all
            user messages are new, also those that its client has seen the beginning of an answer to.
        waiting: Ids of messages that came with answers whose run has paused again: they are new wherever they stand.
    """
    known = {message.id for message in thread}
    client = own(client, known)
    heard = (UserMessage, SystemMessage, DeveloperMessage) if instructions else (UserMessage,)
    settled = [place for place, message in enumerate(client) if message.id in known]
    if not settled and not unheard:
        settled = [place for place, message in enumerate(client) if not isinstance(message, heard)]
    last = max(settled, default=-1)
    unanswered = set(open_calls)
    fresh: list[Message] = []
    for place, message in enumerate(client):
        if message.id in known:
            continue
        if isinstance(message, heard) and (place > last or message.id in waiting):
            fresh.append(message)
        elif isinstance(message, ToolMessage) and message.tool_call_id in unanswered:
            unanswered.discard(message.tool_call_id)
            fresh.append(message)
    return fresh
