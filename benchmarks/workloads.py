"""The workloads: real compiled graphs, what is put in, and what has to come out.

Each graph has an in-memory checkpointer (the incumbent cannot run without one) and serves all
subjects. Every run is on a thread of its own, prepared before and deleted after the measurement.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from ag_ui.core import AssistantMessage, RunAgentInput, UserMessage
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

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

Graph = CompiledStateGraph[Any, Any, Any, Any]
RECURSION_LIMIT = 500
STEPS, MEGABYTE = 50, 1_000_000
STATE_GOAL = 1.25


@dataclass(frozen=True)
class Call:
    """A tool call that the stream must show, with its result."""

    name: str
    arguments: str
    result: str


@dataclass(frozen=True)
class Expected:
    """What one run's stream must fold to, beyond the history it started from."""

    text: str
    reasoning: str = ""
    signed: bool = False
    calls: tuple[Call, ...] = ()
    state: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Workload:
    """One graph, its input, the expected outcome and how a sample of it is taken."""

    key: str
    title: str
    goal: float
    graph: Graph
    expected: Expected
    tokens: int | None
    history: tuple[BaseMessage, ...] = ()
    state: dict[str, Any] = field(default_factory=dict)
    stored: bool = False
    last_node: str = "model"
    runs_per_sample: int = 1
    concurrent: bool = False
    http: bool = False
    heavy: bool = False
    bytes_goal: int | None = None

    async def prepare(self) -> RunAgentInput:
        """A fresh thread holding the history, and the state if it is stored, and the input a client
        would send."""
        thread = uuid4().hex
        held = {"messages": list(self.history)} if self.history else {}
        if held or self.stored:
            config = RunnableConfig(configurable={"thread_id": thread})
            await self.graph.aupdate_state(
                config, held | (self.state if self.stored else {}), as_node=self.last_node
            )
        question = UserMessage(id=f"question-{thread}", content="Go.")
        return RunAgentInput(
            protocol_version="1.0",
            thread_id=thread,
            run_id=uuid4().hex,
            messages=[*map(_to_agui, self.history), question],
            state=self.sent_state(),
            tools=[],
            context=[],
            forwarded_props={},
        )

    def sent_state(self) -> dict[str, Any]:
        """The state that the client sends, in objects of its own, as a request brings it."""
        state: dict[str, Any] = json.loads(json.dumps(self.state))
        return state

    def graph_input(self, run_input: RunAgentInput) -> dict[str, Any]:
        """The same for the graph itself: only what the thread does not hold yet."""
        question = run_input.messages[-1]
        given: dict[str, Any] = {} if self.stored else run_input.state or {}
        return {**given, "messages": [HumanMessage(content=str(question.content), id=question.id)]}

    async def clean(self, run_input: RunAgentInput) -> None:
        """Forget the thread."""
        saver = self.graph.checkpointer
        assert isinstance(saver, InMemorySaver)
        await saver.adelete_thread(run_input.thread_id)


def _to_agui(message: BaseMessage) -> UserMessage | AssistantMessage:
    cls = UserMessage if isinstance(message, HumanMessage) else AssistantMessage
    return cls(id=str(message.id), content=message.text)


