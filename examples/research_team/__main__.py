"""Asks the team a question in the terminal, and prints who works, for which call, and the
findings."""

from __future__ import annotations

import asyncio

from ag_ui.core import (
    RunAgentInput,
    RunErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    UserMessage,
)

from examples.research_team.main import agent


async def main() -> None:
    run_input = RunAgentInput(
        protocol_version="1.0",
        thread_id="prices",
        run_id="run-1",
        messages=[UserMessage(id="question", content="Which prices have risen?")],
        state={},
        tools=[],
        context=[],
        forwarded_props={},
    )
    names: dict[str | None, str] = {None: "report"}
    async for event in agent.run(run_input):
        match event:
            case SubagentStartedEvent():
                number = sum(name.startswith(event.name) for name in names.values())
                names[event.subagent_run_id] = f"{event.name} {number}" if number else event.name
                caller = f" for {event.parent_tool_call_id}" if event.parent_tool_call_id else ""
                about = f": {event.description}" if event.description else ""
                print(f"{names[event.subagent_run_id]} starts{caller}{about}")
            case SubagentFinishedEvent():
                print(f"{names[event.subagent_run_id]} has ended")
            case ToolCallStartEvent():
                print(f"  {names[event.subagent_run_id]} calls {event.tool_call_name}")
            case ToolCallResultEvent():
                print(f"  {names[event.subagent_run_id]} gets: {event.content}")
            case TextMessageContentEvent():
                print(f"  {names[event.subagent_run_id]}: {event.delta}")
            case RunErrorEvent():
                raise SystemExit(f"error: {event.message} [{event.code}]")


if __name__ == "__main__":
    asyncio.run(main())
