"""`ScriptedChatModel`, and the pieces of its replies.

In: the messages of each call. Out: the reply that the script has for them, as a streaming model
writes it.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias, cast
from uuid import uuid4

from langchain_core.caches import BaseCache
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams, LanguageModelInput
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.messages.ai import OutputTokenDetails, UsageMetadata
from langchain_core.messages.content import ReasoningContentBlock
from langchain_core.messages.tool import tool_call, tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field, PrivateAttr

_Block: TypeAlias = Mapping[str, Any]
Piece: TypeAlias = str | _Block | AIMessageChunk | Exception | float
Reply: TypeAlias = Piece | Iterable[Piece]


def reasoning(text: str) -> ReasoningContentBlock:
    """Return reasoning, as a piece of a reply."""
    return {"type": "reasoning", "reasoning": text}


def call(name: str, call_id: str | None = None, /, **args: object) -> ToolCall:
    """Return a tool call, as a piece of a reply.

    Args:
        name: The name of the tool.
        call_id: The id of the call; by default each use of the piece gets a new one.
        args: The arguments of the tool.

    Raises:
        TypeError: `call_id` is no text.
    """
    if not isinstance(call_id, str | None):
        raise TypeError(f"The arguments of a call have names: write call({name!r}, name=value).")
    return tool_call(name=name, args=args, id=call_id)


class ScriptedChatModel(BaseChatModel):
    """A chat model for tests and demos: it streams the replies of a script, word by word.

    ```python
    model = ScriptedChatModel(
        [reasoning("They ask about the weather."), call("get_weather", city="Rome")],
        "It is sunny.",
    )
    ```

    The first call of the model gets the first reply, the next call the next one. A reply is a piece
    or several:

    - a text; several texts in a row are one block, so that a test can say where it is cut
    - `reasoning(...)`
    - `call(...)`, a tool call
    - any other standard content block of LangChain, such as an image
    - an `AIMessageChunk`, which is sent as it is
    - a number: a pause in seconds
    - an exception, which the model raises

    A reply may also be a function of the messages. If it is the last one, it also makes all replies
    from there on:

    ```python
    ScriptedChatModel(lambda messages: f"You said: {messages[-1].text}")
    ```

    `invoke` returns the joined stream. Its usage counts words as tokens. Tools can be bound, and
    structured output asks for a call with the schema's name.

    Args:
        replies: The replies, or functions of the messages that make them.

    Attributes:
        delay: A pause in seconds before each chunk; 0 by default.
        model_name: The model's name, for usage and traces.
        cache: Off: each call gets a reply of its own, also in an application that caches answers.

    Raises:
        RuntimeError: Raised by a call of the model for which the script has no reply.
        TypeError: A reply has something else in it; that of a function or a generator, when the
            model is called.
        ValueError: `delay` is less than 0.
    """

    delay: float = Field(default=0.0, ge=0)
    model_name: str = "scripted"
    cache: BaseCache | bool | None = False
    _replies: tuple[Reply | Callable[[list[BaseMessage]], Reply], ...] = PrivateAttr(default=())
    _calls: count[int] = PrivateAttr(default_factory=count)

    def __init__(
        self, *replies: Reply | Callable[[list[BaseMessage]], Reply], **fields: Any
    ) -> None:
        super().__init__(**fields)
        self._replies = replies
        for reply in replies:
            if not callable(reply) and not isinstance(reply, Iterator):
                deque(_pieces(reply), maxlen=0)  # which checks them

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        names = LangSmithParams(ls_provider="scripted", ls_model_name=self.model_name)
        return super()._get_ls_params(stop, **kwargs) | names

    def bind_tools(
        self, tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer `tools` to the model."""
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **kwargs)

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        """Return the reply to `messages`: the next one of the script.

        Override it for a model that looks at the names of its `tools` too.
        """
        number = next(self._calls)
        if number < len(self._replies):
            reply = self._replies[number]
        elif self._replies and callable(self._replies[-1]):
            reply = self._replies[-1]
        else:
            asked = (
                f"{messages[-1].type} message {messages[-1].text!r:.100}" if messages else "none"
            )
            raise RuntimeError(
                f"The script has run out: call {number + 1} of the model has no reply; there are "
                f"{len(self._replies)}. The last message is: {asked}. Add a reply, or a function "
                "of the messages as the last one."
            )
        return reply(messages) if callable(reply) else reply

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        stream = self._astream(messages, stop, run_manager, **kwargs)
        return generate_from_stream(iter([chunk async for chunk in stream]))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        for part in self._play(messages, **kwargs):
            if isinstance(part, AIMessageChunk):
                yield ChatGenerationChunk(message=part)
            else:
                time.sleep(part)

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for part in self._play(messages, **kwargs):
            if isinstance(part, AIMessageChunk):
                yield ChatGenerationChunk(message=part)
            else:
                await asyncio.sleep(part)

    def _play(
        self, messages: list[BaseMessage], tools: Sequence[dict[str, Any]] = (), **_: Any
    ) -> Iterator[AIMessageChunk | float]:
        """Yield the chunks of the reply, and the seconds to wait between them."""
        # A provider's own tools have other forms.
        names = [one["function"]["name"] for one in tools if "function" in one]
        thought, written = 0, 0
        for part in _parts(self.reply(messages, names)):
            if isinstance(part, AIMessageChunk):
                yield self.delay
                thought += any(one["type"] == "reasoning" for one in part.content_blocks)
                written += bool(part.content or any(one["args"] for one in part.tool_call_chunks))
            yield part
        yield AIMessageChunk(
            content="",
            usage_metadata=_usage(messages, thought, written),
            response_metadata={"model_name": self.model_name},
            chunk_position="last",
        )


