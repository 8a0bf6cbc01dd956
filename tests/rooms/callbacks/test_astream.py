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
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking, used
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input
from tests.kit.run.handlers import contents, without_ids
from tests.kit.waiting import PATIENCE
from tests.rooms.callbacks.test_handler import look


async def recorded_of(runnable: Runnable[Any, Any], value: Any, **options: Any) -> RecordedRun:
    given = run_input("hi", thread="thread-1", run="run-1")
    return RecordedRun(await collect(astream_agui(runnable, value, given, **options)), given)


def chain(*turn: Any) -> Runnable[Any, Any]:
    return ChatPromptTemplate.from_messages([("user", "{q}")]) | Scripted(turn) | StrOutputParser()


async def test_a_chain(node_client: NodeClient) -> None:
    recorded = await recorded_of(chain("Hel", "lo", used(3, 4)), {"q": "hi"})
    first: Any = recorded.events[0]
    assert (first.type.value, first.thread_id, first.run_id) == ("RUN_STARTED", "thread-1", "run-1")
    assert recorded.types[-2:] == ["MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    assert (recorded.last.thread_id, recorded.last.run_id) == ("thread-1", "run-1")
    assert contents(recorded.messages) == ["hi", "Hello"]
    assert recorded.messages[0] == recorded.input.messages[0]
    recorded.check_snapshot()
    assert recorded.last.usage
    sse = b"".join(map(encode, recorded.events)).decode()
    messages = [
        message.model_dump(by_alias=True, exclude_none=True) for message in recorded.input.messages
    ]
    run = node_client.run(sse=sse, threadId="thread-1", messages=messages)
    assert (run.error, run.warnings) == (None, [])
    assert [message["content"] for message in run.messages] == ["hi", "Hello"]


def agent() -> Any:
    turn = [thinking("hm", 0, signature="SIG"), text_chunk("Look"), call("look", "c1", 2, q=7)]
    return create_agent(Scripted(turn, ["Answer"]), [look])


async def test_an_agent_says_the_same_as_through_the_adapter() -> None:
    recorded = await recorded_of(agent(), {"messages": [("user", "hi")]})
    adapted = await record_run(LangGraphAgent(graph=agent()), run_input("hi"))
    recorded.check_snapshot()
    assert without_ids(recorded.messages[1:]) == without_ids(adapted.messages[1:])


async def test_a_result_without_messages() -> None:
    recorded = await recorded_of(RunnableLambda(lambda number: number + 1), 1)
    assert recorded.last.result == 2
    assert contents(recorded.messages) == ["hi"]


async def test_a_failure_is_told_and_not_raised() -> None:
    recorded = await recorded_of(chain("Hel", RuntimeError("CANARY")), {"q": "hi"})
    assert (recorded.last.type.value, recorded.last.code) == ("RUN_ERROR", "model_error")
    assert "CANARY" not in "".join(event.model_dump_json() for event in recorded.events)
    assert contents(recorded.messages) == ["hi", "Hel"]


async def test_an_error_may_be_exposed() -> None:
    recorded = await recorded_of(chain(RuntimeError("CANARY")), {"q": "hi"}, expose_errors=True)
    assert "CANARY" in recorded.last.message


async def test_a_runnable_that_fails_before_any_model() -> None:
    recorded = await recorded_of(chain("never"), {"wrong": "key"})
    assert (recorded.types[0], recorded.types[-1]) == ("RUN_STARTED", "RUN_ERROR")
    assert contents(recorded.messages) == ["hi"]


async def test_a_graph_that_pauses() -> None:
    def ask(state: Any) -> Any:
        return {"messages": [("ai", str(interrupt({"question": "Go on?"})))]}

    graph = chain_of(ask, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "thread-1"}}
    recorded = await recorded_of(graph, {"messages": [("user", "hi")]}, config=config)
    assert [found.message for found in recorded.last.outcome.interrupts] == ["Go on?"]


@pytest.mark.parametrize("make", [lambda model: model, lambda model: model | StrOutputParser()])
async def test_leaving_it_cancels_the_runnable(make: Any) -> None:
    model = Scripted(["a", 60.0, "b"])
    given = run_input("hi")
    async with (
        asyncio.timeout(PATIENCE),
        aclosing(astream_agui(make(model), "hi", given)) as events,
    ):
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
    recorded = await recorded_of(runnable, "hi", config={"configurable": {"who": "me"}})
    assert seen == ["me"]
    assert contents(recorded.messages) == ["hi", "a"]


async def test_runs_at_once_are_apart() -> None:
    given = [run_input("hi") for _ in range(8)]
    models = [Scripted([f"{number}a", 0.001, f"{number}b"]) for number in range(8)]
    recorded = await asyncio.gather(
        *(collect(astream_agui(model, "hi", one)) for model, one in zip(models, given, strict=True))
    )
    for number, (events, one) in enumerate(zip(recorded, given, strict=True)):
        assert contents(RecordedRun(events, one).messages) == ["hi", f"{number}a{number}b"]


async def test_a_silenced_model_is_silent() -> None:
    silent = Scripted(["CANARY"]).with_config(metadata={"emit-messages": False})
    recorded = await recorded_of(silent | StrOutputParser() | Scripted(["Hello"]), "hi")
    assert [one.content for one in recorded.messages if one.role == "assistant"] == ["Hello"]
