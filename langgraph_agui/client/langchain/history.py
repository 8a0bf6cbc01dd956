"""A LangChain message that `MessageChunks` made, as the AG-UI messages that it was made of.

What the blocks of such a message cannot hold stands in `additional_kwargs["agui"]`: core keeps that on every way from
chunks to a message, and drops the `extras` of tool calls on some.

    {"messages": {<message id>: {"name", "encrypted_value", "metadata"}},
     "calls": {<call id>: {"message_id", "name", "encrypted_value", "metadata", "arguments", "again"}},
     "results": {<call id>: {"id", "error", "encrypted_value"}}}

All keys are optional. The `arguments` of a call are there if parsing and dumping them would spell them differently.
`again` is the agent's id of a call that an earlier message holds: there it is history, here it is the caller's to run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from ag_ui.core import AssistantMessage, FunctionCall, Message, ReasoningMessage, ToolCall, ToolMessage
from langchain_core.messages import AIMessage
from langchain_core.utils.json import parse_partial_json

PROVIDER: Final = "ag-ui"
"""`model_provider` of messages from an AG-UI agent."""

AGUI: Final = "agui"
"""The key in `additional_kwargs`."""

_CALLS = frozenset({"tool_call", "tool_call_chunk", "invalid_tool_call"})
_OWN_CALLS = frozenset({"server_tool_call", "server_tool_call_chunk"})


def agui_messages_of(message: AIMessage) -> list[Message]:
    """Return the AG-UI messages of `message`, in the order in which the agent began them.

    For the sum of the chunks of a run these are the reasoning and assistant messages that
    :func:`~langgraph_agui.protocol.fold.fold` finds in the run, and the results of the agent's own tools if the sum
    holds them. Ids, encrypted values and the spelling of arguments are the agent's, so that it can be sent them back
    (AG-UI 1.0, history). A call whose name or arguments were changed in `tool_calls` since comes out changed.

    Of a message by another model, or one that somebody rewrote, the text and the calls come out: thoughts and opaque
    values of others are nothing to this agent, and neither is what their servers have run themselves.
    """
    return _Reader(message).read()


class _Reader:
    def __init__(self, message: AIMessage) -> None:
        self.messages: list[Message] = []
        self._message = message
        self._id = message.id or ""
        self._ours = message.response_metadata.get("model_provider") == PROVIDER
        told = message.additional_kwargs.get(AGUI, {})
        self._told_messages: Mapping[str, Any] = told.get("messages", {})
        self._told_calls: Mapping[str, Any] = told.get("calls", {})
        self._told_results: Mapping[str, Any] = told.get("results", {})
        self._parsed = {call["id"]: call for call in message.tool_calls}
        self._assistants: dict[str, AssistantMessage] = {}
        self._holders: dict[str, AssistantMessage] = {}

    def read(self) -> list[Message]:
        message, content = self._message, self._message.content
        for block in [content] if isinstance(content, str) else content:
            self._take({"type": "text", "text": block} if isinstance(block, str) else block)
        for call in [*message.tool_calls, *message.invalid_tool_calls]:
            if call["id"] not in self._holders:
                self._call(call)
        return self.messages

    def _take(self, block: Mapping[str, Any]) -> None:
        match block.get("type"):
            case "text" if block.get("text") or (self._ours and "id" in block):
                held = self._assistant(block.get("id", self._id) if self._ours else self._id)
                held.content = f"{held.content or ''}{block.get('text', '')}"
            case "reasoning" if self._ours and "id" in block:
                told = _extras(block.get("extras", {}))
                self.messages.append(ReasoningMessage(id=block["id"], content=block.get("reasoning", ""), **told))
            case "server_tool_result" if self._ours:
                self._result(block)
            case kind if block.get("id") and (kind in _CALLS or (self._ours and kind in _OWN_CALLS)):
                self._call(block)

    def _assistant(self, message_id: str) -> AssistantMessage:
        held = self._assistants.get(message_id)
        if held is None:
            told = self._told_messages.get(message_id, {})
            held = AssistantMessage(id=message_id, name=told.get("name"), **_extras(told))
            self._assistants[message_id] = held
            self.messages.append(held)
        return held

    def _call(self, block: Mapping[str, Any]) -> None:
        call_id, name = block["id"], block["name"]
        told, parsed = self._told_calls.get(call_id, {}), self._parsed.get(call_id)
        if told.get("again"):
            return
        written = block.get("args")
        raw = told.get("arguments", written if isinstance(written, str) else None)
        args = written if isinstance(written, dict) else None
        if parsed is not None:
            args = parsed["args"]
        if raw is None or (args is not None and respelt(raw) != _spelt(args)):
            raw = _spelt(args or {})
        renamed = told.get("name", name)
        if parsed is not None and parsed["name"] != name:
            renamed = parsed["name"]
        held = self._holders[call_id] = self._assistant(told.get("message_id") or self._id)
        function = FunctionCall(name=renamed, arguments=raw)
        held.tool_calls = [*(held.tool_calls or ()), ToolCall(id=call_id, function=function, **_extras(told))]

    def _result(self, block: Mapping[str, Any]) -> None:
        """Put a result behind the message of its call and the results already there, as a client does."""
        call_id = block["tool_call_id"]
        told = self._told_results.get(call_id, {})
        result = ToolMessage(
            id=told.get("id", block["id"]),
            tool_call_id=call_id,
            content=block["output"],
            error=told.get("error"),
            encrypted_value=told.get("encrypted_value"),
            metadata=block.get("extras", {}).get("metadata"),
        )
        place = 0  # before all that this run said, for a call of an earlier one
        if (holder := self._holders.get(call_id)) is not None:
            place = next(number for number, held in enumerate(self.messages) if held is holder) + 1
        while place < len(self.messages) and isinstance(self.messages[place], ToolMessage):
            place += 1
        self.messages.insert(place, result)


def calls_again(message: AIMessage) -> dict[str, str]:
    """The calls of `message` that an earlier one holds, by their ids here, each with the agent's."""
    told = message.additional_kwargs.get(AGUI, {}).get("calls", {})
    return {call_id: call["again"] for call_id, call in told.items() if "again" in call}


def respelt(arguments: str) -> str | None:
    """Return `arguments` as they look parsed by core and dumped again; None if they are no object."""
    try:
        value = parse_partial_json(arguments) if arguments else {}
        return _spelt(value) if isinstance(value, dict) else None
    except (ValueError, RecursionError):
        return None


def _spelt(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _extras(told: Mapping[str, Any]) -> dict[str, Any]:
    return {"encrypted_value": told.get("encrypted_value"), "metadata": told.get("metadata")}
