"""The conversation in the terminal, as a client shows it, with the bytes that the state costs."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ag_ui.core import (
    Event,
    RunAgentInput,
    RunErrorEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    UserMessage,
)

from examples.recipe_assistant.cook import Cook
from examples.recipe_assistant.main import make_agent
from langgraph_agui.protocol import encode, fold

StateEvent = StateDeltaEvent | StateSnapshotEvent


def size(event: StateEvent) -> int:
    return len(encode(event))


def told(events: Sequence[StateEvent]) -> list[str]:
    """Each event in a line, or if there are many, each kind."""
    if len(events) > 3:
        counts, sizes = Counter[str](), Counter[str]()
        for event in events:
            counts[event.type.value] += 1
            sizes[event.type.value] += size(event)
        return [f"{count} x {kind} {sizes[kind]} bytes" for kind, count in counts.items()]
    lines = []
    for event in events:
        operations = event.delta if isinstance(event, StateDeltaEvent) else ()
        changes = ", ".join(f"{one.op} {one.path}" for one in operations)
        lines.append(f"{event.type.value} {size(event)} bytes{': ' if changes else ''}{changes}")
    return lines or ["no event of state"]


def show(question: str, events: Sequence[Event], state: Any) -> None:
    print(f"user: {question}")
    for line in told([event for event in events if isinstance(event, StateEvent)]):
        print(f"  {line}")
    print(
        "assistant: "
        + "".join(event.delta for event in events if isinstance(event, TextMessageContentEvent))
    )
    for event in events:
        if isinstance(event, RunErrorEvent):
            raise SystemExit(f"error: {event.message} [{event.code}]")
    recipe = state["recipe"]
    ingredients = ", ".join(ingredient["name"] for ingredient in recipe["ingredients"])
    print(f"  state: {recipe['servings']} servings, {recipe['minutes']} minutes, {ingredients}")


async def converse(send: Any) -> None:
    """Three turns: the recipe is written, changed by the assistant, and edited by the user."""
    print(f"\n== send={send!r}")
    agent = make_agent(send, Cook(delay=0))
    messages: list[Any] = []
    state: Any = {}
    for number, question in enumerate(
        [
            "A tomato soup, please.",
            "Please make it for six and add basil.",
            "I have changed the time. What is it now?",
        ]
    ):
        if number == 2:
            print("user edits /recipe/minutes: 20")
            state["recipe"]["minutes"] = 20
        run_input = RunAgentInput(
            protocol_version="1.0",
            thread_id="soup",
            run_id=f"run-{number}",
            messages=[
                *messages,
                UserMessage(id=f"question-{number}", role="user", content=question),
            ],
            state=state,
            tools=[],
            context=[],
            forwarded_props={},
        )
        events = [event async for event in agent.run(run_input)]
        client = fold(events, run_input.messages, state)
        messages, state = client.messages, client.state
        show(question, events, state)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--send",
        choices=["patches", "snapshots"],
        help="how changes go out; by default, one after the other",
    )
    chosen = parser.parse_args().send
    for send in [chosen] if chosen else ["patches", "snapshots"]:
        asyncio.run(converse(send))


if __name__ == "__main__":
    main()
