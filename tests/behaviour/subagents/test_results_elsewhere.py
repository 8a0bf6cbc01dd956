"""A tool result that stands in any channel of the graph that ran the call is its result."""

from __future__ import annotations

from operator import add
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import CachePolicy, Command, Overwrite
from typing_extensions import TypedDict

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input, user


def overriding(before: Any, after: Any) -> Any:
    """Open Deep Research's reducer: a mapping replaces the list."""
    if isinstance(after, dict) and after.get("type") == "override":
        return after["value"]
    return add(before or [], after)


class Own(TypedDict, total=False):
    own_messages: Annotated[list[AnyMessage], add_messages]
    listed: Annotated[list[Any], overriding]
    last: Any
    by_agent: dict[str, list[Any]]


class Whole(Chat, Own):
    pass


def result() -> ToolMessage:
    return ToolMessage("found", tool_call_id="c1", name="look")


FORMS: dict[str, Any] = {
    "a list": lambda: {"own_messages": [result()]},
    "one message": lambda: {"own_messages": result()},
    "a command": lambda: Command(update={"own_messages": [result()]}),
    "pairs": lambda: Command(update=[("own_messages", [result()])]),
    "a dict": lambda: {
        "own_messages": [{"role": "tool", "content": "found", "tool_call_id": "c1"}]
    },
    "behind a dict": lambda: {"own_messages": [("user", "so"), result()]},
    "an overwrite": lambda: {"own_messages": Overwrite([result()])},
    "a list without ids": lambda: {"listed": [result()]},
    "an override": lambda: {"listed": {"type": "override", "value": [result()]}},
    "a value": lambda: {"last": result()},
    "under a key": lambda: {"by_agent": {"one": [result()]}},
}


async def ask(state: Any) -> Any:
    return {"own_messages": [await Scripted([call("look", "c1")]).ainvoke("x")]}


def working(form: str, state: Any, **options: Any) -> Any:
    def work(state: Any) -> Any:
        return FORMS[form]()

    return chain_of(ask, work, state=state, **options)


def at_the_root(form: str, saver: Any) -> Any:
    return working(form, Whole, checkpointer=saver)


def declared(form: str, saver: Any) -> Any:
    builder = StateGraph(Whole)
    builder.add_node("inner", working(form, Own))
    builder.add_edge(START, "inner")
    return builder.compile(checkpointer=saver)


def called(form: str, saver: Any) -> Any:
    inner = working(form, Own)

    async def outer(state: Chat) -> Any:
        await inner.ainvoke({"own_messages": [("user", "go")]})
        return {"messages": [AIMessage("done")]}

    return chain_of(outer, state=Chat, checkpointer=saver)


def results(recorded: RecordedRun) -> list[str]:
    return [event.content for event in recorded.of("TOOL_CALL_RESULT")]


@pytest.mark.parametrize(
    ("form", "place", "subagents"),
    [(form, called, "attributed") for form in FORMS]
    + [("a list", called, "inline"), ("an override", at_the_root, "attributed")]
    + [("a command", declared, "attributed"), ("under a key", declared, "inline")],
)
async def test_a_result_in_another_channel(form: str, place: Any, subagents: Any) -> None:
    agent = LangGraphAgent(place(form, InMemorySaver()), clients=ClientOptions(subagents=subagents))
    recorded = await record_run(agent, run_input(user("hi", "u1"), thread="t"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    assert results(recorded) == ["found"]


@pytest.mark.parametrize("form", FORMS)
async def test_the_call_in_the_conversation(form: str) -> None:
    """Live and after a reload."""

    async def answer(state: Any) -> Any:
        return {"messages": [await Scripted([call("look", "c1")]).ainvoke("x")]}

    def work(state: Any) -> Any:
        return FORMS[form]()

    agent = LangGraphAgent(chain_of(answer, work, state=Whole, checkpointer=InMemorySaver()))
    recorded = await record_run(agent, run_input(user("hi", "u1"), thread="t"))
    assert results(recorded) == ["found"]
    given = run_input(thread="t")
    shown = RecordedRun(await collect(agent.connect(given)), given)
    assert [m.content for m in shown.messages if m.role == "tool"] == ["found"]
    again = await record_run(agent, run_input(*recorded.messages, user("more", "u2"), thread="t"))
    assert "Interrupted: there is no result." not in str(again.events)


async def test_a_cached_node() -> None:
    def work(state: Any) -> Any:
        return {"own_messages": [result()]}

    builder = StateGraph(Whole)
    builder.add_node("ask", ask)
    builder.add_node("work", work, cache_policy=CachePolicy(key_func=lambda state: "same"))
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "work")
    agent = LangGraphAgent(builder.compile(cache=InMemoryCache()))
    for _ in range(2):
        assert results(await record_run(agent, run_input("hi"))) == ["found"]
