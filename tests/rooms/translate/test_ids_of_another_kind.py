"""A client that has a message of another kind under an id of the thread keeps its message."""

from typing import Any

import pytest
from ag_ui import core as agui
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.kit.graphs.small import scripted_agent
from tests.kit.run.agents import record_run, run_input, user

KINDS: dict[str, Any] = {
    "reasoning": agui.ReasoningMessage(id="same", content="Well"),
    "assistant": agui.AssistantMessage(id="same", content="Well"),
    "user": agui.UserMessage(id="same", content="Well"),
    "tool": agui.ToolMessage(id="same", content="Well", tool_call_id="c"),
}


@pytest.mark.parametrize("subagent", [None, "sub"])
@pytest.mark.parametrize(
    "stored", [HumanMessage("Hi", id="same"), AIMessage("Hi", id="same")], ids=type
)
@pytest.mark.parametrize("kind", KINDS)
async def test_an_id_of_another_kind(kind: str, stored: Any, subagent: str | None) -> None:
    agent = scripted_agent("Yes.", "No.", checkpointer=InMemorySaver())
    await record_run(agent, run_input(user("Hi", "first"), thread="t"))
    await agent.graph.aupdate_state({"configurable": {"thread_id": "t"}}, {"messages": [stored]})
    held = KINDS[kind].model_copy(update={"subagent_run_id": subagent} if subagent else {})
    run = await record_run(agent, run_input(user("Hi", "first"), held, user("More"), thread="t"))
    assert {"same": kind}.items() <= {one.id: one.role for one in run.messages}.items()
