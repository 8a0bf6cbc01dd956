"""A LangChain conversation as the AG-UI request of a remote agent.

In: the messages that a chat model is called with. Out: AG-UI messages, the thread's id, and what the thread waits for.
An agent gets its own messages back exactly as it sent them, with their reasoning and encrypted values. It gets only
text and calls of messages by others.

A conversation needs no other memory: `additional_kwargs["agui"]` of a message by an agent has what blocks cannot hold.
LangChain keeps that key on every way from chunks to a message, and drops the `extras` of tool calls on some.

    {"agent": <agent key>, "thread": <thread id>, "interrupts": [<those that the run ended with>],
     "messages": {<message id>: {"name", "encrypted_value", "metadata"}},
     "calls": {<call id>: {"message_id", "name", "encrypted_value", "metadata", "arguments", "again"}},
     "results": {<call id>: {"id", "error", "encrypted_value"}}}

All keys are optional. The `arguments` of a call are there if parsing and dumping them would spell them differently.
`again` is the agent's id of a call that an earlier message contains: there it is history, here the caller runs it.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID, uuid4, uuid5

from ag_ui.core import (
    AssistantMessage,
    DeveloperMessage,
    FunctionCall,
    Interrupt,
    Message,
    ReasoningMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage
from langchain_core.messages import SystemMessage as LCSystemMessage
from langchain_core.messages import ToolCall as LCToolCall
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.utils.json import parse_partial_json

from langgraph_agui.client.langchain.approvals import asks_about
from langgraph_agui.messages.media import content_parts
from langgraph_agui.messages.to_agui import FAILED_WITHOUT_TEXT, as_content, text_of

logger = logging.getLogger(__name__)

PROVIDER: Final = "ag-ui"
"""`model_provider` of messages from an AG-UI agent."""

AGUI: Final = "agui"
"""The key in `additional_kwargs`."""

_ID_NAMESPACE: Final = UUID("6a1f8c1e-7d0b-4f43-9a55-0b6a3f1c2d10")
"""A message without an id gets one that depends on its content: the same in each call, as a thread needs it."""

_CALLS: Final = ("tool_call", "tool_call_chunk", "invalid_tool_call")
_AGENT_CALLS: Final = ("server_tool_call", "server_tool_call_chunk")
_CHAT_ROLES: Final[Mapping[str, type[UserMessage | AssistantMessage | SystemMessage | DeveloperMessage]]] = {
    "user": UserMessage,
    "human": UserMessage,
    "assistant": AssistantMessage,
    "ai": AssistantMessage,
    "system": SystemMessage,
    "developer": DeveloperMessage,
}


@dataclass
class AGUIRequest:
    """What a call of the chat model sends to the agent."""

    thread_id: str
    messages: list[Message] = field(default_factory=list)
    interrupts: list[Interrupt] = field(default_factory=list)
    """What the thread waits for."""
    asked_calls: frozenset[str] = frozenset()
    """The calls of the caller's that the interrupts ask about."""


def agent_key(url: str, name: str = "") -> str:
    """Return what identifies an agent in its messages: a digest of its URL without credentials.

    Agents that share a URL, each with threads of its own, have names.
    """
    parts = urlsplit(url)
    public = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return sha256(f"{name} {public}".encode()).hexdigest()[:16]


def to_agui_request(messages: Sequence[BaseMessage], agent: str, thread_id: str | None = None) -> AGUIRequest:
    """Return the conversation as the agent is sent it.

    Args:
        messages: All of it. A message without an id gets one from its content and how often that came before.
        agent: The `agent_key` of the agent that is called.
        thread_id: Its thread; by default that of the agent's last message, else a new one.
    """
    request = AGUIRequest(thread_id or "")
    repeats: Counter[str] = Counter()
    known_ids: dict[str, str] = {}
    """The agent's ids of calls that the caller knows by another one."""
    settled: set[str | None] = set()
    """The calls whose results are not the caller's to send: `create_agent` makes up some for them."""
    for message in messages:
        call_id = message.tool_call_id if isinstance(message, LCToolMessage) else ""
        if call_id in settled:
            continue
        call_id = known_ids.get(call_id, call_id)
        content = f"{message.type}:{message.content!r}:{call_id}"
        repeats[content] += 1  # also with an id: in an earlier call the same message may have had none
        message_id = message.id or str(uuid5(_ID_NAMESPACE, f"{repeats[content]}:{content}"))
        details = own_details(message, agent)
        if details is not None and thread_id is None:
            request.thread_id = details.get("thread") or request.thread_id
        if isinstance(message, AIMessage):
            converted = _assistant_messages(message, message_id, details)
            closed = {one.tool_call_id for one in converted if isinstance(one, ToolMessage)}
            if details is not None:
                request.interrupts = open_interrupts(message)
                request.asked_calls = _asked_calls(message, request.interrupts)
                closed |= request.asked_calls
            known_ids |= repeated_calls(message)
            settled -= {call["id"] for call in message.tool_calls}
            settled |= {call["id"] for call in message.invalid_tool_calls if call["id"] in known_ids}
            settled |= closed | {own for own, agents in known_ids.items() if agents in closed}
            request.messages += converted
        elif isinstance(message, LCToolMessage):
            request.messages.append(_tool_message(message, message_id, call_id, details or {}))
        else:
            request.messages += _message(message, message_id)
    request.thread_id = request.thread_id or str(uuid4())
    return request


