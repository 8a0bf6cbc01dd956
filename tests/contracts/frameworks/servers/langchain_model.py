"""The scenario as a LangChain model, and as the tools of a `create_agent` agent."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import scenario
from langchain.agents import AgentState
from langchain.tools import ToolRuntime
from langchain_core.language_models.chat_models import BaseChatModel, agenerate_from_stream
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.types import Command
from scenario import Seen, Turn

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

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        turn = scenario.answer(seen(messages))
        async for chunk in chunks(turn):
            yield ChatGenerationChunk(message=chunk)
        if turn.failure:
            raise RuntimeError(turn.failure)

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages))

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError("this model is only used by coroutines")


def seen(messages: list[BaseMessage]) -> Seen:
    last = max(
        (n for n, message in enumerate(messages) if isinstance(message, HumanMessage)), default=0
    )
    return Seen(
        [message.text for message in messages if isinstance(message, HumanMessage)],
        [
            thought
            for message in messages
            if isinstance(message, AIMessage)
            for thought in thoughts(message)
        ],
        [message.text for message in messages if isinstance(message, ToolMessage)],
        [message.text for message in messages[last:] if isinstance(message, ToolMessage)],
    )


def thoughts(message: AIMessage) -> list[str]:
    """The thinking blocks that a provider would accept: signed ones."""
    blocks = message.content if isinstance(message.content, list) else []
    return [
        block["thinking"]
        for block in blocks
        if isinstance(block, dict)
        and block.get("type") == "thinking"
        and block.get("signature") == scenario.SIGNATURE
    ]


async def chunks(turn: Turn) -> AsyncIterator[AIMessageChunk]:
    for thought in turn.thoughts:
        yield AIMessageChunk([{"type": "thinking", "thinking": thought, "index": 0}])
    if turn.thoughts:
        yield AIMessageChunk([{"type": "thinking", "signature": scenario.SIGNATURE, "index": 0}])
    async for text in scenario.words(turn):
        yield AIMessageChunk(
            [{"type": "text", "text": text, "index": 1}] if turn.thoughts else text
        )
    if turn.call:
        name, call_id = turn.call.name, f"call-{next(_numbers)}"
        yield AIMessageChunk(
            "", tool_call_chunks=[tool_call_chunk(name=name, args="", id=call_id, index=0)]
        )
        for piece in turn.call.pieces():
            yield AIMessageChunk("", tool_call_chunks=[tool_call_chunk(args=piece, index=0)])
    used = {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8}
    yield AIMessageChunk("", usage_metadata=used, chunk_position="last")  # type: ignore[arg-type]


@tool
def write_recipe(title: str, servings: int, runtime: ToolRuntime) -> Command[Any]:
    """Write the recipe."""
    recipe = {"title": title, "servings": servings}
    said = ToolMessage(json.dumps(recipe), tool_call_id=runtime.tool_call_id or "")
    return Command(update={"recipe": recipe, "messages": [said]})


TOOLS = [tool(scenario.get_weather), tool(scenario.transfer), tool(scenario.explode), write_recipe]
