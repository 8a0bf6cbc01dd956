"""Remote agents that fail, are left, or say things in an order of their own: servers that a test
scripts."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy

from langgraph_agui.client import (
    AgentError,
    AgentUnreachableError,
    AGUIClient,
    RemoteAgent,
    RunFailedError,
    StreamTruncatedError,
)
from tests.behaviour.client.remote.local_graph import Client, Host, Shared, client_of, words
from tests.kit.models.scripted import Scripted
from tests.kit.processes.scripted_servers import CANCELLED, asking, made_call, server
from tests.kit.run.agents import run_input, user
from tests.kit.run.wire_events import (
    ERROR,
    STARTED,
    Wire,
    call,
    caller,
    event,
    in_run,
    message,
    reasoning,
    result,
    snapshot,
    text,
)
from tests.kit.waiting import wait_for

HALF = [STARTED, *text("m", "Half")[:2]]
USER, DONE = message("user", "u", "hi"), message("tool", "o", "done", toolCallId="c")
CALL = call("c", "{}", parentMessageId="a")


@pytest.mark.parametrize(
    ("events", "kind"),
    [([*HALF, ERROR], RunFailedError), (HALF, StreamTruncatedError)],
    ids=["failed", "cut off"],
)
async def test_a_run_that_breaks(events: list[Wire], kind: type[AgentError]) -> None:
    with server(events, events) as running:
        client = client_of(running.url)
        recorded = await client.say("hi")
        with pytest.raises(kind):
            await client.graph.ainvoke({"messages": "hi"}, {"configurable": {"thread_id": "o"}})
    assert recorded.last.type == "RUN_ERROR"
    assert [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")] == ["Half"]
    assert recorded.of("TEXT_MESSAGE_END")


async def test_nobody_there() -> None:
    with server() as running:
        nobody: Any = AGUIClient(running.url, retries=0)
    assert (await client_of(nobody).say("hi")).last.type == "RUN_ERROR"
    with pytest.raises(AgentUnreachableError):
        await RemoteAgent(nobody).ainvoke({"messages": "hi"})


async def test_a_retry_policy() -> None:
    policy = RetryPolicy(initial_interval=0.01, jitter=False, retry_on=AgentError)
    with server([*HALF, ERROR], in_run(*text("m", "Whole"))) as running:
        expert, builder = RemoteAgent(running.url, name="expert"), StateGraph(Shared)
        builder.add_node("expert", expert, retry_policy=policy).add_edge(START, "expert")
        client = Client(builder.compile(InMemorySaver()))
        recorded = await client.say("hi")
    assert recorded.last.type == "RUN_FINISHED"
    assert [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")] == ["Half", "Whole"]
    assert words(await client.stored()) == [("human", "hi"), ("ai", "Whole")]


async def test_a_client_that_leaves(host: Host) -> None:
    model = Scripted(["I think ", 60.0, "so."])
    client = client_of(host(create_agent(model, [])), saver=False)
    async with aclosing(client.agent.run(run_input("hi"))) as events:
        async for one in events:
            if one.type == "TEXT_MESSAGE_CONTENT":
                break
    wait_for(model.stopped.is_set, "the remote model stops")


async def test_a_cancelled_run() -> None:
    def f() -> str:
        """Run here."""
        raise AssertionError("it runs")

    with server([STARTED, *text("a", "I was"), *CALL, CANCELLED]) as running:
        client = client_of(running.url, tools=[f])
        assert (await client.say("hi")).last.outcome.type == "success"
    held = [(one.type, getattr(one, "status", None)) for one in await client.stored()]
    assert held[1:] == [("ai", None), ("tool", "error")]


def sealed(entity: str, subtype: str = "message") -> Wire:
    about = {"subtype": subtype, "entityId": entity}
    return event("REASONING_ENCRYPTED_VALUE", **about, encryptedValue=f"for {entity}")


HELLO, BYE = text("a", "Hello"), text("b", "Bye")
RESULT, LATER_RESULT = result("c", "o"), {**DONE, "id": "o2"}
STATED = [
    message("reasoning", "q", "hm", encryptedValue="for q"),
    caller("a", "c", content="Hello", encryptedValue="for a"),
    {**DONE, "content": "no", "error": "no"},
    message("assistant", "b", "Bye"),
]
RENAMED = [caller("a2", "c", content="Hello"), LATER_RESULT, message("assistant", "b2", "Bye")]
SENT = [caller("a", "c", content="Hello"), LATER_RESULT, message("assistant", "b", "Bye")]
SEALED_CALL = {**made_call(), "encryptedValue": "for c"}
VALUES = [sealed("q"), sealed("a"), sealed("c", "tool-call"), sealed("o")]
LATE = [*reasoning("q", "hm"), *HELLO, *CALL, RESULT, BYE[0], *VALUES, *BYE[1:], sealed("b")]
ALL_SEALED = [
    STATED[0],
    caller("a", SEALED_CALL, content="Hello", encryptedValue="for a"),
    {**DONE, "encryptedValue": "for o"},
    message("assistant", "b", "Bye", encryptedValue="for b"),
]
SECOND = [*text("s", "Hm", subagentRunId="s"), *text("a", "Hello"), *CALL, RESULT]


@pytest.mark.parametrize(
    ("events", "back"),
    [
        pytest.param([snapshot(USER, *STATED)], STATED, id="only a snapshot tells them"),
        pytest.param(
            [*HELLO, *CALL, RESULT, *BYE, snapshot(USER, *RENAMED)], SENT, id="ids that change"
        ),
        pytest.param(
            [*HELLO, *CALL, *BYE, snapshot(USER, *STATED[1:])], STATED[1:], id="a result stated"
        ),
        pytest.param(LATE, ALL_SEALED, id="values that come late"),
        pytest.param([result("nobody's"), *BYE], [SENT[2]], id="a result of no call that is here"),
        pytest.param(
            [*BYE, *SECOND], [SENT[2], SENT[0], DONE], id="two texts, and one of a subagent"
        ),
        pytest.param(
            [*HELLO, *CALL, RESULT, sealed("o"), snapshot(USER, SENT[0], LATER_RESULT)],
            [SENT[0], {**LATER_RESULT, "encryptedValue": "for o"}],
            id="a value of a result that is renamed",
        ),
        pytest.param(
            [*CALL, RESULT, snapshot(USER, {**LATER_RESULT, "encryptedValue": "v"})],
            [caller("a", "c"), {**LATER_RESULT, "encryptedValue": "v"}],
            id="a value that is stated with the new id",
        ),
    ],
)
async def test_what_is_kept_and_sent_back(events: list[Wire], back: list[Wire]) -> None:
    """Some servers give messages other ids in snapshots."""
    with server(in_run(*events), in_run(*text("n", "More"))) as running:
        client = client_of(running.url)
        recorded = await client.say("hi")
        held = words(await client.stored())[1:]
        await client.say("more")
        sent = [one for one in running.sent() if one["role"] != "user"]
    assert sent == back
    kinds = {"assistant": "ai", "tool": "tool"}
    kept = [(kinds[one["role"]], one) for one in back if one["role"] in kinds]
    assert held == [(kind, one.get("content") or ["f"]) for kind, one in kept]
    results = [one["content"] for kind, one in kept if kind == "tool"]
    assert [event.content for event in recorded.of("TOOL_CALL_RESULT")] == results


async def test_the_result_of_an_invalid_call_comes_once() -> None:
    def local() -> str:
        """Runs here."""
        return "from here"

    invalid = [*call("c", "[1]", parentMessageId="a"), result("c")]
    restated = snapshot(
        *(USER, DONE, caller("a", made_call("c", "[1]"))),
        *(caller("l", made_call("l", name="local")), {**DONE, "id": "p", "toolCallId": "l"}),
    )
    runs = in_run(*invalid, *call("l", "{}", name="local")), in_run(restated, *text("b", "Bye"))
    with server(*runs) as running:
        agent = RemoteAgent(running.url, tools=[local])
        made = await agent.ainvoke({"messages": [HumanMessage("hi", id="u")]})
    results = [one.tool_call_id for one in made["messages"] if one.type == "tool"]
    assert sorted(results) == ["c", "l"]


async def test_the_same_answer_again_told_by_snapshots() -> None:
    def stated(*turns: str) -> list[Wire]:
        asked = [
            (message("user", f"u{n}", n), message("assistant", f"a{n}", "Yes.")) for n in turns
        ]
        return in_run(snapshot(*(said for turn in asked for said in turn)))

    with server(stated("hi"), stated("hi", "more")) as running:
        client = client_of(running.url)
        for turn in ("hi", "more"):
            await client.say(turn)
    turns = [("human", "hi"), ("ai", "Yes."), ("human", "more"), ("ai", "Yes.")]
    assert words(await client.stored()) == turns
    assert [one["id"] for one in running.sent() if one["role"] != "user"] == ["ahi"]


PAUSED = [STARTED, *text("a", "May I?"), *CALL, asking({"id": "i", "reason": "tool_call"})]
RESTATED = [USER, caller("a2", "c", content="May I?"), DONE, message("assistant", "b", "Done.")]


@pytest.mark.parametrize(
    "resumed",
    [
        pytest.param([*CALL, result("c"), *text("b", "Done.")], id="the call announced again"),
        pytest.param([snapshot(*RESTATED)], id="all restated, under other ids"),
        pytest.param([*text("b", "Done."), result("c")], id="the result behind the next words"),
    ],
)
async def test_what_follows_an_approval(resumed: list[Wire]) -> None:
    with server(PAUSED, in_run(*resumed)) as running:
        client = client_of(running.url)
        await client.say("hi")
        await client.answer({"approved": True})
    assert running.asked[1].json["resume"][0]["interruptId"] == "i"
    kept = [("ai", "May I?"), ("tool", "done"), ("ai", "Done.")]
    assert words(await client.stored())[1:] == kept


@pytest.mark.parametrize("saver", [True, False], ids=["thread here", "client-held here"])
async def test_ids_that_a_remote_agent_uses_twice(saver: bool) -> None:
    """They replace nothing that is held here; the agent gets its own back."""
    calls = [*call("c1", "{}", parentMessageId="a"), *call("c2", "{}", parentMessageId="a")]
    results = [result("c1", "u1", "one"), sealed("u1"), result("c2", "u1", "two")]
    said = in_run(*calls, *results, *text("b", "Done"))
    with server(said, in_run(*text("n", "More"))) as running:
        client = client_of(running.url, saver=saver)
        recorded = await client.say(user("my question", "u1"))
        assert [one.content for one in recorded.messages if one.role == "user"] == ["my question"]
        assert len({one.id for one in recorded.messages}) == len(recorded.messages) == 5
        await client.say("more")
    sent = [(one["role"], one.get("content")) for one in running.sent()]
    assert [said for role, said in sent if role == "user"] == ["my question", "more"]
    results_ = [(one["id"], one["content"]) for one in running.sent() if one["role"] == "tool"]
    assert results_ == [("u1", "one"), ("u1", "two")]
