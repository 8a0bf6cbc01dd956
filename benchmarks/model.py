"""A chat model that streams a script.

It is a real ``BaseChatModel``: LangChain's own ``astream`` / ``ainvoke`` drive it, fire the
callbacks and merge the chunks. Only the provider is missing. ``_astream`` builds one
``AIMessageChunk`` per token, as every provider package does, and after each one does ``await
asyncio.sleep(0)``, that is: one turn of the event loop, as a read from a provider's socket would
give, so that whoever consumes the stream runs in between. It does not wait for time to pass, so CPU
and wall time are about equal.

The script is a function of the message history and the model keeps nothing between calls, so that
one model can serve any number of concurrent runs.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable

Script = Callable[[Sequence[BaseMessage]], Iterable[AIMessageChunk]]
PROVIDER = {"model_provider": "anthropic"}


class ScriptedModel(BaseChatModel):
    """Streams what ``script(messages)`` says, one event-loop turn per chunk."""

    script: Script

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, Any]:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        whole, *rest = self.script(messages)
        for chunk in rest:
            whole = whole + chunk
        return ChatResult(generations=[ChatGeneration(message=whole)])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self.script(messages):
            yield ChatGenerationChunk(message=chunk)
            await asyncio.sleep(0)


def plain(text: str) -> AIMessageChunk:
    """A text token as OpenAI-compatible providers send it: a string."""
    return AIMessageChunk(content=text)


def thinking(text: str) -> AIMessageChunk:
    """A reasoning token in the shape of ``langchain-anthropic``."""
    block = {"type": "thinking", "thinking": text, "index": 0}
    return AIMessageChunk(content=[block], response_metadata=PROVIDER.copy())


def signature(value: str) -> AIMessageChunk:
    """The opaque signature that ends a reasoning block."""
    block = {"type": "thinking", "thinking": "", "signature": value, "index": 0}
    return AIMessageChunk(content=[block], response_metadata=PROVIDER.copy())


def text_block(text: str) -> AIMessageChunk:
    """A text token beside reasoning, in the shape of ``langchain-anthropic``."""
    block = {"type": "text", "text": text, "index": 1}
    return AIMessageChunk(content=[block], response_metadata=PROVIDER.copy())


def call_start(call_id: str, name: str) -> AIMessageChunk:
    """The chunk that announces a tool call, without arguments yet."""
    call = tool_call_chunk(name=name, args="", id=call_id, index=0)
    return AIMessageChunk(content="", tool_call_chunks=[call])


def call_args(fragment: str) -> AIMessageChunk:
    """A fragment of a tool call's arguments."""
    return AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(args=fragment, index=0)])


def finish(tokens: int, reason: str = "stop") -> AIMessageChunk:
    """The last chunk: no content, but usage and a finish reason."""
    usage = UsageMetadata(input_tokens=10, output_tokens=tokens, total_tokens=tokens + 10)
    return AIMessageChunk(
        content="", usage_metadata=usage, response_metadata={"finish_reason": reason}
    )
