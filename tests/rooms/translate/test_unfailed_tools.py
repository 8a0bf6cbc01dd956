"""A run that succeeds shows no tool as failed: results stand in any channel, and an agent may end
by a call."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from ag_ui.core import AssistantMessage, Tool, ToolMessage
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

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
from tests.kit.run.agents import RecordedRun, collect, dumped, record_run, run_input, user

NO_RESULT = "This call has no result."
NOT_KEPT = "This call was not kept: it has no result."
FOUND = {"q-Rome": "found Rome", "q-Paris": "found Paris", "s1": "found Rome", "s2": "found Paris"}
ENDS = {"d-Rome": NO_RESULT, "d-Paris": NO_RESULT}

RESULTS: dict[Any, dict[str, str]] = {
    flat: {**FOUND, **ENDS, "s9": NOT_KEPT},
    nested: {**FOUND, **ENDS, "s9": NO_RESULT},
    until_done: {"c1": "found x", "d3": NO_RESULT},
    node_until_done: {"c1": "found x", "d3": NO_RESULT},
    results_filed: {"c1": "found x"},
    text_only: {"c1": NOT_KEPT},
}
graphs = pytest.mark.parametrize("build", RESULTS)
savers = pytest.mark.parametrize("stored", [False, True], ids=["no_checkpointer", "checkpointer"])


def saver(stored: bool) -> Any:
    return InMemorySaver() if stored else None


async def connecting(agent: LangGraphAgent, *held: Any) -> RecordedRun:
    given = run_input(*held, thread="t")
    return RecordedRun(await collect(agent.connect(given)), given)


def results(recorded: RecordedRun) -> dict[str, str]:
    """The results that were told, by their calls; each call has one."""
    told = recorded.of("TOOL_CALL_RESULT")
    assert Counter(event.tool_call_id for event in told).most_common(1)[0][1] == 1
    return {event.tool_call_id: event.content for event in told}


def own(messages: Any) -> list[Any]:
    """The agent's own conversation, without its subagents', and without what only the run itself
    knew."""
    kept = [one for one in dumped(messages) if one["role"] != "reasoning"]
    return [
        {key: one.get(key) for key in ("role", "id", "content", "toolCalls", "toolCallId")}
        for one in kept
    ]


def check_told(recorded: RecordedRun, expected: dict[str, str]) -> None:
    assert recorded.last.type == "RUN_FINISHED", recorded.last
    assert results(recorded) == expected
    assert all(event.metadata is None for event in recorded.of("TOOL_CALL_RESULT"))
    assert "Interrupted" not in str(recorded.events)
    assert not recorded.last.outcome.pending_tool_call_ids


@graphs
@savers
async def test_no_tool_is_shown_as_failed(build: Any, stored: bool) -> None:
    recorded = await record_run(
        LangGraphAgent(build(saver(stored))), run_input(user("hi"), thread="t")
    )
    check_told(recorded, RESULTS[build])
    assert all(one.error is None for one in recorded.messages if one.role == "tool")


@graphs
@savers
async def test_the_client_holds_a_result_for_each_call(build: Any, stored: bool) -> None:
    """What only stands in another channel than the conversation is gone in the end, with its
    results."""
    recorded = await record_run(
        LangGraphAgent(build(saver(stored))), run_input(user("hi"), thread="t")
    )
    calls = [
        one.id
        for message in recorded.messages
        for one in getattr(message, "tool_calls", None) or ()
    ]
    answered = [message.tool_call_id for message in recorded.messages if message.role == "tool"]
    assert sorted(calls) == sorted(answered)
    kept = set(RESULTS[build]) - (
        {"s1", "s2", "s9"} if build is flat else {"c1"} if build is text_only else set()
    )
    assert set(calls) == kept


@graphs
async def test_connect_shows_the_same(build: Any) -> None:
    """To a client that holds it all, and the agent's own conversation to one that holds nothing."""
    agent = LangGraphAgent(build(InMemorySaver()))
    recorded = await record_run(agent, run_input(user("hi"), thread="t"))
    again = await connecting(agent, *recorded.messages)
    assert dumped(again.messages) == dumped(recorded.messages)
    empty = await connecting(agent)
    assert "Interrupted" not in str(empty.events)
    inner = (
        {one.subagent_run_id for one in recorded.messages} - {None}
        if build in (flat, nested)
        else set()
    )
    assert own(empty.messages) == own(
        [one for one in recorded.messages if one.subagent_run_id not in inner]
    )


