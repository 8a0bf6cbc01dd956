"""The agent's tool calls as they fill in, and their results: `python -m
examples.client.backend_tools.client URL`."""

from __future__ import annotations

import sys

from ag_ui.core import Event, ToolCallArgsEvent, ToolCallResultEvent, ToolCallStartEvent

from langgraph_agui.client import AGUISession


class Calls:
    """Prints calls, each by its id: an agent may write several at once."""

    def __init__(self) -> None:
        self.written: dict[str, str] = {}

    def show(self, event: Event) -> None:
        match event:
            case ToolCallStartEvent():
                self.written[event.tool_call_id] = f"{event.tool_call_name} "
            case ToolCallArgsEvent():
                self.written[event.tool_call_id] += event.delta
                print(f"  calls {self.written[event.tool_call_id]}")
            case ToolCallResultEvent():
                print(f"  result of {self.written[event.tool_call_id]}: {event.content}")


def main(url: str) -> None:
    session = AGUISession(url)
    question = "What is the weather in Rome, and in Oslo?"
    print(f"user: {question}")
    turn, calls = session.send(question), Calls()
    for event in turn:
        calls.show(event)
    print(f"agent: {turn.text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
