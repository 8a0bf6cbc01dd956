"""A run that succeeds shows no tool as failed: results stand in any channel, and an agent may end
by a call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from ag_ui.core import ResumeEntry, Tool, ToolMessage
from langchain_core.messages import ToolMessage as LCToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from langgraph_agui.graphs.contents import contents_of
from tests.kit.graphs.channels import (
    Filed,
    Research,
    flat,
    nested,
    node_until_done,
    results_filed,
    supervise,
    text_only,
    until_done,
)
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, collect, dumped, run_input
from tests.kit.run.thread_client import Client, asked
from tests.kit.waiting import PATIENCE

INTERRUPTED = "Interrupted: there is no result."
NO_RESULT = "This call has no result."
NOT_KEPT = "This call was not kept: it has no result."
FOUND = {"q-Rome": "found Rome", "q-Paris": "found Paris", "s1": "found Rome", "s2": "found Paris"}
ENDS = {"d-Rome": NO_RESULT, "d-Paris": NO_RESULT}

TOLD: dict[Any, dict[str, str]] = {
    flat: {**FOUND, **ENDS, "s9": NOT_KEPT},
    nested: {**FOUND, **ENDS, "s9": NO_RESULT},
    until_done: {"c1": "found x", "d3": NO_RESULT},
    node_until_done: {"c1": "found x", "d3": NO_RESULT},
    results_filed: {"c1": "found x"},
    text_only: {"c1": NOT_KEPT},
}
"""The result that is told for each call, by the graph."""

GONE = {flat: {"s1", "s2", "s9"}, text_only: {"c1"}}
"""Calls that only stand in another channel than the conversation: gone in the end, with results."""

OFFERED = [Tool(name="Done", description="", parameters={"type": "object", "properties": {}})]
stored_or_not = pytest.mark.parametrize("stored", [False, True], ids=["no_saver", "saver"])


def client_of(graph: Any) -> Client:
    return Client(LangGraphAgent(graph))


async def connecting(client: Client, *held: Any) -> RecordedRun:
    given = run_input(*held, thread="t")
    return RecordedRun(await collect(client.agent.connect(given)), given)


def results(recorded: RecordedRun) -> dict[str, str]:
    """The results that were told, by their calls; each call has one."""
    told = [(one.tool_call_id, one.content) for one in recorded.of("TOOL_CALL_RESULT")]
    assert len(told) == len(dict(told))
    return dict(told)


def own(messages: Any) -> list[Any]:
    """The messages without what only the run itself knew."""
    keys = ("role", "id", "content", "toolCalls", "toolCallId")
    kept = [one for one in dumped(messages) if one["role"] != "reasoning"]
    return [{key: one.get(key) for key in keys} for one in kept]


def check_unfailed(recorded: RecordedRun) -> None:
    assert recorded.last.type == "RUN_FINISHED", recorded.last
    assert "Interrupted" not in str(recorded.events)
    assert all(one.error is None for one in recorded.messages if one.role == "tool")


def check_told(recorded: RecordedRun, expected: dict[str, str]) -> None:
    check_unfailed(recorded)
    assert results(recorded) == expected
    assert all(event.metadata is None for event in recorded.of("TOOL_CALL_RESULT"))
    assert not recorded.last.outcome.pending_tool_call_ids


@pytest.mark.parametrize("build", TOLD)
@stored_or_not
async def test_no_tool_is_shown_as_failed(build: Any, stored: bool) -> None:
    """In the run, on `connect`, and in the next turn."""
    client = client_of(build(InMemorySaver() if stored else None))
    first = await client.send("hi")
    check_told(first, TOLD[build])
    made = [one.id for turn in first.messages for one in getattr(turn, "tool_calls", None) or ()]
    answered = [message.tool_call_id for message in first.messages if message.role == "tool"]
    assert sorted(made) == sorted(answered) == sorted({*TOLD[build]} - GONE.get(build, set()))
    if stored:
        again = await connecting(client, *first.messages)
        assert dumped(again.messages) == dumped(first.messages)
        empty = await client.connect()
        check_unfailed(empty)
        subagents = {one.subagent_run_id for one in first.messages if build in (flat, nested)}
        inner = subagents - {None}
        shown = [one for one in first.messages if one.subagent_run_id not in inner]
        assert own(empty.messages) == own(shown)
    # Without a checkpointer, its node looks in vain for the results of the first turn.
    if build is not results_filed or stored:
        second = await client.send("more")
        check_unfailed(second)
        if build in (flat, nested, text_only):  # the model is sent the conversation alone
            heard = "I heard human:hi / ai:I heard human:hi / human:more"
            assert second.messages[-1].content == heard


async def test_a_call_at_the_end_of_a_turn() -> None:
    """The client sends its made result back, which runs nothing. The call gets its result before
    the model sees it, also if the client holds nothing."""
    model, saver = Scripted([call("Done", "d1")], [call("Done", "d2")]), InMemorySaver()
    client = client_of(until_done(saver, model))
    first = await client.send("hi")
    again = await client.send()
    assert len(model.seen) == 1
    assert dumped(again.messages) == dumped(first.messages)
    later = Client(agent_of(talker(model), checkpointer=saver))
    check_unfailed(await later.send("more"))
    assert [message.text for message in model.seen[-1]] == ["hi", "", NO_RESULT, "more"]
    assert model.seen[-1][2].status == "success"


def _result(text: str, call_id: str = "c1") -> Any:
    return LCToolMessage(text, tool_call_id=call_id, name="look")


async def test_a_result_in_the_conversation_has_precedence() -> None:
    """A node that keeps a raw result elsewhere, and a short one for the model, means the short
    one."""

    async def act(state: Filed) -> dict[str, Any]:
        return {"files": [_result("a long raw page")], "messages": [_result("short")]}

    model = talker(Scripted([call("look", "c1")]))
    client = Client(agent_of(model, act, state=Filed, checkpointer=InMemorySaver()))
    recorded = await client.send("hi")
    recorded.check_snapshot()
    assert results(recorded) == {"c1": "short"}
    assert "long raw" not in str(recorded.events)
    assert (await client.connect()).messages[-1].content == "short"


async def test_results_of_earlier_turns_answer_no_new_call() -> None:
    """A node returns its whole channel, and the model numbers its calls anew in each turn."""

    class Whole(Chat, total=False):
        log: list[Any]

    texts = iter(["one", "two"])
    model = Scripted([call("look", "c1")])

    async def think(state: Whole) -> dict[str, Any]:
        return {"log": [*state.get("log", ()), await model.ainvoke(state["messages"])]}

    async def act(state: Whole) -> dict[str, Any]:
        return {"log": [*state["log"], _result(next(texts))]}

    client = Client(agent_of(think, act, state=Whole, checkpointer=InMemorySaver()))
    told = [results(await client.send(text)) for text in ("hi", "more")]
    assert [[*one.values()] for one in told] == [["one"], ["two"]]


async def test_a_pause_between_a_call_and_its_result() -> None:
    """The client does not wait for a call of another channel; the answer goes on."""
    key = "supervisor_messages"

    async def begin(state: Research) -> dict[str, Any]:
        return {key: state["messages"]}

    async def act(state: Any) -> dict[str, Any]:
        answer = interrupt("Sure?")
        return {key: [_result(answer, one["id"]) for one in state[key][-1].tool_calls]}

    supervisor = talker(Scripted(script=supervise), "supervisor", key=key)
    nodes = begin, supervisor, act, talker(Scripted(["Done."]), "report")
    client = Client(agent_of(*nodes, state=Research, checkpointer=InMemorySaver()))
    first = await client.send("hi")
    [request] = asked(first)
    assert results(first) == {"s1": NOT_KEPT, "s2": NOT_KEPT}
    assert dumped(first.messages) == dumped((await client.connect()).messages)
    entry = ResumeEntry(interrupt_id=request.id, status="resolved", payload="yes")
    second = await client.send(resume=[entry])
    assert [one.content for one in second.messages] == ["hi", "Done."]


@pytest.mark.parametrize("way", ["stopped", "failed"])
async def test_a_call_that_was_interrupted_says_so(way: str) -> None:
    """The run ends between a call that stands in another channel and its result: the client does
    not keep the call."""
    started, given = asyncio.Event(), run_input("hi", thread="t")

    async def act(state: Research) -> None:
        started.set()
        if way == "failed":
            raise ConnectionError
        await asyncio.Event().wait()

    think = talker(Scripted([call("look", "c1")]), "think", key="supervisor_messages")
    agent = agent_of(think, act, state=Research)
    reading = asyncio.create_task(collect(agent.run(given)))
    await asyncio.wait_for(started.wait(), PATIENCE)
    await agent.cancel(given.thread_id, given.run_id)
    recorded = RecordedRun(await reading, given)
    [result] = recorded.of("TOOL_CALL_RESULT")
    assert (result.content, result.metadata) == (INTERRUPTED, {"status": "error"})
    assert [one.role for one in recorded.messages] == ["user"]


@stored_or_not
async def test_a_tool_that_the_client_offers_is_its_own(stored: bool) -> None:
    """The call waits for the client, though the graph knows a tool of that name. A page that has
    just been loaded offers no tools, and is told that the call waits; its result is taken."""
    model = Scripted([call("Done", "d1")], [call("Done", "d2")])
    client = client_of(until_done(InMemorySaver() if stored else None, model))
    first = await client.send("hi", tools=OFFERED)
    assert first.last.outcome.pending_tool_call_ids == ["d1"]
    if stored:
        shown = await connecting(client, *first.messages)
        assert dumped(shown.messages) == dumped(first.messages)
        assert [one.role for one in (await client.connect()).messages] == ["user", "assistant"]
    await client.send(ToolMessage(id="r1", tool_call_id="d1", content="seen"), tools=OFFERED)
    assert [message.text for message in model.seen[-1]] == ["hi", "", "seen"]


async def test_a_result_that_comes_late_replaces_the_one_that_says_that_there_is_none() -> None:
    """A page that answers a call of a tool that it never offered."""
    model = Scripted([call("Done", "d1")], [call("Done", "d2")])
    client = client_of(until_done(InMemorySaver(), model))
    first = await client.send("hi")
    assert first.messages[-1].content == NO_RESULT
    second = await client.send(ToolMessage(id="r1", tool_call_id="d1", content="seen"))
    held = [(one.tool_call_id, one.content) for one in second.messages if one.role == "tool"]
    assert held == [("d1", "seen"), ("d2", NO_RESULT)]


async def test_an_unknown_tool_is_left_to_the_client() -> None:
    """Here and on `connect`: the graph has no such tool that the search finds. Nothing was
    interrupted then either."""
    model = Scripted([call("paint", "p1")], ["Hello."])
    client = Client(agent_of(talker(model), checkpointer=InMemorySaver()))
    first = await client.send("hi")
    assert first.last.outcome.pending_tool_call_ids == ["p1"]
    assert (await client.connect()).messages[-1].role == "assistant"
    await client.send("more")
    assert (model.seen[-1][2].text, model.seen[-1][2].status) == (NO_RESULT, "success")


@pytest.mark.providers
def test_the_search_finds_the_tools_that_a_model_is_bound_to() -> None:
    """Nobody but the model knows them: a schema that no tool stands behind."""
    from langchain_openai import ChatOpenAI

    schema = {"name": "ResearchComplete", "description": "", "parameters": {"type": "object"}}
    model = ChatOpenAI(model="gpt-5", api_key="k").bind_tools([schema])  # type: ignore[arg-type]
    assert "ResearchComplete" in contents_of(chain_of(talker(model))).tool_names
