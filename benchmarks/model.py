"""A chat model that streams a script: messages go in, the chunks of the script come out.

It is a real `BaseChatModel`: LangChain drives it, fires the callbacks and merges the chunks. After
each chunk the event loop turns once, as after a read from a provider's socket. The model keeps
nothing between calls, so it serves any number of runs at once.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable

Script = Callable[[Sequence[BaseMessage]], Iterable[AIMessageChunk]]


class ScriptedModel(BaseChatModel):
    """Streams what `script` says to the messages."""

    script: Script

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        chunks = self.script(messages)
        return generate_from_stream(ChatGenerationChunk(message=chunk) for chunk in chunks)

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self.script(messages):
            yield ChatGenerationChunk(message=chunk)
            await asyncio.sleep(0)


def plain(text: str) -> AIMessageChunk:
    """A text token, as OpenAI-compatible providers send it."""
    return AIMessageChunk(content=text)


def _block(index: int, **block: Any) -> AIMessageChunk:
    """A block in the shape of `langchain-anthropic`."""
    metadata = {"model_provider": "anthropic"}
    return AIMessageChunk(content=[{**block, "index": index}], response_metadata=metadata)


def thinking(text: str) -> AIMessageChunk:
    """A reasoning token."""
    return _block(0, type="thinking", thinking=text)


def signature(value: str) -> AIMessageChunk:
    """The signature that ends a reasoning block."""
    return _block(0, type="thinking", thinking="", signature=value)


def text_block(text: str) -> AIMessageChunk:
    """A text token after reasoning."""
    return _block(1, type="text", text=text)


def call_start(call_id: str, name: str) -> AIMessageChunk:
    """The start of a tool call, without arguments."""
    call = tool_call_chunk(name=name, args="", id=call_id, index=0)
    return AIMessageChunk(content="", tool_call_chunks=[call])


def call_args(fragment: str) -> AIMessageChunk:
    """A fragment of the arguments of a tool call."""
    return AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(args=fragment, index=0)])


def finish(tokens: int, reason: str = "stop") -> AIMessageChunk:
    """The last chunk, which has no content."""
    usage = UsageMetadata(input_tokens=10, output_tokens=tokens, total_tokens=tokens + 10)
    metadata = {"finish_reason": reason}
    return AIMessageChunk(content="", usage_metadata=usage, response_metadata=metadata)
