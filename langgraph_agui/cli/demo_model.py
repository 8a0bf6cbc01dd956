"""The model behind `langgraph-agui demo`: a scripted one that runs offline.

`DemoModel` is a real LangChain chat model. It has no intelligence at all: a few rules read the last user
message, pick tools that are bound, and put the tools' results into a sentence. What it does have is the
manners of a reasoning model: it streams reasoning as standard content blocks, then text or tool-call
arguments in small pieces, and reports its token usage on the last chunk.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import TYPE_CHECKING, Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

from langgraph_agui.cli.demo_script import Turn, next_turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
    from langchain_core.language_models import LanguageModelInput
    from langchain_core.runnables import Runnable
    from langchain_core.tools import BaseTool

_PIECE: Final = re.compile(r"\s*\S+|\s+$")
_ARGUMENT_PIECE: Final = 7
_PROVIDER: Final = "demo"


class DemoModelError(Exception):
    """The failure that the demo model raises when a user asks it to crash."""


class DemoModel(BaseChatModel):
    """A scripted chat model that reasons, calls tools and answers without a network.

    `delay` is the pause in seconds before every chunk; 0 streams as fast as it can.
    """

    delay: float = 0.02
    model_name: str = "scripted-demo"

    @property
    def _llm_type(self) -> str:
        return "langgraph-agui-demo"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Make the model aware of `tools`; the script only ever calls tools that are bound."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        whole, *rest = self._chunks(messages, kwargs.get("tools"))
        for chunk in rest:
            whole += chunk
        message = AIMessage(
            content=whole.content,
            tool_calls=whole.tool_calls,
            usage_metadata=whole.usage_metadata,
            response_metadata=whole.response_metadata,
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages, kwargs.get("tools")):
            time.sleep(self.delay)
            generation = ChatGenerationChunk(message=chunk)
            if run_manager is not None:
                run_manager.on_llm_new_token(chunk.text, chunk=generation)
            yield generation

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages, kwargs.get("tools")):
            await asyncio.sleep(self.delay)
            generation = ChatGenerationChunk(message=chunk)
            if run_manager is not None:
                await run_manager.on_llm_new_token(chunk.text, chunk=generation)
            yield generation

    def _chunks(self, messages: list[BaseMessage], tools: Sequence[dict[str, Any]] | None) -> Iterator[AIMessageChunk]:
        turn = next_turn(messages, frozenset(tool["function"]["name"] for tool in tools or ()))
        for piece in _pieces(turn.reasoning):
            yield _chunk({"type": "reasoning", "reasoning": piece, "index": 0})
        if turn.crash:
            raise DemoModelError("The demo model was asked to crash, so it did.")
        for piece in _pieces(turn.text):
            yield _chunk({"type": "text", "text": piece, "index": 1})
        for number, call in enumerate(turn.calls):
            yield from _call_chunks(call.id, call.name, json.dumps(call.args, ensure_ascii=False), number)
        yield AIMessageChunk(
            content=[],
            usage_metadata=_usage(messages, turn),
            response_metadata={
                "model_provider": _PROVIDER,
                "model_name": self.model_name,
                "finish_reason": "tool_calls" if turn.calls else "stop",
            },
            chunk_position="last",
        )


def _chunk(block: dict[str, Any]) -> AIMessageChunk:
    return AIMessageChunk(content=[block], response_metadata={"model_provider": _PROVIDER})


def _call_chunks(call_id: str, name: str, arguments: str, number: int) -> Iterator[AIMessageChunk]:
    """Stream one tool call: its name and id first, then its arguments in small pieces."""
    pieces = [arguments[at : at + _ARGUMENT_PIECE] for at in range(0, len(arguments), _ARGUMENT_PIECE)]
    heads = [tool_call_chunk(name=name, args="", id=call_id, index=number)]
    for part in heads + [tool_call_chunk(args=piece, index=number) for piece in pieces]:
        yield AIMessageChunk(content=[], tool_call_chunks=[part], response_metadata={"model_provider": _PROVIDER})


def _pieces(text: str) -> list[str]:
    """Split `text` into word-sized pieces that join back to it exactly."""
    return _PIECE.findall(text)


def _usage(messages: Sequence[BaseMessage], turn: Turn) -> UsageMetadata:
    """Count words as if they were tokens: plausible, deterministic, and the sums add up."""
    arguments = [json.dumps(call.args) for call in turn.calls]
    prompt = sum(len(message.text.split()) for message in messages)
    reasoning = len(turn.reasoning.split())
    answer = len(turn.text.split()) + sum(len(text.split()) for text in arguments)
    return UsageMetadata(
        input_tokens=prompt,
        output_tokens=reasoning + answer,
        total_tokens=prompt + reasoning + answer,
        output_token_details={"reasoning": reasoning},
    )
