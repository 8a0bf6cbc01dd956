"""One turn with a local tool and one of the agent's:
`python -m examples.client.mixed_tools.client URL`."""

from __future__ import annotations

import sys

from ag_ui.core import RunStartedEvent, ToolCallResultEvent, ToolCallStartEvent

from langgraph_agui.client import AGUISession


def get_user_location() -> str:
    """Tell where the user is."""
    print("  get_user_location runs here")
    return "Lisbon"


def main(url: str) -> None:
    session = AGUISession(url, tools=[get_user_location])
    question = "Find me a place to eat."
    print(f"user: {question}")
    turn = session.send(question)
    for event in turn:
        match event:
            case RunStartedEvent():
                print("a run begins")
            case ToolCallStartEvent():
                print(f"  the agent calls {event.tool_call_name}")
            case ToolCallResultEvent():
                print(f"  its own tool answers: {event.content}")
    print(f"agent: {turn.text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
