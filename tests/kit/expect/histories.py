"""What every provider asks of a history."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage


def assert_valid(messages: Iterable[BaseMessage]) -> None:
    """Each call is answered directly behind the message that makes it, exactly once; nothing else
    is answered."""
    open_calls: list[str | None] = []
    called: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in open_calls, f"a result of no open call: {message}"
            open_calls.remove(message.tool_call_id)
            continue
        assert not open_calls, f"calls without results before {message}: {open_calls}"
        if isinstance(message, AIMessage):
            assert not message.invalid_tool_calls
            open_calls = [call["id"] for call in message.tool_calls]
            assert len(set(open_calls)) == len(open_calls), f"calls of the same id: {open_calls}"
            assert called.isdisjoint(open_calls), f"ids of earlier calls: {open_calls}"
            called.update(open_calls)
    assert not open_calls, f"calls without results at the end: {open_calls}"
