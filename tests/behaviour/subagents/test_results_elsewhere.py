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
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.run.thread_client import Client, ending


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


DICT = {"role": "tool", "content": "found", "tool_call_id": "c1"}
FORMS: dict[str, Any] = {
    "a list": lambda: {"own_messages": [result()]},
    "one message": lambda: {"own_messages": result()},
    "a command": lambda: Command(update={"own_messages": [result()]}),
    "pairs": lambda: Command(update=[("own_messages", [result()])]),
    "a dict": lambda: {"own_messages": [DICT]},
    "behind a dict": lambda: {"own_messages": [("user", "so"), result()]},
    "an overwrite": lambda: {"own_messages": Overwrite([result()])},
    "a list without ids": lambda: {"listed": [result()]},
    "an override": lambda: {"listed": {"type": "override", "value": [result()]}},
    "a value": lambda: {"last": result()},
    "under a key": lambda: {"by_agent": {"one": [result()]}},
}


ASKING = Scripted([call("look", "c1")])


def working(form: str, state: Any, key: str = "own_messages", **options: Any) -> Any:
    """A graph whose result of a call that stands in `key` is in another channel, or another form."""

    def work(state: Any) -> Any:
        return FORMS[form]()

    async def ask(state: Any) -> Any:
        return {key: [await ASKING.ainvoke("x")]}

    return chain_of(ask, work, state=state, **options)


def called(form: str) -> Any:
    inner = working(form, Own)

    async def outer(state: Chat) -> Any:
        await inner.ainvoke({"own_messages": [("user", "go")]})
        return {"messages": [AIMessage("done")]}

    return chain_of(outer)


def results(recorded: RecordedRun) -> list[str]:
    return [event.content for event in recorded.of("TOOL_CALL_RESULT")]


@pytest.mark.parametrize(
    ("graph", "mode"),
    [
        *((called(form), "attributed") for form in FORMS),
        (called("a list"), "inline"),
        (working("an override", Whole), "attributed"),
        (chain_of(working("a command", Own), state=Whole), "attributed"),
        (chain_of(working("under a key", Own), state=Whole), "inline"),
    ],
)
async def test_a_result_in_another_channel(graph: Any, mode: Any) -> None:
    agent = LangGraphAgent(graph, clients=ClientOptions(subagents=mode))
    recorded = await record_run(agent, run_input("hi"))
    assert ending(recorded) == "success"
    assert results(recorded) == ["found"]


@pytest.mark.parametrize("form", FORMS)
async def test_the_call_in_the_conversation(form: str) -> None:
    """Live and after a reload."""
    graph = working(form, Whole, "messages", checkpointer=InMemorySaver())
    client = Client(LangGraphAgent(graph))
    assert results(await client.send("hi")) == ["found"]
    shown = await client.connect()
    assert [one.content for one in shown.messages if one.role == "tool"] == ["found"]
    assert "Interrupted: there is no result." not in str((await client.send("more")).events)


async def test_a_cached_node() -> None:
    def work(state: Any) -> Any:
        return FORMS["a list"]()

    builder: Any = StateGraph(Whole)
    builder.add_node("ask", lambda state: {"own_messages": [ASKING.invoke("x")]})
    builder.add_node("work", work, cache_policy=CachePolicy(key_func=lambda state: "same"))
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "work")
    agent = LangGraphAgent(builder.compile(cache=InMemoryCache()))
    for _ in range(2):
        assert results(await record_run(agent, run_input("hi"))) == ["found"]
