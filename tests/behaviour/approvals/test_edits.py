"""Edited arguments of an approved call fit the schema of its tool, whatever that is written in and
wherever the tool is: others are refused before anything runs, and the question stays open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import InjectedState, ToolRuntime
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel
from pydantic.v1 import BaseModel as BaseModelV1

from langgraph_agui import LangGraphAgent
from tests.kit.deep import each_value
from tests.kit.graphs.pauses import Mode
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.dialogues import resolved
from tests.kit.run.thread_client import Client, asked, ending

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


class Address(BaseModel):
    street: str
    number: int


class Parcel(BaseModel):
    to: Address
    count: int = 1


class ParcelV1(BaseModelV1):
    count: int


Done = list[Any]


def plain(done: Done) -> Any:
    @tool
    def act(count: int, note: str = "") -> str:
        """Act."""
        done.append(count)
        return "done"

    return act


def nested(done: Done) -> Any:
    def act(to: Address, count: int = 1) -> str:
        done.append((to.street, to.number, count))
        return "done"

    return StructuredTool.from_function(act, description="Act.", args_schema=Parcel)


def version_1(done: Done) -> Any:
    def act(count: int) -> str:
        done.append(count)
        return "done"

    return StructuredTool.from_function(act, description="Act.", args_schema=ParcelV1)


def json_schema(done: Done) -> Any:
    def act(**args: Any) -> str:
        done.append(args)
        return "done"

    schema = {
        "type": "object",
        "properties": {"count": {"type": "integer"}},
        "required": ["count"],
        "additionalProperties": False,
    }
    return StructuredTool(name="act", description="Act.", args_schema=schema, func=act)


def injected(done: Done) -> Any:
    @tool
    def act(
        count: int,
        state: Annotated[dict[str, Any], InjectedState],
        tool_call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime,
        account: Annotated[str, InjectedToolArg] = "own",
    ) -> str:
        """Act."""
        done.append((count, type(state["messages"][0]).__name__, tool_call_id, account))
        return "done"

    return act


TOOLS: dict[str, Any] = {
    one.__name__: one for one in (plain, nested, version_1, json_schema, injected)
}
HOME: dict[str, Any] = {"street": "Main", "number": 1}
FORGED = {"state": {"messages": []}, "tool_call_id": "c0", "runtime": {}, "account": "another"}

# What the model calls, wrong edits, a right edit, and what is done then.
CASES: dict[str, tuple[dict[str, Any], Sequence[Any], Any, Any]] = {
    "plain": (
        {"count": 1},
        [{}, {"count": "two"}, {"count": [2]}, {"count": None}],
        {"count": 2},
        2,
    ),
    "nested": (
        {"to": HOME},
        [{}, {"to": "Main"}, {"to": {"street": 1, "number": 1}}, {"to": {"street": "Main"}}],
        {"to": {"street": "High", "number": 2}, "count": 3},
        ("High", 2, 3),
    ),
    "version_1": ({"count": 1}, [{}, {"count": "two"}], {"count": 2}, 2),
    "json_schema": (
        {"count": 1},
        [{}, {"count": "two"}, {"count": 2, "more": 3}],
        {"count": 2},
        {"count": 2},
    ),
    "injected": ({"count": 1}, [FORGED], {"count": 2, **FORGED}, (2, "HumanMessage", "c1", "own")),
}


def guarded(act: Any, model: Scripted, mode: Mode, saver: Any = None) -> Any:
    guard = HumanInTheLoopMiddleware({"act": True}, interrupt_mode=mode)
    return create_agent(model, [act], middleware=[guard], checkpointer=saver)


async def refused(client: Client, question: str, payload: Any) -> None:
    """Answer, and see that nothing came of it."""
    run = await client.send(resume=resolved((question, payload)))
    assert (run.types, ending(run)) == (["RUN_STARTED", "RUN_ERROR"], "interrupt_invalid"), payload
    assert [one.id for one in asked(await client.connect())] == [question]


@MODES
@pytest.mark.parametrize("kind", CASES)
async def test_an_edit_fits_the_schema_of_the_tool(kind: str, mode: Mode) -> None:
    made, wrong, right, then = CASES[kind]
    done: Done = []
    model = Scripted([call("act", "c1", **made)], ["Done."])
    client = Client(LangGraphAgent(guarded(TOOLS[kind](done), model, mode, InMemorySaver())))
    [question] = await client.ask("Go.")
    for args in wrong:
        await refused(client, question.id, {"approved": True, "editedArgs": args})
        action = {"name": "act", "args": args}
        await refused(client, question.id, {"type": "edit", "edited_action": action})
    other = {"type": "edit", "edited_action": {"name": "other", "args": right}}
    await refused(client, question.id, other)
    assert done == []
    edit = {"approved": True, "editedArgs": right}
    assert ending(await client.send(resume=resolved((question.id, edit)))) == "success"
    assert done == [then]


def as_tool(name: str, inner: Any) -> Any:
    """A tool that runs an agent."""

    async def run() -> str:
        result = await inner.ainvoke({"messages": ["Go."]})
        return str(result["messages"][-1].text)

    return StructuredTool.from_function(coroutine=run, name=name, description="Delegate.")


@MODES
@pytest.mark.parametrize("spare", [None, plain, nested])
@each_value()
async def test_the_tool_is_that_of_the_agent_that_asks(spare: Any, mode: Mode) -> None:
    """Another tool of that name, of the agent around it, does not count. If subagents have several
    that differ, nobody knows which one it is, and the tool itself checks."""
    done: Done = []
    inner = guarded(plain(done), Scripted([call("act", "c1", count=1)], ["Inner."]), mode)
    tools = [nested(done), as_tool("delegate", inner)]
    if spare is not None:
        tools.append(as_tool("spare", guarded(spare([]), Scripted(["-"]), mode)))
    model = Scripted([call("delegate", "d1")], ["Done."])
    client = Client(LangGraphAgent(create_agent(model, tools, checkpointer=InMemorySaver())))
    [question] = await client.ask("Go.")
    if spare is not nested or mode == "per_call":
        await refused(client, question.id, {"approved": True, "editedArgs": {"to": HOME}})
    edit = {"approved": True, "editedArgs": {"count": 2}}
    assert ending(await client.send(resume=resolved((question.id, edit)))) == "success"
    assert done == [2]