def own_details(message: BaseMessage, agent: str) -> Mapping[str, Any] | None:
    """Return what a message of this agent has under `AGUI`; None for any other message."""
    details = message.additional_kwargs.get(AGUI)
    return details if isinstance(details, Mapping) and details.get("agent") == agent else None


def open_interrupts(message: BaseMessage) -> list[Interrupt]:
    """Return what the agent waits for after this answer of an `AGUIChatModel`; nothing for any other message."""
    details = message.additional_kwargs.get(AGUI)
    found = details.get("interrupts", ()) if isinstance(details, Mapping) else ()
    return [Interrupt.model_validate(one) for one in found]


def withheld_calls(message: AIMessage) -> list[LCToolCall]:
    """Return the calls in an answer of an `AGUIChatModel` that the caller may not run before they are approved.

    They have no arguments here.
    """
    interrupts, repeated = open_interrupts(message), repeated_calls(message)
    return [
        LCToolCall(id=call["id"], name=call["name"] or "", args={})
        for call in message.invalid_tool_calls
        if any(asks_about(one, repeated.get(call["id"] or "", call["id"]), call["name"]) for one in interrupts)
    ]


def _asked_calls(message: AIMessage, interrupts: Sequence[Interrupt]) -> frozenset[str]:
    """Return the agent's ids of the calls that the interrupts at the end of `message` are about."""
    repeated = repeated_calls(message)
    withheld = {repeated.get(call["id"] or "", call["id"] or "") for call in withheld_calls(message)}
    return frozenset(withheld | {one.tool_call_id for one in interrupts if one.tool_call_id})


def repeated_calls(message: AIMessage) -> dict[str, str]:
    """Return the calls of `message` that an earlier one has too, by their ids here, each with the agent's id."""
    calls = message.additional_kwargs.get(AGUI, {}).get("calls", {})
    return {call_id: call["again"] for call_id, call in calls.items() if "again" in call}


def _message(message: BaseMessage, message_id: str) -> list[Message]:
    match message:
        case HumanMessage():
            content = content_parts(as_content(message.content))
            return [UserMessage(id=message_id, content=content, name=message.name)]
        case LCSystemMessage():
            # LangChain marks OpenAI's newer role only here.
            is_developer = message.additional_kwargs.get("__openai_role__") == "developer"
            kind = _CHAT_ROLES["developer" if is_developer else "system"]
        case ChatMessage() if message.role in _CHAT_ROLES:
            kind = _CHAT_ROLES[message.role]
        case _:
            what = f"the role {message.role!r}" if isinstance(message, ChatMessage) else f"type {message.type!r}"
            logger.warning("A message of %s has no AG-UI role and was left out.", what)
            return []
    return [kind(id=message_id, content=message.text, name=message.name)]


def _tool_message(message: LCToolMessage, message_id: str, call_id: str, details: Mapping[str, Any]) -> ToolMessage:
    content, failed = content_parts(as_content(message.content)), message.status == "error"
    return ToolMessage(
        id=details.get("id", message_id),
        tool_call_id=call_id,
        content=content,
        error=(text_of(content) or FAILED_WITHOUT_TEXT) if failed else None,
        **_opaque_fields(details),
    )


def _assistant_messages(message: AIMessage, message_id: str, details: Mapping[str, Any] | None) -> list[Message]:
    found = _AIMessageReader(message, message_id, details or {}, is_agents=details is not None).read()
    return found or ([] if details is not None else [AssistantMessage(id=message_id, content=message.text)])


def agui_messages_of(message: AIMessage) -> list[Message]:
    """Return the AG-UI messages of `message`, in the order in which the agent began them.

    For the sum of the chunks of a run these are the reasoning and assistant messages that
    :func:`~langgraph_agui.protocol.fold.fold` finds in the run, and the results of the agent's own tools if the sum
    contains them. Ids, encrypted values and the spelling of arguments are the agent's, so that it can be sent them back
    (AG-UI 1.0, history). A call whose name or arguments were changed in `tool_calls` since comes out changed.

    Of a message by another model, or one that somebody rewrote, only the text and the calls come out: this agent has no
    use for the reasoning and opaque values of others, nor for calls that their servers ran.
    """
    is_agents = message.response_metadata.get("model_provider") == PROVIDER
    details = message.additional_kwargs.get(AGUI, {})
    return _AIMessageReader(message, message.id or "", details, is_agents=is_agents).read()