def _parts(reply: Reply) -> Iterator[AIMessageChunk | float]:
    """Yield a reply as chunks, and as seconds to wait. Each block and call has its own index.

    The content is a string as long as there is nothing but text, and blocks from there on.
    """
    index, last, plain = -1, "", True
    for piece in _pieces(reply):
        match piece:
            case Exception():
                raise piece
            case int() | float():
                yield piece
            case AIMessageChunk():
                yield piece.model_copy()  # LangChain puts the id of the run into it
            case {"type": "tool_call"}:
                index, last = index + 1, ""
                yield from _call_chunks(piece, index)
            case {"type": "text" | "reasoning" as kind}:
                if kind != last:
                    index, last = index + 1, kind
                plain = plain and piece.keys() == {"type", "text"}
                yield from _word_chunks(piece, kind, index, plain)
            case {"type": str()}:
                index, last, plain = index + 1, "", False
                yield AIMessageChunk(content=[{**piece, "index": index}])


def _pieces(reply: Reply) -> Iterator[_Block | AIMessageChunk | Exception | float]:
    """Yield the pieces of a reply, each text as a block.

    Raises:
        TypeError: One is no piece.
    """
    several = isinstance(reply, Iterable) and not isinstance(reply, str | Mapping | BaseMessage)
    for piece in cast("Iterable[Piece]", reply if several else [reply]):
        match piece:
            case str():
                yield {"type": "text", "text": piece}
            case Exception() | int() | float() | AIMessageChunk() | {"type": str()}:
                yield piece
            case _:
                raise TypeError(
                    "A reply is made of texts, calls, content blocks, `AIMessageChunk`s, "
                    f"exceptions and seconds. This is of type {type(piece).__name__}."
                )


def _word_chunks(block: _Block, kind: str, index: int, plain: bool) -> Iterator[AIMessageChunk]:
    """Yield text or reasoning word by word; other fields of the block come with the first word."""
    fields = block
    for word in _words(str(block[kind])):  # the field of the text has the name of the kind
        yield AIMessageChunk(
            content=word if plain else [{**fields, "type": kind, kind: word, "index": index}]
        )
        fields = {}


def _call_chunks(block: _Block, index: int) -> Iterator[AIMessageChunk]:
    """Yield a tool call: first its name, then its arguments word by word."""
    call_id = block["id"] or f"call_{uuid4().hex}"
    start = tool_call_chunk(name=block["name"], args="", id=call_id, index=index)
    parts = [tool_call_chunk(args=word, index=index) for word in _words(json.dumps(block["args"]))]
    for part in (start, *parts):
        yield AIMessageChunk(content="", tool_call_chunks=[part])


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*|\s+", text) or [""]


def _usage(messages: Sequence[BaseMessage], thought: int, written: int) -> UsageMetadata:
    read = sum(len(message.text.split()) for message in messages)
    usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
    if thought:
        usage["output_token_details"] = OutputTokenDetails(reasoning=thought)
    return usage
