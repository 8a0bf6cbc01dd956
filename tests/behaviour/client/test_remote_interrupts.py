"""An agent whose model is a remote agent that asks before it acts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langgraph_agui import AGUIMiddleware, LangGraphAgent, agui_router
from langgraph_agui.client import AGUIChatModel, RemoteInterrupts, RunFailedError
from tests.kit.models.scripted import Scripted, text_chunk
from tests.kit.processes.serving import serving
from tests.kit.run.agents import record_run, run_input

sent: list[str] = []


def transfer(to: str) -> str:
    """Transfer money."""
    sent.append(to)
    return f"sent to {to}"


def get_location() -> str:
    """Where the user is."""
    return "Rome"


def asked(name: str, call_id: str, index: int, args: str) -> Any:
    return AIMessageChunk(
        "", tool_call_chunks=[tool_call_chunk(name=name, args=args, id=call_id, index=index)]
    )


@pytest.fixture
def remote() -> Iterator[Scripted]:
    """A remote agent that transfers twice if it may; `model.url` is its address."""
    sent.clear()
    model = Scripted(
        [
            text_chunk("One moment."),
            asked("transfer", "t1", 1, '{"to": "Ada"}'),
            asked("transfer", "t2", 2, '{"to": "Ben"}'),
        ],
        ["Done."],
    )
    guard = HumanInTheLoopMiddleware({"transfer": True})
    graph = create_agent(
        model, [transfer], middleware=[guard, AGUIMiddleware()], checkpointer=InMemorySaver()
    )
    app = FastAPI()
    app.include_router(agui_router(LangGraphAgent(graph), "/agent"))
    with serving(app) as served:
        model.hung = served.url("/agent")
        yield model


def local(remote: Scripted, tools: Any = ()) -> Any:
    model = AGUIChatModel(url=remote.hung)
    return create_agent(
        model, list(tools), middleware=[RemoteInterrupts()], checkpointer=InMemorySaver()
    )


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_questions_are_asked_and_answered(remote: Scripted, way: str) -> None:
    agent, config = local(remote), {"configurable": {"thread_id": "t"}}

    async def go(given: Any) -> Any:
        return agent.invoke(given, config) if way == "sync" else await agent.ainvoke(given, config)

    state = await go({"messages": "Pay them."})
    first = state["__interrupt__"][0]
    assert first.value["metadata"]["args"] == {"to": "Ada"}
    state = await go(Command(resume={first.id: {"approved": True}}))
    second = state["__interrupt__"][0]
    assert second.value["metadata"]["args"] == {"to": "Ben"}
    assert sent == []
    state = await go(Command(resume={second.id: {"approved": False, "message": "Not him."}}))
    assert sent == ["Ada"]
    assert state["messages"][-1].text == "Done."
    assert "Not him." in str(remote.seen[-1])
    state = await go({"messages": "Thank you."})
    assert [type(one).__name__ for one in state["messages"]].count("HumanMessage") == 2


async def test_its_client_is_asked(remote: Scripted) -> None:
    """The questions pass through the local adapter, as approvals that its client can show."""
    agent = LangGraphAgent(local(remote))
    recorded = await record_run(agent, run_input("Pay them."))
    for name in ("Ada", "Ben"):
        [interrupt] = recorded.last.outcome.interrupts
        assert interrupt.reason == "tool_call"
        assert (interrupt.metadata["name"], interrupt.metadata["args"]) == (
            "transfer",
            {"to": name},
        )
        answer = ResumeEntry(
            interrupt_id=interrupt.id, status="resolved", payload={"approved": True}
        )
        history = run_input(
            *recorded.messages,
            thread=recorded.input.thread_id,
            resume=[answer],
            state=recorded.state,
        )
        recorded = await record_run(agent, history)
    assert sorted(sent) == ["Ada", "Ben"]  # tools of one turn run at the same time
    recorded.check_snapshot()


async def test_a_local_tool_runs_between_question_and_answer() -> None:
    """The agent asks and calls a tool of ours in one turn: both have to be answered before it goes
    on."""
    sent.clear()
    model = Scripted(
        [asked("transfer", "t1", 0, '{"to": "Ada"}'), asked("get_location", "l", 1, "{}")],
        ["Done."],
    )
    guard = HumanInTheLoopMiddleware({"transfer": True})
    graph = create_agent(
        model, [transfer], middleware=[guard, AGUIMiddleware()], checkpointer=InMemorySaver()
    )
    app = FastAPI()
    app.include_router(agui_router(LangGraphAgent(graph), "/agent"))
    with serving(app) as served:
        model.hung = served.url("/agent")
        agent, config = local(model, [get_location]), {"configurable": {"thread_id": "t"}}
        state = await agent.ainvoke({"messages": "Pay them."}, config)
        [question] = state["__interrupt__"]
        state = await agent.ainvoke(Command(resume={question.id: {"approved": True}}), config)
    assert sent == ["Ada"]
    assert state["messages"][-1].text == "Done."
    assert "Rome" in str(model.seen[-1])


@pytest.mark.parametrize("way", ["new turn", "cancelled"])
async def test_a_question_that_nobody_answers(remote: Scripted, way: str) -> None:
    """It is cancelled there, and the conversation goes on."""
    agent, config = local(remote), {"configurable": {"thread_id": "t"}}
    state = await agent.ainvoke({"messages": "Pay them."}, config)
    if way == "cancelled":
        for _ in range(2):
            [question] = state["__interrupt__"]
            state = await agent.ainvoke(
                Command(resume={question.id: {"agui_cancelled": True}}), config
            )
    else:
        state = await agent.ainvoke({"messages": "Never mind."}, config)
    assert "__interrupt__" not in state
    assert "Done." in state["messages"][-1].text
    state = await agent.ainvoke({"messages": "Again."}, config)
    assert state["messages"][-1].text == "Done."
    assert sent == []


async def test_its_client_cancels(remote: Scripted) -> None:
    agent = LangGraphAgent(local(remote))
    recorded = await record_run(agent, run_input("Pay them."))
    while recorded.last.outcome is not None and recorded.last.outcome.type == "interrupt":
        answers = [
            ResumeEntry(interrupt_id=one.id, status="cancelled")
            for one in recorded.last.outcome.interrupts
        ]
        recorded = await record_run(
            agent,
            run_input(
                *recorded.messages,
                thread=recorded.input.thread_id,
                resume=answers,
                state=recorded.state,
            ),
        )
    recorded = await record_run(
        agent,
        run_input(
            *recorded.messages, "Again.", thread=recorded.input.thread_id, state=recorded.state
        ),
    )
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    assert sent == []


async def test_an_answer_that_does_not_fit(remote: Scripted) -> None:
    """It is asked for again, and never sent."""
    agent, config = local(remote), {"configurable": {"thread_id": "t"}}
    state = await agent.ainvoke({"messages": "Pay them."}, config)
    [question] = state["__interrupt__"]
    state = await agent.ainvoke(Command(resume={question.id: {"aproved": True}}), config)
    [again] = state["__interrupt__"]
    assert (again.value["id"], "breaks the rule" in again.value["error"]) == (
        question.value["id"],
        True,
    )
    state = await agent.ainvoke(Command(resume={again.id: {"approved": True}}), config)
    assert state["__interrupt__"][0].value["metadata"]["args"] == {"to": "Ben"}


async def test_an_answer_that_the_agent_refuses(remote: Scripted) -> None:
    """By rules of its own, which no schema tells: the run fails, and the next turn goes on without
    the answer."""
    agent, config = local(remote), {"configurable": {"thread_id": "t"}}
    state = await agent.ainvoke({"messages": "Pay them."}, config)
    forbidden = {"type": "edit", "edited_action": {"name": "wipe", "args": {"to": "Ann"}}}
    state = await agent.ainvoke(Command(resume={state["__interrupt__"][0].id: forbidden}), config)
    with pytest.raises(RunFailedError, match="interrupt_invalid"):
        await agent.ainvoke(
            Command(resume={state["__interrupt__"][0].id: {"approved": True}}), config
        )
    state = await agent.ainvoke({"messages": "Never mind."}, config)
    assert "Done." in state["messages"][-1].text
    assert sent == []
