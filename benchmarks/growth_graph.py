"""The graph of section G whose runs each say a text of their own: the question, again and again."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from ag_ui.core import RunAgentInput, UserMessage
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import ConfigDict

from . import graphs
from .folded import asking
from .model import ScriptedModel, finish, plain


class GatedModel(ScriptedModel):
    """Waits before its first token while `gate` is closed, and counts those who wait."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    gate: asyncio.Event
    waiting: list[None]

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        self.waiting.append(None)
        await self.gate.wait()
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk


def said(question: str, tokens: int) -> list[str]:
    """What the model answers to a question."""
    return [f"{question} {number}, " for number in range(tokens)]


def echo(tokens: int) -> GatedModel:
    """A model that repeats the question, a token each time. Its gate is open."""

    def script(messages: Sequence[BaseMessage]) -> Iterable[AIMessageChunk]:
        yield from map(plain, said(messages[-1].text, tokens))
        yield finish(tokens)

    gate = asyncio.Event()
    gate.set()
    return GatedModel(script=script, gate=gate, waiting=[])


def echoing(tokens: int) -> graphs.Graph:
    """One node that asks that model."""
    return graphs.one_node(echo(tokens))


def asking_thread() -> RunAgentInput:
    """The input of a new thread whose question is its id."""
    run_input = asking()
    run_input.messages = [UserMessage(id="question", content=run_input.thread_id)]
    return run_input