@pytest.mark.parametrize(
    ("build", "stored"),
    # Without a checkpointer, the last one lacks the channel in which its node looks for the results
    # of the first turn.
    [
        *(
            (build, stored)
            for build in RESULTS
            if build is not results_filed
            for stored in (False, True)
        ),
        (results_filed, True),
    ],
)
async def test_the_next_turn_shows_none_as_failed_either(build: Any, stored: bool) -> None:
    agent = LangGraphAgent(build(saver(stored)))
    first = await record_run(agent, run_input(user("hi"), thread="t"))
    second = await record_run(agent, run_input(*first.messages, user("more"), thread="t"))
    assert second.last.type == "RUN_FINISHED", second.last
    assert "Interrupted" not in str(second.events)
    assert all(one.error is None for one in second.messages if one.role == "tool")
    if build in (flat, nested, text_only):  # the model is sent the conversation alone
        assert second.messages[-1].content == "I heard human:hi / ai:I heard human:hi / human:more"


@pytest.mark.parametrize("build", [until_done, node_until_done])
async def test_a_client_that_holds_nothing_continues(build: Any) -> None:
    """The call at the end of the thread gets its result before the model sees it: nothing was
    interrupted."""
    model = Scripted([call("Done", "d1")], ["Hello again."])
    agent = LangGraphAgent(build(InMemorySaver(), model))
    await record_run(agent, run_input(user("hi"), thread="t"))
    graph = StateGraph(Chat).add_node("model", talker(model)).add_edge(START, "model")
    later = LangGraphAgent(graph.compile(checkpointer=agent.graph.checkpointer))
    second = await record_run(later, run_input(user("more"), thread="t"))
    assert [message.text for message in model.seen[-1]] == ["hi", "", NO_RESULT, "more"]
    assert model.seen[-1][2].status == "success"
    assert all(one.error is None for one in second.messages if one.role == "tool")


async def test_the_same_messages_again_run_nothing() -> None:
    """The client sends back the result that we have made: it is no answer of its own."""
    model = Scripted([call("Done", "d1")])
    agent = LangGraphAgent(until_done(InMemorySaver(), model))
    first = await record_run(agent, run_input(user("hi"), thread="t"))
    second = await record_run(agent, run_input(*first.messages, thread="t"))
    assert len(model.seen) == 1
    assert dumped(second.messages) == dumped(first.messages)


# -- which results count -------------------------------------------------------------------------


async def test_the_conversation_has_precedence() -> None:
    """A node that keeps a raw result elsewhere, and a short one for the model, means the short
    one."""

    async def act(state: Filed) -> dict[str, Any]:
        raw, short = (_result(text) for text in ("a long raw page", "short"))
        return {"files": [raw], "messages": [short]}

    agent = agent_of(
        talker(Scripted([call("look", "c1")])), act, state=Filed, checkpointer=InMemorySaver()
    )
    recorded = await record_run(agent, run_input("hi", thread="t"))
    recorded.check_snapshot()
    assert results(recorded) == {"c1": "short"}
    assert "long raw" not in str(recorded.events)
    assert [one.content for one in (await connecting(agent)).messages if one.role == "tool"] == [
        "short"
    ]


def _result(text: str, call_id: str = "c1") -> Any:
    return LCToolMessage(text, tool_call_id=call_id, name="look")


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

    agent = agent_of(think, act, state=Whole, checkpointer=InMemorySaver())
    first = await record_run(agent, run_input(user("hi"), thread="t"))
    second = await record_run(agent, run_input(*first.messages, user("more"), thread="t"))
    assert [event.content for one in (first, second) for event in one.of("TOOL_CALL_RESULT")] == [
        "one",
        "two",
    ]


