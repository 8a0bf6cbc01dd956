"""Questions of an MCP server, as `langchain.mcp` raises them: a server that is a process of its
own, and agents with its tools."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import Interrupt
from langchain.agents import create_agent
from langchain_core._api import suppress_langchain_beta_warning
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import Approval, ApprovalOptions, LangGraphAgent
from tests.kit.graphs.forms import FORM, calling, elicitation
from tests.kit.graphs.pauses import around, as_tool
from tests.kit.models.scripted import Scripted
from tests.kit.paths import ROOT
from tests.kit.run.dialogues import cancelled, resolved
from tests.kit.run.thread_client import Client, asked, ending
from tests.kit.waiting import wait_for

with suppress_langchain_beta_warning():
    from langchain.mcp import MCPAdapter

DATED = {"action": "accept", "content": {"date": "Monday"}}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.kit.processes.mcp_server", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)

    def listens() -> bool:
        assert process.poll() is None, "the server has ended"
        with socket.socket() as connection:
            return connection.connect_ex(("127.0.0.1", port)) == 0

    wait_for(listens, "the server listens")
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


async def tool_of(address: str, name: str) -> BaseTool:
    with suppress_langchain_beta_warning():
        tools = await MCPAdapter(address).list_tools()
    return next(one for one in tools if one.name == name)


def agent_with(tool: BaseTool, saver: Any = None) -> Any:
    return create_agent(Scripted(script=calling(tool.name, "Ada")), [tool], checkpointer=saver)


def client_of(tool: BaseTool, **options: Any) -> Client:
    return Client(LangGraphAgent(agent_with(tool, InMemorySaver()), **options))


async def opened(client: Client) -> list[Interrupt]:
    """The questions of a run; they are those that a client sees that comes back."""
    questions = await client.ask("Please.")
    assert asked(await client.connect()) == questions
    return questions


async def results(client: Client) -> list[str]:
    """What the server has answered."""
    return [one.text for one in await client.stored() if isinstance(one, ToolMessage)]


async def test_a_form_is_asked_and_answered(address: str) -> None:
    told: list[Approval] = []
    client = client_of(
        await tool_of(address, "book"), approvals=ApprovalOptions(on_answer=told.append)
    )
    [question] = await opened(client)
    assert (question.message, question.tool_call_id) == ("When?", "c-Ada")
    assert (question.metadata or {})["value"] == elicitation(FORM)
    schema = (question.response_schema or {})["properties"]
    assert schema["action"]["enum"] == ["accept", "decline", "cancel"]
    assert schema["content"] == FORM["requested_schema"]
    for wrong in (True, "Monday", {"date": "Monday"}, {"action": "accept"}, {"action": "yes"}):
        refused = await client.send(resume=resolved((question.id, wrong)))
        assert ending(refused) == "interrupt_invalid"
        assert asked(await client.connect()) == [question]
    assert told == []
    done = await client.send(resume=resolved((question.id, DATED)))
    assert ending(done) == "success"
    done.check_snapshot()
    assert await results(client) == ["Ada: accept Monday"]
    assert [(one.decision, one.tool_call_id) for one in told] == [("answer", "c-Ada")]


@pytest.mark.parametrize("action", ["decline", "cancel", "cancelled"])
async def test_a_form_may_be_declined(address: str, action: str) -> None:
    client = client_of(await tool_of(address, "book"))
    [question] = await opened(client)
    entries = (
        cancelled(question.id)
        if action == "cancelled"
        else resolved((question.id, {"action": action, "content": None}))
    )
    assert ending(await client.send(resume=entries)) == "success"
    assert await results(client) == [f"Ada: {action.removesuffix('led')} None"]


@pytest.mark.parametrize("given", [DATED, {"responses": {"date": DATED}}])
async def test_a_client_of_before_answers_by_a_command(address: str, given: Any) -> None:
    client = client_of(await tool_of(address, "book"))
    await opened(client)
    refused = await client.send(forwarded_props={"command": {"resume": "Monday"}})
    assert ending(refused) == "interrupt_invalid"
    assert ending(await client.send(forwarded_props={"command": {"resume": given}})) == "success"
    assert await results(client) == ["Ada: accept Monday"]


async def test_an_address_is_asked_and_answered(address: str) -> None:
    client = client_of(await tool_of(address, "login"))
    [question] = await opened(client)
    assert question.message == "Please log in.\nhttps://example.com/in"
    assert (question.tool_call_id, (question.metadata or {})["url"]) == (
        "c-Ada",
        "https://example.com/in",
    )
    assert ending(await client.send(resume=resolved((question.id, {"action": "accept"}))))
    assert await results(client) == ["Ada: accept"]


async def test_rounds_with_several_questions(address: str) -> None:
    client = client_of(await tool_of(address, "both"))
    when, who = await opened(client)
    assert [when.tool_call_id, who.tool_call_id] == ["c-Ada", "c-Ada"]
    lone = await client.send(resume=resolved((when.id, DATED)))
    assert ending(lone) == "interrupt_unanswered"
    second = await client.send(resume=resolved((who.id, {"action": "accept"}), (when.id, DATED)))
    [again] = asked(second)
    assert again.id not in (when.id, who.id)
    done = await client.send(resume=resolved((again.id, {"action": "decline"})))
    assert ending(done) == "success"
    assert "decline" in (await results(client))[0]


@pytest.mark.parametrize("place", ["subgraph", "tool"])
async def test_an_agent_inside_may_be_asked(address: str, place: str) -> None:
    inner = agent_with(await tool_of(address, "book"))
    saver = InMemorySaver()
    graph = around(inner, saver) if place == "subgraph" else as_tool(inner, 1, saver)
    client = Client(LangGraphAgent(graph))
    [question] = await opened(client)
    assert (question.message, question.tool_call_id) == ("When?", "c-Ada")
    assert (question.subagent_run_id is not None) == (place == "tool")
    refused = await client.send(resume=resolved((question.id, {"action": "accept"})))
    assert ending(refused) == "interrupt_invalid"
    assert ending(await client.send(resume=resolved((question.id, DATED)))) == "success"
