"""The library's own clients: a session never runs or answers a provider's tool, and a remote
agent's picture reaches the client of the agent that asks it."""

from __future__ import annotations

from typing import Any

from ag_ui.core import ActivityMessage, AssistantMessage, ToolMessage
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from langgraph_agui.client import AGUIClient, AGUISession, RemoteAgent
from tests.behaviour.threads.test_made_content import FOUND, IMAGE, SEARCH
from tests.kit.graphs.small import Chat, agent_of, chain_of
from tests.kit.processes.client_agents import remote
from tests.kit.run.agents import record_run, run_input


async def paint(state: Chat) -> Any:
    number = len(state["messages"])
    search = {**SEARCH, "id": f"s{number}"}
    found = {**FOUND, "tool_use_id": f"s{number}"}
    return {"messages": [AIMessage([{"type": "text", "text": "See."}, search, found, IMAGE])]}


async def test_a_session_has_all_and_answers_nothing() -> None:
    def web_search(query: str) -> str:
        """Search."""
        raise AssertionError("the provider has run it")

    with remote(agent_of(paint, checkpointer=InMemorySaver()), meets=True) as agent:
        session = AGUISession(AGUIClient(agent.url), tools=[web_search])
        for text in ("Draw", "More"):
            turn = await session.send(text)
            assert turn is not None
        assert len(agent.inputs) == 2
        roles = [one.role for one in session.messages]
        assert roles == ["user", "assistant", "tool", "activity"] * 2
        assert [one.role for one in agent.inputs[-1].messages] == [
            *("user", "assistant", "tool"),
            "user",
        ]
        [first, _] = [one for one in session.messages if isinstance(one, ActivityMessage)]
        assert first.content["parts"][0]["source"]["value"] == IMAGE["base64"]


async def test_a_remote_agent_as_a_node() -> None:
    with remote(agent_of(paint)) as agent:
        graph = chain_of(RemoteAgent(AGUIClient(agent.url)), checkpointer=InMemorySaver())
        recorded = await record_run(LangGraphAgent(graph), run_input("Draw", thread="t"))
        recorded.check_snapshot()
        [media] = [one for one in recorded.messages if isinstance(one, ActivityMessage)]
        assert media.content["parts"][0]["source"]["value"] == IMAGE["base64"]
        said = [one for one in recorded.messages if isinstance(one, AssistantMessage)]
        calls = [call for one in said for call in one.tool_calls or ()]
        results = [one for one in recorded.messages if isinstance(one, ToolMessage)]
        assert [one.id for one in calls] == [one.tool_call_id for one in results]
        assert recorded.last.outcome.pending_tool_call_ids is None
