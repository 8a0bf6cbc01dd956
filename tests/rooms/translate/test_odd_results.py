"""Whatever a tool returns: the client, a reload and the model of the next turn have the same
conversation, and each call has one result."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool
from langgraph.graph import END
from langgraph.types import Command

from langgraph_agui import LangGraphAgent
from tests.kit.deep import each_value
from tests.kit.expect.histories import assert_valid
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import user
from tests.kit.run.thread_client import Client, ending


@dataclass
class Place:
    name: str = "Rome"


def result(call_id: str, text: str = "seen", **fields: Any) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, **fields)


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
    "a command": lambda one: command(result(one)),
    "a list with a command": lambda one: [command(result(one))],
    "a command with a way": lambda one: command(result(one), goto=END),
    "two results": lambda one: command(result(one), result(one, "again")),
    "two results with ids": lambda one: command(
        result(one, id=f"{one}-1"), result(one, "again", id=f"{one}-2")
    ),
    "a result of no call": lambda one: command(result(one), result("none", "stray")),
    "an answer beside it": lambda one: command(result(one), AIMessage("Beside.")),
    "a question beside it": lambda one: command(result(one), HumanMessage("And?")),
    "a removal beside it": lambda one: command(RemoveMessage(id="u1"), result(one)),
}


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("kind", VALUES)
@each_value("kind")
async def test_any_result(kind: str, direct: bool, saver: Any) -> None:
    def look(tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        return VALUES[kind](tool_call_id)

    tool = StructuredTool.from_function(look, description="Look.", return_direct=direct)
    # The tool may have removed what was there at the first turn.
    turns = [[call("look", "c1")], ["Done."]] if not direct else [[call("look", "c1")]]
    model = Scripted(*turns, ["More."])
    client = Client(LangGraphAgent(create_agent(model, [tool], checkpointer=saver)))
    first = await client.send(user("Go.", "u1"))
    assert ending(first) == "success"
    assert not first.last.outcome.pending_tool_call_ids
    answered = [one.tool_call_id for one in first.messages if one.role == "tool"]
    assert answered == ["c1"]
    shown = [(one.id, one.content) for one in (await client.connect()).messages]
    held = [(one.id, one.content) for one in client.held]
    assert held[-len(shown) :] == shown
    assert len(held) - len(shown) == (kind == "a removal beside it")
    assert ending(await client.send(user("More.", "u2"))) == "success"
    assert_valid(model.seen[-1])
    assert model.seen[-1][-1].text == "More."
    client.agent = LangGraphAgent(client.agent.graph)
    assert [one.id for one in (await client.connect()).messages] == [
        one.id for one in client.held[len(held) - len(shown) :]
    ]
