"""The workloads: a key goes in, and out comes a graph, what its runs get, and what they must say.

Each run has a thread of its own, which is made before and deleted after what is timed. A `scale`
below 1 makes a workload smaller, for tests.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from uuid import uuid4

from ag_ui.core import Message, RunAgentInput, UserMessage
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import langchain_messages_to_agui

from . import graphs
from .model import (
    ScriptedModel,
    call_args,
    call_start,
    finish,
    plain,
    signature,
    text_block,
    thinking,
)

SPECIAL = ("\n", '"quoted" ', "naïve ", "日本 ", "back\\slash ")


@dataclass(frozen=True)
class Call:
    """A tool call with its result."""

    name: str
    arguments: str
    result: str


@dataclass(frozen=True)
class Expected:
    """What the messages and the state of a client are after a run, without its history."""

    text: str
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    signed: bool = False
    state: dict[str, Any] | None = None


@dataclass(frozen=True)
class Workload:
    """One graph and its runs. `expect` takes the text of the question."""

    key: str
    title: str
    graph: graphs.Graph
    expect: Callable[[str], Expected]
    tokens: int = 0
    history: Sequence[BaseMessage] = ()
    state: dict[str, Any] = field(default_factory=dict)
    runs: int = 1
    at_once: bool = False
    http: bool = False

    @cached_property
    def sent_history(self) -> list[Message]:
        """The history as the client sends it."""
        return langchain_messages_to_agui(self.history)

    def sent_state(self) -> dict[str, Any]:
        """The state that the client sends, in objects of its own, as a request brings it."""
        state: dict[str, Any] = json.loads(json.dumps(self.state))
        return state

    async def prepare(self) -> RunAgentInput:
        """Make a thread that holds the history; return what its client sends."""
        thread = uuid4().hex
        if self.history:
            config = RunnableConfig(configurable={"thread_id": thread})
            held = {"messages": list(self.history)}
            await self.graph.aupdate_state(config, held, as_node="model")
        question = UserMessage(id=f"question-{thread}", content=thread[:8])
        return RunAgentInput(
            protocol_version="1.0",
            thread_id=thread,
            run_id=uuid4().hex,
            messages=[*self.sent_history, question],
            state=self.sent_state(),
            tools=[],
            context=[],
            forwarded_props={},
        )

    def graph_input(self, run_input: RunAgentInput) -> dict[str, Any]:
        """The same for the graph itself, without what the thread holds."""
        question = HumanMessage(question_of(run_input), id=run_input.messages[-1].id)
        return {**(run_input.state or {}), "messages": [question]}

    async def clean(self, run_input: RunAgentInput) -> None:
        """Delete the thread."""
        saver = self.graph.checkpointer
        assert isinstance(saver, InMemorySaver)
        await saver.adelete_thread(run_input.thread_id)


def question_of(run_input: RunAgentInput) -> str:
    """The text of the question."""
    return str(run_input.messages[-1].content)


def words(count: int, prefix: str = "word") -> list[str]:
    """So many tokens. Every 25th needs JSON escapes or is not ASCII, as in real text."""
    tokens = [f"{prefix}{number % 1000} " for number in range(count)]
    for place, number in enumerate(range(24, count, 25)):
        tokens[number] = SPECIAL[place % len(SPECIAL)]
    return tokens


def scaled(value: int, scale: float) -> int:
    """A smaller value, but never nothing."""
    return max(2, round(value * scale))


def saying(tokens: Sequence[str]) -> Iterable[AIMessageChunk]:
    """The chunks of a text."""
    yield from map(plain, tokens)
    yield finish(len(tokens))


def text(key: str, title: str, count: int, **options: Any) -> Workload:
    """One node whose model says so many tokens, the same in each run."""
    tokens = words(count)
    graph = graphs.one_node(ScriptedModel(script=lambda _: saying(tokens)))
    expected = Expected("".join(tokens))
    return Workload(key, title, graph, lambda _: expected, count, **options)


def echo(key: str, title: str, count: int, **options: Any) -> Workload:
    """Runs with a text of their own: the question, again and again."""
    graph = graphs.one_node(
        ScriptedModel(script=lambda messages: saying(words(count, messages[-1].text)))
    )

    def expect(question: str) -> Expected:
        return Expected("".join(words(count, question)))

    return Workload(key, title, graph, expect, count, **options)


def w1(scale: float) -> Workload:
    count = scaled(5000, scale)
    return text("W1", f"one node, {count:,} text tokens", count)


def w2(scale: float) -> Workload:
    count = scaled(2500, scale)
    thoughts, tokens = words(count, "thought"), words(count)

    def script(_: Sequence[BaseMessage]) -> Iterable[AIMessageChunk]:
        yield from map(thinking, thoughts)
        yield signature("c2lnbmF0dXJl" * 16)
        yield from map(text_block, tokens)
        yield finish(2 * count)

    graph = graphs.one_node(ScriptedModel(script=script))
    expected = Expected("".join(tokens), "".join(thoughts), signed=True)
    title = f"{count:,} reasoning + {count:,} text tokens"
    return Workload("W2", title, graph, lambda _: expected, 2 * count)


def w3(scale: float) -> Workload:
    turns, tokens = scaled(20, scale), words(scaled(200, scale))
    fragments = ['{"city":"', *["ab"] * 20]
    begun = "".join(fragments)
    calls = [Call("lookup", f'{begun}","day":{day}}}', f"sunny {day}") for day in range(turns)]

    def script(messages: Sequence[BaseMessage]) -> Iterable[AIMessageChunk]:
        turn = sum(isinstance(message, AIMessage) for message in messages)
        if turn == turns:
            yield from saying(tokens)
            return
        yield call_start(f"call-{uuid4().hex}", "lookup")
        yield from map(call_args, fragments)
        yield call_args(f'","day":{turn}}}')
        yield finish(len(fragments), "tool_calls")

    graph = graphs.tool_agent(ScriptedModel(script=script))
    expected = Expected("".join(tokens), calls=tuple(calls))
    title = f"`create_agent`, {turns} tool calls, then {len(tokens)} tokens"
    return Workload("W3", title, graph, lambda _: expected)


def w4(scale: float) -> Workload:
    said = "".join(words(30))
    history: list[BaseMessage] = []
    for number in range(scaled(250, scale)):
        history.append(HumanMessage(said, id=f"user-{number}"))
        history.append(AIMessage(said, id=f"answer-{number}"))
    title = f"20 tokens on a {len(history)}-message thread"
    return text("W4", title, 20, history=history, runs=scaled(10, scale))


def w5(scale: float) -> Workload:
    steps, size, tokens = scaled(50, scale), scaled(1_000_000, scale), words(20)
    channels = graphs.large_channels(size)
    graph = graphs.stepping(ScriptedModel(script=lambda _: saying(tokens)), steps)
    final = {**channels, "progress": graphs.progress(steps, steps)}
    expected = Expected("".join(tokens), state=final)
    title = f"{size / 1e6:g} MB of state in the input, {steps} small changes"
    given = {**channels, "progress": graphs.progress(0, steps)}
    return Workload("W5", title, graph, lambda _: expected, state=given)


def w6(scale: float) -> Workload:
    runs, count = scaled(32, scale), scaled(500, scale)
    title = f"{runs} runs at once of {count} tokens, one agent object"
    return echo("W6", title, count, runs=runs, at_once=True)


def w7(scale: float) -> Workload:
    runs, count = scaled(16, scale), scaled(1000, scale)
    title = f"{runs} runs at once over HTTP (uvicorn) of {count:,} tokens"
    return echo("W7", title, count, runs=runs, at_once=True, http=True)


BUILDERS = {"W1": w1, "W2": w2, "W3": w3, "W4": w4, "W5": w5, "W6": w6, "W7": w7}
