"""The scenario behind `ag-ui-langgraph`.

At `/agent` as it is shipped; at `/outcomes` with interrupts as AG-UI 1.0 has them, and without raw
events.
"""

from __future__ import annotations

from typing import Any

from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, hook_config
from langchain_core.messages import AIMessage
from langchain_model import TOOLS, Model, State
from langgraph.checkpoint.memory import InMemorySaver
from listen import serve
from scenario import LOCATION_TOOL


class LeaveToTheClient(AgentMiddleware[Any, Any]):
    """Ends the run at a call of the client's tool, which this package leaves to its users."""

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        said = state["messages"][-1]
        left = isinstance(said, AIMessage) and any(
            call["name"] == LOCATION_TOOL for call in said.tool_calls
        )
        return {"jump_to": "end"} if left else None


graph = create_agent(
    Model(),
    TOOLS,
    state_schema=State,
    middleware=[HumanInTheLoopMiddleware({"transfer": True}), LeaveToTheClient()],
    checkpointer=InMemorySaver(),
)
app = FastAPI()
add_langgraph_fastapi_endpoint(app, LangGraphAgent(name="scenario", graph=graph), "/agent")
add_langgraph_fastapi_endpoint(
    app,
    LangGraphAgent(
        name="scenario",
        graph=graph,
        emit_interrupt_outcome=True,
        enable_legacy_on_interrupt_event=False,
        emit_raw_events=False,
    ),
    "/outcomes",
)

if __name__ == "__main__":
    serve(app, "/agent")
