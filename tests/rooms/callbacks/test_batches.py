"""Many runs through one handler at once: their streams come one after the other, each whole. What
`on_event` raises is raised by the run that the event is of; what it waits for does not wait for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from ag_ui.core import Event
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langgraph.graph import START, StateGraph

from langgraph_agui import AGUICallbackHandler
from tests.kit.graphs.small import Chat, talker
from tests.kit.models.scripted import Piece, Scripted, call
from tests.kit.run.handlers import (
    ASKED,
    ReceivedEvents,
    call_by,
    checked,
    contents,
    deltas,
    look,
    runs_of,
    ways,
)

EIGHT = [str(number) for number in range(8)]
SECONDS = 5
"""More than any of this takes: who waits for so long waits in vain."""


class ReaderError(Exception):
    """What an `on_event` raises."""


class Reader:
    """An `on_event` that does something at the first event of a type in one of the runs."""

    def __init__(self, type_: str, act: Callable[[Any], object] | None = None, run: int = 1):
        self.events: list[Event] = []
        self.config: Any = {"callbacks": [AGUICallbackHandler(self, thread_id="t")]}
        self.error = ReaderError()
        self._at, self._act, self._run = (run, type_), act or self._fail, 0

    def _fail(self, config: Any) -> None:
        raise self.error

    def __call__(self, event: Event) -> None:
        self._run += event.type.value == "RUN_STARTED"
        self.events.append(event)
        if (self._run, event.type.value) == self._at:
            self._at = (0, "")
            self._act(self.config)


def echoing() -> Scripted:
    """Answers "<question>a <question>b"; the smaller the question, the longer it takes."""

    def script(messages: list[BaseMessage]) -> Sequence[Piece]:
        asked = messages[-1].text
        pause = 0.001 * (8 - int(asked))
        return [pause, f"{asked}a ", pause, f"{asked}b"]

    return Scripted(script=script)


def batch_of(kind: str) -> tuple[Any, list[Any]]:
    if kind == "agent":
        agent: Any = create_agent(echoing(), [])
        return agent, [{"messages": [("user", asked)]} for asked in EIGHT]
    model = echoing()
    return (model if kind == "bare" else RunnableLambda(str) | model | StrOutputParser()), EIGHT


async def all_by(way: str, runnable: Any, inputs: list[Any], config: Any) -> list[Any]:
    if way == "batch":
        return await asyncio.to_thread(runnable.batch, inputs, config, return_exceptions=True)
    return await runnable.abatch(inputs, config, return_exceptions=True)


kinds = pytest.mark.parametrize("kind", ["bare", "chain", "agent"])
batches = pytest.mark.parametrize("way", ["batch", "abatch"])


@kinds
@batches
@pytest.mark.parametrize("at_once", [None, 2])
async def test_each_run_is_told_whole(kind: str, way: str, at_once: int | None) -> None:
    received, (runnable, inputs) = ReceivedEvents(), batch_of(kind)
    await all_by(way, runnable, inputs, {**received.config, "max_concurrency": at_once})
    messages, runs = received.check(), runs_of(received.events)
    asked = [deltas(run)[0][0] for run in runs]
    # In the order in which they began.
    assert (asked if (kind, way) == ("bare", "abatch") else sorted(asked)) == EIGHT
    assert [deltas(run) for run in runs] == [[f"{one}a ", f"{one}b"] for one in asked]
    assert contents(messages) == [f"{one}a {one}b" for one in asked]
    assert len({run[0].run_id for run in runs}) == 8  # type: ignore[union-attr]


async def test_the_first_run_is_told_while_the_others_wait() -> None:
    """Only what cannot be told yet is held back."""
    received, model = ReceivedEvents(), Scripted(["a", 0.5, "b"])
    first = asyncio.create_task(model.ainvoke("hi", received.config))
    await model.hung.wait()
    assert deltas(received.events) == ["a"]
    await Scripted(["c"]).ainvoke("hi", received.config)
    assert deltas(received.events) == ["a"]
    await first
    assert deltas(received.events) == ["a", "b", "c"]
    assert contents(received.check()) == ["ab", "c"]


async def test_a_run_that_fails_is_one_of_the_batch() -> None:
    def script(messages: list[BaseMessage]) -> Sequence[Piece]:
        asked = messages[-1].text
        return [asked, RuntimeError("CANARY")] if asked == "1" else [asked]

    received = ReceivedEvents()
    got = await all_by("abatch", Scripted(script=script), EIGHT[:3], received.config)
    assert [isinstance(one, RuntimeError) for one in got] == [False, True, False]
    assert contents(received.check()) == ["0", "1", "2"]
    ends = [run[-1].type.value for run in runs_of(received.events)]
    assert ends == ["RUN_FINISHED", "RUN_ERROR", "RUN_FINISHED"]
    assert "CANARY" not in str(received.events)


@pytest.mark.parametrize("kind", ["bare", "agent"])  # a sequence ends its runs outside of them
@batches
@pytest.mark.parametrize("type_", ["RUN_STARTED", "TEXT_MESSAGE_CONTENT", "RUN_FINISHED"])
async def test_what_on_event_raises_is_raised_by_that_run(kind: str, way: str, type_: str) -> None:
    reader, (runnable, inputs) = Reader(type_, run=2), batch_of(kind)
    got = await all_by(way, runnable, inputs[:3], {**reader.config, "max_concurrency": 1})
    assert [one is reader.error for one in got] == [False, True, False]
    first, second, third = runs_of(reader.events)
    assert second[-1].type.value == type_  # nothing more was told of it
    assert [contents(checked(run)) for run in (first, third)] == [["0a 0b"], ["2a 2b"]]


@kinds
async def test_runs_behind_one_whose_reader_failed_are_told(kind: str) -> None:
    reader, (runnable, inputs) = Reader("TEXT_MESSAGE_CONTENT"), batch_of(kind)
    got = await all_by("abatch", runnable, inputs[:3], reader.config)
    assert [one is reader.error for one in got] == [True, False, False]
    failed, *others = runs_of(reader.events)
    assert failed[-1].type.value == "TEXT_MESSAGE_CONTENT"
    assert [contents(checked(run)) for run in others] == [["1a 1b"], ["2a 2b"]]


@ways
@kinds
async def test_what_on_event_raises_at_the_last_event_is_raised(kind: str, way: str) -> None:
    reader, (runnable, inputs) = Reader("RUN_FINISHED"), batch_of(kind)
    with pytest.raises(ReaderError):
        await call_by(way, runnable, inputs[0], reader.config)
    await call_by(way, runnable, inputs[0], reader.config)
    assert contents(checked(reader.events)) == ["0a 0b"] * 2  # the event itself was told


def test_what_on_event_raises_in_the_thread_of_another_branch_is_raised() -> None:
    """One branch is telling when the other one says what `on_event` fails at."""
    begun, over = threading.Event(), threading.Event()

    def on_event(event: Any) -> None:
        if event.type.value == "TEXT_MESSAGE_CONTENT" and event.delta == "a":
            begun.set()
            assert over.wait(SECONDS), "the other branch waits for on_event"
        elif event.type.value == "TEXT_MESSAGE_CONTENT":
            raise ReaderError

    other = Scripted([lambda: begun.wait(SECONDS), "b", over.set, "more"])
    with pytest.raises(ReaderError):
        RunnableParallel(a=Scripted(["a"]), b=other).invoke(
            "hi", {"callbacks": [AGUICallbackHandler(on_event)]}
        )
    assert over.is_set()


async def test_what_on_event_raises_while_another_run_tells_is_raised_by_its_own() -> None:
    """The second run has spoken before its turn: the end of the first one tells that."""
    reader = Reader("TEXT_MESSAGE_CONTENT", run=2)
    gates = [asyncio.Event(), asyncio.Event()]

    def gated(gate: asyncio.Event) -> Any:
        yield "a"
        while not gate.is_set():
            yield 0.005
        yield "b"

    models = [Scripted(script=lambda _, gate=gate: gated(gate)) for gate in gates]
    first, second = [asyncio.create_task(one.ainvoke("hi", reader.config)) for one in models]
    async with asyncio.timeout(SECONDS):
        for model in models:
            await model.hung.wait()
        gates[0].set()
        assert (await first).text == "ab"
        gates[1].set()
        with pytest.raises(ReaderError):
            await second
    one, two = runs_of(reader.events)
    assert contents(checked(one)) == ["ab"]
    assert two[-1].type.value == "TEXT_MESSAGE_CONTENT"


def ask_model(config: Any) -> None:
    Scripted(["in", "ner"]).invoke("again", config)


def ask_agent_elsewhere(config: Any) -> None:
    """In another thread, and its tool in one more: what waits for this one would wait for ever."""
    agent: Any = create_agent(Scripted([call("look", "c1", q=7)], ["in", "ner"]), [look])
    thread = threading.Thread(target=lambda: agent.invoke(ASKED, config), daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive(), "what on_event waits for waits for on_event"


@pytest.mark.parametrize("act", [ask_model, ask_agent_elsewhere])
@pytest.mark.parametrize("type_", ["RUN_STARTED", "TEXT_MESSAGE_CONTENT", "RUN_FINISHED"])
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_on_event_may_run_more(way: str, type_: str, act: Any) -> None:
    """That is a run of its own, told when the first one is over."""
    reader = Reader(type_, act)
    await call_by(way, Scripted(["out", "er"]), "hi", reader.config)
    tools = [message for message in checked(reader.events) if message.role == "tool"]
    assert [deltas(run) for run in runs_of(reader.events)] == [["out", "er"], ["in", "ner"]]
    assert len(tools) == (act is ask_agent_elsewhere)


async def test_on_event_may_wait_for_the_loop_that_runs_the_graph() -> None:
    """A synchronous node tells from its thread, and waits for the loop, as one that writes to a
    socket does. The loop itself works at the other node meanwhile, which has something to say."""
    loop, got = asyncio.get_running_loop(), list[Event]()
    speaks, recorded = threading.Event(), threading.Event()

    async def send(event: Event) -> None:
        got.append(event)

    def on_event(event: Event) -> None:
        if threading.current_thread() is threading.main_thread():
            got.append(event)
            return
        if speaks.is_set():
            recorded.set()
        asyncio.run_coroutine_threadsafe(send(event), loop).result(SECONDS)

    def meet() -> None:
        speaks.set()
        assert recorded.wait(SECONDS)

    def sync(state: Any) -> Any:
        return {"messages": [Scripted([lambda: speaks.wait(SECONDS), "a", "b"]).invoke("hi")]}

    builder = StateGraph(Chat).add_node(sync).add_edge(START, "sync")
    builder.add_node("model", talker(Scripted([meet, "c", "d"]))).add_edge(START, "model")
    await builder.compile().ainvoke(ASKED, {"callbacks": [AGUICallbackHandler(on_event)]})
    assert sorted(contents(checked(got))) == ["ab", "cd"]
    assert recorded.is_set()
