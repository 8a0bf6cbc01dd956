"""Graphs of every kind, with and without a checkpointer; one turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import record_run, run_input


class Topic(TypedDict, total=False):
    topic: str
    count: int
    joke: str


def without_messages(saver: Any) -> Any:
    async def joke(state: Topic) -> Any:
        reply = await Scripted([f"About {state['topic']}"]).ainvoke("x")
        return {"joke": reply.content}

    return chain_of(joke, state=Topic, checkpointer=saver)


@task
async def ask(messages: Any) -> AIMessage:
    return await Scripted(["Hel", "lo"]).ainvoke(messages)  # type: ignore[return-value]


def over_messages(saver: Any) -> Any:
    @entrypoint(checkpointer=saver)
    async def workflow(messages: list[Any]) -> Any:
        assert [message.content for message in messages] == ["hi"]
        return await ask(messages)

    return workflow


def over_a_dict(saver: Any) -> Any:
    @entrypoint(checkpointer=saver)
    async def workflow(given: dict[str, Any]) -> Any:
        reply = await ask(given["messages"])
        return {"messages": [*given["messages"], reply], "count": given["count"]}

    return workflow


def over_text(saver: Any) -> Any:
    @entrypoint(checkpointer=saver)
    async def workflow(text: str) -> str:
        return f"{text}: {(await ask(text)).content}"

    return workflow


def synchronous(saver: Any) -> Any:
    @task
    def ask_sync(messages: Any) -> Any:
        return Scripted(["Hello"]).invoke(messages)

    @entrypoint(checkpointer=saver)
    def workflow(messages: list[Any]) -> Any:
        return ask_sync(messages).result()

    return workflow


def subgraph(saver: Any) -> Any:
    inner = chain_of(talker(Scripted(["a"]), "one"), talker(Scripted(["b"]), "two"))
    builder = StateGraph(Chat).add_node("inner", inner).add_node("last", talker(Scripted(["c"])))
    return builder.add_edge(START, "inner").add_edge("inner", "last").compile(checkpointer=saver)


def own_state(saver: Any) -> Any:
    async def think(state: Topic) -> Any:
        await Scripted(["inner thought"]).ainvoke("x")
        return {"topic": "done"}

    inner = chain_of(think, state=Topic)

    async def outer(state: Chat) -> Any:
        return {"messages": [AIMessage((await inner.ainvoke({"topic": "?"}))["topic"])]}

    return chain_of(outer, checkpointer=saver)


def agent_as_a_tool(saver: Any) -> Any:
    inner = create_agent(Scripted(["inner"]), [])

    @tool
    async def ask_expert() -> str:
        """Ask."""
        return str((await inner.ainvoke({"messages": [("user", "go")]}))["messages"][-1].content)

    model = Scripted([call("ask_expert", "c1")], ["outer"])
    return create_agent(model, [ask_expert], checkpointer=saver)


def goto(saver: Any) -> Any:
    async def first(state: Chat) -> Any:
        return Command(goto="second", update={"messages": [AIMessage("from first")]})

    async def second(state: Chat) -> Any:
        return Command(goto=END, update=[("messages", [AIMessage("from second")])])

    builder = StateGraph(Chat).add_node("first", first, destinations=("second",))
    return builder.add_node("second", second).add_edge(START, "first").compile(checkpointer=saver)


def handoff(saver: Any) -> Any:
    async def leave(state: Chat) -> Any:
        update = {"messages": [await Scripted(["handing over"]).ainvoke("x")]}
        return Command(goto="other", graph=Command.PARENT, update=update)

    builder = StateGraph(Chat).add_node("inner", chain_of(leave))
    builder.add_node("other", talker(Scripted(["taken over"]))).add_edge(START, "inner")
    return builder.compile(checkpointer=saver)


KINDS: list[tuple[Callable[[Any], Any], list[str], dict[str, Any]]] = [
    (without_messages, ["About cats"], {"topic": "cats", "joke": "About cats"}),
    (over_messages, ["Hello"], {}),
    (over_a_dict, ["Hello"], {"count": 3}),
    (over_text, ["Hello"], {}),
    (synchronous, ["Hello"], {}),
    (subgraph, ["a", "b", "c"], {}),
    (own_state, ["inner thought", "done"], {}),
    (agent_as_a_tool, ["inner", "outer"], {}),
    (goto, ["from first", "from second"], {}),
    (handoff, ["handing over", "taken over"], {}),
]


@pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["stateless", "stored"])
@pytest.mark.parametrize(("make", "answers", "state"), KINDS)
async def test_what_it_says_and_keeps(make: Any, saver: Any, answers: Any, state: Any) -> None:
    given = {key: value for key, value in state.items() if key != "joke"}
    recorded = await record_run(
        LangGraphAgent(make(saver and saver())), run_input("hi", state=given)
    )
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    said = [one.content for one in recorded.messages if one.role == "assistant" and one.content]
    assert sorted(said) == sorted(answers) if make is agent_as_a_tool else said == answers
    assert recorded.state == state


async def test_messages_under_another_key() -> None:
    class State(TypedDict):
        chat: list[Any]

    agent = agent_of(talker(Scripted(["a"]), key="chat"), state=State, messages_key="chat")
    recorded = await record_run(agent, run_input("hi"))
    recorded.check_snapshot()
    assert [one.content for one in recorded.messages] == ["hi", "a"]
    assert recorded.of("STATE_SNAPSHOT") == []


@pytest.mark.parametrize("value", ["done", 7, ["a", "b"], {"n": 1}])
async def test_what_a_functional_graph_returns(value: Any) -> None:
    """Whatever it is, it is the run's result: no message shows it. A mapping is state too."""

    @entrypoint()
    async def work(inputs: dict) -> Any:
        return value

    recorded = await record_run(LangGraphAgent(graph=work), run_input("hi"))
    assert recorded.last.result == value
    assert recorded.state == (value if isinstance(value, dict) else {})
