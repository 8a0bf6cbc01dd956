"""`astream_agui`: one run of any Runnable, with the client's ids."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import LangGraphAgent, astream_agui
from langgraph_agui.protocol import encode
from tests.adapter.graphs import chain_of
from tests.adapter.models import Scripted, call, said, thinking, used
from tests.adapter.streams import Told, collect, run_input, tell
from tests.callbacks.hearing import contents, without_ids
from tests.callbacks.test_handler import look
from tests.node_client import NodeClient
from tests.waiting import PATIENCE


async def told_of(runnable: Runnable[Any, Any], value: Any, **options: Any) -> Told:
    given = run_input("hi", thread="thread-1", run="run-1")
    return Told(await collect(astream_agui(runnable, value, given, **options)), given)


def chain(*turn: Any) -> Runnable[Any, Any]:
    return ChatPromptTemplate.from_messages([("user", "{q}")]) | Scripted(turn) | StrOutputParser()


async def test_a_chain(node_client: NodeClient) -> None:
    told = await told_of(chain("Hel", "lo", used(3, 4)), {"q": "hi"})
    first: Any = told.events[0]
    assert (first.type.value, first.thread_id, first.run_id) == ("RUN_STARTED", "thread-1", "run-1")
    assert told.types[-2:] == ["MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert (told.last.thread_id, told.last.run_id) == ("thread-1", "run-1")
    assert contents(told.messages) == ["hi", "Hello"]
    assert told.messages[0] == told.input.messages[0]
    told.check_snapshot()
    assert told.last.usage
    sse = b"".join(map(encode, told.events)).decode()
    messages = [message.model_dump(by_alias=True, exclude_none=True) for message in told.input.messages]
    run = node_client.run(sse=sse, threadId="thread-1", messages=messages)
    assert (run.error, run.warnings) == (None, [])
    assert [message["content"] for message in run.messages] == ["hi", "Hello"]


def agent() -> Any:
    turn = [thinking("hm", 0, signature="SIG"), said("Look"), call("look", "c1", 2, q=7)]
    return create_agent(Scripted(turn, ["Answer"]), [look])


async def test_an_agent_says_the_same_as_through_the_adapter() -> None:
    told = await told_of(agent(), {"messages": [("user", "hi")]})
    adapted = await tell(LangGraphAgent(graph=agent()), run_input("hi"))
    told.check_snapshot()
    assert without_ids(told.messages[1:]) == without_ids(adapted.messages[1:])


async def test_a_result_without_messages() -> None:
    told = await told_of(RunnableLambda(lambda number: number + 1), 1)
    assert told.last.result == 2
    assert contents(told.messages) == ["hi"]


async def test_a_failure_is_told_and_not_raised() -> None:
    told = await told_of(chain("Hel", RuntimeError("CANARY")), {"q": "hi"})
    assert (told.last.type.value, told.last.code) == ("RUN_ERROR", "model_error")
    assert "CANARY" not in "".join(event.model_dump_json() for event in told.events)
    assert contents(told.messages) == ["hi", "Hel"]


async def test_an_error_may_be_exposed() -> None:
    told = await told_of(chain(RuntimeError("CANARY")), {"q": "hi"}, expose_errors=True)
    assert "CANARY" in told.last.message


async def test_a_runnable_that_fails_before_any_model() -> None:
    told = await told_of(chain("never"), {"wrong": "key"})
    assert (told.types[0], told.types[-1]) == ("RUN_STARTED", "RUN_ERROR")
    assert contents(told.messages) == ["hi"]


async def test_a_graph_that_pauses() -> None:
    def ask(state: Any) -> Any:
        return {"messages": [("ai", str(interrupt({"question": "Go on?"})))]}

    graph = chain_of(ask, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "thread-1"}}
    told = await told_of(graph, {"messages": [("user", "hi")]}, config=config)
    assert [found.message for found in told.last.outcome.interrupts] == ["Go on?"]


@pytest.mark.parametrize("make", [lambda model: model, lambda model: model | StrOutputParser()])
async def test_leaving_it_cancels_the_runnable(make: Any) -> None:
    model = Scripted(["a", 60.0, "b"])
    given = run_input("hi")
    async with asyncio.timeout(PATIENCE), aclosing(astream_agui(make(model), "hi", given)) as events:
        async for event in events:
            if event.type.value == "TEXT_MESSAGE_CONTENT":
                await model.hung.wait()
                break
    assert await asyncio.to_thread(model.stopped.wait, PATIENCE)


async def test_the_callers_config_is_kept() -> None:
    seen: list[Any] = []

    def note(value: Any, config: Any) -> Any:
        seen.append(config["configurable"]["who"])
        return value

    runnable = RunnableLambda(note) | Scripted(["a"])
    told = await told_of(runnable, "hi", config={"configurable": {"who": "me"}})
    assert seen == ["me"]
    assert contents(told.messages) == ["hi", "a"]


async def test_runs_at_once_are_apart() -> None:
    given = [run_input("hi") for _ in range(8)]
    models = [Scripted([f"{number}a", 0.001, f"{number}b"]) for number in range(8)]
    told = await asyncio.gather(
        *(collect(astream_agui(model, "hi", one)) for model, one in zip(models, given, strict=True))
    )
    for number, (events, one) in enumerate(zip(told, given, strict=True)):
        assert contents(Told(events, one).messages) == ["hi", f"{number}a{number}b"]
