"""Pauses and resumes: `interrupt()`, and static breakpoints."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted
from tests.kit.run.agents import RecordedRun, record_run, run_input, user


def asker(asked: list[Any], *nodes: str) -> Any:
    """A graph with a node for each of `nodes`, all asking at once."""
    builder = StateGraph(Chat)
    for name in nodes:

        async def node(state: Chat, name: str = name) -> Any:
            answer = interrupt({"question": f"{name}?"})
            asked.append((name, answer))
            return {"messages": [await Scripted([f"{name} {answer}"]).ainvoke("x")]}

        builder.add_node(name, node)
        builder.add_edge(START, name)
    return builder.compile(checkpointer=InMemorySaver())


def answer(interrupt_id: str, payload: Any = "yes", status: Any = "resolved") -> ResumeEntry:
    return ResumeEntry(interrupt_id=interrupt_id, status=status, payload=payload)


async def resume(agent: LangGraphAgent, *entries: ResumeEntry) -> RecordedRun:
    return await record_run(agent, run_input(thread="t", resume=list(entries)))


async def paused(*nodes: str) -> tuple[LangGraphAgent, list[str], list[Any]]:
    asked: list[Any] = []
    agent = LangGraphAgent(graph=asker(asked, *nodes))
    recorded = await record_run(agent, run_input("hi", thread="t"))
    recorded.check_snapshot()
    assert recorded.last.outcome.type == "interrupt"
    return agent, [interrupt.id for interrupt in recorded.last.outcome.interrupts], asked


async def test_a_pause_and_its_answer() -> None:
    agent, (one,), asked = await paused("one")
    recorded = await resume(agent, answer(one))
    assert recorded.last.outcome.type == "success"
    assert asked == [("one", "yes")]
    assert [event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT")] == ["one yes"]


async def test_a_checkpointer_may_be_set_after_the_agent_was_made() -> None:
    asked: list[Any] = []
    graph = asker(asked, "one")
    saver, graph.checkpointer = graph.checkpointer, None
    agent = LangGraphAgent(graph=graph)
    graph.checkpointer = (
        saver  # as an application does whose checkpointer needs a running event loop
    )
    recorded = await record_run(agent, run_input("hi", thread="t"))
    recorded = await resume(agent, answer(recorded.last.outcome.interrupts[0].id))
    assert recorded.last.outcome.type == "success"
    assert asked == [("one", "yes")]


async def test_what_is_asked() -> None:
    asked: list[Any] = []
    recorded = await record_run(
        LangGraphAgent(graph=asker(asked, "one")), run_input("hi", thread="t")
    )
    (question,) = recorded.last.outcome.interrupts
    assert (question.message, question.reason) == ("one?", "input_required")
    assert question.metadata == {
        "langgraph": {"raw": {"question": "one?"}},
        "value": {"question": "one?"},
    }


async def test_two_pauses_in_any_order() -> None:
    agent, ids, asked = await paused("one", "two")
    assert len(set(ids)) == 2
    recorded = await resume(agent, answer(ids[1], "b"), answer(ids[0], "a"))
    assert recorded.last.outcome.type == "success"
    assert sorted(value for _, value in asked) == ["a", "b"]


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        (lambda one, two: [], "interrupt_unanswered"),
        (lambda one, two: [answer(one)], "interrupt_unanswered"),
        (lambda one, two: [answer(one), answer(two), answer("x")], "interrupt_unknown"),
        (lambda one, two: [answer("x")], "interrupt_unknown"),
        (lambda one, two: [answer(one), answer(two), answer(one)], "interrupt_duplicate"),
    ],
    ids=["none", "missing", "superfluous", "unknown", "twice"],
)
async def test_wrong_answers_execute_nothing(entries: Any, code: str) -> None:
    agent, (one, two), asked = await paused("one", "two")
    recorded = await resume(agent, *entries(one, two))
    assert recorded.types == ["RUN_STARTED", "RUN_ERROR"]
    assert recorded.last.code == code
    assert asked == []
    right = await resume(agent, answer(one), answer(two))
    assert right.last.outcome.type == "success"


async def test_an_answer_that_nothing_asked_for() -> None:
    for checkpointer in (None, InMemorySaver()):
        model = Scripted(["a"])
        agent = LangGraphAgent(graph=chain_of(talker(model), checkpointer=checkpointer))
        recorded = await resume(agent, answer("x"))
        assert recorded.last.code == "interrupt_unknown"
        assert model.seen == []


async def test_a_pause_in_a_subgraph_is_told_once() -> None:
    async def ask(state: Chat) -> Any:
        value = interrupt("inner?")
        return {"messages": [await Scripted([f"got {value}"]).ainvoke("x")]}

    builder = StateGraph(Chat)
    builder.add_node("inner", chain_of(ask))
    builder.add_edge(START, "inner")
    agent = LangGraphAgent(graph=builder.compile(checkpointer=InMemorySaver()))
    recorded = await record_run(agent, run_input("hi", thread="t"))
    (question,) = recorded.last.outcome.interrupts
    assert question.message == "inner?"
    again = await resume(agent, answer(question.id, 5))
    assert again.last.outcome.type == "success"
    assert [event.delta for event in again.of("TEXT_MESSAGE_CONTENT")] == ["got 5"]


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
async def test_a_static_breakpoint(where: str) -> None:
    first, second = Scripted(["a"]), Scripted(["b"])
    stop = {where: ["two"] if where == "interrupt_before" else ["one"]}
    graph = chain_of(
        talker(first, "one"), talker(second, "two"), checkpointer=InMemorySaver(), **stop
    )
    agent = LangGraphAgent(graph=graph)
    recorded = await record_run(agent, run_input("hi", thread="t"))
    recorded.check_snapshot()
    (pause,) = recorded.last.outcome.interrupts
    assert pause.reason == "langgraph:breakpoint"
    assert second.seen == []
    again = await record_run(
        agent, run_input(*recorded.messages, thread="t", resume=[answer(pause.id, True)])
    )
    again.check_snapshot()
    assert again.last.outcome.type == "success"
    assert [message.content for message in again.messages] == ["hi", "a", "b"]
    assert len(first.seen) == 1


async def test_what_was_said_before_the_pause_is_told_once() -> None:
    async def node(state: Chat) -> Any:
        interrupt("go on?")
        return {}

    model = Scripted(["before"], ["never"])
    agent = LangGraphAgent(graph=chain_of(talker(model), node, checkpointer=InMemorySaver()))
    recorded = await record_run(agent, run_input("hi", thread="t"))
    recorded.check_snapshot()
    (pause,) = recorded.last.outcome.interrupts
    again = await record_run(
        agent, run_input(*recorded.messages, thread="t", resume=[answer(pause.id)])
    )
    again.check_snapshot()
    assert [message.content for message in again.messages] == ["hi", "before"]
    assert again.of("TEXT_MESSAGE_START") == []


async def test_without_a_checkpointer_a_pause_is_an_error_that_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing could answer it: the thread is nowhere."""

    async def node(state: Chat) -> Any:
        last = state["messages"][-1].text
        if last == "ask":
            interrupt("What?")
        return {"messages": [await Scripted([f"re {last}"]).ainvoke("x")]}

    agent = LangGraphAgent(graph=chain_of(node))
    recorded = await record_run(agent, run_input(user("ask", "u1")))
    assert recorded.types[-1] == "RUN_ERROR"
    assert recorded.last.code == "no_checkpointer"
    assert recorded.last.message.endswith("needs a checkpointer, such as InMemorySaver().")
    assert "needs a checkpointer" in caplog.text
    after = await record_run(agent, run_input(user("ask", "u1"), user("hello", "u2")))
    assert after.last.outcome.type == "success"
    assert after.messages[-1].content == "re hello"
