"""A LangChain conversation as what a remote agent is sent: AG-UI messages, its thread, and what the thread waits for.

In: the messages that a chat model is called with. Out: the same as AG-UI history. What this agent said itself goes back
exactly as it said it, its reasoning and encrypted values included; what others said goes as text and calls.

What ties a message to its agent stands in it, under `additional_kwargs["agui"]`, so that a conversation needs no other
memory: `thread` is the thread's id, `agent` tells agents apart, `interrupts` are those that the run ended with.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit
from uuid import UUID, uuid4, uuid5

from ag_ui.core import (
    AssistantMessage,
    DeveloperMessage,
    Interrupt,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage
from langchain_core.messages import SystemMessage as LCSystemMessage
from langchain_core.messages import ToolCall as LCToolCall
from langchain_core.messages import ToolMessage as LCToolMessage

from langgraph_agui.client.langchain.approved import asks_about
from langgraph_agui.client.langchain.history import AGUI, agui_messages_of, calls_again
from langgraph_agui.messages.media import content_parts
from langgraph_agui.messages.user_tool_content import FAILED_WITHOUT_TEXT, as_content, text_of

logger = logging.getLogger(__name__)

_IDS: Final = UUID("6a1f8c1e-7d0b-4f43-9a55-0b6a3f1c2d10")
"""Names messages that have no id by what they say: the same in each call, as a thread needs it."""


class Outgoing(NamedTuple):
    """What a call of the chat model comes to for the agent."""

    thread_id: str
    messages: list[Message]
    interrupts: list[Interrupt]
    """What the thread waits for."""
    asked: frozenset[str]
    """The calls that this is about and that the caller was to run."""


def agent_key(url: str, name: str = "") -> str:
    """What tells an agent from others in the messages that it said: a digest of its URL, whoever the user is.

    Several that share a URL, with threads of their own, have names.
    """
    parts = urlsplit(url)
    public = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return sha256(f"{name} {public}".encode()).hexdigest()[:16]


def outgoing(messages: Sequence[BaseMessage], agent: str, thread_id: str | None = None) -> Outgoing:
    """Return the conversation as the agent is sent it.

    Args:
        messages: All of it. A message without an id gets one that depends on what it says, and how often that was said.
        agent: The `agent_key` of the agent that is asked.
        thread_id: Its thread; by default that of the last message that it said itself, else a new one.
    """
    names = _Names()
    sent: list[Message] = []
    known, open_, asked = thread_id, list[Interrupt](), frozenset[str]()
    calls = _Calls()
    for message in messages:
        told = own_marks(message, agent)
        if told is not None:
            known = thread_id or told.get("thread") or known
        if told is not None and isinstance(message, AIMessage):
            open_ = [Interrupt.model_validate(one) for one in told.get("interrupts", ())]
            asked = _asked(open_, message)
        if isinstance(message, LCToolMessage):
            if not calls.takes(message):
                continue
            message = calls.renamed(message)
        name = names.of(message)
        found = _converted(message, message.id or name, told)
        if isinstance(message, AIMessage):
            answered = {one.tool_call_id for one in found if isinstance(one, ToolMessage)}
            calls.note(message, answered if told is None else answered | asked)
        sent += found
    return Outgoing(known or str(uuid4()), sent, open_, asked)


def _asked(interrupts: Sequence[Interrupt], message: AIMessage) -> frozenset[str]:
    """The calls that `interrupts`, with which `message` ends, are about, be they of an earlier message."""
    named = {one.tool_call_id for one in interrupts if one.tool_call_id}
    again = calls_again(message)
    return frozenset(named | {again.get(call["id"] or "", call["id"] or "") for call in held_back(message)})


def own_marks(message: BaseMessage, agent: str) -> Mapping[str, Any] | None:
    """What a message that this agent said tells of its run; None for any other message."""
    told = message.additional_kwargs.get(AGUI)
    return told if isinstance(told, Mapping) and told.get("agent") == agent else None


def open_interrupts(message: BaseMessage) -> list[Interrupt]:
    """What the agent waits for that said `message`, an answer of `AGUIChatModel`; empty for any other message."""
    told = message.additional_kwargs.get(AGUI)
    return [Interrupt.model_validate(one) for one in told.get("interrupts", ())] if isinstance(told, Mapping) else []


def held_back(message: AIMessage) -> list[LCToolCall]:
    """The calls in an answer of `AGUIChatModel` that are not its caller's to run before somebody has approved them.

    They are told without arguments.
    """
    asked, again = open_interrupts(message), calls_again(message)
    found = []
    for call in message.invalid_tool_calls:
        known = LCToolCall(id=again.get(call["id"] or "", call["id"]), name=call["name"] or "", args={})
        if any(asks_about(one, known) for one in asked):
            found.append(LCToolCall(id=call["id"], name=known["name"], args={}))
    return found


class _Calls:
    """Which results the agent is sent, and under which id it knows their calls."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        """Calls that are the caller's under another id than the agent's."""
        self._closed: set[str | None] = set()
        """Calls that are not the caller's to answer: `create_agent` makes up results for them."""

    def note(self, message: AIMessage, closed: Collection[str]) -> None:
        """Take the calls of a message, and the agent's ids of those that it has answered, or asks about first."""
        self._ids.update(calls_again(message))
        self._closed.difference_update(call["id"] for call in message.tool_calls)
        self._closed.update(call["id"] for call in message.invalid_tool_calls if call["id"] in self._ids)
        self._closed.update(closed, (here for here, there in self._ids.items() if there in closed))

    def takes(self, message: LCToolMessage) -> bool:
        """Whether the agent is to be sent this result."""
        return message.tool_call_id not in self._closed

    def renamed(self, message: LCToolMessage) -> LCToolMessage:
        """Return the result for the call as the agent knows it."""
        known = self._ids.get(message.tool_call_id)
        return message if known is None else message.model_copy(update={"tool_call_id": known})


