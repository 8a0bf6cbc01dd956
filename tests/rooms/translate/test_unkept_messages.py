"""Model calls whose messages no node keeps: clients lose them, and the next turn's model never gets
them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import RetryPolicy
from typing_extensions import TypedDict

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.kit.deep import each_value
from tests.kit.graphs.small import chain_of
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, record_run, run_input, user


class Notes(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    summary: str
    draft: Any


class Structured(Scripted):
    """Passes on what `with_structured_output` says of a call."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(
            **{key: value for key, value in kwargs.items() if key == "ls_structured_output_format"}
        )


class Route(TypedDict):
    """Where to go."""

    to: str


def in_a_tool(saver: Any) -> tuple[Any, Scripted]:
    inner = Scripted(
        [thinking("inner hm", 0), thinking(index=0, signature="S"), text_chunk("Inner words", 1)]
    )

    @tool
    async def look(q: str) -> str:
        """Look."""
        return f"{len((await inner.ainvoke(q)).text)} letters"

    model = Scripted([call("look", "c1", q="x")], ["Found."], ["Bye."])
    return create_agent(model, [look], checkpointer=saver), model


def in_a_router(saver: Any) -> tuple[Any, Scripted]:
    router, model = Structured([call("Route", "r1", to="model")]), Scripted(["Hello."], ["Bye."])

    async def route(state: Notes) -> dict[str, Any]:
        return {
            "summary": (await router.with_structured_output(Route).ainvoke(state["messages"]))["to"]
        }

    return chain_of(route, _answering(model), state=Notes, checkpointer=saver), model


def kept_as_text(saver: Any) -> tuple[Any, Scripted]:
    inner, model = (
        Scripted([call("look", "c1", q="x"), "A summary"]),
        Scripted(["Hello."], ["Bye."]),
    )

    async def summarize(state: Notes) -> dict[str, Any]:
        return {"summary": (await inner.ainvoke(state["messages"])).text}

    return chain_of(summarize, _answering(model), state=Notes, checkpointer=saver), model


def kept_later(saver: Any) -> tuple[Any, Scripted]:
    model = Scripted([thinking("hm", 0), text_chunk("Hello.", 1)], ["Bye."])

    async def draft(state: Notes) -> dict[str, Any]:
        return {"draft": await model.ainvoke(state["messages"])}

    async def publish(state: Notes) -> dict[str, Any]:
        return {"messages": [state["draft"]]}

    return chain_of(draft, publish, state=Notes, checkpointer=saver), model


def retried(saver: Any) -> tuple[Any, Scripted]:
    half = [
        thinking("hm", 0),
        text_chunk("Hel", 1),
        calling(part("look", '{"q', "c1", 2)),
        ConnectionError("down"),
    ]
    model = Scripted(half, [text_chunk("Hello.", 0)], ["Bye."])
    return _with_retry(_answering(model), saver), model


def retried_after_its_model(saver: Any) -> tuple[Any, Scripted]:
    model = Scripted(["Hello?"], ["Hello."], ["Bye."])
    tries: list[int] = []

    async def node(state: Notes) -> dict[str, Any]:
        answer = await model.ainvoke(state["messages"])
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError
        return {"messages": [answer]}

    return _with_retry(node, saver), model


def replaced(saver: Any) -> tuple[Any, Scripted]:
    broken, model = Scripted(["Hel", ConnectionError("down")]), Scripted(["Hello."], ["Bye."])
    return chain_of(
        _answering(broken.with_fallbacks([model])), state=Notes, checkpointer=saver
    ), model


def rewritten(saver: Any) -> tuple[Any, Scripted]:
    model = Scripted(["hello"], ["bye"])

    async def node(state: Notes) -> dict[str, Any]:
        return {"messages": [AIMessage((await model.ainvoke(state["messages"])).text.upper())]}

    return chain_of(node, state=Notes, checkpointer=saver), model


def _answering(model: Any) -> Any:
    async def answer(state: Notes) -> dict[str, list[BaseMessage]]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return answer


def _with_retry(node: Any, saver: Any) -> Any:
    policy = RetryPolicy(initial_interval=0.001, retry_on=ConnectionError)
    builder = StateGraph(Notes).add_node("node", node, retry_policy=policy).add_edge(START, "node")
    return builder.compile(checkpointer=saver)


KINDS = [
    in_a_tool,
    in_a_router,
    kept_as_text,
    kept_later,
    retried,
    retried_after_its_model,
    replaced,
    rewritten,
]
Kind = Callable[[Any], tuple[Any, Scripted]]


