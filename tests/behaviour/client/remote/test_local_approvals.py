"""Tools that run here, of whose calls the agent asks first: none runs unasked, and none that was
refused."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui.client import RemoteAgent
from langgraph_agui.middleware import AGUIMiddleware
from tests.kit.models.scripted import Scripted
from tests.kit.models.scripted import call as calls
from tests.kit.processes.remote_agents import Client, Host, around, words
from tests.kit.processes.scripted_servers import recording, server
from tests.kit.run.wire_events import FINISHED, STARTED, Wire, call, in_run, text


class Disk:
    """A local tool, with what it was really asked to wipe."""

    def __init__(self) -> None:
        self.wiped: list[str] = []

        @tool
        def wipe(path: str) -> str:
            """Wipe."""
            self.wiped.append(path)
            return "wiped"

        self.tool = wipe

    def client(self, url: str) -> Client:
        return Client(
            around(RemoteAgent(url, name="admin", tools=[self.tool]), checkpointer=InMemorySaver())
        )


ANSWERS: dict[str, tuple[Any, list[str], str]] = {
    "approve": ({"approved": True}, ["/"], "wiped"),
    "reject": ({"approved": False, "message": "never"}, [], "never"),
    "edit": ({"approved": True, "editedArgs": {"path": "/tmp"}}, [], "Not executed"),
    "cancel": (None, [], "not executed"),
}


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize("name", ANSWERS)
async def test_a_call_waits_for_its_approval(host: Host, name: str, mode: Any) -> None:
    payload, wiped, recorded = ANSWERS[name]
    guard = HumanInTheLoopMiddleware({"wipe": True}, interrupt_mode=mode)
    model = Scripted([calls("wipe", "w1", path="/")], ["Well."], ["Bye."])
    disk = Disk()
    client = disk.client(
        host(
            create_agent(
                model, [], middleware=[guard, AGUIMiddleware()], checkpointer=InMemorySaver()
            )
        )
    )
    await client.say("clean up")
    assert ([one.tool_call_id for one in client.open], disk.wiped) == (["w1"], [])
    await client.answer(payload)
    assert disk.wiped == wiped
    (result,) = [one for one in await client.held() if isinstance(one, ToolMessage)]
    assert recorded in result.text
    assert words(await client.held())[-1] == ("ai", "Well.")
    await client.say("bye")
    assert len(model.seen[-1]) == 5
    assert disk.wiped == wiped


ASKED: dict[str, Wire] = {
    "call": {"reason": "tool_call", "toolCallId": "w1"},
    "call in the metadata": {
        "reason": "acme:review",
        "metadata": {"calls": [{"toolCallId": "w1"}]},
    },
    "tool in the metadata": {
        "reason": "input_required",
        "metadata": {"value": '[{"name": "wipe"}]'},
    },
    "nothing": {"reason": "tool_call"},
}
WIPE = call("w1", '{"path": "/"}', name="wipe")
NO: list[Any] = [
    None,
    False,
    "no",
    {"approved": False},
    {"approved": "false"},
    {"approved": False, "type": "approve"},
    {"approved": True, "editedArgs": {"path": "/home"}},
    {"decisions": [{"type": "reject"}]},
    {"decisions": []},
]
YES: list[Any] = [
    True,
    {"approved": True, "editedArgs": {"path": "/"}},
    {"accepted": True, "steps": []},
    {"type": "approve"},
    {"decisions": [{"type": "approve"}]},
]


async def answered(asked: Wire, payload: Any) -> tuple[list[str], list[tuple[str, Any]]]:
    """What is wiped and said when a server has asked, and leaves the call open whatever the
    answer."""
    paused = {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [{"id": "i", **asked}]}}
    # A later run of the same turn must not run it either.
    looks = call("l1", '{"path": "/var"}', name="wipe")
    disk = Disk()
    with server(
        recording(STARTED, *WIPE, paused),
        recording(*in_run(*looks)),
        recording(*in_run(*text("m", "Well."))),
    ) as running:
        client = disk.client(running.url)
        await client.say("clean up")
        assert disk.wiped == []
        await client.answer(payload)
    return sorted(disk.wiped), words(await client.held())


@pytest.mark.parametrize("name", ASKED)
async def test_a_refused_call_that_the_agent_leaves_open(name: str) -> None:
    wiped, held = await answered(ASKED[name], {"approved": False})
    assert wiped == ["/var"]
    assert [said for kind, said in held if kind == "tool"] == [
        "Cancelled by the user: this was not executed.",
        "wiped",
    ]
    assert held[-1] == ("ai", "Well.")


async def test_a_refused_call_is_not_approved_with_the_next() -> None:
    asks = {
        **FINISHED,
        "outcome": {"type": "interrupt", "interrupts": [{"id": "i", **ASKED["nothing"]}]},
    }
    disk, again = Disk(), call("l1", '{"path": "/var"}', name="wipe")
    with server(
        *[recording(STARTED, *events, asks) for events in (WIPE, again)],
        *[recording(*in_run(*events)) for events in ([], text("m", "Well."))],
    ) as running:
        client = disk.client(running.url)
        await client.say("clean up")
        await client.answer({"approved": False})
        await client.answer({"approved": True})
    assert disk.wiped == ["/var"]


@pytest.mark.parametrize("payload", NO, ids=str)
async def test_what_is_no_approval(payload: Any) -> None:
    assert (await answered(ASKED["call"], payload))[0] == ["/var"]


@pytest.mark.parametrize("payload", YES, ids=str)
async def test_what_is_an_approval(payload: Any) -> None:
    assert (await answered(ASKED["call"], payload))[0] == ["/", "/var"]


async def test_another_call_does_not_wait() -> None:
    other = {"id": "i", "reason": "tool_call", "toolCallId": "theirs", "metadata": {"name": "pay"}}
    paused = {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [other]}}
    disk = Disk()
    with server(recording(STARTED, *WIPE, *call("theirs", "{}", name="pay"), paused)) as running:
        await disk.client(running.url).say("clean up")
    assert disk.wiped == ["/"]