async def test_what_a_later_node_puts_into_the_conversation_stays() -> None:
    """It was kept in another channel first: the client has it once, from its first word on."""

    class Drafted(Chat, total=False):
        drafts: Any

    async def draft(state: Drafted) -> dict[str, Any]:
        return {"drafts": [await Scripted(["A draft"]).ainvoke(state["messages"])]}

    async def publish(state: Drafted) -> dict[str, Any]:
        return {"messages": state["drafts"]}

    recorded = await record_run(agent_of(draft, publish, state=Drafted), run_input("hi"))
    recorded.check_snapshot()
    assert [one.content for one in recorded.messages] == ["hi", "A draft"]
    assert recorded.types.count("TEXT_MESSAGE_START") == 1


async def test_a_pause_between_a_call_and_its_result() -> None:
    """The client does not wait for a call of another channel; the answer goes on."""

    async def act(state: Research) -> dict[str, Any]:
        answer = interrupt("Sure?")
        results = [
            _result(answer, one["id"]) for one in state["supervisor_messages"][-1].tool_calls
        ]  # type: ignore[union-attr]
        return {"supervisor_messages": results}

    model = Scripted(script=supervise)
    nodes = (
        talker(model, "supervisor", key="supervisor_messages"),
        act,
        talker(Scripted(["Done."]), "report"),
    )

    async def begin(state: Research) -> dict[str, Any]:
        return {"supervisor_messages": state["messages"]}

    agent = agent_of(begin, *nodes, state=Research, checkpointer=InMemorySaver())
    first = await record_run(agent, run_input(user("hi"), thread="t"))
    assert first.last.outcome.type == "interrupt"
    assert results(first) == {"s1": NOT_KEPT, "s2": NOT_KEPT}
    assert dumped(first.messages) == dumped((await connecting(agent)).messages)
    [asked] = first.last.outcome.interrupts
    entry = {"interrupt_id": asked.id, "status": "resolved", "payload": "yes"}
    second = await record_run(agent, run_input(*first.messages, thread="t", resume=[entry]))
    assert second.last.type == "RUN_FINISHED", second.last
    assert [one.content for one in second.messages] == ["hi", "Done."]


# -- interruptions -------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["stopped", "failed"])
async def test_what_was_interrupted_says_so(way: str) -> None:
    """The run ends between a call that stands in another channel and its result: the client does
    not keep the call."""
    started = asyncio.Event()

    async def act(state: Research) -> dict[str, Any]:
        started.set()
        if way == "failed":
            raise ConnectionError
        await asyncio.sleep(3600)
        return {}

    model = Scripted([call("look", "c1")])
    agent = agent_of(talker(model, "think", key="supervisor_messages"), act, state=Research)
    given = run_input("hi", thread="t")
    reading = asyncio.create_task(collect(agent.run(given)))
    await asyncio.wait_for(started.wait(), 60)
    if way == "stopped":
        assert await agent.cancel(given.thread_id, given.run_id)
    recorded = RecordedRun(await reading, given)
    [result] = recorded.of("TOOL_CALL_RESULT")
    assert (result.content, result.metadata) == (
        "Interrupted: there is no result.",
        {"status": "error"},
    )
    assert [one.role for one in recorded.messages] == ["user"]


async def test_a_stopped_run_is_interrupted_on_the_next_turn() -> None:
    @tool("look")
    async def hang() -> str:
        """Look."""
        started.set()
        await asyncio.sleep(3600)
        return ""

    started = asyncio.Event()
    model = Scripted([call("look", "c1")], ["Hello."])
    agent = LangGraphAgent(create_agent(model, [hang], checkpointer=InMemorySaver()))
    given = run_input("hi", thread="t")
    reading = asyncio.create_task(collect(agent.run(given)))
    await asyncio.wait_for(started.wait(), 60)
    assert await agent.cancel(given.thread_id, given.run_id)
    await reading
    shown = await connecting(agent)
    assert [one.role for one in shown.messages] == ["user", "assistant"]
    await record_run(agent, run_input(user("more"), thread="t"))
    assert [(one.text, getattr(one, "status", None)) for one in model.seen[-1]][2] == (
        "Interrupted: there is no result.",
        "error",
    )


