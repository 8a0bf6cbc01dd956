"""Tools that run at the client: what the agent is told of them, what of their results, and when
they do not run."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Annotated, Any

import pytest
from ag_ui.core import FunctionCall, ToolCall, UserMessage
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel, ConfigDict, Field

from langgraph_agui.client import AGUISession
from langgraph_agui.client.tools import LocalTools, agui_tool
from tests.kit.graphs.frontend_tools import client_tool, lookup
from tests.kit.models.scripted import Scripted, call
from tests.kit.models.scripted import Turn as Said
from tests.kit.processes.client_agents import remote, tooled
from tests.kit.processes.scripted_servers import Blocking, both, made_call, server
from tests.kit.run.agents import dumped
from tests.kit.run.wire_events import FINISHED, STARTED, Wire, caller, in_run, message, snapshot
from tests.kit.run.wire_events import call as called
from tests.kit.run.wire_events import text as text_of

PIXEL = "iVBORw0KGgo="


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
async def later(word: str) -> str:
    """Say it from a coroutine."""
    return f"later {word}"


def plain(word: str) -> dict[str, str]:
    """A function, no tool yet."""
    return {"word": word}


@tool
def broken() -> str:
    """Break."""
    raise RuntimeError("s3cret")


@tool
def refusing() -> str:
    """Refuse."""
    raise ToolException("Not on Sundays.")


@tool
def photo(place: str) -> list[dict[str, str]]:
    """Take a picture."""
    picture = {"type": "image", "base64": PIXEL, "mime_type": "image/png"}
    return [{"type": "text", "text": place}, picture]


def usage(count: int) -> list[Wire]:
    return [{"provider": "p", "model": "m", "inputTokens": count}]


def results(session: AGUISession[Any]) -> list[tuple[str, Any, str | None]]:
    held = [one for one in dumped(session.messages) if one["role"] == "tool"]
    return [(one["toolCallId"], one["content"], one.get("error")) for one in held]


IMAGE = {"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}}
NO_JSON = "The arguments are not a JSON object."
NO_FIT = "The arguments do not fit: a: Field required; b: Input should be a valid integer, unable "
NO_FIT += "to parse string as an integer"
CALLS: list[tuple[str, str, Any, str | None]] = [
    ("add", '{"a": 2, "b": 3}', "5", None),
    ("add", '{"a": 2}', "3", None),
    ("plain", '{"word": "x"}', '{"word": "x"}', None),
    ("later", '{"word": "x"}', "later x", None),
    ("photo", '{"place": "Rome"}', [{"type": "text", "text": "Rome"}, IMAGE], None),
    ("broken", "", "The tool failed.", "The tool failed."),
    ("refusing", "{}", "Not on Sundays.", "Not on Sundays."),
    ("add", '{"b": "many"}', NO_FIT, NO_FIT),
    ("add", '{"a"', NO_JSON, NO_JSON),
    ("add", "[1]", NO_JSON, NO_JSON),
]


@both
def test_results(reader: Blocking, caplog: pytest.LogCaptureFixture) -> None:
    """One turn, two runs: all calls of the first are answered in the second, in their order."""
    asked = [called(f"c{n}", args, name=name) for n, (name, args, *_) in enumerate(CALLS)]
    calls = [STARTED, *(one for each in asked for one in each), {**FINISHED, "usage": usage(2)}]
    done = [*in_run(*text_of("m", "so"))[:-1], {**FINISHED, "usage": usage(3), "result": "r"}]
    with server(calls, done) as agent:
        tools = [add, plain, later, broken, refusing, photo]
        session = AGUISession[Any](agent.url, tools=tools)
        turn = session.send("go")
        events = reader.read(turn)
        sent = [one for one in agent.sent() if one["role"] == "tool"]
    assert [one.type.value for one in events].count("RUN_FINISHED") == 2
    assert (turn.text, turn.result, [one.input_tokens for one in turn.usage]) == ("so", "r", [5])
    assert results(session) == [(f"c{n}", *told) for n, (_, _, *told) in enumerate(CALLS)]
    assert sent == [one for one in dumped(session.messages) if one["role"] == "tool"]
    assert "s3cret" not in session.to_json()
    (record,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert "s3cret" in str(record.exc_info and record.exc_info[1])


async def test_a_tool_that_is_a_coroutine_under_a_running_loop() -> None:
    """`for` in code that an event loop runs, as in a notebook."""
    with server(in_run(*called("c", '{"word": "x"}', name="later")), in_run()) as agent:
        session = AGUISession[Any](agent.url, tools=[later])
        session.send("go").wait()
        assert results(session) == [("c", "later x", None)]


def test_what_the_agent_is_told_of_tools() -> None:
    class Place(BaseModel):
        """A place."""

        city: str

    offered = LocalTools([add, plain, client_tool("paint", color={"type": "string"})]).offered
    assert [one.name for one in offered] == ["add", "plain", "paint"]
    assert offered[0].description == "Add two numbers."
    assert offered[0].parameters["required"] == ["a"]
    assert set(offered[0].parameters["properties"]) == {"a", "b"}
    assert agui_tool(Place).parameters["properties"]["city"]["type"] == "string"
    with pytest.raises(ValueError, match="Two tools"):
        LocalTools([add, client_tool("add")])
    with pytest.raises(ValueError, match="cannot be offered"):
        agui_tool({"type": "web_search"})


sent: list[str] = []


def mail() -> str:
    """Send a mail."""
    sent.append("sent")
    return "sent"


async def test_a_tool_that_is_cancelled_leaves_the_results_before_it() -> None:
    begun = asyncio.Event()
    sent.clear()

    @tool
    async def endless() -> None:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()

    calls = in_run(*called("c1", "{}", name="mail"), *called("c2", "{}", name="endless"))
    with server(calls) as agent:
        session = AGUISession[Any](agent.url, tools=[mail, endless])
        turn = asyncio.ensure_future(session.send("go")._await_end())
        await begun.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
    assert (sent, results(session)) == (["sent"], [("c1", "sent", None)])
    assert [one.id for one in session.pending_tool_calls] == ["c2"]


def test_a_snapshot_without_a_result() -> None:
    """As of a server that keeps no results: the call looks open, but its tool does not run
    again."""
    sent.clear()
    stated = in_run(snapshot(message("user", "u"), caller("c1", made_call("c1", name="mail"))))
    with server(in_run(*called("c1", "{}", name="mail")), stated) as agent:
        session = AGUISession[Any](agent.url, tools=[mail])
        session.send(UserMessage(id="u", content="x")).wait()
        assert [one["role"] for one in agent.sent()] == ["user", "assistant", "tool"]
    assert (sent, [one.id for one in session.pending_tool_calls]) == (["sent"], ["c1"])


Hidden = Annotated[bool, InjectedToolArg]


def read(path: str, root: Hidden = False) -> str:
    """Read a file."""
    return f"{path} {root}"


def read_more(path: str, root: Hidden = False, **more: Any) -> str:
    """Read a file, with options."""
    return f"{path} {root} {more}"


async def read_later(root: Hidden = False, **arguments: Any) -> str:
    """Read a file, as the tools of MCP servers do."""
    return f"{arguments.pop('path')} {root} {arguments}"


def read_any(**given: Any) -> str:
    """Read a file."""
    return f"{given['path']} {given['root']}"


class Named(BaseModel):
    path: str = Field(alias="thePath")
    root: Hidden = Field(default=False, validation_alias="isRoot")
    model_config = ConfigDict(extra="allow", populate_by_name=True)


class Reading(BaseTool):
    name: str = "read"
    description: str = "Read a file."

    def _run(self, path: str, root: Hidden = False, **more: Any) -> str:
        return f"{path} {root} {more}"


OPEN: Any = {"type": "object", "properties": {"path": {"type": "string"}}}
OPEN["additionalProperties"] = True
FORGED: Any = {"root": True, "x": 1}
made = StructuredTool.from_function


@pytest.mark.parametrize(
    ("one", "forged", "read"),
    [
        (tool(read), FORGED, "p False"),
        (made(read, args_schema=Named), {"root": True}, "p False"),
        (made(read, args_schema=Named), {"isRoot": True}, "p False"),
        (made(read_any, args_schema=Named), FORGED, "p False"),
        (made(read_more, args_schema=OPEN), FORGED, "p False {'x': 1}"),
        (made(None, read_later, "read", args_schema=OPEN), FORGED, "p False {'x': 1}"),
        (Reading(), FORGED, "p False {}"),
    ],
)
def test_hidden_arguments_are_not_the_agent_s(one: Any, forged: dict[str, Any], read: str) -> None:
    """The application decides what a tool does not offer to a model; a tool with an open schema
    takes other names."""
    tools = LocalTools([one])
    assert "root" not in str(tools.offered[0].parameters)
    function = FunctionCall(name=one.name, arguments=json.dumps({"path": "p", **forged}))
    assert asyncio.run(tools.run(ToolCall(id="c", function=function))).content == read


@pytest.mark.parametrize(
    ("answer", "colors"),
    [
        ({"approved": True}, ["red"]),
        ({"approved": False}, []),
        # An edited call cannot be sent to a client: the agent's middleware answers it, and the model
        # may call anew.
        ({"approved": True, "editedArgs": {"color": "blue"}}, []),
    ],
    ids=["approved", "rejected", "edited"],
)
def test_a_tool_that_needs_an_approval_first(answer: Any, colors: list[str]) -> None:
    """It runs here, but not before the user has said yes to the agent's question."""
    painted: list[str] = []

    def paint(color: str) -> str:
        """Paint."""
        painted.append(color)
        return f"painted {color}"

    def script(messages: list[BaseMessage]) -> Said:
        if messages[-1].type == "tool":
            return [f"{messages[-1].text}, done."]
        return [call("lookup", "s1", 0, city="Rome"), call("paint", "c1", 1, color="red")]

    guard, options = HumanInTheLoopMiddleware({"paint": True}), {"checkpointer": InMemorySaver()}
    graph = tooled(Scripted(script=script), lookup, middleware=[guard], **options)
    with remote(graph, meets=True) as agent:  # a refused call is answered over there
        session = AGUISession[Any](agent.url, tools=[paint])
        session.send("Paint it.").wait()
        (asked,) = session.interrupts
        assert (asked.tool_call_id, painted, session.pending_tool_calls) == ("c1", [], [])
        session = AGUISession[Any].from_json(session.to_json(), agent.url, tools=[paint])
        session.resume({asked.id: answer}).wait()
    assert (painted, session.pending_tool_calls) == (colors, [])
    assert session.messages[-1].role == "assistant"
    assert {call_id for call_id, *_ in results(session)} == {"s1", "c1"}
