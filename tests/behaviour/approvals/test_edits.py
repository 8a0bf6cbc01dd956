"""Edited arguments of an approved call fit the schema of its tool, whatever that is written in and
wherever the tool is: others are refused before anything runs, and the question stays open."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import InjectedState, ToolRuntime
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel
from pydantic.v1 import BaseModel as BaseModelV1

from langgraph_agui import LangGraphAgent
from tests.kit.deep import together
from tests.kit.graphs.pauses import Mode
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.dialogues import answering
from tests.kit.run.thread_client import Client, asked, ending

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])
Done = list[Any]


class Address(BaseModel):
    street: str
    number: int


class Parcel(BaseModel):
    to: Address
    count: int = 1


class ParcelV1(BaseModelV1):
    count: int


def tool_of(run: Any, schema: Any = None) -> Any:
    return StructuredTool.from_function(run, name="act", description="Act.", args_schema=schema)


def plain(done: Done) -> Any:
    def act(count: int, note: str = "") -> None:
        done.append(count)

    return tool_of(act)


def nested(done: Done) -> Any:
    def act(to: Address, count: int = 1) -> None:
        done.append((to.street, to.number, count))

    return tool_of(act, Parcel)


def injected(done: Done) -> Any:
    def act(
        count: int,
        state: Annotated[dict[str, Any], InjectedState],
        tool_call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime,
        account: Annotated[str, InjectedToolArg] = "own",
    ) -> None:
        done.append((count, type(state["messages"][0]).__name__, tool_call_id, account))

    return tool_of(act)


def version_1(done: Done) -> Any:
    return tool_of(lambda count: done.append(count), ParcelV1)


def json_schema(done: Done) -> Any:
    return tool_of(lambda **args: done.append(args), COUNT)


COUNT = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
COUNT["additionalProperties"] = False
HOME: dict[str, Any] = {"street": "Main", "number": 1}
HIGH = {"to": {"street": "High", "number": 2}, "count": 3}
FORGED = {"state": {"messages": []}, "tool_call_id": "c0", "runtime": {}, "account": "another"}
ONE, TWO = {"count": 1}, {"count": 2}
NOT_NESTED = [{}, {"to": "Main"}, {"to": {"street": 1, "number": 1}}, {"to": {"street": "Main"}}]

# What the model calls, wrong edits, a right edit, and what is done then.
CASES: dict[Any, Any] = {
    plain: (ONE, [{}, {"count": "two"}, {"count": [2]}, {"count": None}], TWO, 2),
    nested: ({"to": HOME}, NOT_NESTED, HIGH, ("High", 2, 3)),
    version_1: (ONE, [{}, {"count": "two"}], TWO, 2),
    json_schema: (ONE, [{}, {"count": "two"}, {"count": 2, "more": 3}], TWO, TWO),
    injected: (ONE, [FORGED], {**TWO, **FORGED}, (2, "HumanMessage", "c1", "own")),
}


def guarded(act: Any, model: Scripted, mode: Mode, saver: Any = None) -> Any:
    guard = HumanInTheLoopMiddleware({"act": True}, interrupt_mode=mode)
    return create_agent(model, [act], middleware=[guard], checkpointer=saver)


async def refused(client: Client, payload: Any) -> None:
    """Answer, and see that nothing came of it."""
    questions = asked(await client.connect())
    run = await client.send(resume=answering(questions, payload))
    assert (run.types, ending(run)) == (["RUN_STARTED", "RUN_ERROR"], "interrupt_invalid"), payload
    assert asked(await client.connect()) == questions


@together(MODES, pytest.mark.parametrize("make", CASES))
async def test_an_edit_fits_the_schema_of_the_tool(make: Any, mode: Mode) -> None:
    made, wrong, right, then = CASES[make]
    done: Done = []
    model = Scripted([call("act", "c1", **made)], ["Done."])
    client = Client(LangGraphAgent(guarded(make(done), model, mode, InMemorySaver())))
    questions = await client.ask("Go.")
    schema: Any = questions[0].response_schema
    assert {*made} <= {*schema["properties"]["editedArgs"]["properties"]}
    for args in wrong:
        await refused(client, {"approved": True, "editedArgs": args})
        await refused(client, {"type": "edit", "edited_action": {"name": "act", "args": args}})
    await refused(client, {"type": "edit", "edited_action": {"name": "other", "args": right}})
    assert done == []
    edit = {"approved": True, "editedArgs": right}
    assert ending(await client.send(resume=answering(questions, edit))) == "success"
    assert done == [then]


def as_tool(name: str, inner: Any) -> Any:
    """A tool that runs an agent."""

    async def run() -> str:
        result = await inner.ainvoke({"messages": ["Go."]})
        return str(result["messages"][-1].text)

    return StructuredTool.from_function(coroutine=run, name=name, description="Delegate.")


@pytest.mark.parametrize(
    ("spare", "mode", "known"),
    [
        *((None, "batched", True), (plain, "batched", True)),
        *((nested, "batched", False), (nested, "per_call", True)),
    ],
)
async def test_the_tool_is_that_of_the_agent_that_asks(spare: Any, mode: Mode, known: bool) -> None:
    """Another tool of that name, of the agent around it, does not count. If subagents have several
    that differ, nobody knows which one it is, and the tool itself checks."""
    done: Done = []
    inner = guarded(plain(done), Scripted([call("act", "c1", count=1)], ["Inner."]), mode)
    tools = [nested(done), as_tool("delegate", inner)]
    if spare is not None:
        tools.append(as_tool("spare", guarded(spare([]), Scripted(["-"]), mode)))
    model = Scripted([call("delegate", "d1")], ["Done."])
    client = Client(LangGraphAgent(create_agent(model, tools, checkpointer=InMemorySaver())))
    questions = await client.ask("Go.")
    if known:
        await refused(client, {"approved": True, "editedArgs": {"to": HOME}})
    edit = {"approved": True, "editedArgs": {"count": 2}}
    assert ending(await client.send(resume=answering(questions, edit))) == "success"
    assert done == [2]
