"""What those who hear a handler may do: run more under it, wait for other threads, read its
events."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from ag_ui.core import Event
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.graph import START, StateGraph

from langgraph_agui import AGUICallbackHandler
from tests.kit.graphs.small import Chat, talker
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.handlers import ReceivedEvents, call_by, checked, contents, deltas, runs_of
from tests.rooms.callbacks.test_handler import look

SECONDS = 5
"""More than any of this takes: who waits for so long waits in vain."""


class Curious:
    """An `on_event` that does something at the first event of a type, in the thread that tells
    it."""

    def __init__(self, type_: str, act: Callable[[Any], object]) -> None:
        self.events: list[Event] = []
        self.config: Any = {"callbacks": [AGUICallbackHandler(self, thread_id="t")]}
        self._type, self._act = type_, act
        self._acted = False

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        if event.type.value == self._type and not self._acted:
            self._acted = True
            self._act(self.config)


def elsewhere(work: Callable[[], object]) -> None:
    """Do it in another thread, and wait for it: what waits for this one would wait for ever."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive(), "what on_event waits for waits for on_event"


def ask_model(config: Any) -> None:
    Scripted(["in", "ner"]).invoke("again", config)


def ask_model_elsewhere(config: Any) -> None:
    elsewhere(lambda: ask_model(config))


def ask_agent_elsewhere(config: Any) -> None:
    """Its tool runs in one more thread."""
    agent: Any = create_agent(Scripted([call("look", "c1", q=7)], ["in", "ner"]), [look])
    elsewhere(lambda: agent.invoke({"messages": [("user", "again")]}, config))


@pytest.mark.parametrize("act", [ask_model, ask_model_elsewhere, ask_agent_elsewhere])
@pytest.mark.parametrize(
    "type_", ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "RUN_FINISHED"]
)
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_it_may_run_more(way: str, type_: str, act: Any) -> None:
    """That is a run of its own, told when the first one is over."""
    curious = Curious(type_, act)
    await call_by(way, Scripted(["out", "er"]), "hi", curious.config)
    messages = checked(curious.events)
    first, second = runs_of(curious.events)
    assert (deltas(first), deltas(second)) == (["out", "er"], ["in", "ner"])
    assert len([message for message in messages if message.role == "tool"]) == (
        act is ask_agent_elsewhere
    )


async def test_it_may_wait_for_the_loop_that_runs_the_graph() -> None:
    """A synchronous node tells from its thread, and waits for the loop, as one that writes to a
    socket does.

    The loop itself works at the other node meanwhile, which has something to say, too.
    """
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

    config: Any = {"callbacks": [AGUICallbackHandler(on_event)]}
    given = {"messages": [HumanMessage("hi")]}
    await side_by_side(sync, talker(Scripted([meet, "c", "d"]))).ainvoke(given, config)
    assert sorted(contents(checked(got))) == ["ab", "cd"]
    assert recorded.is_set()


def side_by_side(*nodes: Any) -> Any:
    builder = StateGraph(Chat)
    for number, node in enumerate(nodes):
        builder.add_node(f"node{number}", node)
        builder.add_edge(START, f"node{number}")
    return builder.compile()


async def test_a_batch_of_prompts_that_is_cancelled_does_not_mute_the_handler() -> None:
    """LangChain calls no hook where `agenerate` is cancelled."""
    received, model = ReceivedEvents(), Scripted(["a", 60.0])
    prompts: Any = [[HumanMessage("1")], [HumanMessage("2")]]
    task = asyncio.create_task(model.agenerate(prompts, callbacks=[received.handler]))
    async with asyncio.timeout(SECONDS):
        await model.hung.wait()
    task.cancel()
    await asyncio.wait({task})
    await asyncio.create_task(Scripted(["again"]).ainvoke("hi", received.config))
    assert contents(received.check()) == ["a", "a", "again"]
    assert [run[-1].outcome.type for run in runs_of(received.events)] == [
        "cancelled",
        "cancelled",
        "success",
    ]  # type: ignore[union-attr]


async def test_a_second_reader_of_the_events_is_refused() -> None:
    handler = AGUICallbackHandler()
    first = asyncio.create_task(collect(handler))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="read already"):
        async with asyncio.timeout(SECONDS):
            await collect(handler)
    await Scripted(["a"]).ainvoke("hi", {"callbacks": [handler]})
    assert contents(checked(await first)) == ["a"]
    await Scripted(["b"]).ainvoke("hi", {"callbacks": [handler]})
    assert contents(checked(await collect(handler))) == ["b"]  # one after the other may read


async def collect(handler: AGUICallbackHandler) -> list[Event]:
    return [event async for event in handler.events()]


def test_an_object_with_an_async_call_is_refused() -> None:
    class Sends:
        async def __call__(self, event: Event) -> None: ...

    with pytest.raises(TypeError, match="not async"):
        AGUICallbackHandler(Sends())


async def test_a_handler_that_is_given_twice_tells_its_next_run() -> None:
    received = ReceivedEvents()
    await Scripted(["a"]).ainvoke("hi", {"callbacks": [received.handler, received.handler]})
    assert [event.type.value for event in received.of("RUN_STARTED", "RUN_FINISHED")] == [
        "RUN_STARTED",
        "RUN_FINISHED",
    ]
    before = len(received.events)
    await asyncio.create_task(Scripted(["b"]).ainvoke("hi", received.config))
    assert contents(checked(received.events[before:])) == ["b"]
