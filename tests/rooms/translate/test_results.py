"""Tool results: whose message they are, when they come, how they fail, whatever a tool returns."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from ag_ui.core import Tool, ToolMessage
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command
from pydantic import BaseModel

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.small import Chat, agent_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part
from tests.kit.run.agents import RecordedRun, record_run, run_input, user
from tests.kit.run.thread_client import Client, ending
from tests.kit.waiting import PATIENCE


@tool
async def look(q: int) -> str:
    """Look something up."""
    return f"found {q}"


@tool
def look_sync(q: int) -> str:
    """Look something up, in a thread."""
    return f"found {q}"


@tool
async def fail(q: int) -> str:
    """Fail."""
    raise ValueError(f"no {q}")


@tool
async def draw() -> list[dict[str, Any]]:
    """Draw."""
    image = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    return [{"type": "text", "text": "A dot"}, image]


def loop(model: Any, *tools: Any, **options: Any) -> LangGraphAgent:
    """A hand-written agent loop around a `ToolNode`."""
    builder = StateGraph(Chat).add_node("model", talker(model))
    builder.add_node("tools", ToolNode(list(tools), **options))
    builder.add_edge(START, "model").add_edge("tools", "model")
    builder.add_conditional_edges("model", tools_condition)
    return LangGraphAgent(graph=builder.compile(checkpointer=InMemorySaver()))


def created(model: Any, *tools: Any, **options: Any) -> LangGraphAgent:
    return LangGraphAgent(create_agent(model, list(tools), checkpointer=InMemorySaver(), **options))


async def recording(agent: LangGraphAgent, **fields: Any) -> RecordedRun:
    recorded = await record_run(agent, run_input("hi", thread="t", **fields))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    return recorded


@pytest.mark.parametrize(("build", "which"), [(loop, look_sync), (created, look)])
async def test_a_result_has_the_id_of_its_message_and_comes_before_the_answer(
    build: Any, which: Any
) -> None:
    agent = build(Scripted([call(which.name, "c1", q=7)], ["Answer"]), which)
    recorded = await recording(agent)
    [result] = recorded.of("TOOL_CALL_RESULT")
    assert (result.tool_call_id, result.content, result.metadata) == ("c1", "found 7", None)
    stored = agent.graph.get_state({"configurable": {"thread_id": "t"}}).values["messages"]
    assert [message.id for message in stored if message.type == "tool"] == [result.message_id]
    order = ["TOOL_CALL_END", "TOOL_CALL_RESULT", "TEXT_MESSAGE_START"]
    assert [kind for kind in recorded.types if kind in order] == order
    assert recorded.last.outcome.pending_tool_call_ids is None


async def test_a_failed_tool() -> None:
    model = Scripted([call("fail", "c1", q=7)], ["Sorry"])
    recorded = await recording(loop(model, fail, handle_tool_errors=True))
    [result] = recorded.of("TOOL_CALL_RESULT")
    assert result.metadata == {"status": "error"}
    [held] = [message for message in recorded.messages if isinstance(message, ToolMessage)]
    assert "no 7" in (held.error or "")
    model = Scripted([call("fail", "c1", q=7)])
    recorded = await record_run(loop(model, fail, handle_tool_errors=False), run_input("hi"))
    assert (recorded.last.type.value, recorded.last.code) == ("RUN_ERROR", "tool_error")


async def test_media() -> None:
    recorded = await recording(loop(Scripted([call("draw", "c1")], ["Nice"]), draw))
    [result] = recorded.of("TOOL_CALL_RESULT")
    text, image = result.content
    assert (text.text, image.source.value) == ("A dot", "aGk=")


async def test_a_fast_tool_is_told_before_a_slow_one_ends() -> None:
    """In `create_agent` each call is a task of its own. A bare `ToolNode` runs all calls in one
    node, and what it makes of a result is known only when it ends."""
    fast_told = asyncio.Event()

    @tool
    async def fast() -> str:
        """Answer at once."""
        return "fast"

    @tool
    async def slow() -> str:
        """Answer once the client has the other result."""
        await asyncio.wait_for(fast_told.wait(), PATIENCE)
        return "slow"

    both = calling(part("slow", "{}", "c1", 0), part("fast", "{}", "c2", 1))
    given, events = run_input("hi"), []
    async for event in created(Scripted([both], ["Answer"]), slow, fast).run(given):
        events.append(event)
        if event.type.value == "TOOL_CALL_RESULT":
            fast_told.set()
    recorded = RecordedRun(events, given)
    recorded.check_snapshot()
    assert [event.content for event in recorded.of("TOOL_CALL_RESULT")] == ["fast", "slow"]


async def test_a_tool_that_runs_an_agent() -> None:
    inner = create_agent(Scripted([call("look", "c2", q=1)], ["inner answer"]), [look])

    @tool
    async def ask() -> str:
        """Ask another agent."""
        return str((await inner.ainvoke({"messages": [("user", "go")]}))["messages"][-1].content)

    recorded = await recording(created(Scripted([call("ask", "c1")], ["outer answer"]), ask))
    told = {event.tool_call_id: event.content for event in recorded.of("TOOL_CALL_RESULT")}
    assert told == {"c1": "inner answer", "c2": "found 1"}


async def test_calls_of_frontend_tools_stay_open() -> None:
    model = Scripted([call("paint", "c1", 0), call("paint", "c2", 1)], ["Thanks"])
    agent = agent_of(talker(model), checkpointer=InMemorySaver())
    tools = [Tool(name="paint", description="Paint.", parameters={"type": "object"})]
    first = await recording(agent, tools=tools)
    assert first.last.outcome.pending_tool_call_ids == ["c1", "c2"]
    answers = [ToolMessage(id=f"r{n}", tool_call_id=f"c{n}", content="ok") for n in (1, 2)]
    given = run_input(*first.messages, *answers, tools=tools, thread="t")
    second = await record_run(agent, given)
    second.check_snapshot()
    roles = [message.role for message in second.messages]
    assert roles == ["user", "assistant", "tool", "tool", "assistant"]
    assert second.last.outcome.pending_tool_call_ids is None
    assert second.types.count("TOOL_CALL_RESULT") == 0


class Weather(BaseModel):
    city: str


@tool
def forecast(city: str, config: RunnableConfig) -> Weather:
    """The weather of a city."""
    assert config["configurable"] is not None
    return Weather(city=city)


@tool
async def forecasts(city: str) -> list[Any]:
    """The weather of a city, and data that are no models."""
    return [Weather(city=city), {"b": [1, None], "é": 1.5}]


@pytest.mark.parametrize(
    ("called", "expected"),
    [(forecast, {"city": "Rome"}), (forecasts, [{"city": "Rome"}, {"b": [1, None], "é": 1.5}])],
)
async def test_the_middleware_makes_json_of_models(called: Any, expected: Any) -> None:
    model = Scripted([call(called.name, "c1", city="Rome")], ["Warm."])
    recorded = await recording(created(model, called, middleware=[AGUIMiddleware()]))
    assert json.loads(recorded.of("TOOL_CALL_RESULT")[0].content) == expected
    assert json.loads(model.seen[-1][-1].content) == expected


@dataclass
class Place:
    name: str = "Rome"


def result(call_id: str, text: str = "seen", **fields: Any) -> LCToolMessage:
    return LCToolMessage(text, tool_call_id=call_id, **fields)


def command(*messages: BaseMessage, **fields: Any) -> Command[Any]:
    return Command(update={"messages": list(messages)}, **fields)


VALUES: dict[str, Callable[[str], Any]] = {
    "nothing": lambda _: None,
    "bytes": lambda _: b"\xff\x00",
    "an exception": lambda _: ValueError("no"),
    "a dataclass": lambda _: Place(),
    "a generator": lambda _: (one for one in "ab"),
    "NaN": lambda _: {"at": [math.nan, math.inf]},
    "a set": lambda _: {1},
    "keys that are no strings": lambda _: {1: 2, (1, 2): 3},
    "a large text": lambda _: "x" * 300_000,
    "unknown blocks": lambda _: [{"type": "odd", "x": 1}, {"type": "text", "text": "t"}],
    "a block with bytes": lambda _: [{"type": "image", "data": b"\x00"}],
    "a message": lambda _: AIMessage("seen"),
    "an artifact of bytes": lambda one: result(one, artifact=b"\xff"),
    "metadata of bytes": lambda one: result(one, additional_kwargs={"b": b"\xff", "n": math.nan}),
    "a list with a command": lambda one: [command(result(one))],
    "a command with a way": lambda one: command(result(one), goto=END),
    "two results": lambda one: command(result(one), result(one, "again")),
    "two with ids": lambda one: command(result(one, id="r1"), result(one, "again", id="r2")),
    "a result of no call": lambda one: command(result(one), result("none", "stray")),
    "an answer beside it": lambda one: command(result(one), AIMessage("Beside.")),
    "a question beside it": lambda one: command(result(one), HumanMessage("And?")),
    "a removal beside it": lambda one: command(RemoveMessage(id="u1"), result(one)),
}


@pytest.mark.parametrize("kind", VALUES)
async def test_whatever_a_tool_returns_its_call_has_one_result_for_all(
    kind: str, saver: Any
) -> None:
    """The client, a reload and the model of the next turn have the same conversation."""

    def look(tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        return VALUES[kind](tool_call_id)

    # Some end the turn by their result.
    direct = kind in ("bytes", "a message", "two results")
    used = StructuredTool.from_function(look, description="Look.", return_direct=direct)
    turns = [[call("look", "c1")]] if direct else [[call("look", "c1")], ["Done."]]
    model = Scripted(*turns, ["More."])
    client = Client(LangGraphAgent(create_agent(model, [used], checkpointer=saver)))
    first = await client.send(user("Go.", "u1"))
    assert ending(first) == "success"
    assert not first.last.outcome.pending_tool_call_ids
    assert [one.tool_call_id for one in first.messages if one.role == "tool"] == ["c1"]
    shown = [(one.id, one.content) for one in (await client.connect()).messages]
    held = [(one.id, one.content) for one in client.held]
    removed = len(held) - len(shown)
    assert (held[removed:], removed) == (shown, kind == "a removal beside it")
    assert ending(await client.send(user("More.", "u2"))) == "success"
    assert_valid(model.seen[-1])
    assert model.seen[-1][-1].text == "More."
    client.agent = LangGraphAgent(client.agent.graph)
    ids = [one.id for one in (await client.connect()).messages]
    assert ids == [one.id for one in client.held[removed:]]
