"""The results of an agent's calls, each told once: streamed, or in a snapshot if its producer does not stream it.

In: results, messages of snapshots, encrypted values. Out: `server_tool_result` blocks, and what cannot be said in them
before the run is over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ag_ui.core import AssistantMessage, ContentPart, Message, ToolCall, ToolCallResultEvent, ToolMessage

from langgraph_agui.protocol.jsonable import to_jsonable


class Results:
    """What has become of the calls that the agent has made, those of earlier runs included."""

    def __init__(self) -> None:
        self._calls: set[str] = set()
        self._settled: set[str] = set()
        """The calls whose results are history."""
        self._told: dict[str, str] = {}
        """The id under which the result of a call was told."""
        self._details: dict[str, dict[str, Any]] = {}
        """What is told at the end, by call: `id` where a snapshot has another one, `error`, `encrypted_value`."""

    def expect(self, call_id: str) -> None:
        """Note a call, whose result is told if it comes."""
        self._calls.add(call_id)

    def announce(self, call_id: str) -> None:
        """Note a call that this run makes, be it one more time."""
        self._calls.add(call_id)
        self._settled.discard(call_id)

    def know(self, message: ToolMessage) -> None:
        """Note a result from an earlier run."""
        self._settled.add(message.tool_call_id)

    def take(self, event: ToolCallResultEvent) -> dict[str, Any] | None:
        """Return the block of a result; None if it is for no call of the agent's, or was told."""
        call_id = event.tool_call_id
        if not self._awaits(call_id) or call_id in self._told or event.subagent_run_id is not None:
            return None
        self._told[call_id] = event.message_id
        failed = (event.metadata or {}).get("status") == "error"
        return _block(event.message_id, call_id, event.content, event.metadata, failed=failed)

    def restate(self, message: ToolMessage) -> dict[str, Any] | None:
        """Return the block of a result that only a snapshot tells; note the id of one that was told."""
        call_id = message.tool_call_id
        if not self._awaits(call_id) or message.subagent_run_id is not None:
            return None
        told = {"error": message.error, "encrypted_value": message.encrypted_value}
        if call_id in self._told and message.id != self._told[call_id]:
            told["id"] = message.id
        if told := {key: value for key, value in told.items() if value is not None}:
            self._details.setdefault(call_id, {}).update(told)
        if call_id in self._told:
            return None
        self._told[call_id] = message.id
        return _block(message.id, call_id, message.content, message.metadata, failed=message.error is not None)

    def encrypt(self, message_id: str, value: str) -> None:
        """Take the encrypted value of a result; of any other message, nothing happens."""
        for call_id, told in self._told.items():
            if told == message_id:
                self._details.setdefault(call_id, {})["encrypted_value"] = value

    def _awaits(self, call_id: str) -> bool:
        return call_id in self._calls and call_id not in self._settled

    @property
    def details(self) -> Mapping[str, Mapping[str, Any]]:
        """What is told at the end, by call."""
        return self._details


def open_calls(history: Iterable[Message]) -> dict[str, ToolCall]:
    """The calls in `history` that nobody has answered since, by their ids; those of subagents left out."""
    found: dict[str, ToolCall] = {}
    for message in history:
        if isinstance(message, AssistantMessage) and message.subagent_run_id is None:
            found.update((call.id, call) for call in message.tool_calls or ())
        elif isinstance(message, ToolMessage):
            found.pop(message.tool_call_id, None)
    return found


def _block(
    message_id: str, call_id: str, content: str | list[ContentPart], metadata: dict[str, Any] | None, *, failed: bool
) -> dict[str, Any]:
    return {
        "type": "server_tool_result",
        "id": message_id,
        "tool_call_id": call_id,
        "status": "error" if failed else "success",
        "output": content if isinstance(content, str) else to_jsonable(content),
        **({} if metadata is None else {"extras": {"metadata": metadata}}),
    }
