"""A chat model that says what a script tells it to, and the pieces that scripts are made of."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import count
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage, message_chunk_to_message
from langchain_core.messages.tool import ToolCallChunk, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import ConfigDict, PrivateAttr

Piece = str | AIMessageChunk | Exception | float | Callable[[], object]
"""A text chunk, a chunk, an error to raise, seconds to sleep, or something to call."""

Turn = Sequence[Piece]
Script = Callable[[list[BaseMessage]], Turn]


class Scripted(BaseChatModel):
    """Says `turns[n]` in its call n, the last turn in all calls after that; or what `script` makes
    of the input.

    `seen` holds the messages of each call. Set `disable_streaming=True` for a model that answers in
    one piece.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    turns: Any = ()
    script: Any = None
    seen: Any = None
    model: str = "scripted-1"
    hung: Any = None
    stopped: Any = None
    _calls: Any = PrivateAttr(default_factory=count)

    def __init__(self, *turns: Turn, **fields: Any) -> None:
        made = {"seen": [], "hung": asyncio.Event(), "stopped": threading.Event()}
        super().__init__(**{"turns": list(turns), **made, **fields})

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": "scripted", "ls_model_name": self.model, "ls_model_type": "chat"}

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _turn(self, messages: list[BaseMessage]) -> Turn:
        self.seen.append(messages)
        number = min(next(self._calls), len(self.turns) - 1)
        turn: Turn = self.script(messages) if self.script else self.turns[number]
        return turn

    def _stream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        run_manager = kwargs.get("run_manager")
        for piece in self._turn(messages):
            if isinstance(piece, float):
                time.sleep(piece)
            elif (chunk := _chunk(piece)) is not None:
                if run_manager:
                    run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                yield chunk

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        run_manager = kwargs.get("run_manager")
        try:
            for piece in self._turn(messages):
                if isinstance(piece, float):
                    self.hung.set()
                    await asyncio.sleep(piece)
                elif (chunk := _chunk(piece)) is not None:
                    if run_manager:
                        await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk
        except asyncio.CancelledError:
            self.stopped.set()
            raise

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return _sum([chunk.message for chunk in self._stream(messages)])

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        return _sum([chunk.message async for chunk in self._astream(messages)])


def _chunk(piece: Piece) -> ChatGenerationChunk | None:
    if isinstance(piece, Exception):
        raise piece
    if isinstance(piece, str):
        return ChatGenerationChunk(message=AIMessageChunk(piece))
    if isinstance(piece, AIMessageChunk):
        return ChatGenerationChunk(message=piece.model_copy(deep=True))
    piece()
    return None


def _sum(chunks: Sequence[Any]) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message_chunk_to_message(add(chunks)))])


def add(chunks: Sequence[Any]) -> Any:
    total = chunks[0]
    for chunk in chunks[1:]:
        total = total + chunk
    return total


def part(
    name: str | None = None, args: str | None = None, call_id: str | None = None,
    index: int | None = 0,
) -> ToolCallChunk:  # fmt: skip
    return tool_call_chunk(name=name, args=args, id=call_id, index=index)


def calling(*parts: ToolCallChunk, content: Any = "", **fields: Any) -> AIMessageChunk:
    """A chunk with tool-call chunks."""
    return AIMessageChunk(content=content, tool_call_chunks=list(parts), **fields)


def call(name: str, call_id: str, index: int | None = 0, **args: Any) -> AIMessageChunk:
    """A chunk with a whole tool call."""
    return calling(part(name, json.dumps(args), call_id, index))


def thinking(text: str = "", index: int = 0, **fields: Any) -> AIMessageChunk:
    """A chunk of an Anthropic thinking block."""
    return AIMessageChunk([{"type": "thinking", "thinking": text, "index": index, **fields}])


def text_chunk(text: str, index: int = 1) -> AIMessageChunk:
    """A chunk of a text block."""
    return AIMessageChunk([{"type": "text", "text": text, "index": index}])


def used(input_tokens: int, output_tokens: int) -> AIMessageChunk:
    """The chunk with the token counts."""
    counts: Any = {"input_tokens": input_tokens, "output_tokens": output_tokens}
    counts["total_tokens"] = input_tokens + output_tokens
    return AIMessageChunk("", usage_metadata=counts)
