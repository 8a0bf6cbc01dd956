"""An agent whose model is a remote agent that asks before it acts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_agui import LangGraphAgent
from langgraph_agui.client import RemoteInterrupts, RunFailedError
from tests.kit.models.scripted import Scripted, call, text_chunk
from tests.kit.processes.client_agents import remote, tooled
from tests.kit.run.agents import RecordedRun, record_run, run_input

CONFIG: Any = {"configurable": {"thread_id": "t"}}
YES = {"approved": True}
sent: list[str] = []


def transfer(to: str) -> str:
    """Transfer money."""
    sent.append(to)
    return f"sent to {to}"


def get_location() -> str:
    """Where the user is."""
    return "Rome"


@pytest.fixture
def model() -> Scripted:
    """The remote agent's: it transfers twice if it may."""
    ada, ben = call("transfer", "t1", 1, to="Ada"), call("transfer", "t2", 2, to="Ben")
    return Scripted([text_chunk("One moment."), ada, ben], ["Done."])


@pytest.fixture
def agent(model: Scripted) -> Iterator[Any]:
    """The local agent."""
    sent.clear()
    guard = HumanInTheLoopMiddleware({"transfer": True})
    graph = tooled(model, transfer, middleware=[guard], checkpointer=InMemorySaver())
    with remote(graph) as far:
        asks = [RemoteInterrupts()]
        tools = [get_location]
        yield create_agent(far.model(), tools, middleware=asks, checkpointer=InMemorySaver())


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_questions_are_asked_and_answered(agent: Any, model: Scripted, way: str) -> None:
    async def go(given: Any) -> Any:
        return agent.invoke(given, CONFIG) if way == "sync" else await agent.ainvoke(given, CONFIG)

    [first] = (await go({"messages": "Pay them."}))["__interrupt__"]
    assert first.value["metadata"]["args"] == {"to": "Ada"}
    [unfit] = (await go(Command(resume={first.id: {"aproved": True}})))["__interrupt__"]
    assert unfit.value["id"] == first.value["id"]
    assert "breaks the rule" in unfit.value["error"]
    [second] = (await go(Command(resume={unfit.id: YES})))["__interrupt__"]
    assert second.value["metadata"]["args"] == {"to": "Ben"}
    assert sent == []
    state = await go(Command(resume={second.id: {"approved": False, "message": "Not him."}}))
    assert sent == ["Ada"]
    assert state["messages"][-1].text == "Done."
    assert "Not him." in str(model.seen[-1])
    state = await go({"messages": "Thank you."})
    assert [one.type for one in state["messages"]].count("human") == 2


@pytest.mark.parametrize("status", ["resolved", "cancelled"])
async def test_its_client_answers(agent: Any, status: Any) -> None:
    """The questions pass through the local adapter, as approvals that its client can show."""
    served = LangGraphAgent(agent)
    run = await record_run(served, run_input("Pay them.", thread="t"))

    async def go_on(*said: str, **fields: Any) -> RecordedRun:
        given = run_input(*run.messages, *said, thread="t", state=run.state, **fields)
        return await record_run(served, given)

    for name in ("Ada", "Ben"):
        [one] = run.last.outcome.interrupts
        assert (one.reason, one.metadata["name"]) == ("tool_call", "transfer")
        assert one.metadata["args"] == {"to": name}
        answer = ResumeEntry(
            interrupt_id=one.id, status=status, payload=YES if status == "resolved" else None
        )
        run = await go_on(resume=[answer])
    # tools of one turn run at the same time
    assert sorted(sent) == (["Ada", "Ben"] if status == "resolved" else [])
    run.check_snapshot()
    assert (await go_on("Again.")).last.type == "RUN_FINISHED"


async def test_a_local_tool_runs_between_question_and_answer(agent: Any, model: Scripted) -> None:
    """The agent asks and calls a tool of ours in one turn: both have to be answered before it goes
    on."""
    model.turns[0] = [call("transfer", "t1", 0, to="Ada"), call("get_location", "l", 1)]
    [question] = (await agent.ainvoke({"messages": "Pay them."}, CONFIG))["__interrupt__"]
    state = await agent.ainvoke(Command(resume={question.id: YES}), CONFIG)
    assert (sent, state["messages"][-1].text) == (["Ada"], "Done.")
    assert "Rome" in str(model.seen[-1])


@pytest.mark.parametrize("way", ["new turn", "cancelled"])
async def test_a_question_that_nobody_answers(agent: Any, way: str) -> None:
    """It is cancelled there, and the conversation goes on."""
    state = await agent.ainvoke({"messages": "Pay them."}, CONFIG)
    for _ in range(2 if way == "cancelled" else 0):
        [one] = state["__interrupt__"]
        state = await agent.ainvoke(Command(resume={one.id: {"agui_cancelled": True}}), CONFIG)
    if way == "new turn":
        state = await agent.ainvoke({"messages": "Never mind."}, CONFIG)
    assert "__interrupt__" not in state
    assert "Done." in state["messages"][-1].text
    state = await agent.ainvoke({"messages": "Again."}, CONFIG)
    assert (state["messages"][-1].text, sent) == ("Done.", [])


async def test_an_answer_that_the_agent_refuses(agent: Any) -> None:
    """By rules of its own, which no schema tells: the run fails, and the next turn goes on without
    the answer."""
    [first] = (await agent.ainvoke({"messages": "Pay them."}, CONFIG))["__interrupt__"]
    forbidden = {"type": "edit", "edited_action": {"name": "wipe", "args": {"to": "Ann"}}}
    state = await agent.ainvoke(Command(resume={first.id: forbidden}), CONFIG)
    with pytest.raises(RunFailedError, match="interrupt_invalid"):
        await agent.ainvoke(Command(resume={state["__interrupt__"][0].id: YES}), CONFIG)
    state = await agent.ainvoke({"messages": "Never mind."}, CONFIG)
    assert "Done." in state["messages"][-1].text
    assert sent == []
