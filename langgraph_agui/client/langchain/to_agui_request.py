"""A LangChain conversation as the AG-UI request of a remote agent.

In: the messages that a chat model is called with. Out: AG-UI messages, the thread's id, and the
interrupts that the thread waits for.

An agent gets its own messages back exactly as it sent them, with their reasoning and encrypted
values. It gets only text and calls of messages by others.

A conversation needs no other memory: `additional_kwargs["agui"]` of a message by an agent has the
details that blocks cannot hold. LangChain keeps that key on every way from chunks to a message, and
drops the `extras` of tool calls on some.

    {"agent": <agent key>, "thread": <thread id>, "interrupts": [<those that the run ended with>],
     "messages": {<message id>: {"name", "encrypted_value", "metadata"}},
     "calls": {<call id>: {"message_id", "name", "encrypted_value", "metadata", "arguments",
     "again", "broke_off"}}, "results": {<call id>: {"id", "error", "encrypted_value"}}}

All keys are optional. The `arguments` of a call are there if parsing and dumping them would spell
them differently. `again` is the agent's id of a call that an earlier message contains: there it is
history, here the caller runs it. A call that `broke_off` when its run was cancelled is not sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID, uuid4, uuid5

from ag_ui import core as agui
from ag_ui.core import Interrupt, Message
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.utils.json import parse_partial_json
from pydantic import TypeAdapter

from langgraph_agui.client.langchain.approvals import Approvals
from langgraph_agui.kernel.quoting import quoted
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.messages.content import (
    FAILED_WITHOUT_TEXT,
    REMOTE_KWARG,
    as_content,
    content_parts,
    role_of,
    text_of,
    with_images,
)
from langgraph_agui.protocol.json import dump_json
from langgraph_agui.protocol.message_store import MessageStore, StoredMessage

logger = run_logger(__name__)

# `model_provider` of messages from an AG-UI agent.
PROVIDER: Final = "ag-ui"

# A message without an id gets one that depends on its content: the same in each call, as a thread
# needs it.
_ID_NAMESPACE: Final = UUID("6a1f8c1e-7d0b-4f43-9a55-0b6a3f1c2d10")

_CALLS: Final = ("tool_call", "tool_call_chunk", "invalid_tool_call")
_AGENT_CALLS: Final = ("server_tool_call", "server_tool_call_chunk")
_MESSAGE: Final[TypeAdapter[Message]] = TypeAdapter(Message)


@dataclass
class AGUIRequest:
    """The request that a call of the chat model sends to the agent.

    Attributes:
        agent: The `agent_key` of the agent.
        thread_id: Its thread.
        messages: The conversation.
        interrupts: The interrupts that the thread waits for.
        asked_calls: The calls of local tools that the interrupts ask about.
        tool_rounds: How often the agent has called local tools since the last message of the user.
    """

    agent: str
    thread_id: str
    messages: list[Message] = field(default_factory=list)
    interrupts: list[Interrupt] = field(default_factory=list)
    asked_calls: set[str] = field(default_factory=set)
    tool_rounds: int = 0


def agent_key(url: str, name: str = "") -> str:
    """Return the key of an agent in its messages: a digest of its URL without credentials.

    Agents that share a URL, each with threads of its own, have names.
    """
    parts = urlsplit(url)
    public = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return sha256(f"{name} {public}".encode()).hexdigest()[:16]


def to_agui_request(
    messages: Sequence[BaseMessage], agent: str, thread_id: str | None = None
) -> AGUIRequest:
    """Return the conversation as the agent is sent it.

    Args:
        messages: All of it. A message without an id gets one from its content and how often that
            came before.
        agent: The `agent_key` of the agent that is called.
        thread_id: Its thread; by default that of the agent's last message, else a new one.
    """
    request = AGUIRequest(agent, thread_id or "")
    repeats: Counter[str] = Counter()
    # The agent's ids of calls that the caller knows by another one.
    known_ids: dict[str, str] = {}
    # The calls whose results are not the caller's to send: `create_agent` makes up some for them.
    settled: set[str | None] = set()
    for message in messages:
        call_id = message.tool_call_id if isinstance(message, ToolMessage) else ""
        if call_id and call_id in settled:
            continue
        call_id = known_ids.get(call_id, call_id)
        content = f"{message.type}:{message.content!r}:{call_id}"
        # Also with an id: in an earlier call the same message may have had none.
        repeats[content] += 1
        message_id = message.id or str(uuid5(_ID_NAMESPACE, f"{repeats[content]}:{content}"))
        details = message.additional_kwargs.get(REMOTE_KWARG)
        if not isinstance(details, Mapping) or details.get("agent") != agent:
            details = None
        elif thread_id is None:
            request.thread_id = details.get("thread") or request.thread_id
        if isinstance(message, AIMessage):
            is_agents = details is not None
            reader = _AIMessageReader(message, message_id, details or {}, is_agents=is_agents)
            converted, repeated = reader.read(), repeated_calls(message)
            if not is_agents and not converted:
                converted = [agui.AssistantMessage(id=message_id, content=message.text)]
            closed = {one.tool_call_id for one in converted if isinstance(one, agui.ToolMessage)}
            if is_agents:
                request.interrupts = open_interrupts(message)
                withheld = [call["id"] or "" for call in withheld_calls(message)]
                named = {one.tool_call_id for one in request.interrupts if one.tool_call_id}
                request.asked_calls = named | {repeated.get(one, one) for one in withheld}
                closed |= request.asked_calls
                request.tool_rounds += bool(message.tool_calls)
            known_ids |= repeated
            settled -= {call["id"] for call in message.tool_calls}
            settled |= {call["id"] for call in message.invalid_tool_calls} & known_ids.keys()
            settled |= closed | {own for own, agents in known_ids.items() if agents in closed}
            request.messages += converted
        elif isinstance(message, ToolMessage):
            request.messages.append(_tool_message(message, message_id, call_id, details or {}))
        else:
            request.messages += _message(message, message_id)
            request.tool_rounds = 0
    request.thread_id = request.thread_id or str(uuid4())
    return request


def open_interrupts(message: BaseMessage) -> list[Interrupt]:
    """Return the interrupts that the agent waits for after this answer of an `AGUIChatModel`.

    Other messages have none.
    """
    details = message.additional_kwargs.get(REMOTE_KWARG)
    found = details.get("interrupts", ()) if isinstance(details, Mapping) else ()
    return [Interrupt.model_validate(one) for one in found]


def withheld_calls(message: AIMessage) -> list[ToolCall]:
    """Return the calls in an answer of an `AGUIChatModel` that may not run before an approval.

    They have no arguments here.
    """
    approvals, repeated = Approvals(open_interrupts(message)), repeated_calls(message)
    return [
        ToolCall(id=call["id"], name=call["name"] or "", args={})
        for call in message.invalid_tool_calls
        if approvals.ask_about(repeated.get(call["id"] or "", call["id"]), call["name"])
    ]


def repeated_calls(message: AIMessage) -> dict[str, str]:
    """Return the agent's ids of calls that an earlier message has too, by the ids in `message`."""
    calls = message.additional_kwargs.get(REMOTE_KWARG, {}).get("calls", {})
    return {call_id: call["again"] for call_id, call in calls.items() if "again" in call}


