"""Model calls whose messages no node keeps: clients lose them, and the next turn's model never gets
them."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import RetryPolicy
from typing_extensions import TypedDict

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Scripted, call, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, record_run, run_input
from tests.kit.run.thread_client import Client


class Notes(Chat, total=False):
    summary: str
    draft: Any


class Structured(Scripted):
    """Passes on what `with_structured_output` says of a call."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        kept = "ls_structured_output_format"
        return self.bind(**{key: value for key, value in kwargs.items() if key == kept})


class Route(TypedDict):
    """Where to go."""

    to: str


Built = tuple[Any, Scripted]


def noting(write: Any, saver: Any) -> Built:
    """A graph whose first node writes a summary, and whose second answers."""
    model = Scripted(["Hello."], ["Bye."])

    async def note(state: Notes) -> dict[str, Any]:
        return {"summary": await write(state["messages"])}

    return chain_of(note, talker(model), state=Notes, checkpointer=saver), model


def retrying(node: Any, saver: Any) -> Any:
    policy = RetryPolicy(initial_interval=0.001, retry_on=ConnectionError)
    builder = StateGraph(Notes).add_node("node", node, retry_policy=policy).add_edge(START, "node")
    return builder.compile(checkpointer=saver)


def in_a_tool(saver: Any) -> Built:
    signature = thinking(index=0, signature="S")
    inner = Scripted([thinking("inner hm", 0), signature, text_chunk("Inner words", 1)])

    @tool
    async def look(q: str) -> str:
        """Look."""
        return f"{len((await inner.ainvoke(q)).text)} letters"

    model = Scripted([call("look", "c1", q="x")], ["Found."], ["Bye."])
    return create_agent(model, [look], checkpointer=saver), model


def in_a_router(saver: Any) -> Built:
    router = Structured([call("Route", "r1", to="model")]).with_structured_output(Route)

    async def write(messages: Any) -> Any:
        return (await router.ainvoke(messages))["to"]

    return noting(write, saver)


def kept_as_text(saver: Any) -> Built:
    inner = Scripted([call("look", "c1", q="x"), "A summary"])

    async def write(messages: Any) -> Any:
        return (await inner.ainvoke(messages)).text

    return noting(write, saver)


def kept_later(saver: Any) -> Built:
    model = Scripted([thinking("hm", 0), text_chunk("Hello.", 1)], ["Bye."])

    async def draft(state: Notes) -> dict[str, Any]:
        return {"draft": await model.ainvoke(state["messages"])}

    async def publish(state: Notes) -> dict[str, Any]:
        return {"messages": [state["draft"]]}

    return chain_of(draft, publish, state=Notes, checkpointer=saver), model


def retried(saver: Any) -> Built:
    half = [thinking("hm", 0), text_chunk("Hel", 1), calling(part("look", '{"q', "c1", 2))]
    model = Scripted([*half, ConnectionError("down")], [text_chunk("Hello.", 0)], ["Bye."])
    return retrying(talker(model), saver), model


def retried_after_its_model(saver: Any) -> Built:
    model = Scripted(["Hello?"], ["Hello."], ["Bye."])

    async def node(state: Notes) -> dict[str, Any]:
        answer = await model.ainvoke(state["messages"])
        if len(model.seen) == 1:
            raise ConnectionError
        return {"messages": [answer]}

    return retrying(node, saver), model


def replaced(saver: Any) -> Built:
    broken, model = Scripted(["Hel", ConnectionError("down")]), Scripted(["Hello."], ["Bye."])
    node = talker(broken.with_fallbacks([model]))
    return chain_of(node, state=Notes, checkpointer=saver), model


def rewritten(saver: Any) -> Built:
    model = Scripted(["hello"], ["bye"])

    async def node(state: Notes) -> dict[str, Any]:
        return {"messages": [AIMessage((await model.ainvoke(state["messages"])).text.upper())]}

    return chain_of(node, state=Notes, checkpointer=saver), model


def comparable(messages: list[BaseMessage]) -> list[Any]:
    return [(one.type, one.content, getattr(one, "tool_calls", None)) for one in messages]


async def alone(kind: Any) -> tuple[list[Any], list[Any]]:
    """What LangGraph keeps after the first turn, and what the model gets in the second."""
    graph, model = kind(InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    first = await graph.ainvoke({"messages": [("user", "hi")]}, config)
    await graph.ainvoke({"messages": [("user", "more")]}, config)
    return first["messages"], comparable(model.seen[-1])


def shown(recorded: RecordedRun) -> list[Any]:
    """The messages that a client holds, without reasoning."""
    return [(one.role, one.content or "") for one in recorded.messages if one.role != "reasoning"]


@pytest.mark.parametrize(
    ("kind", "saver"),
    [
        (in_a_tool, "lost"),
        (in_a_tool, "kept"),
        (in_a_router, None),
        (kept_as_text, "lost"),
        (kept_later, None),
        (retried, "kept"),
        (retried, None),
        (retried_after_its_model, "kept"),
        (replaced, "lost"),
        (rewritten, "kept"),
        (rewritten, None),
    ],
)
async def test_the_client_holds_what_the_graph_keeps(kind: Any, saver: str | None) -> None:
    """Whether the thread is kept or gone: the next turn's model gets the same."""
    kept, second_request = await alone(kind)
    graph, model = kind(InMemorySaver() if saver else None)
    client = Client(LangGraphAgent(graph))
    first = await client.send("hi")
    roles = {"human": "user", "ai": "assistant", "tool": "tool"}
    assert shown(first) == [(roles[message.type], message.text) for message in kept]
    first.check_snapshot()
    assert not first.last.outcome.pending_tool_call_ids
    assert "r1" not in [one.tool_call_id for one in first.of("TOOL_CALL_START")]
    if saver == "lost":
        graph.checkpointer = InMemorySaver()
    client.agent = LangGraphAgent(graph)
    await client.send("more")
    assert comparable(model.seen[-1]) == second_request


async def test_a_tools_model_is_seen_live_and_then_gone_or_hidden() -> None:
    graph, _ = in_a_tool(None)
    recorded = await record_run(LangGraphAgent(graph), run_input("hi"))
    told = [str(getattr(event, "delta", None)) for event in recorded.events]
    snapshot = recorded.types.index("MESSAGES_SNAPSHOT")
    assert "Inner words" in "".join(told[:snapshot])
    assert "Found." in told[snapshot:]
    assert "Inner words" not in str(recorded.events[snapshot])
    graph, _ = in_a_tool(None)
    agent = LangGraphAgent(graph, clients=ClientOptions(models_in_tools="hidden"))
    recorded = await record_run(agent, run_input("hi"))
    assert "Inner" not in str(recorded.events)
    assert (recorded.types.count("MESSAGES_SNAPSHOT"), recorded.of("REASONING_START")) == (1, [])


async def test_a_graph_without_messages_keeps_what_it_says() -> None:
    class Bare(TypedDict, total=False):
        topic: str

    async def node(state: Bare) -> dict[str, Any]:
        return {"topic": (await Scripted(["Words"]).ainvoke("hi")).text}

    recorded = await record_run(LangGraphAgent(chain_of(node, state=Bare)), run_input("hi"))
    assert shown(recorded)[-1] == ("assistant", "Words")