class _Names:
    """Ids for messages that have none. All are counted: one that got its id from a call before this may have it now."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def of(self, message: BaseMessage) -> str:
        said = f"{message.type}:{message.content!r}:{getattr(message, 'tool_call_id', '')}"
        self._seen[said] += 1
        return str(uuid5(_IDS, f"{self._seen[said]}:{said}"))


def _converted(message: BaseMessage, message_id: str, told: Mapping[str, Any] | None) -> list[Message]:
    match message:
        case AIMessage():
            return _said(message.model_copy(update={"id": message_id}), ours=told is not None)
        case LCToolMessage():
            return [_result(message, message_id, told or {})]
        case HumanMessage():
            content = content_parts(as_content(message.content))
            return [UserMessage(id=message_id, content=content, name=message.name)]
        case LCSystemMessage():
            # Where LangChain keeps OpenAI's other name for it.
            developer = message.additional_kwargs.get("__openai_role__") == "developer"
            kind = DeveloperMessage if developer else SystemMessage
            return [kind(id=message_id, content=message.text, name=message.name)]
        case ChatMessage():
            return _chat(message, message_id)
        case _:
            logger.warning("A message of type %r has no AG-UI role and was left out.", message.type)
            return []


def _said(message: AIMessage, *, ours: bool) -> list[Message]:
    if ours:
        return agui_messages_of(message)
    plain = message.model_copy(update={"response_metadata": {}, "additional_kwargs": {}})
    return agui_messages_of(plain) or [AssistantMessage(id=message.id or "", content=message.text)]


def _result(message: LCToolMessage, message_id: str, told: Mapping[str, Any]) -> ToolMessage:
    content, failed = content_parts(as_content(message.content)), message.status == "error"
    return ToolMessage(
        id=told.get("id", message_id),
        tool_call_id=message.tool_call_id,
        content=content,
        error=(text_of(content) or FAILED_WITHOUT_TEXT) if failed else None,
        encrypted_value=told.get("encrypted_value"),
        metadata=told.get("metadata"),
    )


def _chat(message: ChatMessage, message_id: str) -> list[Message]:
    kinds = {
        "user": UserMessage,
        "human": UserMessage,
        "assistant": AssistantMessage,
        "ai": AssistantMessage,
        "system": SystemMessage,
        "developer": DeveloperMessage,
    }
    kind = kinds.get(message.role)
    if kind is None:
        logger.warning("A message of the role %r has no AG-UI role and was left out.", message.role)
        return []
    return [kind(id=message_id, content=message.text, name=message.name)]
