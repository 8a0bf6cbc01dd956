"""Text and reasoning as they stream, and the tokens: `python -m examples.client.basic_chat.client
URL`."""

from __future__ import annotations

import sys

from ag_ui.core import (
    Event,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from langgraph_agui.client import AGUISession


def show(event: Event) -> None:
    match event:
        case ReasoningMessageStartEvent():
            print("thinks: ", end="")
        case TextMessageStartEvent():
            print("agent: ", end="")
        case ReasoningMessageContentEvent() | TextMessageContentEvent():
            print(event.delta, end="", flush=True)
        case ReasoningMessageEndEvent() | TextMessageEndEvent():
            print()


def main(url: str) -> None:
    session = AGUISession(url)
    for question in ["My name is Ada.", "What is my name?", "And now?"]:
        print(f"user: {question}")
        turn = session.send(question)
        for event in turn:
            show(event)
        for used in turn.usage:
            print(f"  {used.input_tokens} tokens in, {used.output_tokens} out")
    print(
        f"{len(session.messages)} messages: "
        f"{', '.join(message.role for message in session.messages)}"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
