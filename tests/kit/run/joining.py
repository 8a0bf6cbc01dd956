"""Runs that are joined while they go on: at the first moment after an event of one's choice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from ag_ui.core import BaseEvent, RunAgentInput
from langchain.agents import AgentState, create_agent
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command

from langgraph_agui import LangGraphAgent
from langgraph_agui.readers.sinks import EventSink
from langgraph_agui.readers.subscription import Subscription
from tests.kit.models.scripted import Scripted, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, run_input, user


@tool
async def feel(mood: str, call: Annotated[str, InjectedToolCallId]) -> Command[str]:
    """Feel."""
    await asyncio.sleep(0)
    return Command(update={"mood": mood, "messages": [ToolMessage("felt", tool_call_id=call)]})


@tool
async def look(place: str) -> str:
    """Look."""
    for _ in range(5):
        await asyncio.sleep(0)
    return f"seen {place}"


class Mood(AgentState[Any]):
    mood: str


def gaps(*pieces: Any) -> list[Any]:
    """Let others have their turn before each piece."""
    return [part for piece in pieces for part in (0.0, piece)]


def turns(one: str = "c1", two: str = "c2") -> list[Any]:
    """Two turns, with two calls of these ids."""
    pieces = [part("look", "", one, 2), part(None, '{"place":', None, 2)]
    pieces += [part(None, ' "a"}', None, 2), part("feel", "", two, 3)]
    pieces.append(part(None, '{"mood": "fine"}', None, 3))

    def said(thought: str, signature: str, *words: str) -> list[Any]:
        thinks = [thinking(thought, 0), thinking(".", 0), thinking(index=0, signature=signature)]
        return [*thinks, *(text_chunk(word, 1) for word in words)]

    return [
        gaps(*said("Hm", "s1", "Look", "ing."), *map(calling, pieces)),
        gaps(*said("So", "s2", "All ", "done.")),
    ]


def agent_of(saver: Any, model: Scripted | None = None, **options: Any) -> LangGraphAgent:
    model = model or Scripted(*turns())
    graph = create_agent(model, [look, feel], state_schema=Mood, checkpointer=saver)
    return LangGraphAgent(graph, **{"name": "joined", **options})


async def read(reader: Subscription, limit: int | None = None) -> list[Any]:
    """What a reader hears, up to a number of events."""
    events: list[Any] = []
    async with reader as outlet:
        while batch := await outlet.take():
            events += batch
            if limit is not None and len(events) >= limit:
                return events[:limit]
    return events


def watch(reader: Subscription, after: int, reached: Callable[[list[BaseEvent]], object]) -> None:
    """Tell what a reader was given, in the loop's next turn after `after` events; each fragment
    counts as one."""
    received: list[BaseEvent] = []

    def note(event: BaseEvent) -> None:
        received.append(event)
        if len(received) == after:
            asyncio.get_running_loop().call_soon(reached, received)

    noting, event, fragment = EventSink(note), reader.event, reader.fragment
    for one in reader.events():
        note(one)
    both = {"event": (event, noting.event), "fragment": (fragment, noting.fragment)}
    for name, sinks in both.items():
        setattr(reader, name, lambda *given, sinks=sinks: [sink(*given) for sink in sinks])


@dataclass
class Joined:
    """A run, and what those heard who joined it."""

    live: RecordedRun
    joined: list[RecordedRun] = field(default_factory=list)


async def join_after(
    agent: LangGraphAgent,
    after: int,
    *inputs: RunAgentInput | Callable[[list[BaseEvent]], RunAgentInput],
    given: RunAgentInput | None = None,
) -> Joined:
    """Run, and let one reader for each of `inputs` join after `after` events; an input may depend
    on those."""
    given = given or run_input(user("go", "u1"), thread="t", run="live")
    joining: list[asyncio.Task[RecordedRun]] = []

    async def follow(reader: Subscription, own: RunAgentInput) -> RecordedRun:
        return RecordedRun(await read(reader), own)

    def join(received: list[BaseEvent]) -> None:
        for one in inputs:
            own = one(received) if callable(one) else one
            joining.append(asyncio.create_task(follow(agent.subscribe(own), own)))

    reader = await agent.begin(given)
    watch(reader, after, join)
    live = RecordedRun(await read(reader), given)
    await asyncio.sleep(0)
    assert joining or after > len(live.events)
    return Joined(live, [await one for one in joining])
