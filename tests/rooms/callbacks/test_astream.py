"""`astream_agui`: one run of any Runnable, with the client's ids."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import astream_agui
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, used
from tests.kit.run.agents import RecordedRun, collect, run_input
from tests.kit.run.handlers import ASKED, contents
from tests.kit.waiting import PATIENCE


async def recorded_of(runnable: Runnable[Any, Any], value: Any, **options: Any) -> RecordedRun:
    given = run_input("hi", thread="thread-1", run="run-1")
    return RecordedRun(await collect(astream_agui(runnable, value, given, **options)), given)


def chain(*turn: Any) -> Runnable[Any, Any]:
    return ChatPromptTemplate.from_messages([("user", "{q}")]) | Scripted(turn) | StrOutputParser()


async def test_a_chain() -> None:
    recorded = await recorded_of(chain("Hel", "lo", used(3, 4)), {"q": "hi"})
    assert (recorded.types[0], *recorded.types[-2:]) == (
        *("RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"),
    )
    for edge in (recorded.events[0], recorded.last):
        assert (edge.thread_id, edge.run_id) == ("thread-1", "run-1")
    assert contents(recorded.messages) == ["hi", "Hello"]
    assert recorded.messages[0] == recorded.input.messages[0]
    recorded.check_snapshot()
    assert recorded.last.usage


BROKEN = RuntimeError("CANARY")


@pytest.mark.parametrize(("turn", "value", "exposed", "code", "held"), [
    pytest.param(["Hel", BROKEN], {"q": "hi"}, False, "model_error", ["hi", "Hel"], id="model"),
    pytest.param(["Hel", BROKEN], {"q": "hi"}, True, "model_error", ["hi", "Hel"], id="exposed"),
    pytest.param(["never"], {"wrong": "key"}, False, None, ["hi"], id="before any model"),
])  # fmt: skip
async def test_a_failure_is_told_and_not_raised(
    turn: Any, value: Any, exposed: bool, code: Any, held: Any
) -> None:
    recorded = await recorded_of(chain(*turn), value, expose_errors=exposed)
    assert (recorded.types[0], recorded.types[-1]) == ("RUN_STARTED", "RUN_ERROR")
    assert code is None or recorded.last.code == code
    assert ("CANARY" in str(recorded.events)) == exposed
    assert contents(recorded.messages) == held


async def test_the_callers_config_is_kept_and_a_pause_is_told() -> None:
    def ask(state: Any) -> Any:
        return {"messages": [("ai", str(interrupt({"question": "Go on?"})))]}

    graph = chain_of(ask, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "thread-1"}}
    recorded = await recorded_of(graph, ASKED, config=config)
    assert [found.message for found in recorded.last.outcome.interrupts] == ["Go on?"]


async def test_leaving_it_cancels_the_runnable() -> None:
    for parser in (None, StrOutputParser()):
        model = Scripted(["a", 60.0, "b"])
        runnable: Any = model | parser if parser else model
        async with asyncio.timeout(PATIENCE):
            async with aclosing(astream_agui(runnable, "hi", run_input("hi"))) as events:
                async for event in events:
                    if event.type.value == "TEXT_MESSAGE_CONTENT":
                        await model.hung.wait()
                        break
        assert await asyncio.to_thread(model.stopped.wait, PATIENCE)


async def test_runs_at_once_are_apart() -> None:
    given = [run_input("hi") for _ in range(8)]
    models = [Scripted([f"{number}a", 0.001, f"{number}b"]) for number in range(8)]
    streams = [astream_agui(one, "hi", its) for one, its in zip(models, given, strict=True)]
    events = await asyncio.gather(*map(collect, streams))
    runs = [RecordedRun(told, one) for told, one in zip(events, given, strict=True)]
    assert [contents(one.messages) for one in runs] == [["hi", f"{n}a{n}b"] for n in range(8)]


async def test_a_message_that_is_returned_is_in_the_snapshot() -> None:
    recorded = await recorded_of(RunnableLambda(lambda _: {"answer": AIMessage("hello")}), "x")
    assert contents(recorded.snapshot) == ["hi", "hello"]
