"""The person at the desk, in the terminal: any AG-UI client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from ag_ui.core import (
    Event,
    Interrupt,
    Message,
    ResumeEntry,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    TextMessageContentEvent,
    ToolCallResultEvent,
)

from examples.email_desk.main import Email, agent, outbox
from langgraph_agui.protocol import fold

EDITED = {"action": "write_email", "args": {"to": "Ada", "content": "I will come at half past."}}

# Each mail, with the answers to the questions about it: Agent Inbox calls them `HumanResponse`.
DAY: list[tuple[Email, list[dict[str, Any]]]] = [
    (
        {"author": "Ada", "subject": "Tomorrow", "text": "When do you come?"},
        [{"type": "edit", "args": EDITED}],
    ),
    (
        {"author": "Ben", "subject": "Monday", "text": "Can we meet?"},
        [{"type": "response", "args": "Ten is better."}, {"type": "accept", "args": None}],
    ),
    ({"author": "Shop", "subject": "Our newsletter", "text": "Everything must go!"}, []),
    (
        {"author": "Cleo", "subject": "A chat", "text": "Any time for a chat?"},
        [{"type": "ignore", "args": None}],
    ),
]


def asked(interrupt: Interrupt) -> str:
    """Return the action that a question is about."""
    fields = interrupt.metadata or {}
    return f"{fields['name']} {fields['args']}"


def show(events: list[Event]) -> None:
    for event in events:
        match event:
            case TextMessageContentEvent():
                print(f"  {event.delta}")
            case ToolCallResultEvent():
                print(f"  result: {event.content}")
            case RunErrorEvent():
                raise SystemExit(f"error: {event.message} [{event.code}]")


async def serve(number: int, mail: Email, answers: Iterator[dict[str, Any]]) -> None:
    """Send a mail to the desk, and answer its questions."""
    print(f"mail of {mail['author']}: {mail['subject']}")
    messages: list[Message] = []
    state: Any = {"email_input": mail}
    resume: list[ResumeEntry] | None = None
    for run in range(len(DAY)):
        run_input = RunAgentInput(
            protocol_version="1.0",
            thread_id=f"mail-{number}",
            run_id=f"mail-{number}-{run}",
            messages=messages,
            state=state,
            tools=[],
            context=[],
            forwarded_props={},
            resume=resume,
        )
        events = [event async for event in agent.run(run_input)]
        client = fold(events, messages, state)
        messages, state = client.messages, client.state
        show(events)
        end = events[-1]
        if not isinstance(end, RunFinishedEvent) or not isinstance(
            end.outcome, RunFinishedInterruptOutcome
        ):
            return
        (question,) = end.outcome.interrupts
        answer = next(answers)
        print(f"  asked about {asked(question)}: {answer['type']}")
        resume = [ResumeEntry(interrupt_id=question.id, status="resolved", payload=answer)]


async def main() -> None:
    for number, (mail, answers) in enumerate(DAY):
        await serve(number, mail, iter(answers))
    print(f"sent: {', '.join(outbox)}")


if __name__ == "__main__":
    asyncio.run(main())
