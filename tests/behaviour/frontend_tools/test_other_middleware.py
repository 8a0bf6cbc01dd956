"""Client tools beside other middleware: approvals in both modes, structured output, either
order."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from langgraph_agui import AGUIMiddleware, LangGraphAgent
from tests.kit.graphs import frontend_tools as kit
from tests.kit.graphs.frontend_tools import MIXED, SAVERS, Offered, answered, client_tool, ended, go
from tests.kit.models.scripted import call
from tests.kit.run.agents import RecordedRun
from tests.kit.run.dialogues import answering
from tests.kit.run.thread_client import asked

modes = pytest.mark.parametrize("mode", ["batched", "per_call"])


def asking(model: Any, mode: Any, gated: str) -> LangGraphAgent:
    """An agent whose calls of the tool `gated` are asked about; in one of the modes
    `AGUIMiddleware` is not where it should be."""
    asks = HumanInTheLoopMiddleware({gated: True}, interrupt_mode=mode)
    stack = [asks, AGUIMiddleware()][:: -1 if mode == "batched" and gated == "lookup" else 1]
    saver = InMemorySaver()
    return LangGraphAgent(create_agent(model, [kit.lookup], middleware=stack, checkpointer=saver))


async def decide(agent: LangGraphAgent, recorded: RecordedRun, **payload: Any) -> RecordedRun:
    """Answer all that `recorded` asks."""
    entries = answering(asked(recorded), payload)
    return await go(agent, *recorded.messages, resume=entries, meets=payload["type"] != "approve")


@modes
@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_a_server_call_beside_the_clients(mode: str, decision: str) -> None:
    model = Offered(MIXED, ["done"])
    agent = asking(model, mode, "lookup")
    first = await go(agent, "hi")
    assert first.of("TOOL_CALL_RESULT") == []
    more = {"message": "no way"} if decision == "reject" else {}
    decided = await decide(agent, first, type=decision, **more)
    ended(decided)
    [result] = decided.of("TOOL_CALL_RESULT")
    assert (result.tool_call_id, "no way" in result.content) == ("s1", bool(more))
    assert len(model.seen) == 1
    ended(finished := await go(agent, *answered(decided, c1="painted")))
    assert finished.messages[-1].content == "done"
    model.check()


@modes
async def test_a_call_of_the_clients_is_approved_or_rejected(mode: str) -> None:
    model = Offered(MIXED, ["done"], [call("paint", "c2", color="red")], ["a pity"])
    agent = asking(model, mode, "paint")
    approved = await decide(agent, await go(agent, "hi"), type="approve")
    ended(approved)
    assert len(model.seen) == 1
    ended(finished := await go(agent, *answered(approved, c1="painted")))
    assert finished.messages[-1].content == "done"
    again = await go(agent, *finished.messages, "more")
    ended(rejected := await decide(agent, again, type="reject", message="not red"))
    assert rejected.messages[-1].content == "a pity"
    assert "not red" in model.seen[-1][-1].text
    model.check()


@modes
async def test_an_edited_call_of_the_clients_is_not_executed_as_the_model_made_it(
    mode: str,
) -> None:
    calls = [[call("paint", "c1", color="red")], [call("paint", "c2", color="blue")]]
    model = Offered(*calls, ["done"])
    agent = asking(model, mode, "paint")
    edited = {"name": "paint", "args": {"color": "blue"}}
    second = await decide(agent, await go(agent, "hi"), type="edit", edited_action=edited)
    # the model has called again, and is asked about again
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
    model, options = Offered(both, [call("Answer", "a2", text="blue")]), ToolStrategy(Answer)
    agent = kit.agent_of(model, kit.lookup, saver=saver and saver(), response_format=options)
    first = await go(agent, "hi", tools=[client_tool("paint"), client_tool("Answer")], meets=True)
    ended(first, "c1")
    assert model.names == [["lookup", "paint", "Answer"]]
    assert first.state["structured_response"] == {"text": "red"}
    ended(second := await go(agent, *answered(first, c1="painted")))
    assert second.state["structured_response"] == {"text": "blue"}
    model.check()
