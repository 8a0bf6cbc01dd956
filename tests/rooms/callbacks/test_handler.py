"""`AGUICallbackHandler`: runs of any Runnable, told without a graph adapter."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Event
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import AGUICallbackHandler, LangGraphAgent
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, call, text_chunk, thinking
from tests.kit.run.agents import record_run, run_input
from tests.kit.run.handlers import ReceivedEvents, call_by, contents, ways, without_ids


@ways
async def test_a_chain(way: str) -> None:
    received = ReceivedEvents()
    chain = ChatPromptTemplate.from_messages([("system", "CANARY"), ("user", "{q}")]) | Scripted(
        ["Hel", "lo"]
    )
    await call_by(way, chain | StrOutputParser(), {"q": "hi"}, received.config)
    assert contents(received.check()) == ["Hello"]
    assert [
        event.delta for event in received.events if event.type.value == "TEXT_MESSAGE_CONTENT"
    ] == ["Hel", "lo"]
    assert not any("CANARY" in event.model_dump_json() for event in received.events)


@ways
async def test_a_bare_model(way: str) -> None:
    received = ReceivedEvents()
    await call_by(way, Scripted([thinking("hm", 0), text_chunk("Hello", 1)]), "hi", received.config)
    assert contents(received.check()) == ["hm", "Hello"]


@tool
def look(q: int) -> str:
    """Look something up."""
    return f"found {q}"


def agent_graph() -> Any:
    return create_agent(
        Scripted(
            [thinking("hm", 0), text_chunk("Look", 1), call("look", "c1", 2, q=7)], ["Answer"]
        ),
        [look],
    )


@ways
async def test_an_agent_says_the_same_as_through_the_adapter(way: str) -> None:
    received = ReceivedEvents()
    await call_by(way, agent_graph(), {"messages": [("user", "hi")]}, received.config)
    recorded = await record_run(LangGraphAgent(graph=agent_graph()), run_input("hi"))
    heard_messages = [message for message in received.check() if message.role != "user"]
    assert without_ids(heard_messages) == without_ids(recorded.messages[1:])


async def test_what_the_client_holds_already_stays_as_it_is() -> None:
    """The handler cannot know it, so it sends no snapshot, which would delete or repeat it."""
    received = ReceivedEvents()
    await agent_graph().ainvoke({"messages": [("user", "hi")]}, received.config)
    assert [message.role for message in received.check()] == [
        "reasoning",
        "assistant",
        "tool",
        "assistant",
    ]
    assert "MESSAGES_SNAPSHOT" not in [event.type.value for event in received.events]


@ways
async def test_errors(way: str) -> None:
    received = ReceivedEvents()
    with pytest.raises(RuntimeError):
        await call_by(
            way,
            Scripted(["Hel", RuntimeError("CANARY")]) | StrOutputParser(),
            "hi",
            received.config,
        )
    received.check()
    last: Any = received.events[-1]
    assert (last.type.value, last.code) == ("RUN_ERROR", "model_error")
    key = last.metadata["correlationId"]  # there is no option that would show more
    assert last.message == f"The model could not answer. The server log has the error under {key}."
    assert "CANARY" not in last.model_dump_json()


async def test_two_models_at_once() -> None:
    received = ReceivedEvents()
    both = RunnableParallel(a=Scripted(["a1", "a2"]), b=Scripted(["b1", "b2"]))
    both.invoke("hi", received.config)
    assert sorted(contents(received.check())) == ["a1a2", "b1b2"]


async def test_a_handler_used_again_begins_a_new_run() -> None:
    received = ReceivedEvents()
    for _ in range(2):
        await Scripted(["a"]).ainvoke("hi", received.config)
    received.check()
    runs = [event.run_id for event in received.events if event.type.value == "RUN_STARTED"]
    assert len(set(runs)) == 2


async def test_a_chain_without_a_model() -> None:
    received = ReceivedEvents()
    await RunnableLambda(lambda value: value).ainvoke("hi", received.config)
    received.check()
    assert [event.type.value for event in received.events] == ["RUN_STARTED", "RUN_FINISHED"]


async def test_a_paused_graph_is_told_as_paused() -> None:
    def ask(state: Any) -> Any:
        return {"messages": [("ai", str(interrupt({"question": "Go on?"})))]}

    for way in ("invoke", "ainvoke", "stream", "astream"):
        received = ReceivedEvents()
        graph = chain_of(ask, checkpointer=InMemorySaver())
        config = {**received.config, "configurable": {"thread_id": "t"}}
        await call_by(way, graph, {"messages": [("user", "hi")]}, config)
        received.check()
        last: Any = received.events[-1]
        assert [found.message for found in last.outcome.interrupts] == ["Go on?"]


async def test_a_retriever_that_asks_a_model_is_part_of_the_run() -> None:
    class Asking(BaseRetriever):
        model: Any

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document(self.model.invoke(query, {"callbacks": run_manager.get_child()}).text)]

    received = ReceivedEvents()
    chain = Asking(model=Scripted(["query"])) | RunnableLambda(lambda found: found[0].page_content)
    await chain.ainvoke("hi", received.config)
    assert contents(received.check()) == ["query"]
    received = ReceivedEvents()
    Asking(model=Scripted(["query"])).invoke("hi", received.config)
    assert contents(received.check()) == ["query"]


async def test_leaving_a_stream_early_is_no_failure() -> None:
    received = ReceivedEvents()
    stream = Scripted(["a", "b", "c"]).stream("hi", received.config)
    next(iter(stream))
    stream.close()  # type: ignore[attr-defined]
    received.check()
    last: Any = received.events[-1]
    assert last.outcome.type == "cancelled"


def test_an_async_on_event_is_refused() -> None:
    async def on_event(event: Event) -> None: ...

    with pytest.raises(TypeError, match="not async"):
        AGUICallbackHandler(on_event)


@ways
async def test_a_silenced_model_is_silent(way: str) -> None:
    received = ReceivedEvents()
    chain = Scripted(["CANARY"]).with_config(metadata={"emit-messages": False}) | StrOutputParser()
    await call_by(way, chain | Scripted(["Hello"]) | StrOutputParser(), "hi", received.config)
    assert contents(received.check()) == ["Hello"]
    assert not any("CANARY" in event.model_dump_json() for event in received.events)