def comparable(messages: list[BaseMessage]) -> list[Any]:
    return [
        (message.type, message.content, getattr(message, "tool_calls", None))
        for message in messages
    ]


async def alone(kind: Kind) -> tuple[list[Any], list[Any]]:
    """What LangGraph keeps after the first turn, and what the model gets in the second."""
    graph, model = kind(InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    first = await graph.ainvoke({"messages": [("user", "hi")]}, config)
    await graph.ainvoke({"messages": [("user", "more")]}, config)
    return first["messages"], comparable(model.seen[-1])


def shown(recorded: RecordedRun) -> list[Any]:
    """The messages that a client holds, without reasoning."""
    return [(one.role, one.content or "") for one in recorded.messages if one.role != "reasoning"]


@asynccontextmanager
async def savers(way: str, path: Path) -> AsyncIterator[list[Any]]:
    """The checkpointers of the first and the second turn."""
    match way:
        case "no checkpointer":
            yield [None, None]
        case "checkpointer":
            yield [InMemorySaver()] * 2
        case "lost":
            yield [InMemorySaver(), InMemorySaver()]
        case _:
            connect = AsyncSqliteSaver.from_conn_string
            async with connect(str(path)) as one, connect(str(path)) as other:
                yield [one, other]


@pytest.mark.parametrize("way", ["no checkpointer", "checkpointer", "restarted", "lost"])
@pytest.mark.parametrize("kind", KINDS)
@each_value()
async def test_the_client_holds_what_the_graph_keeps(kind: Kind, way: str, tmp_path: Path) -> None:
    """Whether the thread is kept, is read by another process, or is gone: the next turn's model
    gets the same."""
    kept, second_request = await alone(kind)
    async with savers(way, tmp_path / "threads") as (saver, later):
        graph, model = kind(saver)
        first = await record_run(LangGraphAgent(graph), run_input(user("hi"), thread="t"))
        check_first(first, kept)
        graph.checkpointer = later
        await record_run(
            LangGraphAgent(graph), run_input(*first.messages, user("more"), thread="t")
        )
    assert comparable(model.seen[-1]) == second_request


def check_first(first: RecordedRun, kept: list[Any]) -> None:
    """The client holds what the graph keeps, and waits for no call."""
    roles = {"human": "user", "ai": "assistant", "tool": "tool"}
    assert shown(first) == [(roles[message.type], message.text) for message in kept]
    first.check_snapshot()
    assert not first.last.outcome.pending_tool_call_ids


def position(recorded: RecordedRun, delta: str) -> int:
    """Where a fragment is; those behind it may have merged with it."""
    return [
        str(getattr(event, "delta", None)).startswith(delta) for event in recorded.events
    ].index(True)


async def test_a_tools_model_is_seen_live_and_gone_when_its_node_has_ended() -> None:
    graph, _ = in_a_tool(None)
    recorded = await record_run(LangGraphAgent(graph), run_input(user("hi")))
    words = position(recorded, "Inner words")
    snapshot = recorded.types.index("MESSAGES_SNAPSHOT")
    answer = position(recorded, "Found.")
    assert words < snapshot < answer
    assert "Inner words" not in str(recorded.events[snapshot])


async def test_inner_models_can_be_hidden() -> None:
    graph, _ = in_a_tool(None)
    recorded = await record_run(
        LangGraphAgent(graph, clients=ClientOptions(models_in_tools="hidden")),
        run_input(user("hi")),
    )
    assert "Inner" not in str(recorded.events)
    assert recorded.types.count("MESSAGES_SNAPSHOT") == 1
    assert not recorded.of("REASONING_START")


async def test_a_structured_answer_is_never_a_call() -> None:
    graph, _ = in_a_router(None)
    recorded = await record_run(LangGraphAgent(graph), run_input(user("hi")))
    assert not recorded.of("TOOL_CALL_START")


async def test_a_graph_without_messages_keeps_what_it_says() -> None:
    class Bare(TypedDict, total=False):
        topic: str

    model = Scripted(["Words"])

    async def node(state: Bare) -> dict[str, Any]:
        return {"topic": (await model.ainvoke("hi")).text}

    recorded = await record_run(LangGraphAgent(chain_of(node, state=Bare)), run_input(user("hi")))
    assert shown(recorded)[-1] == ("assistant", "Words")
