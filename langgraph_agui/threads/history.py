"""What a client's messages mean for a thread that the server owns: decided by ids, never by counts.

The client's list and the thread's messages enter; what is new leaves, or from where the thread is to run again. A
message with an id that the thread does not know is new if it is a user message, or the result of a call that the thread
holds open. A last message that names a known user message means "run again from there", with other content "edit and
fork". Everything else is known already, was removed by the graph, or is forged.
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


class Rerun(NamedTuple):
    """The request to run again from a message of the thread; `edited` is that message if its content has changed."""

    message_id: str
    edited: UserMessage | None


def find_rerun(
    client: Sequence[Message],
    thread: Sequence[BaseMessage],
    same_content: Callable[[UserMessage, BaseMessage], bool],
) -> Rerun | None:
    """Return the request to run again from a message of the thread; None if there is none.

    Only the last message of the client's list asks for that. An earlier one that differs was not edited by the user:
    the client has missed a change of the graph's (a redaction, a summary) or dropped what it no longer shows.
    """
    human = {message.id: message for message in thread if isinstance(message, HumanMessage)}
    shown = [
        message for message in _of_main_agent(client) if not isinstance(message, ActivityMessage | ReasoningMessage)
    ]
    last = shown[-1] if shown else None
    if not isinstance(last, UserMessage) or last.id not in human:
        return None
    return Rerun(last.id, None if same_content(last, human[last.id]) else last)


def _of_main_agent(client: Sequence[Message], known: Collection[str | None] = ()) -> list[Message]:
    """Return a client's list without messages of subagents, which the thread does not have unless they are `known`."""
    return [message for message in client if message.subagent_run_id is None or message.id in known]


def start_of_new(client: Sequence[Message], thread: Sequence[BaseMessage]) -> int | None:
    """Return the index of the user messages and results at the end of a client's list that the thread does not know.

    None, if the list shares nothing with the thread: then nothing tells what of it is new.
    """
    known = {message.id for message in thread}
    settled = [
        index
        for index, message in enumerate(client)
        if message.id in known
        or message.subagent_run_id is not None
        or not isinstance(message, UserMessage | ToolMessage)
    ]
    return settled[-1] + 1 if settled else None


def new_messages(
    client: Sequence[Message],
    thread: Sequence[BaseMessage],
    open_calls: Collection[str | None],
    *,
    instructions: bool,
    no_input_yet: bool = False,
    postponed: Collection[str] = (),
) -> list[Message]:
    """Return what is to be appended to the thread, in the client's order.

    A user message is new behind the last message that the thread knows; what the graph has removed before that stays
    removed. Of a client that shares no message with the thread, the last user messages are new.

    Args:
        client: The client's messages.
        thread: The thread's.
        open_calls: The calls that the client may answer.
        instructions: Whether system and developer messages are accepted.
        no_input_yet: Whether the thread is unknown, or its first run was killed before it had taken its input: then all
            user messages are new, also those that the client has part of an answer to.
        postponed: Ids of messages that came with answers and have not run yet: they are new wherever they stand.
    """
    known = {message.id for message in thread}
    client = _of_main_agent(client, known)
    accepted = (UserMessage, SystemMessage, DeveloperMessage) if instructions else (UserMessage,)
    settled = [index for index, message in enumerate(client) if message.id in known]
    if not settled and not no_input_yet:
        settled = [index for index, message in enumerate(client) if not isinstance(message, accepted)]
    last = max(settled, default=-1)
    unanswered = set(open_calls)
    new: list[Message] = []
    for index, message in enumerate(client):
        if message.id in known:
            continue
        if isinstance(message, accepted) and (index > last or message.id in postponed):
            new.append(message)
        elif isinstance(message, ToolMessage) and message.tool_call_id in unanswered:
            unanswered.discard(message.tool_call_id)
            new.append(message)
    return new