def _message(message: BaseMessage, message_id: str) -> list[Message]:
    if isinstance(message, HumanMessage):
        content = content_parts(with_images(message))
        return [agui.UserMessage(id=message_id, content=content, name=message.name)]
    role = role_of(message)
    if role in ("user", "assistant", "system", "developer"):
        fields = {"id": message_id, "role": role, "content": message.text, "name": message.name}
        return [_MESSAGE.validate_python(fields)]
    kind = f"the role {quoted(role)}" if message.type == "chat" else f"type {quoted(message.type)}"
    logger.warning("A message of %s has no AG-UI role and was left out.", kind)
    return []


def _tool_message(
    message: ToolMessage, message_id: str, call_id: str, details: Mapping[str, Any]
) -> agui.ToolMessage:
    content = content_parts(as_content(message.content))
    error = text_of(content) or FAILED_WITHOUT_TEXT
    return agui.ToolMessage(
        id=details.get("id", message_id),
        tool_call_id=call_id,
        content=content,
        error=error if message.status == "error" else None,
        **_opaque_fields(details),
    )


def agui_messages_of(message: AIMessage) -> list[Message]:
    """Return the AG-UI messages of `message`, in the order in which the agent began them.

    For the sum of the chunks of a run these are the reasoning and assistant messages that `fold`
    finds in the run, and the results of the agent's own tools if the sum contains them. Ids,
    encrypted values and the spelling of arguments are the agent's, so that it can be sent them back
    (AG-UI 1.0, history). A call whose name or arguments were changed in `tool_calls` since comes
    out changed.

    Of a message by another model, or one that somebody rewrote, only the text and the calls come
    out: this agent has no use for the reasoning and opaque values of others, nor for calls that
    their servers ran.
    """
    is_agents = message.response_metadata.get("model_provider") == PROVIDER
    details = message.additional_kwargs.get(REMOTE_KWARG, {})
    return _AIMessageReader(message, message.id or "", details, is_agents=is_agents).read()


