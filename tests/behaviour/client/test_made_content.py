"""What a provider's own tools make: a session runs and answers none of it, and a remote agent's
picture reaches the client of the agent that asks it."""

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
    name = f"s{len(state['messages'])}"
    content: Any = [{**SEARCH, "id": name}, {**FOUND, "tool_use_id": name}, IMAGE]
    return {"messages": [AIMessage([{"type": "text", "text": "See."}, *content])]}


def pictures(messages: Any) -> list[str]:
    media = [one for one in messages if isinstance(one, ActivityMessage)]
    return [one.content["parts"][0]["source"]["value"] for one in media]


async def test_it_is_whole_in_a_session_and_behind_a_node() -> None:
    def web_search(query: str) -> str:
        """Search."""
        raise AssertionError("the provider has run it")

    with remote(agent_of(paint, checkpointer=InMemorySaver()), meets=True) as agent:
        session = AGUISession[Any](agent.url, tools=[web_search])
        for text in ("Draw", "More"):
            await session.send(text)
        turn = ["user", "assistant", "tool"]
        assert [one.role for one in session.messages] == [*turn, "activity"] * 2
        sent = [[one.role for one in each.messages] for each in agent.inputs]
        assert sent == [["user"], [*turn, "user"]]
        assert pictures(session.messages) == [IMAGE["base64"]] * 2

        graph = chain_of(RemoteAgent(agent.url), checkpointer=InMemorySaver())
        recorded = await record_run(LangGraphAgent(graph), run_input("Draw", thread="t"))
        recorded.check_snapshot()
        assert pictures(recorded.messages) == [IMAGE["base64"]]
        made = [c.id for one in recorded.messages for c in getattr(one, "tool_calls", None) or ()]
        assert made == [one.tool_call_id for one in recorded.messages if one.role == "tool"]
        assert recorded.last.outcome.pending_tool_call_ids is None
