"""Remote agents that fail, are left, or say things in an order of their own: servers that a test
scripts."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
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
from tests.kit.models.scripted import Scripted
from tests.kit.processes.remote_agents import Client, Host, Shared, around, words
from tests.kit.processes.scripted_servers import Server, recording, server
from tests.kit.run.agents import RecordedRun, run_input, user
from tests.kit.run.wire_events import (
    ERROR,
    FINISHED,
    STARTED,
    Wire,
    call,
    event,
    in_run,
    message,
    reasoning,
    result,
    snapshot,
    text,
)
from tests.kit.waiting import wait_for


async def received(*events: Wire, follow: Any = None) -> tuple[Client, RecordedRun, Server]:
    """What a local graph makes of a remote run with these events."""
    with server(recording(*events), *([recording(*follow)] if follow else [])) as running:
        client = Client(
            around(RemoteAgent(running.url, name="expert"), checkpointer=InMemorySaver())
        )
        recorded = await client.say("hi")
        if follow:
            await client.say("more")
    return client, recorded, running


def sent(running: Server, number: int = -1) -> list[Wire]:
    return [
        {key: value for key, value in one.items() if value is not None}
        for one in running.asked[number].json["messages"]
        if one["role"] != "user"
    ]


BREAKS: dict[str, tuple[list[Wire], type[AgentError]]] = {
    "failed": ([STARTED, *text("m", "Half")[:2], ERROR], RunFailedError),
    "cut off": ([STARTED, *text("m", "Half")[:2]], StreamTruncatedError),
}


@pytest.mark.parametrize("name", BREAKS)
async def test_a_run_that_breaks(name: str) -> None:
    events, kind = BREAKS[name]
    with server(recording(*events), recording(*events)) as running:
        graph = around(RemoteAgent(running.url, name="expert"), checkpointer=InMemorySaver())
        recorded = await Client(graph).say("hi")
        with pytest.raises(kind):
            await graph.ainvoke({"messages": "hi"}, {"configurable": {"thread_id": "other"}})
    assert recorded.last.type == "RUN_ERROR"
    assert [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")] == ["Half"]
    assert recorded.of("TEXT_MESSAGE_END")


async def test_nobody_there() -> None:
    with server() as running:
        url = running.url
    client = Client(around(RemoteAgent(AGUIClient(url, retries=0), name="expert")))
    assert (await client.say("hi")).last.type == "RUN_ERROR"
    with pytest.raises(AgentUnreachableError):
        await RemoteAgent(AGUIClient(url, retries=0)).ainvoke({"messages": [HumanMessage("hi")]})


async def test_a_retry_policy() -> None:
    with server(
        recording(STARTED, *text("m", "Half")[:2], ERROR), recording(*in_run(*text("m", "Whole")))
    ) as running:
        builder = StateGraph(Shared)
        policy = RetryPolicy(initial_interval=0.01, jitter=False, retry_on=AgentError)
        builder.add_node("expert", RemoteAgent(running.url, name="expert"), retry_policy=policy)
        builder.add_edge(START, "expert")
        client = Client(builder.compile(InMemorySaver()))
        recorded = await client.say("hi")
    assert recorded.last.type == "RUN_FINISHED"
    assert [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")] == ["Half", "Whole"]
    assert words(await client.held()) == [("human", "hi"), ("ai", "Whole")]


async def test_a_client_that_leaves(host: Host) -> None:
    model = Scripted(["I think ", 60.0, "so."])
    client = Client(around(RemoteAgent(host(create_agent(model, [])), name="expert")))
    given = run_input("hi")
    async with aclosing(client.agent.run(given)) as events:
        async for one in events:
            if one.type == "TEXT_MESSAGE_CONTENT":
                break
    wait_for(model.stopped.is_set, "the remote model stops")


async def test_a_cancelled_run() -> None:
    ran: list[str] = []

    def f() -> str:
        """Run here."""
        ran.append("f")
        return "done"

    cancelled = {**FINISHED, "outcome": {"type": "cancelled"}}
    with server(
        recording(STARTED, *text("m", "I was"), *call("c", "{}", parentMessageId="m"), cancelled)
    ) as running:
        client = Client(
            around(RemoteAgent(running.url, name="expert", tools=[f]), checkpointer=InMemorySaver())
        )
        recorded = await client.say("hi")
    assert recorded.last.outcome.type == "success"
    held = await client.held()
    assert [(one.type, getattr(one, "status", None)) for one in held[1:]] == [
        ("ai", None),
        ("tool", "error"),
    ]
    assert ran == []


SAID = [
    message("reasoning", "q", "hm", encryptedValue="sealed"),
    message(
        "assistant",
        "a",
        "Let me see.",
        toolCalls=[
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
        ],
    ),
    message("tool", "o", "42", toolCallId="c"),
    message("assistant", "b", "It is 42.", encryptedValue="also sealed"),
]


async def test_messages_that_only_a_snapshot_tells() -> None:
    user = message("user", "u", "hi")
    client, recorded, running = await received(
        *in_run(snapshot(user, *SAID)), follow=in_run(*text("n", "More"))
    )
    assert words(await client.held())[1:5] == [
        ("ai", "Let me see."),
        ("tool", "42"),
        ("ai", "It is 42."),
        ("human", "more"),
    ]
    assert [event.tool_call_name for event in recorded.of("TOOL_CALL_START")] == ["f"]
    assert sent(running) == SAID


async def test_a_snapshot_that_tells_what_was_streamed() -> None:
    streamed = [
        *text("a1", "Hello"),
        *call("c", "{}", parentMessageId="a1"),
        result("c", "o1"),
        *text("b1", "Bye"),
    ]
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    # Some servers give messages other ids in snapshots.
    restated = [
        message("user", "u", "hi"),
        message("assistant", "a2", "Hello", toolCalls=calls),
        message("tool", "o2", "done", toolCallId="c"),
        message("assistant", "b2", "Bye"),
    ]
    client, _, running = await received(
        *in_run(*streamed, snapshot(*restated)), follow=in_run(*text("n", "More"))
    )
    assert words(await client.held())[1:4] == [("ai", "Hello"), ("tool", "done"), ("ai", "Bye")]
    assert [one["id"] for one in sent(running)] == ["a1", "o2", "b1"]


async def test_results_that_only_a_snapshot_tells() -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    streamed = [*text("a", "Hello"), *call("c", "{}", parentMessageId="a"), *text("b", "Bye")]
    restated = [
        message("user", "u", "hi"),
        message("assistant", "a", "Hello", toolCalls=calls, encryptedValue="sealed"),
        message("tool", "o", "no", toolCallId="c", error="no"),
        message("assistant", "b", "Bye"),
    ]
    told_whole = in_run(*streamed, snapshot(*restated))
    client, _, _ = await received(*told_whole)
    held = [(one.type, getattr(one, "status", None)) for one in await client.held()]
    assert held[1:] == [("ai", None), ("tool", "error"), ("ai", None)]
    _, recorded, running = await received(*told_whole, follow=in_run(*text("n", "More")))
    assert [event.content for event in recorded.of("TOOL_CALL_RESULT")] == ["no"]
    assert [one["role"] for one in sent(running)] == ["assistant", "tool", "assistant"]
    assert sent(running)[0]["encryptedValue"] == "sealed"


async def test_the_result_of_an_invalid_call_comes_once() -> None:
    @tool
    def local() -> str:
        """Runs here."""
        return "from here"

    first = in_run(
        *call("c", "[1]", parentMessageId="a"), result("c"), *call("l", "{}", name="local")
    )
    names = {"c": "f", "l": "local"}
    calls = {
        one: [
            {
                "id": one,
                "type": "function",
                "function": {"name": name, "arguments": "[1]" if one == "c" else "{}"},
            }
        ]
        for one, name in names.items()
    }
    restated = snapshot(
        message("user", "u", "hi"),
        message("tool", "o", "done", toolCallId="c"),
        message("assistant", "a", toolCalls=calls["c"]),
        message("assistant", "l", toolCalls=calls["l"]),
        message("tool", "p", "from here", toolCallId="l"),
    )
    with server(recording(*first), recording(*in_run(restated, *text("b", "Bye")))) as running:
        made = await RemoteAgent(running.url, tools=[local]).ainvoke(
            {"messages": [HumanMessage("hi", id="u")]}
        )
    results = [one.tool_call_id for one in made["messages"] if one.type == "tool"]
    assert sorted(results) == ["c", "l"]


async def test_a_call_that_is_announced_again_once_it_is_approved() -> None:
    asked = {
        "type": "interrupt",
        "interrupts": [{"id": "i", "reason": "tool_call", "toolCallId": "c"}],
    }
    first = [
        STARTED,
        *text("a", "May I?"),
        *call("c", "{}", parentMessageId="a"),
        {**FINISHED, "outcome": asked},
    ]
    second = in_run(*call("c", "{}", parentMessageId="a"), result("c"), *text("b", "Done."))
    with server(recording(*first), recording(*second)) as running:
        client = Client(
            around(RemoteAgent(running.url, name="expert"), checkpointer=InMemorySaver())
        )
        await client.say("go")
        await client.answer({"approved": True})
        assert words(await client.held())[1:] == [
            ("ai", "May I?"),
            ("tool", "done"),
            ("ai", "Done."),
        ]
        assert running.asked[1].json["resume"][0]["interruptId"] == "i"


def sealed(entity: str, value: str, subtype: str = "message") -> Wire:
    return event(
        "REASONING_ENCRYPTED_VALUE", subtype=subtype, entityId=entity, encryptedValue=value
    )


async def test_encrypted_values_that_come_late() -> None:
    events = [
        *reasoning("q", "hm"),
        *call("c", "{}", parentMessageId="a"),
        result("c", "o"),
        *text("b", "So.")[:2],
        sealed("q", "for q"),
        sealed("a", "for a"),
        sealed("c", "for c", "tool-call"),
        sealed("o", "for o"),
        *text("b")[1:],
        sealed("b", "for b"),
    ]
    _, _, running = await received(*in_run(*events), follow=in_run(*text("n", "More")))
    back = {one["id"]: one.get("encryptedValue") for one in sent(running)}
    assert back == {"q": "for q", "a": "for a", "o": "for o", "b": "for b"}
    assert [
        one["toolCalls"][0].get("encryptedValue") for one in sent(running) if one["id"] == "a"
    ] == ["for c"]


async def test_a_result_of_a_call_that_is_not_here() -> None:
    client, recorded, _ = await received(*in_run(result("nobody's"), *text("b", "Hello")))
    assert words(await client.held()) == [("human", "hi"), ("ai", "Hello")]
    assert not recorded.of("TOOL_CALL_RESULT")


async def test_several_texts_of_one_run() -> None:
    client, _, running = await received(
        *in_run(
            *text("a", "First"),
            *text("b", "Second"),
            *call("c", "{}", parentMessageId="b"),
            result("c"),
        ),
        follow=in_run(*text("n", "More")),
    )
    assert words(await client.held())[1:3] == [("ai", "First"), ("ai", "Second")]
    assert [one["id"] for one in sent(running)] == ["a", "b", "o"]


async def test_the_same_answer_again_told_by_snapshots() -> None:
    def recorded(*turns: str) -> list[Wire]:
        asked = [
            (message("user", f"u{one}", one), message("assistant", f"a{one}", "Yes."))
            for one in turns
        ]
        return in_run(snapshot(*(said for turn in asked for said in turn)))

    client, _, running = await received(*recorded("hi"), follow=recorded("hi", "more"))
    assert words(await client.held()) == [
        ("human", "hi"),
        ("ai", "Yes."),
        ("human", "more"),
        ("ai", "Yes."),
    ]
    assert [one["id"] for one in sent(running)] == ["ahi"]


async def test_an_answer_before_a_pause_restated_under_another_id() -> None:
    asked = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "confirmation"}]}
    first = [STARTED, *text("a", "May I?"), {**FINISHED, "outcome": asked}]
    restated = [
        message("user", "u", "go"),
        message("assistant", "a2", "May I?"),
        message("assistant", "b", "Done."),
    ]
    with server(recording(*first), recording(*in_run(snapshot(*restated)))) as running:
        client = Client(
            around(RemoteAgent(running.url, name="expert"), checkpointer=InMemorySaver())
        )
        await client.say("go")
        await client.answer(True)
    assert words(await client.held()) == [("human", "go"), ("ai", "May I?"), ("ai", "Done.")]


@pytest.mark.parametrize("here", [True, False], ids=["thread here", "client-held here"])
async def test_ids_that_a_remote_agent_uses_twice(here: bool) -> None:
    """They replace nothing that is held here; the agent gets its own back."""
    calls = [*call("c1", "{}", parentMessageId="a"), *call("c2", "{}", parentMessageId="a")]
    results = [result("c1", "u1", "one"), sealed("u1", "for one"), result("c2", "u1", "two")]
    events = in_run(*calls, *results, *text("b", "Done"))
    with server(recording(*events), recording(*in_run(*text("n", "More")))) as running:
        client = Client(
            around(
                RemoteAgent(running.url, name="expert"),
                checkpointer=InMemorySaver() if here else None,
            )
        )
        recorded = await client.say(user("my question", "u1"))
        assert [one.content for one in recorded.messages if one.role == "user"] == ["my question"]
        assert len({one.id for one in recorded.messages}) == len(recorded.messages) == 5
        await client.say("more")
    assert [
        one["content"] for one in running.asked[1].json["messages"] if one["role"] == "user"
    ] == ["my question", "more"]
    assert [(one["id"], one["content"]) for one in sent(running) if one["role"] == "tool"] == [
        ("u1", "one"),
        ("u1", "two"),
    ]


@pytest.mark.parametrize("place", ["in the stream", "in the snapshot"])
async def test_an_encrypted_value_of_a_result_that_a_snapshot_renames(place: str) -> None:
    late, extra = (
        ([sealed("o1", "for it")], {})
        if place == "in the stream"
        else ([], {"encryptedValue": "for it"})
    )
    streamed = [*call("c", "{}", parentMessageId="a"), result("c", "o1"), *text("b", "So."), *late]
    restated = [message("user", "u", "hi"), message("tool", "o2", "done", toolCallId="c", **extra)]
    _, _, running = await received(
        *in_run(*streamed, snapshot(*restated)), follow=in_run(*text("n", "More"))
    )
    (back,) = [one for one in sent(running) if one["role"] == "tool"]
    assert (back["id"], back["encryptedValue"]) == ("o2", "for it")


async def test_a_result_that_comes_behind_the_next_words() -> None:
    asked = {
        "type": "interrupt",
        "interrupts": [{"id": "i", "reason": "tool_call", "toolCallId": "c"}],
    }
    first = [STARTED, *call("c", "{}", parentMessageId="a"), {**FINISHED, "outcome": asked}]
    with server(
        recording(*first), recording(*in_run(*text("b", "Here it is."), result("c")))
    ) as running:
        client = Client(
            around(RemoteAgent(running.url, name="expert"), checkpointer=InMemorySaver())
        )
        await client.say("go")
        await client.answer({"approved": True})
    assert words(await client.held())[1:] == [
        ("ai", ["f"]),
        ("tool", "done"),
        ("ai", "Here it is."),
    ]
