"""The workloads: real compiled graphs, what is put in, and what has to come out.

Each graph has an in-memory checkpointer (the incumbent cannot run without one) and serves all subjects. Every
run is on a thread of its own, prepared before and deleted after the measurement.
"""

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
from .model import ScriptedModel, call_args, call_start, finish, plain, signature, text_block, thinking

Graph = CompiledStateGraph[Any, Any, Any, Any]
RECURSION_LIMIT = 500


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
    runs_per_sample: int = 1
    concurrent: bool = False
    http: bool = False

    async def prepare(self) -> RunAgentInput:
        """A fresh thread holding the history, and the input a client would send for it."""
        thread = uuid4().hex
        if self.history:
            config = RunnableConfig(configurable={"thread_id": thread})
            await self.graph.aupdate_state(config, {"messages": list(self.history)}, as_node="model")
        question = UserMessage(id=f"question-{thread}", content="Go.")
        return RunAgentInput(
            protocol_version="1.0",
            thread_id=thread,
            run_id=uuid4().hex,
            messages=[*map(_to_agui, self.history), question],
            state={},
            tools=[],
            context=[],
            forwarded_props={},
        )

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
    return [special[(i // 25) % 5] if i % 25 == 24 else f"{prefix}{i % 1000} " for i in range(count)]


def _say(tokens: Sequence[str]) -> Callable[[Sequence[BaseMessage]], Iterable[AIMessageChunk]]:
    def script(_: Sequence[BaseMessage]) -> Iterable[AIMessageChunk]:
        yield from map(plain, tokens)
        yield finish(len(tokens))

    return script


def _text(key: str, title: str, goal: float, count: int, **options: Any) -> Workload:
    tokens = words(count)
    graph = graphs.one_node(ScriptedModel(script=_say(tokens)))
    return Workload(key, title, goal, graph, Expected("".join(tokens)), **{"tokens": count, **options})


def w1(scale: float) -> Workload:
    count = scaled(5000, scale)
    return _text("W1", f"one node, {count:,} text tokens", 0.65, count)


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
    return Workload("W2", f"{half:,} reasoning + {half:,} text tokens", 0.65, graph, expected, 2 * half)


def w3(scale: float) -> Workload:
    turns, fragments = scaled(20, scale), 20
    tokens = words(scaled(200, scale))
    city = "ab" * fragments
    calls = tuple(Call("lookup", f'{{"city":"{city}","day":{day}}}', f"sunny {day}") for day in range(turns))

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
    return Workload("W3", title, 0.9, graph, Expected("".join(tokens), calls=calls), count)


def w4(scale: float) -> Workload:
    size = scaled(500, scale) // 2 * 2
    paragraph = "".join(words(30))
    history = tuple((AIMessage if i % 2 else HumanMessage)(content=paragraph, id=f"history-{i}") for i in range(size))
    title = f"20 tokens on a {size}-message thread"
    return _text("W4", title, 1.2, 20, tokens=None, history=history, runs_per_sample=scaled(10, scale))


def w5(scale: float) -> Workload:
    return stateful("W5", graphs.big_state, scaled(50, scale), scaled(1_000_000, scale))


def stateful(key: str, make: graphs.Stateful, steps: int, size: int) -> Workload:
    """A graph with ``size`` bytes of state and ``steps`` supersteps that change a little of it."""
    tokens = words(20)
    graph, state = make(ScriptedModel(script=_say(tokens)), steps, size)
    title = f"{size / 1e6:g} MB of state, {steps} small changes"
    return Workload(key, title, 1.25, graph, Expected("".join(tokens), state=state), None)


def w6(scale: float) -> Workload:
    runs, count = scaled(32, scale), scaled(500, scale)
    title = f"{runs} runs at once of {count} tokens, one agent object"
    return _text("W6", title, 0.75, count, runs_per_sample=runs, concurrent=True)


def w7(scale: float) -> Workload:
    count = scaled(5000, scale)
    return _text("W7", f"one node, over HTTP (uvicorn, {count:,} tokens)", 0.8, count, http=True)


BUILDERS: dict[str, Callable[[float], Workload]] = {
    "W1": w1,
    "W2": w2,
    "W3": w3,
    "W4": w4,
    "W5": w5,
    "W6": w6,
    "W7": w7,
}


def build(key: str, scale: float = 1.0) -> Workload:
    """The workload ``key``; ``scale`` below 1 makes it small enough for a test."""
    return BUILDERS[key](scale)


def scaled(value: int, scale: float) -> int:
    """A smaller ``value``, but never nothing."""
    return max(2, round(value * scale))