def words(count: int, prefix: str = "word") -> list[str]:
    """``count`` tokens; every 25th needs JSON escapes or more than ASCII, as real text does."""
    special = ("\n", '"quoted" ', "naïve ", "日本 ", "back\\slash ")
    return [
        special[(i // 25) % 5] if i % 25 == 24 else f"{prefix}{i % 1000} " for i in range(count)
    ]


def _say(tokens: Sequence[str]) -> Callable[[Sequence[BaseMessage]], Iterable[AIMessageChunk]]:
    def script(_: Sequence[BaseMessage]) -> Iterable[AIMessageChunk]:
        yield from map(plain, tokens)
        yield finish(len(tokens))

    return script


def _text(key: str, title: str, goal: float, count: int, **options: Any) -> Workload:
    tokens = words(count)
    graph = graphs.one_node(ScriptedModel(script=_say(tokens)))
    return Workload(
        key, title, goal, graph, Expected("".join(tokens)), **{"tokens": count, **options}
    )


def w1(scale: float) -> Workload:
    count = scaled(5000, scale)
    return _text("W1", f"one node, {count:,} text tokens", 0.52, count, bytes_goal=60)


def w2(scale: float) -> Workload:
    half = scaled(2500, scale)
    thoughts, tokens = words(half, "thought"), words(half)

    def script(_: Sequence[BaseMessage]) -> Iterable[AIMessageChunk]:
        yield from map(thinking, thoughts)
        yield signature("c2lnbmF0dXJl" * 16)
        yield from map(text_block, tokens)
        yield finish(2 * half)

    graph = graphs.one_node(ScriptedModel(script=script))
    expected = Expected("".join(tokens), "".join(thoughts), signed=True)
    return Workload(
        "W2", f"{half:,} reasoning + {half:,} text tokens", 0.52, graph, expected, 2 * half
    )


def w3(scale: float) -> Workload:
    turns, fragments = scaled(20, scale), 20
    tokens = words(scaled(200, scale))
    city = "ab" * fragments
    calls = tuple(
        Call("lookup", f'{{"city":"{city}","day":{day}}}', f"sunny {day}") for day in range(turns)
    )

    def script(messages: Sequence[BaseMessage]) -> Iterable[AIMessageChunk]:
        turn = sum(isinstance(message, AIMessage) for message in messages)
        if turn == turns:
            yield from _say(tokens)(messages)
            return
        yield call_start(f"call-{uuid4().hex}", "lookup")
        yield call_args('{"city":"')
        for _ in range(fragments):
            yield call_args("ab")
        yield call_args(f'","day":{turn}}}')
        yield finish(fragments + 3, "tool_calls")

    graph = graphs.tool_agent(ScriptedModel(script=script))
    title = f"`create_agent`, {turns} tool calls, then {len(tokens)} tokens"
    count = turns * (fragments + 3) + len(tokens)
    return Workload("W3", title, 0.80, graph, Expected("".join(tokens), calls=calls), count)


def w4(scale: float) -> Workload:
    size = scaled(500, scale) // 2 * 2
    paragraph = "".join(words(30))
    history = tuple(
        (AIMessage if i % 2 else HumanMessage)(content=paragraph, id=f"history-{i}")
        for i in range(size)
    )
    title = f"20 tokens on a {size}-message thread"
    return _text(
        "W4", title, 1.20, 20, tokens=None, history=history, runs_per_sample=scaled(10, scale)
    )


def w5(scale: float) -> Workload:
    return _given("W5", "{} MB of state in the input, {} small changes", scale)


def w8(scale: float) -> Workload:
    history = (HumanMessage("Hello.", id="history-0"), AIMessage("Hello!", id="history-1"))
    title = "{} MB of state that the client sends again, {} small changes"
    return _given("W8", title, scale, history=history, stored=True, last_node="answer")


def w9(scale: float) -> Workload:
    steps, size = scaled(STEPS, scale), scaled(MEGABYTE, scale)
    return stateful(
        "W9", graphs.big_state, steps, size, "{} MB of state that a node writes, {} small changes"
    )


def _given(key: str, title: str, scale: float, **options: Any) -> Workload:
    """A state that the client sends, and supersteps that change a little of it."""
    steps, size, tokens = scaled(STEPS, scale), scaled(MEGABYTE, scale), words(20)
    graph, given, final = graphs.given_state(ScriptedModel(script=_say(tokens)), steps, size)
    expected = Expected("".join(tokens), state=final)
    title = title.format(f"{size / 1e6:g}", steps)
    return Workload(
        key, title, STATE_GOAL, graph, expected, None, state=given, heavy=True, **options
    )


def stateful(
    key: str,
    make: graphs.Stateful,
    steps: int,
    size: int,
    title: str = "{} MB of state, {} small changes",
) -> Workload:
    """A graph that writes ``size`` bytes of state and changes a little of it in ``steps``
    supersteps."""
    tokens = words(20)
    graph, state = make(ScriptedModel(script=_say(tokens)), steps, size)
    title = title.format(f"{size / 1e6:g}", steps)
    return Workload(
        key, title, STATE_GOAL, graph, Expected("".join(tokens), state=state), None, heavy=True
    )


def w6(scale: float) -> Workload:
    runs, count = scaled(32, scale), scaled(500, scale)
    title = f"{runs} runs at once of {count} tokens, one agent object"
    return _text("W6", title, 0.64, count, runs_per_sample=runs, concurrent=True)


def w7(scale: float) -> Workload:
    runs, count = scaled(16, scale), scaled(1000, scale)
    title = f"{runs} runs at once over HTTP (uvicorn) of {count:,} tokens"
    return _text("W7", title, 0.60, count, runs_per_sample=runs, concurrent=True, http=True)


BUILDERS: dict[str, Callable[[float], Workload]] = {
    "W1": w1,
    "W2": w2,
    "W3": w3,
    "W4": w4,
    "W5": w5,
    "W6": w6,
    "W7": w7,
    "W8": w8,
    "W9": w9,
}


def build(key: str, scale: float = 1.0) -> Workload:
    """The workload ``key``; ``scale`` below 1 makes it small enough for a test."""
    return BUILDERS[key](scale)


def scaled(value: int, scale: float) -> int:
    """A smaller ``value``, but never nothing."""
    return max(2, round(value * scale))
