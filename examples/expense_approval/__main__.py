"""The manager in the terminal: any AG-UI client.

The model wants to book two expenses and to delete records. The manager approves the first booking,
corrects the amount of the second, and refuses the deletion.

    python -m examples.expense_approval                       # AG-UI interrupts
    python -m examples.expense_approval --ask-by tool_call    # the `request_approval` client tool
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from typing import Any, Literal

from ag_ui.core import (
    Event,
    Message,
    MessagesSnapshotEvent,
    ResumeEntry,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    TextMessageContentEvent,
    Tool,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
    UserMessage,
)

from examples.expense_approval.main import ledger, make_agent
from langgraph_agui import LangGraphAgent

REQUEST = "Book 1,500 for Ada and 900 for Ben, and delete the expense records of 2019."


def decide(tool: str, args: dict[str, Any]) -> dict[str, Any]:
    """The manager's decision, as the payload that answers an approval."""
    payload: dict[str, Any] = {"approved": True}
    if tool == "delete_records":
        payload = {"approved": False, "message": "Records are kept for ten years."}
    elif args["employee"] == "Ben":
        payload["editedArgs"] = {**args, "amount": 600}
    print(f"manager about {tool} {json.dumps(args)}: {json.dumps(payload)}")
    return payload


REQUEST_APPROVAL = Tool(
    name="request_approval",
    description="Ask the user for approval.",
    parameters={"type": "object", "properties": {"approval_id": {"type": "string"}}},
)


async def send(
    agent: LangGraphAgent,
    messages: Sequence[Message],
    run: str,
    *,
    resume: list[ResumeEntry] | None = None,
    tools: Sequence[Tool] = (),
) -> list[Event]:
    """Run the agent once and print what it says."""
    run_input = RunAgentInput(
        protocol_version="1.0",
        thread_id="expenses",
        run_id=run,
        messages=list(messages),
        state={},
        tools=list(tools),
        context=[],
        forwarded_props={},
        resume=resume,
    )
    events = [
        event
        async for event in agent.run(
            run_input, config={"configurable": {"user": "manager@example.com"}}
        )
    ]
    for event in events:
        match event:
            case TextMessageContentEvent():
                print(f"  agent: {event.delta}")
            case ToolCallStartEvent():
                print(f"  agent calls {event.tool_call_name} ({event.tool_call_id})")
            case ToolCallResultEvent():
                print(f"  result of {event.tool_call_id}: {str(event.content).splitlines()[-1]}")
            case RunErrorEvent():
                print(f"  error: {event.message} [{event.code}]")
    return events


def history(events: Sequence[Event]) -> list[Message]:
    """What the client holds after a run."""
    return next(
        event.messages for event in reversed(events) if isinstance(event, MessagesSnapshotEvent)
    )


def answer_interrupts(events: Sequence[Event]) -> list[ResumeEntry]:
    """The manager's decisions as the `resume` of the next run."""
    end, answers = events[-1], []
    if not isinstance(end, RunFinishedEvent) or not isinstance(
        end.outcome, RunFinishedInterruptOutcome
    ):
        return []
    for interrupt in end.outcome.interrupts:
        asked = interrupt.metadata or {}
        payload = decide(asked["name"], asked["args"])
        answers.append(ResumeEntry(interrupt_id=interrupt.id, status="resolved", payload=payload))
    return answers


def answer_calls(messages: Sequence[Message]) -> list[ToolMessage]:
    """The manager's decisions as the results of the calls of `request_approval`."""
    results = []
    for one in (one for message in messages for one in getattr(message, "tool_calls", None) or ()):
        if one.function.name == "request_approval":
            asked = json.loads(one.function.arguments)
            payload = decide(asked["function_name"], asked["function_arguments"])
            content = json.dumps({"approval_id": asked["approval_id"], **payload})
            results.append(
                ToolMessage(
                    id=f"result-{one.id}", role="tool", tool_call_id=one.id, content=content
                )
            )
    return results


async def dialogue(ask_by: Literal["auto", "tool_call"]) -> None:
    """The request, the manager's decisions, and what comes of them."""
    ledger.clear()
    agent = make_agent(ask_by)
    print(f"user: {REQUEST}")
    tools = [REQUEST_APPROVAL] if ask_by == "tool_call" else []
    first = await send(
        agent, [UserMessage(id="request", role="user", content=REQUEST)], "run-1", tools=tools
    )
    held = history(first)
    if ask_by == "auto":
        await send(agent, held, "run-2", resume=answer_interrupts(first))
    else:
        await send(agent, [*held, *answer_calls(held)], "run-2", tools=tools)
    print(f"done: {', '.join(sorted(ledger))}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--ask-by", choices=["auto", "tool_call"], default="auto")
    asyncio.run(dialogue(parser.parse_args().ask_by))


if __name__ == "__main__":
    main()
