"""The library's own clients: a session never runs or answers a provider's tool, and a remote
agent's picture reaches the client of the agent that asks it."""

from __future__ import annotations

from typing import Any

from ag_ui.core import ActivityMessage
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import LangGraphAgent
from langgraph_agui.client import AGUISession, RemoteAgent
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
        session = AGUISession[Any](agent.url, tools=[web_search])
        for text in ("Draw", "More"):
            await session.send(text)
        turn = ["user", "assistant", "tool"]
        assert [one.role for one in session.messages] == [*turn, "activity"] * 2
        assert [[one.role for one in sent.messages] for sent in agent.inputs] == [
            ["user"],
            [*turn, "user"],
        ]
        first = next(one for one in session.messages if isinstance(one, ActivityMessage))
        assert first.content["parts"][0]["source"]["value"] == IMAGE["base64"]


async def test_a_remote_agent_as_a_node() -> None:
    with remote(agent_of(paint)) as agent:
        graph = chain_of(RemoteAgent(agent.url), checkpointer=InMemorySaver())
        recorded = await record_run(LangGraphAgent(graph), run_input("Draw", thread="t"))
        recorded.check_snapshot()
        [media] = [one for one in recorded.messages if isinstance(one, ActivityMessage)]
        assert media.content["parts"][0]["source"]["value"] == IMAGE["base64"]
        made = [c.id for one in recorded.messages for c in getattr(one, "tool_calls", None) or ()]
        assert made == [one.tool_call_id for one in recorded.messages if one.role == "tool"]
        assert recorded.last.outcome.pending_tool_call_ids is None
