"""Tools that run at the client: what the agent is told of them, what of their results, and when
they do not run."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from ag_ui.core import FunctionCall, ToolCall, UserMessage
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field

from langgraph_agui import AGUIMiddleware, LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.client import AgentError, AGUISession
from langgraph_agui.client.tools import LocalTool, LocalTools, agui_tool
from tests.kit.deep import together
from tests.kit.graphs.frontend_tools import client_tool, lookup
from tests.kit.models.scripted import Scripted, call
from tests.kit.models.scripted import Turn as Said
from tests.kit.processes.scripted_servers import Awaiting, Blocking, answering, recording, server
from tests.kit.processes.serving import serving
from tests.kit.run.agents import dumped
from tests.kit.run.wire_events import FINISHED, STARTED, Wire, in_run, message, snapshot, text
from tests.kit.run.wire_events import call as called

both = pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)
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
    return [
        {"type": "text", "text": place},
        {"type": "image", "base64": PIXEL, "mime_type": "image/png"},
    ]


def usage(count: int) -> list[Wire]:
    return [{"provider": "p", "model": "m", "inputTokens": count}]


def results(session: AGUISession[Any]) -> list[Wire]:
    recorded = [one for one in dumped(session.messages) if one["role"] == "tool"]
    return [
        {key: one[key] for key in ("toolCallId", "content", "error") if key in one}
        for one in recorded
    ]


IMAGE = {"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}}
CALLS: Sequence[tuple[str, str, Any, str | None]] = [
    ("add", '{"a": 2, "b": 3}', "5", None),
    ("add", '{"a": 2}', "3", None),
    ("plain", '{"word": "x"}', '{"word": "x"}', None),
    ("photo", '{"place": "Rome"}', [{"type": "text", "text": "Rome"}, IMAGE], None),
    ("broken", "", "The tool failed.", "The tool failed."),
    ("refusing", "{}", "Not on Sundays.", "Not on Sundays."),
    ("add", '{"b": "many"}', "The arguments do not fit: a: Field required", None),
    ("add", '{"a"', "The arguments are not a JSON object.", "The arguments are not a JSON object."),
    ("add", "[1]", "The arguments are not a JSON object.", "The arguments are not a JSON object."),
]


@both
def test_results(reader: Blocking, caplog: pytest.LogCaptureFixture) -> None:
    """One turn, two runs: all calls of the first are answered in the second, in their order."""
    calls = [
        one
        for place, (name, args, *_) in enumerate(CALLS)
        for one in called(f"c{place}", args, name=name)
    ]
    asking = [STARTED, *calls, {**FINISHED, "usage": usage(2)}]
    done = [*in_run(*text("m", "so"))[:-1], {**FINISHED, "usage": usage(3), "result": "r"}]
    with server(recording(*asking), recording(*done)) as agent:
        session = AGUISession[Any](agent.url, tools=[add, plain, broken, refusing, photo])
        turn_ = session.send("go")
        events = reader.read(turn_)
    assert [one.type.value for one in events].count("RUN_FINISHED") == 2
    assert (turn_.text, turn_.result, [one.input_tokens for one in turn_.usage]) == ("so", "r", [5])
    recorded = results(session)
    assert [one["toolCallId"] for one in recorded] == [f"c{place}" for place in range(len(CALLS))]
    for one, (name, args, content, error) in zip(recorded, CALLS, strict=True):
        if str(content).startswith("The arguments do not fit"):
            assert content in one["content"]
            assert one["error"] == one["content"]
        else:
            assert (name, args, one["content"], one.get("error")) == (name, args, content, error)
    assert [one for one in agent.asked[1].json["messages"] if one["role"] == "tool"] == [
        one for one in dumped(session.messages) if one["role"] == "tool"
    ]
    assert "s3cret" not in session.to_json()
    (record,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert record.exc_info is not None
    assert "s3cret" in str(record.exc_info[1])


@pytest.mark.parametrize("reader", [Blocking(), Awaiting()], ids=repr)
def test_a_tool_that_is_a_coroutine(reader: Blocking) -> None:
    with server(
        recording(*in_run(*called("c", '{"word": "x"}', name="later"))), recording(*in_run())
    ) as agent:
        session = AGUISession[Any](agent.url, tools=[later])
        reader.read(session.send("go"))
        assert results(session)[0]["content"] == "later x"


async def test_a_tool_that_is_a_coroutine_under_a_running_loop() -> None:
    """`for` in code that an event loop runs, as in a notebook."""
    with server(
        recording(*in_run(*called("c", '{"word": "x"}', name="later"))), recording(*in_run())
    ) as agent:
        session = AGUISession[Any](agent.url, tools=[later])
        session.send("go").wait()
        assert results(session)[0]["content"] == "later x"


def test_what_the_agent_is_told_of_tools() -> None:
    class Place(BaseModel):
        """A place."""

        city: str

    tools = LocalTools([add, plain, client_tool("paint", color={"type": "string"})])
    assert [one.name for one in tools.offered] == ["add", "plain", "paint"]
    recorded = tools.offered[0]
    assert recorded.description == "Add two numbers."
    assert recorded.parameters["required"] == ["a"]
    assert set(recorded.parameters["properties"]) == {"a", "b"}
    assert agui_tool(Place).parameters["properties"]["city"]["type"] == "string"
    with pytest.raises(ValueError, match="Two tools"):
        LocalTools([add, client_tool("add")])
    with pytest.raises(ValueError, match="cannot be offered"):
        agui_tool({"type": "web_search"})


@both
def test_one_runs_here_and_one_is_answered_by_hand(reader: Blocking) -> None:
    calls = [
        *called("a", '{"a": 1}', name="add"),
        *called("b", "{}", name="locate"),
        *called("s", "{}", name="server"),
    ]
    with server(recording(*in_run(*calls)), recording(*in_run())) as agent:
        session = AGUISession[Any](agent.url, tools=[add, client_tool("locate")])
        reader.read(session.send("go"))
        assert len(agent.asked) == 1  # the turn ends: the agent waits for both
        assert [one.id for one in session.pending_tool_calls] == ["b"]
        session.answer("b", "Rome")
        reader.read(session.send())
    assert results(session) == [
        {"toolCallId": "a", "content": "2"},
        {"toolCallId": "b", "content": "Rome"},
    ]


@both
def test_results_survive_an_agent_that_is_gone(reader: Blocking) -> None:
    with server(
        recording(*in_run(*called("a", '{"a": 1}', name="add"))),
        answering(500),
        recording(*in_run()),
    ) as agent:
        session = AGUISession[Any](agent.url, tools=[add])
        with pytest.raises(AgentError):
            reader.read(session.send("go"))
        assert [one.role for one in session.messages] == ["user", "assistant", "tool"]
        reader.read(session.send())
        assert [one["role"] for one in agent.asked[2].json["messages"]] == [
            "user",
            "assistant",
            "tool",
        ]


CALLED = in_run(*called("c1", "{}", name="mail"), *called("c2", "{}", name="endless"))


class Mail:
    """Two tools: one sends at once, the other is stopped."""

    def __init__(self) -> None:
        self.sent = 0
        self.begun = asyncio.Event()

    def tools(self) -> list[LocalTool]:
        @tool
        def mail() -> str:
            """Send a mail."""
            self.sent += 1
            return "sent"

        async def hang() -> str:
            self.begun.set()
            await asyncio.Event().wait()
            return "never"

        def stop() -> str:
            raise KeyboardInterrupt

        endless = StructuredTool.from_function(stop, hang, name="endless", description="Wait.")
        return [mail, endless]

    def check(self, session: AGUISession[Any]) -> None:
        assert self.sent == 1
        assert results(session) == [{"toolCallId": "c1", "content": "sent"}]
        assert [one.id for one in session.pending_tool_calls] == ["c2"]


def test_a_tool_that_is_stopped_leaves_the_results_before_it() -> None:
    mail = Mail()
    with server(recording(*CALLED)) as agent:
        session = AGUISession[Any](agent.url, tools=mail.tools())
        with pytest.raises(KeyboardInterrupt):
            session.send("go").wait()
    mail.check(session)


async def test_a_tool_that_is_cancelled_leaves_the_results_before_it() -> None:
    mail = Mail()
    with server(recording(*CALLED)) as agent:
        session = AGUISession[Any](agent.url, tools=mail.tools())
        turn_ = asyncio.ensure_future(session.send("go")._await_end())
        await mail.begun.wait()
        turn_.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn_
    mail.check(session)


@both
def test_a_snapshot_without_a_result(reader: Blocking) -> None:
    """As of a server that keeps no results: the call looks open, but its tool does not run
    again."""
    mail = Mail()
    asked = [message("user", "u"), message("assistant", "c1", "", toolCalls=[MAIL])]
    recorded = in_run(snapshot(*asked))
    with server(
        recording(*in_run(*called("c1", "{}", name="mail"))),
        recording(*recorded),
        recording(*recorded),
    ) as agent:
        session = AGUISession[Any](agent.url, tools=mail.tools())
        reader.read(session.send(UserMessage(id="u", content="x")))
        assert len(agent.asked) == 2
    assert [one["role"] for one in agent.asked[1].json["messages"]] == ["user", "assistant", "tool"]
    assert mail.sent == 1
    assert [one.id for one in session.pending_tool_calls] == ["c1"]


MAIL = {"id": "c1", "type": "function", "function": {"name": "mail", "arguments": "{}"}}
Hidden = Annotated[bool, InjectedToolArg]


def read(path: str, root: Hidden = False) -> str:
    """Read a file."""
    return f"{path} {root}"


def read_more(path: str, root: Hidden = False, **more: Any) -> str:
    """Read a file, with options."""
    return f"{path} {root} {more}"


async def read_later(root: Hidden = False, **arguments: Any) -> str:
    """Read a file, as the tools of MCP servers do."""
    return f"{arguments['path']} {root}"


def read_any(**given: Any) -> str:
    """Read a file."""
    return f"{given['path']} {given['root']}"


class Named(BaseModel):
    path: str = Field(alias="thePath")
    root: Hidden = Field(
        default=False, validation_alias=AliasChoices("isRoot", AliasPath("user", 0))
    )
    model_config = ConfigDict(extra="allow", populate_by_name=True)


class Short(BaseModel):
    path: str
    model_config = ConfigDict(extra="ignore")


class Reading(BaseTool):
    name: str = "read"
    description: str = "Read a file."

    def _run(self, path: str, root: Hidden = False, **more: Any) -> str:
        return f"{path} {root} {more}"


WRITTEN = {"type": "object", "properties": {"path": {"type": "string"}}}
OPEN = {**WRITTEN, "additionalProperties": True}
FORGED = {"path": "p", "root": True}


@pytest.mark.parametrize(
    ("one", "arguments", "recorded"),
    [
        (tool(read), FORGED, "p False"),
        (StructuredTool.from_function(read, args_schema=Short), FORGED, "p False"),
        (StructuredTool.from_function(read, args_schema=WRITTEN), FORGED, "p False"),
        (
            StructuredTool.from_function(coroutine=read_later, name="r", args_schema=WRITTEN),
            FORGED,
            "p False",
        ),
        (StructuredTool.from_function(read, args_schema=Named), FORGED, "p False"),
        (
            StructuredTool.from_function(read, args_schema=Named),
            {"path": "p", "isRoot": True},
            "p False",
        ),
        (
            StructuredTool.from_function(read, args_schema=Named),
            {"path": "p", "user": [True]},
            "p False",
        ),
        (
            StructuredTool.from_function(read_more, args_schema=Named),
            {**FORGED, "x": 1},
            "p False {}",
        ),
        (
            StructuredTool.from_function(read_more, args_schema=WRITTEN),
            {**FORGED, "x": 1},
            "p False {}",
        ),
        (
            StructuredTool.from_function(read_more, args_schema=OPEN),
            {**FORGED, "x": 1},
            "p False {'x': 1}",
        ),
        (StructuredTool.from_function(read_any, args_schema=Named), FORGED, "p False"),
        (Reading(), {**FORGED, "x": 1}, "p False {}"),
    ],
)
def test_hidden_arguments_are_not_the_agent_s(
    one: BaseTool, arguments: dict[str, Any], recorded: str
) -> None:
    """The application decides what a tool does not offer to a model; a tool with an open schema
    takes other names."""
    tools = LocalTools([one])
    assert "root" not in str(tools.offered[0].parameters)
    asked = ToolCall(id="c", function=FunctionCall(name=one.name, arguments=json.dumps(arguments)))
    assert asyncio.run(tools.run(asked)).content == recorded


# -- real agents ---------------------------------------------------------------------------------


def painting(messages: list[BaseMessage]) -> Said:
    if messages[-1].type == "tool":
        return [f"{messages[-1].text}, done."]
    return [call("lookup", "s1", 0, city="Rome"), call("paint", "c1", 1, color="red")]


@together(pytest.mark.parametrize("decision", ["approve", "edit", "reject"]), both)
def test_a_tool_that_needs_an_approval_first(reader: Blocking, decision: str) -> None:
    """It runs here, but not before the user has said yes to the agent's question."""
    painted: list[str] = []

    @tool
    def paint(color: str) -> str:
        """Paint."""
        painted.append(color)
        return f"painted {color}"

    middleware = [HumanInTheLoopMiddleware(interrupt_on={"paint": True}), AGUIMiddleware()]
    graph = create_agent(
        Scripted(script=painting), [lookup], middleware=middleware, checkpointer=InMemorySaver()
    )
    app = FastAPI()
    add_langgraph_fastapi_endpoint(app, LangGraphAgent(graph=graph), "/agent")
    with serving(app) as served:
        session = AGUISession[Any](served.url("/agent"), tools=[paint])
        reader.read(session.send("Paint it."))
        (asked,) = session.interrupts
        assert (asked.tool_call_id, painted, session.pending_tool_calls) == ("c1", [], [])
        session = AGUISession[Any].from_json(session.to_json(), served.url("/agent"), tools=[paint])
        answers: dict[str, dict[str, Any]] = {
            "approve": {"approved": True},
            "edit": {"approved": True, "editedArgs": {"color": "blue"}},
            "reject": {"approved": False},
        }
        reader.read(session.resume({asked.id: answers[decision]}))
    # An edited call cannot be sent to a client: the agent's middleware answers it, and the model
    # may call anew.
    assert painted == (["red"] if decision == "approve" else [])
    assert session.pending_tool_calls == []
    assert session.messages[-1].role == "assistant"
    assert {one["toolCallId"] for one in results(session)} == {"s1", "c1"}
