"""A model that follows a script, so that these pages need no API key."""

import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

Reply = Iterator[AIMessageChunk]


class ScriptedModel(BaseChatModel):
    """Answers with what `script` yields for the messages."""

    script: Callable[[list[BaseMessage]], Reply]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *args: Any, **kwargs: Any) -> "ScriptedModel":
        return self

    def _stream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for chunk in self.script(messages):
            time.sleep(0.02)
            yield ChatGenerationChunk(message=chunk)

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return generate_from_stream(self._stream(*args, **kwargs))


def reason(text: str) -> Reply:
    """Think, word by word."""
    for word in re.findall(r"\S+\s*", text):
        yield AIMessageChunk([{"type": "reasoning", "reasoning": word, "index": 0}])


def write(text: str) -> Reply:
    """Answer, word by word."""
    for word in re.findall(r"\S+\s*", text):
        yield AIMessageChunk([{"type": "text", "text": word, "index": 1}])


def call(name: str, **args: object) -> Reply:
    """Call a tool."""
    chunk = {
        "type": "tool_call_chunk",
        "name": name,
        "args": json.dumps(args),
        "id": str(uuid4()),
        "index": 2,
    }
    yield AIMessageChunk([], tool_call_chunks=[chunk])
