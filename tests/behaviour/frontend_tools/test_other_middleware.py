"""Client tools beside other middleware: approvals in both modes, structured output, either
order."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import ResumeEntry
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from tests.kit.graphs.frontend_tools import (
    MIXED,
    SAVERS,
    Offered,
    agent_of,
    answered,
    client_tool,
    ended,
    go,
    lookup,
)
from tests.kit.models.scripted import call
from tests.kit.run.agents import RecordedRun

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


def asking(model: Any, mode: Any, *gated: str, last: bool = True) -> LangGraphAgent:
    """An agent whose calls of the tools `gated` are asked about; `last` is where `AGUIMiddleware`
    should be."""
    asks = HumanInTheLoopMiddleware(dict.fromkeys(gated, True), interrupt_mode=mode)
    stack = [asks, AGUIMiddleware()] if last else [AGUIMiddleware(), asks]
    return LangGraphAgent(
        graph=create_agent(model, [lookup], middleware=stack, checkpointer=InMemorySaver())
    )


async def decide(agent: LangGraphAgent, recorded: RecordedRun, **payload: Any) -> RecordedRun:
    """Answer all that `told` asks."""
    assert recorded.last.outcome.type == "interrupt", recorded.last
    entries = [
        ResumeEntry(interrupt_id=asked.id, status="resolved", payload=payload)
        for asked in recorded.last.outcome.interrupts
    ]
    return await go(agent, *recorded.messages, resume=entries, meets=payload["type"] != "approve")


@MODES
@pytest.mark.parametrize("last", [True, False], ids=["last", "first"])
async def test_an_approved_server_call_beside_the_clients(mode: str, last: bool) -> None:
    model = Offered(MIXED, ["done"])
    agent = asking(model, mode, "lookup", last=last)
    asked = await go(agent, "hi")
    assert asked.of("TOOL_CALL_RESULT") == []
    approved = await decide(agent, asked, type="approve")
    ended(approved)
    assert [event.tool_call_id for event in approved.of("TOOL_CALL_RESULT")] == ["s1"]
    assert len(model.seen) == 1
    ended(finished := await go(agent, *answered(approved, c1="painted")))
    assert finished.messages[-1].content == "done"
    model.check()


@MODES
async def test_a_rejected_server_call_beside_the_clients(mode: str) -> None:
    model = Offered(MIXED, ["done"])
    agent = asking(model, mode, "lookup")
    rejected = await decide(agent, await go(agent, "hi"), type="reject", message="no way")
    ended(rejected)
    [result] = rejected.of("TOOL_CALL_RESULT")
    assert (result.tool_call_id, "no way" in result.content) == ("s1", True)
    ended(await go(agent, *answered(rejected, c1="painted")))
    model.check()


@MODES
async def test_a_call_of_the_clients_is_approved_or_rejected(mode: str) -> None:
    model = Offered(MIXED, ["done"], [call("paint", "c2", color="red")], ["a pity"])
    agent = asking(model, mode, "paint")
    approved = await decide(agent, await go(agent, "hi"), type="approve")
    ended(approved)
    assert len(model.seen) == 1
    ended(finished := await go(agent, *answered(approved, c1="painted")))
    assert finished.messages[-1].content == "done"
    asked = await go(agent, *finished.messages, "more")
    ended(rejected := await decide(agent, asked, type="reject", message="not red"))
    assert rejected.messages[-1].content == "a pity"
    assert "not red" in model.seen[-1][-1].text
    model.check()


@MODES
async def test_an_edited_call_of_the_clients_is_not_executed_as_the_model_made_it(
    mode: str,
) -> None:
    model = Offered(
        [call("paint", "c1", color="red")], [call("paint", "c2", color="blue")], ["done"]
    )
    agent = asking(model, mode, "paint")
    first = await go(agent, "hi")
    edited = {"name": "paint", "args": {"color": "blue"}}
    second = await decide(agent, first, type="edit", edited_action=edited)
    # the model has called again, and is asked about again
    assert second.last.outcome.type == "interrupt"
    assert '"color": "blue"' in model.seen[1][-1].text
    assert "Not executed" in model.seen[1][-1].text
    ended(third := await decide(agent, second, type="approve"))
    ended(await go(agent, *answered(third, c2="painted")))
    model.check()


class Answer(BaseModel):
    """The final answer."""

    text: str


@SAVERS
async def test_structured_output_beside_and_after_a_call_of_the_clients(saver: Any) -> None:
    both = [call("paint", "c1", 0, color="red"), call("Answer", "a1", 1, text="red")]
    model = Offered(both, [call("Answer", "a2", text="blue")])
    agent = agent_of(model, lookup, saver=saver and saver(), response_format=ToolStrategy(Answer))
    first = await go(agent, "hi", tools=[client_tool("paint"), client_tool("Answer")], meets=True)
    ended(first, "c1")
    assert model.names == [["lookup", "paint", "Answer"]]
    assert first.state["structured_response"] == {"text": "red"}
    ended(second := await go(agent, *answered(first, c1="painted")))
    assert second.state["structured_response"] == {"text": "blue"}
    model.check()