class _AIMessageReader:
    """Reads one message, block by block. `is_agents`: an AG-UI agent made it, and `details` are its `AGUI` key."""

    def __init__(self, message: AIMessage, message_id: str, details: Mapping[str, Any], *, is_agents: bool) -> None:
        self._message, self._message_id, self._is_agents = message, message_id, is_agents
        self._message_details: Mapping[str, Any] = details.get("messages", {})
        self._call_details: Mapping[str, Any] = details.get("calls", {})
        self._result_details: Mapping[str, Any] = details.get("results", {})
        self._parsed = {call["id"]: call for call in message.tool_calls}
        self._found: list[Message] = []
        self._assistants: dict[str, AssistantMessage] = {}
        self._holders: dict[str, AssistantMessage] = {}
        """The message of each call."""

    def read(self) -> list[Message]:
        message, content = self._message, self._message.content
        for block in [content] if isinstance(content, str) else content:
            self._block({"type": "text", "text": block} if isinstance(block, str) else block)
        for call in [*message.tool_calls, *message.invalid_tool_calls]:
            if call["id"] not in self._holders:
                self._call(call)
        return self._found

    def _block(self, block: Mapping[str, Any]) -> None:
        match block.get("type"):
            case "text" if block.get("text") or (self._is_agents and "id" in block):
                assistant = self._assistant(block.get("id", self._message_id) if self._is_agents else self._message_id)
                assistant.content = f"{assistant.content or ''}{block.get('text', '')}"
            case "reasoning" if self._is_agents and "id" in block:
                fields = _opaque_fields(block.get("extras", {}))
                self._found.append(ReasoningMessage(id=block["id"], content=block.get("reasoning", ""), **fields))
            case "server_tool_result" if self._is_agents:
                self._result(block)
            case kind if block.get("id") and (kind in _CALLS or (self._is_agents and kind in _AGENT_CALLS)):
                self._call(block)

    def _assistant(self, message_id: str) -> AssistantMessage:
        assistant = self._assistants.get(message_id)
        if assistant is None:
            details = self._message_details.get(message_id, {})
            assistant = AssistantMessage(id=message_id, name=details.get("name"), **_opaque_fields(details))
            self._assistants[message_id] = assistant
            self._found.append(assistant)
        return assistant

    def _call(self, block: Mapping[str, Any]) -> None:
        call_id, args = block["id"], block.get("args")
        details, parsed = self._call_details.get(call_id, {}), self._parsed.get(call_id)
        if details.get("again"):
            return
        arguments = details.get("arguments", args if isinstance(args, str) else None)
        args = parsed["args"] if parsed is not None else args if isinstance(args, dict) else None
        if arguments is None or (args is not None and normalized_arguments(arguments) != _dump(args)):
            arguments = _dump(args or {})
        name = details.get("name", block["name"])
        if parsed is not None and parsed["name"] != block["name"]:
            name = parsed["name"]
        holder = self._holders[call_id] = self._assistant(details.get("message_id") or self._message_id)
        call = ToolCall(id=call_id, function=FunctionCall(name=name, arguments=arguments), **_opaque_fields(details))
        holder.tool_calls = [*(holder.tool_calls or ()), call]

    def _result(self, block: Mapping[str, Any]) -> None:
        """Insert a result after the message of its call and the results that are there, as a client does."""
        call_id = block["tool_call_id"]
        details = self._result_details.get(call_id, {})
        result = ToolMessage(
            id=details.get("id", block["id"]),
            tool_call_id=call_id,
            content=block["output"],
            error=details.get("error"),
            encrypted_value=details.get("encrypted_value"),
            metadata=block.get("extras", {}).get("metadata"),
        )
        place = 0  # the result of a call of an earlier message comes first
        if (holder := self._holders.get(call_id)) is not None:
            place = next(number for number, message in enumerate(self._found) if message is holder) + 1
        while place < len(self._found) and isinstance(self._found[place], ToolMessage):
            place += 1
        self._found.insert(place, result)


def normalized_arguments(arguments: str) -> str | None:
    """Return `arguments` parsed as LangChain does and dumped again; None if they are no JSON object."""
    try:
        value = parse_partial_json(arguments) if arguments else {}
        return _dump(value) if isinstance(value, dict) else None
    except (ValueError, RecursionError):
        return None


def _dump(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _opaque_fields(details: Mapping[str, Any]) -> dict[str, Any]:
    return {"encrypted_value": details.get("encrypted_value"), "metadata": details.get("metadata")}
