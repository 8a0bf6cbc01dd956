"""What tools tell of their output: to all who listen, also when it comes late or the tool runs
again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from ag_ui.core import Event
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from langgraph_agui.protocol import fold
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import record_run, run_input
from tests.kit.run.dialogues import resolved
from tests.kit.run.handlers import ASKED, ReceivedEvents, call_by
from tests.kit.run.thread_client import Client, asked


@tool
async def work(runtime: ToolRuntime) -> str:
    """Work."""
    return emit(runtime)


@tool("work")
def sync_work(runtime: ToolRuntime) -> str:
    """Work."""
    return emit(runtime)


def emit(runtime: ToolRuntime) -> str:
    for part in ("a", "b"):
        runtime.emit_output_delta(part)
    return "worked"


def graph_of(*tools: BaseTool, **fields: Any) -> Any:
    """An agent that calls its tools one after the other."""
    turns: Any = [[call(one.name, f"c{number}")] for number, one in enumerate(tools)]
    return create_agent(Scripted(*turns, ["done"]), tools, **fields)


def output(events: Sequence[Event], call_id: str = "c0") -> Any:
    """What a client that holds nothing yet has of the output of a call."""
    held = fold(list(events), [], {}).messages
    (content,) = [one.content for one in held if one.id == f"{call_id}:output"]
    return content


WORKED = {"toolCallId": "c0", "toolName": "work", "status": "done", "output": ["a", "b"]}


@pytest.mark.parametrize("tool_", [work, sync_work])
async def test_all_handlers_of_a_run_hear_it(tool_: BaseTool) -> None:
    """Also one in the config of an agent."""
    received = [ReceivedEvents() for _ in range(4)]
    await graph_of(tool_).ainvoke(ASKED, {"callbacks": [one.handler for one in received[1:]]})
    agent = LangGraphAgent(graph=graph_of(tool_), config=received[0].config)
    assert output((await record_run(agent, run_input("hi"))).events) == WORKED
    for one in received:
        one.check()
        assert output(one.events) == WORKED
        assert len(one.of("ACTIVITY_SNAPSHOT")) == 1


async def late_by(source: str) -> list[Event]:
    """A tool leaves something running, which has output when the tool is over and another one
    runs."""
    over, left = asyncio.Event(), list[asyncio.Task[None]]()

    @tool
    async def begin(runtime: ToolRuntime) -> str:
        """Begin."""

        async def go_on() -> None:
            await over.wait()
            runtime.emit_output_delta("late")

        runtime.emit_output_delta("in time")
        left.append(asyncio.create_task(go_on()))
        return "begun"

    @tool
    async def wait() -> str:
        """Wait."""
        over.set()
        await left[0]
        return "waited"

    if source == "agent":
        agent = LangGraphAgent(graph=graph_of(begin, wait))
        return (await record_run(agent, run_input("hi"))).events
    received = ReceivedEvents()
    await graph_of(begin, wait).ainvoke(ASKED, received.config)
    received.check()
    return received.events


@pytest.mark.parametrize("source", ["agent", "handler"])
async def test_late_output_is_added_to_what_is_done(source: str) -> None:
    events = await late_by(source)
    kinds = [event.type.value for event in events]
    told = [kind for kind in kinds if kind.startswith("ACTIVITY_")]
    assert told == ["ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "ACTIVITY_DELTA"]
    late = [at for at, event in enumerate(events) if '"late"' in event.model_dump_json()]
    assert late[0] > kinds.index("TOOL_CALL_RESULT")
    assert shown(events) == ("done", ["in time", "late"])


def shown(events: Sequence[Event]) -> tuple[str, list[str]]:
    found = output(events)
    return found["status"], found["output"]


@tool
async def ask(runtime: ToolRuntime) -> str:
    """Ask."""
    runtime.emit_output_delta("asks")
    answer = interrupt({"question": "Go on?"})
    runtime.emit_output_delta("goes on")
    return str(answer)


@pytest.mark.parametrize("sends", [False, True], ids=["keeps_it", "sends_it_back"])
async def test_a_tool_that_runs_again_after_a_pause_begins_anew(sends: bool) -> None:
    """Also for a client that sends activities back, which the reference client does not."""
    client = Client(LangGraphAgent(graph=graph_of(ask, checkpointer=InMemorySaver())))
    recorded = await client.send("hi")
    (question,) = asked(recorded)
    assert shown(recorded.events) == ("stopped", ["asks"])
    before = client.held
    if not sends:
        client.held = [message for message in before if message.role != "activity"]
    recorded = await client.send(resume=resolved((question.id, "yes")))
    assert not [message for message in recorded.snapshot if message.role == "activity"]
    messages: list[Any] = fold(recorded.events, before, {}).messages
    [held] = [message for message in messages if message.id == "c0:output"]
    assert (held.content["status"], held.content["output"]) == ("done", ["asks", "goes on"])


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_a_tool_that_is_tried_again_begins_anew(way: str) -> None:
    tries: list[int] = []

    @tool
    def fail_first(runtime: ToolRuntime) -> str:
        """Fail at first."""
        tries.append(len(tries))
        runtime.emit_output_delta(f"try {tries[-1]}")
        if not tries[-1]:
            raise ConnectionError("CANARY")
        runtime.emit_output_delta("worked")
        return "worked"

    received = ReceivedEvents()
    again = ToolRetryMiddleware(max_retries=1, initial_delay=0.0, jitter=False)
    await call_by(way, graph_of(fail_first, middleware=[again]), ASKED, received.config)
    received.check()
    assert shown(received.events) == ("done", ["try 1", "worked"])
    begun = [event.content["output"] for event in received.of("ACTIVITY_SNAPSHOT")]
    assert begun == [["try 0"], ["try 1"]]
