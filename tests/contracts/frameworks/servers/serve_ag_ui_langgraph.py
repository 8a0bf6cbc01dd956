"""The scenario behind `ag-ui-langgraph`.

At `/agent` as it is shipped; at `/outcomes` with interrupts as AG-UI 1.0 has them, and without raw
events.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import scenario
from ag_ui_langgraph import LangGraphAgent, add_langgraph_fastapi_endpoint
from fastapi import FastAPI
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, hook_config
from langchain.tools import ToolRuntime
from langchain_core.language_models.chat_models import BaseChatModel, agenerate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

_numbers = count()


class State(AgentState[Any]):
    recipe: dict[str, Any]


class Model(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scenario"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": "anthropic", "ls_model_name": "scenario-1", "ls_model_type": "chat"}

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    async def _astream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        turn = scenario.answer(seen(messages))
        async for chunk in chunks(turn):
            yield ChatGenerationChunk(message=chunk)
        if turn.failure:
            raise RuntimeError(turn.failure)

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        return await agenerate_from_stream(self._astream(messages))

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("this model is only used by coroutines")


def seen(messages: list[BaseMessage]) -> scenario.Seen:
    last = max((n for n, one in enumerate(messages) if one.type == "human"), default=0)
    blocks = [block for one in messages if one.type == "ai" for block in one.content]
    thoughts = [block for block in blocks if isinstance(block, dict) and "thinking" in block]
    return scenario.Seen(
        [one.text for one in messages if one.type == "human"],
        # Those that a provider would accept: signed ones.
        [one["thinking"] for one in thoughts if one.get("signature") == scenario.SIGNATURE],
        [one.text for one in messages if one.type == "tool"],
        [one.text for one in messages[last:] if one.type == "tool"],
    )


async def chunks(turn: scenario.Turn) -> AsyncIterator[AIMessageChunk]:
    for thought in turn.thoughts:
        yield AIMessageChunk([{"type": "thinking", "thinking": thought, "index": 0}])
    if turn.thoughts:
        yield AIMessageChunk([{"type": "thinking", "signature": scenario.SIGNATURE, "index": 0}])
    async for text in scenario.words(turn):
        block: Any = [{"type": "text", "text": text, "index": 1}]
        yield AIMessageChunk(block if turn.thoughts else text)
    if turn.call:
        name, call_id = turn.call.name, f"call-{next(_numbers)}"
        begun = tool_call_chunk(name=name, args="", id=call_id, index=0)
        for piece in (begun, *(tool_call_chunk(args=one, index=0) for one in turn.call.pieces())):
            yield AIMessageChunk("", tool_call_chunks=[piece])
    used = {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8}
    yield AIMessageChunk("", usage_metadata=used, chunk_position="last")  # type: ignore[arg-type]


@tool
def write_recipe(title: str, servings: int, runtime: ToolRuntime) -> Command[Any]:
    """Write the recipe."""
    recipe = {"title": title, "servings": servings}
    said = ToolMessage(json.dumps(recipe), tool_call_id=runtime.tool_call_id or "")
    return Command(update={"recipe": recipe, "messages": [said]})


TOOLS = [tool(scenario.get_weather), tool(scenario.transfer), write_recipe]


class LeaveToTheClient(AgentMiddleware[Any, Any]):
    """Ends the run at a call of the client's tool, which this package leaves to its users."""

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        said = state["messages"][-1]
        left = isinstance(said, AIMessage) and any(
            call["name"] == scenario.LOCATION_TOOL for call in said.tool_calls
        )
        return {"jump_to": "end"} if left else None


graph = create_agent(
    Model(),
    TOOLS,
    state_schema=State,
    middleware=[HumanInTheLoopMiddleware({"transfer": True}), LeaveToTheClient()],
    checkpointer=InMemorySaver(),
)
options = {"emit_interrupt_outcome": True, "enable_legacy_on_interrupt_event": False}
app = FastAPI()
for path, more in (("/agent", {}), ("/outcomes", {**options, "emit_raw_events": False})):
    agent = LangGraphAgent(name="scenario", graph=graph, **more)
    add_langgraph_fastapi_endpoint(app, agent, path)
scenario.serve(app, "/agent")