# -- whose calls they are ------------------------------------------------------------------------


@savers
async def test_a_tool_that_the_client_offers_is_its_own(stored: bool) -> None:
    """The call waits for the client, though the graph knows a tool of that name; its result is
    taken."""
    offered = [Tool(name="Done", description="", parameters={"type": "object", "properties": {}})]
    model = Scripted([call("Done", "d1")], [call("Done", "d2")])
    agent = LangGraphAgent(until_done(saver(stored), model))
    first = await record_run(agent, run_input(user("hi"), thread="t", tools=offered))
    assert first.last.outcome.pending_tool_call_ids == ["d1"]
    answer = ToolMessage(id="r1", role="tool", tool_call_id="d1", content="seen")
    await record_run(agent, run_input(*first.messages, answer, thread="t", tools=offered))
    assert [message.text for message in model.seen[-1]] == ["hi", "", "seen"]


async def test_a_call_that_the_client_has_yet_to_answer_after_a_reload() -> None:
    """A page that has just been loaded offers no tools; its run did."""
    offered = [Tool(name="Done", description="", parameters={"type": "object", "properties": {}})]
    agent = LangGraphAgent(until_done(saver(True), Scripted([call("Done", "d1")])))
    first = await record_run(agent, run_input(user("hi"), thread="t", tools=offered))
    shown = await connecting(agent, *first.messages)
    assert dumped(shown.messages) == dumped(first.messages)
    assert [message.role for message in (await connecting(agent)).messages] == ["user", "assistant"]


async def test_a_result_that_comes_late_replaces_the_one_that_says_that_there_is_none() -> None:
    """A page that answers a call of a tool that it never offered."""
    agent = LangGraphAgent(
        until_done(saver(True), Scripted([call("Done", "d1")], [call("Done", "d2")]))
    )
    first = await record_run(agent, run_input(user("hi"), thread="t"))
    assert [one.content for one in first.messages if isinstance(one, ToolMessage)] == [NO_RESULT]
    answer = ToolMessage(id="r1", role="tool", tool_call_id="d1", content="seen")
    second = await record_run(agent, run_input(*first.messages, answer, thread="t"))
    results = [
        (one.tool_call_id, one.content) for one in second.messages if isinstance(one, ToolMessage)
    ]
    assert results == [("d1", "seen"), ("d2", NO_RESULT)]


async def test_an_unknown_tool_is_left_to_the_client() -> None:
    """Here and on `connect`: the graph has no such tool that the search finds. Nothing was
    interrupted then either."""
    model = Scripted([call("paint", "p1")], ["Hello."])
    agent = agent_of(talker(model), checkpointer=InMemorySaver())
    first = await record_run(agent, run_input(user("hi"), thread="t"))
    assert first.last.outcome.pending_tool_call_ids == ["p1"]
    shown = await connecting(agent)
    assert isinstance(shown.messages[-1], AssistantMessage)
    await record_run(agent, run_input(*first.messages, user("more"), thread="t"))
    assert [(one.text, getattr(one, "status", None)) for one in model.seen[-1]][2] == (
        NO_RESULT,
        "success",
    )


def test_the_search_finds_the_tools_that_a_model_is_bound_to() -> None:
    """Nobody but the model knows them: a schema that no tool stands behind."""
    from langchain_openai import ChatOpenAI

    class ResearchComplete(TypedDict):
        """The research is complete."""

    model = ChatOpenAI(model="gpt-5", api_key="k").bind_tools([ResearchComplete])  # type: ignore[arg-type]
    assert "ResearchComplete" in contents_of(chain_of(talker(model))).tool_names