class _AIMessageReader:
    """Reads one message, block by block.

    Args:
        message: The message.
        message_id: Its id, or the one that `to_agui_request` gives it.
        details: Its value of `REMOTE_KWARG`.
        is_agents: Whether an AG-UI agent made it.
    """

    def __init__(
        self, message: AIMessage, message_id: str, details: Mapping[str, Any], *, is_agents: bool
    ) -> None:
        self._message, self._message_id = message, message_id
        self._details, self._is_agents = details, is_agents
        self._call_types = _CALLS + _AGENT_CALLS if is_agents else _CALLS
        self._parsed = {call["id"]: call for call in message.tool_calls}
        self._store = MessageStore([])
        self._assistants: dict[str, StoredMessage] = {}
        # The results of calls of earlier messages.
        self._early_results: list[Message] = []

    def read(self) -> list[Message]:
        message, content = self._message, self._message.content
        for block in [content] if isinstance(content, str) else content:
            self._read_block({"type": "text", "text": block} if isinstance(block, str) else block)
        for call in [*message.tool_calls, *message.invalid_tool_calls]:
            if call["id"] is None or self._store.find_call(call["id"]) is None:
                self._read_call(call)
        return [*self._early_results, *self._store.views()]

    def _read_block(self, block: Mapping[str, Any]) -> None:
        match block.get("type"):
            case "text" if block.get("text") or (self._is_agents and "id" in block):
                message_id = self._message_id
                if self._is_agents:
                    message_id = block.get("id", message_id)
                self._assistant(message_id).append(block.get("text", ""))
            case "reasoning" if self._is_agents and "id" in block:
                text, fields = block.get("reasoning", ""), _opaque_fields(block.get("extras", {}))
                self._store.add(agui.ReasoningMessage(id=block["id"], content=text, **fields))
            case "server_tool_result" if self._is_agents:
                self._read_result(block)
            case kind if kind in self._call_types and block.get("id"):
                self._read_call(block)

    def _assistant(self, message_id: str) -> StoredMessage:
        if message_id not in self._assistants:
            details = self._details.get("messages", {}).get(message_id, {})
            message = agui.AssistantMessage(
                id=message_id, name=details.get("name"), **_opaque_fields(details)
            )
            self._assistants[message_id] = self._store.add(message)
        return self._assistants[message_id]

    def _read_call(self, block: Mapping[str, Any]) -> None:
        call_id, args = block["id"], block.get("args")
        details = self._details.get("calls", {}).get(call_id, {})
        if details.get("again") or details.get("broke_off"):
            return
        arguments = details.get("arguments", args if isinstance(args, str) else None)
        name = details.get("name", block["name"])
        if (parsed := self._parsed.get(call_id)) is not None:
            args = parsed["args"]
            name = name if parsed["name"] == block["name"] else parsed["name"]
        known = args if isinstance(args, dict) else None
        if arguments is None or (
            known is not None and normalized_args(arguments) != dump_json(known)
        ):
            arguments = dump_json(known or {})
        holder = self._assistant(details.get("message_id") or self._message_id)
        call = self._store.add_call(holder, call_id, name)
        call.append(arguments)
        call.update(**_opaque_fields(details))

    def _read_result(self, block: Mapping[str, Any]) -> None:
        call_id = block["tool_call_id"]
        details = self._details.get("results", {}).get(call_id, {})
        result = agui.ToolMessage(
            id=details.get("id", block["id"]),
            tool_call_id=call_id,
            content=block["output"],
            error=details.get("error"),
            encrypted_value=details.get("encrypted_value"),
            metadata=block.get("extras", {}).get("metadata"),
        )
        if self._store.find_call(call_id) is None:
            self._early_results.append(result)
        else:
            self._store.add_result(result)


def normalized_args(arguments: str) -> str | None:
    """Return `arguments` parsed by LangChain and dumped again; None if they are no JSON object."""
    try:
        value = parse_partial_json(arguments) if arguments else {}
        return dump_json(value) if isinstance(value, dict) else None
    except (ValueError, RecursionError):
        return None


def _opaque_fields(details: Mapping[str, Any]) -> dict[str, Any]:
    return {"encrypted_value": details.get("encrypted_value"), "metadata": details.get("metadata")}
