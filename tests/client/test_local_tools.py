"""Tools that run at the client: what the agent is told of them, what of their results, and when they do not run."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage
from langchain_core.tools import ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from langgraph_agui import AGUIMiddleware, LangGraphAgent, add_langgraph_fastapi_endpoint
from langgraph_agui.client import AgentError, AGUISession, turn
from langgraph_agui.client.tools import LocalTools, agui_tool
from tests.adapter.frontends import client_tool, lookup
from tests.adapter.models import Scripted, call
from tests.adapter.models import Turn as Said
from tests.adapter.streams import dumped
from tests.client.servers import Awaiting, Blocking, answering, server, telling
from tests.http.serving import serving
from tests.protocol.streams import FINISHED, STARTED, Wire, in_run, text
from tests.protocol.streams import call as called

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
    told = [one for one in dumped(session.messages) if one["role"] == "tool"]
    return [{key: one[key] for key in ("toolCallId", "content", "error") if key in one} for one in told]


IMAGE = {"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}}
CALLS: Sequence[tuple[str, str, Any, str | None]] = [
    ("add", '{"a": 2, "b": 3}', "5", None),
    ("add", '{"a": 2}', "3", None),
    ("plain", '{"word": "x"}', '{"word": "x"}', None),
    ("photo", '{"place": "Rome"}', [{"type": "text", "text": "Rome"}, IMAGE], None),
    ("broken", "", "The tool failed.", "The tool failed."),
    ("refusing", "{}", "Not on Sundays.", "Not on Sundays."),
    ("add", '{"b": "many"}', "The arguments do not fit: a: Field required", None),
    ("add", '{"a"', "The arguments are no JSON object.", "The arguments are no JSON object."),
    ("add", "[1]", "The arguments are no JSON object.", "The arguments are no JSON object."),
]


@both
def test_results(reader: Blocking, caplog: pytest.LogCaptureFixture) -> None:
    """One turn, two runs: all calls of the first are answered in the second, in their order."""
    calls = [one for place, (name, args, *_) in enumerate(CALLS) for one in called(f"c{place}", args, name=name)]
    asking = [STARTED, *calls, {**FINISHED, "usage": usage(2)}]
    done = [*in_run(*text("m", "so"))[:-1], {**FINISHED, "usage": usage(3), "result": "r"}]
    with server(telling(*asking), telling(*done)) as agent:
        session = AGUISession[Any](agent.url, tools=[add, plain, broken, refusing, photo])
        turn_ = session.send("go")
        events = reader.read(turn_)
    assert [one.type.value for one in events].count("RUN_FINISHED") == 2
    assert (turn_.text, turn_.result, [one.input_tokens for one in turn_.usage]) == ("so", "r", [5])
    told = results(session)
    assert [one["toolCallId"] for one in told] == [f"c{place}" for place in range(len(CALLS))]
    for one, (name, args, content, error) in zip(told, CALLS, strict=True):
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
    with server(telling(*in_run(*called("c", '{"word": "x"}', name="later"))), telling(*in_run())) as agent:
        session = AGUISession[Any](agent.url, tools=[later])
        reader.read(session.send("go"))
        assert results(session)[0]["content"] == "later x"


async def test_a_tool_that_is_a_coroutine_under_a_running_loop() -> None:
    """`for` in code that an event loop runs, as in a notebook."""
    with server(telling(*in_run(*called("c", '{"word": "x"}', name="later"))), telling(*in_run())) as agent:
        session = AGUISession[Any](agent.url, tools=[later])
        session.send("go").wait()
        assert results(session)[0]["content"] == "later x"


def test_what_the_agent_is_told_of_tools() -> None:
    class Place(BaseModel):
        """A place."""

        city: str

    tools = LocalTools([add, plain, client_tool("paint", color={"type": "string"})])
    assert [one.name for one in tools.offered] == ["add", "plain", "paint"]
    told = tools.offered[0]
    assert told.description == "Add two numbers."
    assert told.parameters["required"] == ["a"]
    assert set(told.parameters["properties"]) == {"a", "b"}
    assert agui_tool(Place).parameters["properties"]["city"]["type"] == "string"
    with pytest.raises(ValueError, match="Two tools"):
        LocalTools([add, client_tool("add")])
    with pytest.raises(ValueError, match="No tool"):
        agui_tool({"type": "web_search"})


@both
def test_one_runs_here_and_one_is_answered_by_hand(reader: Blocking) -> None:
    calls = [*called("a", '{"a": 1}', name="add"), *called("b", "{}", name="locate"), *called("s", "{}", name="server")]
    with server(telling(*in_run(*calls)), telling(*in_run())) as agent:
        session = AGUISession[Any](agent.url, tools=[add, client_tool("locate")])
        reader.read(session.send("go"))
        assert len(agent.asked) == 1  # the turn ends: the agent waits for both
        assert [one.id for one in session.pending_tool_calls] == ["b"]
        session.answer("b", "Rome")
        reader.read(session.send())
    assert results(session) == [{"toolCallId": "a", "content": "2"}, {"toolCallId": "b", "content": "Rome"}]


@both
def test_results_survive_an_agent_that_is_gone(reader: Blocking) -> None:
    with server(telling(*in_run(*called("a", '{"a": 1}', name="add"))), answering(500), telling(*in_run())) as agent:
        session = AGUISession[Any](agent.url, tools=[add])
        with pytest.raises(AgentError):
            reader.read(session.send("go"))
        assert [one.role for one in session.messages] == ["user", "assistant", "tool"]
        reader.read(session.send())
        assert [one["role"] for one in agent.asked[2].json["messages"]] == ["user", "assistant", "tool"]


@both
def test_an_agent_that_calls_for_ever(reader: Blocking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "MAX_RUNS", 3)
    with server(*(telling(*in_run(*called(f"c{n}", '{"a": 1}', name="add"))) for n in range(4))) as agent:
        session = AGUISession[Any](agent.url, tools=[add])
        with pytest.raises(AgentError, match="3 runs") as caught:
            reader.read(session.send("go"))
        assert len(agent.asked) == 3
        assert dumped(caught.value.messages) == dumped(session.messages)
        assert session.messages[-1].role == "tool"
        assert session.pending_tool_calls == []


# -- real agents -----------------------------------------------------------------------------------------------------


def painting(messages: list[BaseMessage]) -> Said:
    if messages[-1].type == "tool":
        return [f"{messages[-1].text}, done."]
    return [call("lookup", "s1", 0, city="Rome"), call("paint", "c1", 1, color="red")]


@pytest.mark.parametrize("decision", ["approve", "edit", "reject"])
@both
def test_a_tool_that_needs_an_approval_first(reader: Blocking, decision: str) -> None:
    """It runs here, but not before the user has said yes to the agent's question."""
    painted: list[str] = []

    @tool
    def paint(color: str) -> str:
        """Paint."""
        painted.append(color)
        return f"painted {color}"

    middleware = [HumanInTheLoopMiddleware(interrupt_on={"paint": True}), AGUIMiddleware()]
    graph = create_agent(Scripted(script=painting), [lookup], middleware=middleware, checkpointer=InMemorySaver())
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
    # An edited call cannot be sent to a client: the agent's middleware answers it, and the model may call anew.
    assert painted == (["red"] if decision == "approve" else [])
    assert session.pending_tool_calls == []
    assert session.messages[-1].role == "assistant"
    assert {one["toolCallId"] for one in results(session)} == {"s1", "c1"}
