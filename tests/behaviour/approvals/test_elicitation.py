"""Questions of an MCP server, as `langchain.mcp` raises them: a server that is a process of its
own, and agents with its tools."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core._api import suppress_langchain_beta_warning
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.forms import FORM, URL, calling, elicitation
from tests.kit.models.scripted import Scripted
from tests.kit.paths import ROOT
from tests.kit.run.dialogues import answering, resolved
from tests.kit.run.thread_client import Client, ending
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
    command = [sys.executable, "-m", "tests.behaviour.approvals.mcp_server", str(port)]
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


async def client_of(address: str, name: str) -> Client:
    return Client(LangGraphAgent(agent_with(await tool_of(address, name), InMemorySaver())))


@pytest.mark.parametrize(
    ("name", "payload", "said"),
    [
        ("book", DATED, "Ada: accept Monday"),
        ("book", ..., "Ada: cancel None"),
        ("login", {"action": "accept"}, "Ada: accept"),
    ],
)
async def test_the_server_gets_each_answer(
    address: str, name: str, payload: Any, said: str
) -> None:
    client = await client_of(address, name)
    [one] = questions = await client.ask("Please.")
    value = elicitation(FORM if name == "book" else URL) | {"tool_name": name}
    assert ((one.metadata or {})["value"], one.tool_call_id) == (value, "c-Ada")
    assert ending(await client.send(resume=answering(questions, payload))) == "success"
    assert await client.texts("tool") == [said]


async def test_rounds_with_several_questions(address: str) -> None:
    client = await client_of(address, "both")
    when, who = await client.ask("Please.")
    assert [when.tool_call_id, who.tool_call_id] == ["c-Ada", "c-Ada"]
    lone = await client.send(resume=resolved((when.id, DATED)))
    assert ending(lone) == "interrupt_unanswered"
    accepted = resolved((who.id, {"action": "accept"}), (when.id, DATED))
    [again] = await client.ask(resume=accepted)
    assert again.id not in (when.id, who.id)
    done = await client.send(resume=resolved((again.id, {"action": "decline"})))
    assert ending(done) == "success"
    assert "decline" in (await client.texts("tool"))[0]
