"""The model of these examples: a script in the place of a real one, so that they run offline.

A script reads the messages as a model does, and yields its reply: `reason`, `write` and `call`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable

DELAY = 0.02
"""Seconds before each piece, as a real model takes them."""

Reply = Iterator[AIMessageChunk]
_numbers = count()


class Scripted(BaseChatModel):
    """Streams its script in small pieces, and counts words as tokens."""

    script: Callable[[list[BaseMessage]], Reply]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *args: Any, **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return generate_from_stream(self._stream(*args, **kwargs))

    def _stream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        read, written = sum(len(message.text.split()) for message in messages), 0
        for chunk in self.script(messages):
            time.sleep(DELAY)
            written += 1
            yield ChatGenerationChunk(message=chunk)
        used = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
        yield ChatGenerationChunk(
            message=AIMessageChunk(content=[], usage_metadata=used, chunk_position="last")
        )


def reason(text: str) -> Reply:
    """Reasoning."""
    for word in re.findall(r"\S+\s*", text):
        yield AIMessageChunk(content=[{"type": "reasoning", "reasoning": word, "index": 0}])


def write(text: str) -> Reply:
    """The answer."""
    for word in re.findall(r"\S+\s*", text):
        yield AIMessageChunk(content=[{"type": "text", "text": word, "index": 1}])


def call(name: str, **args: object) -> Reply:
    """A tool call, whose arguments come bit by bit."""
    index, written = next(_numbers), json.dumps(args)
    yield _part(name=name, args="", id=f"call_{uuid4()}", index=index)
    for at in range(0, len(written), 8):
        yield _part(args=written[at : at + 8], index=index)


def results(messages: list[BaseMessage]) -> list[str]:
    """Return the results of tools since the last user message."""
    last = max(number for number, message in enumerate(messages) if message.type == "human")
    return [message.text for message in messages[last:] if isinstance(message, ToolMessage)]


def _part(**fields: Any) -> AIMessageChunk:
    return AIMessageChunk(content=[], tool_call_chunks=[tool_call_chunk(**fields)])
