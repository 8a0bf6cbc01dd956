"""Tools that run here, of whose calls the agent asks first: none runs unasked, and none that was
refused."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui.middleware import AGUIMiddleware
from tests.behaviour.client.remote.local_graph import Client, Host, client_of, words
from tests.kit.models.scripted import Scripted
from tests.kit.models.scripted import call as calls
from tests.kit.processes.scripted_servers import asking, server
from tests.kit.run.wire_events import STARTED, Wire, call, in_run, text

wiped: list[str] = []


def wipe(path: str) -> str:
    """Wipe."""
    wiped.append(path)
    return "wiped"


def near(url: str) -> Client:
    wiped.clear()
    return client_of(url, tools=[wipe])


APPROVE, REJECT = {"approved": True}, {"approved": False, "message": "never"}


@pytest.mark.parametrize(
    ("payload", "paths", "said", "mode"),
    [
        pytest.param(APPROVE, ["/"], "wiped", "batched", id="approve"),
        pytest.param(APPROVE, ["/"], "wiped", "per_call", id="approve, per call"),
        pytest.param(REJECT, [], "never", "batched", id="reject"),
        pytest.param(REJECT, [], "never", "per_call", id="reject, per call"),
        pytest.param(
            {**APPROVE, "editedArgs": {"path": "/tmp"}}, [], "Not executed", "batched", id="edit"
        ),
        pytest.param(None, [], "not executed", "batched", id="cancel"),
    ],
)
async def test_a_call_waits_for_its_approval(
    host: Host, payload: Any, paths: list[str], said: str, mode: Any
) -> None:
    stack = [HumanInTheLoopMiddleware({"wipe": True}, interrupt_mode=mode), AGUIMiddleware()]
    model = Scripted([calls("wipe", "w1", path="/")], ["Well."], ["Bye."])
    client = near(host(create_agent(model, [], middleware=stack, checkpointer=InMemorySaver())))
    await client.say("clean up")
    assert ([one.tool_call_id for one in client.open], wiped) == (["w1"], [])
    await client.answer(payload)
    assert wiped == paths
    held = words(await client.held())
    (result,) = [text for kind, text in held if kind == "tool"]
    assert (said in result, held[-1]) == (True, ("ai", "Well."))
    await client.say("bye")
    assert (len(model.seen[-1]), wiped) == (5, paths)


CALL: Wire = {"reason": "tool_call", "toolCallId": "w1"}
UNNAMED: Wire = {"reason": "tool_call"}
IN_METADATA: Wire = {"reason": "acme:review", "metadata": {"calls": [{"toolCallId": "w1"}]}}
TOOL: Wire = {"reason": "input_required", "metadata": {"value": '[{"name": "wipe"}]'}}
WIPE, AGAIN = (
    call(name, f'{{"path": "{path}"}}', name="wipe") for name, path in (("w1", "/"), ("l1", "/var"))
)
EDITED = {"approved": True, "editedArgs": {"path": "/home"}}
UNCHANGED = {"approved": True, "editedArgs": {"path": "/"}}


@pytest.mark.parametrize(
    ("asked", "payload", "approves"),
    [
        pytest.param(CALL, {"approved": False}, False, id="about a call"),
        pytest.param(IN_METADATA, {"approved": False}, False, id="about a call in the metadata"),
        pytest.param(TOOL, {"approved": False}, False, id="about a tool in the metadata"),
        pytest.param(UNNAMED, {"approved": False}, False, id="about nothing that it names"),
        (CALL, None, False),
        (CALL, False, False),
        (CALL, "no", False),
        (CALL, {"approved": "false"}, False),
        (CALL, {"approved": False, "type": "approve"}, False),
        pytest.param(CALL, EDITED, False, id="edited"),
        pytest.param(CALL, {"decisions": [{"type": "reject"}]}, False, id="a rejection in a batch"),
        pytest.param(CALL, {"decisions": []}, False, id="no decision"),
        (CALL, True, True),
        pytest.param(CALL, UNCHANGED, True, id="edited to what it is"),
        (CALL, {"accepted": True, "steps": []}, True),
        (CALL, {"type": "approve"}, True),
        pytest.param(CALL, {"decisions": [{"type": "approve"}]}, True, id="a batch"),
    ],
)
async def test_what_is_an_approval(asked: Wire, payload: Any, approves: bool) -> None:
    """The agent leaves the call open, whatever the answer; a later run of the same turn must not
    run it either."""
    paused = [STARTED, *WIPE, asking({"id": "i", **asked})]
    with server(paused, in_run(*AGAIN), in_run(*text("m", "Well."))) as running:
        client = near(running.url)
        await client.say("clean up")
        assert wiped == []
        await client.answer(payload)
    assert sorted(wiped) == (["/", "/var"] if approves else ["/var"])
    held = words(await client.held())
    refusal = "wiped" if approves else "Cancelled by the user: this was not executed."
    assert [said for kind, said in held if kind == "tool"] == [refusal, "wiped"]
    assert held[-1] == ("ai", "Well.")


async def test_a_refused_call_is_not_approved_with_the_next() -> None:
    asks = [[STARTED, *events, asking({"id": "i", **UNNAMED})] for events in (WIPE, AGAIN)]
    with server(*asks, in_run(), in_run(*text("m", "Well."))) as running:
        client = near(running.url)
        await client.say("clean up")
        await client.answer({"approved": False})
        await client.answer({"approved": True})
    assert wiped == ["/var"]


async def test_another_call_does_not_wait() -> None:
    other = {"id": "i", "reason": "tool_call", "toolCallId": "theirs", "metadata": {"name": "pay"}}
    with server([STARTED, *WIPE, *call("theirs", "{}", name="pay"), asking(other)]) as running:
        await near(running.url).say("clean up")
    assert wiped == ["/"]
