"""Tool calls between LangChain and AG-UI: arguments are an object there, the model's own text here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from langchain_core.messages import InvalidToolCall, ToolMessage
from langchain_core.messages.tool import ToolCall, invalid_tool_call, tool_call

from langgraph_agui.messages.template import parsed


class Call(NamedTuple):
    """A call as AG-UI has it."""

    id: str
    name: str
    arguments: str


Calls: TypeAlias = tuple[list[ToolCall], list[InvalidToolCall]]


def to_langchain_calls(calls: Iterable[Call]) -> Calls:
    """LangChain's calls; one whose arguments are no JSON object is an invalid one rather than an error."""
    valid: list[ToolCall] = []
    invalid: list[InvalidToolCall] = []
    for call in calls:
        arguments = parsed(call.arguments)
        if isinstance(arguments, dict):
            valid.append(tool_call(name=call.name, args=arguments, id=call.id))
        else:
            error = "The arguments are not a JSON object."
            invalid.append(invalid_tool_call(name=call.name, args=call.arguments, id=call.id, error=error))
    return valid, invalid


def same_calls(one: Calls, other: tuple[Sequence[ToolCall], Sequence[InvalidToolCall]]) -> bool:
    """Whether a provider is sent the same for both."""
    return [_valid(call) for call in one[0]] == [_valid(call) for call in other[0]] and [
        _invalid(call) for call in one[1]
    ] == [_invalid(call) for call in other[1]]


def _valid(call: ToolCall) -> tuple[str | None, str, str]:
    try:
        return call["id"], call["name"], json.dumps(call["args"])
    except (RecursionError, TypeError, ValueError):
        return call["id"], call["name"], ""  # what is not JSON is never what a client sees


def _invalid(call: InvalidToolCall) -> tuple[str | None, str | None, str | None]:
    return call["id"], call["name"], call["args"]


def interrupted(call_id: str, name: str | None) -> ToolMessage:
    """The result of a call that will get none, for its run was stopped or its model has failed."""
    return ToolMessage(_NO_RESULT, id=f"{call_id}:interrupted", tool_call_id=call_id, name=name, status="error")


def cancelled(call_id: str, name: str | None) -> ToolMessage:
    """The result of a call that the user was asked about and has cancelled."""
    return ToolMessage(_CANCELLED, id=f"{call_id}:cancelled", tool_call_id=call_id, name=name, status="error")


_NO_RESULT = "Interrupted: there is no result."
_CANCELLED = "Cancelled by the user: this was not executed."
