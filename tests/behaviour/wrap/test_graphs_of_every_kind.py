"""Graphs of every kind, with and without a checkpointer; one turn."""

from __future__ import annotations

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
from tests.kit.run.agents import RecordedRun, record_run, run_input


async def recording(graph: Any, **fields: Any) -> RecordedRun:
    recorded = await record_run(LangGraphAgent(graph=graph), run_input("hi", **fields))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    recorded.check_snapshot()
    return recorded


def answers(recorded: RecordedRun) -> list[Any]:
    return [
        message.content
        for message in recorded.messages
        if message.role == "assistant" and message.content
    ]


def saver(kept: bool) -> Any:
    return InMemorySaver() if kept else None


both = pytest.mark.parametrize(
    "kept", [False, True], ids=["without-checkpointer", "with-checkpointer"]
)


@both
async def test_state_without_messages(kept: bool) -> None:
    class State(TypedDict, total=False):
        topic: str
        joke: str

    async def joke(state: State) -> Any:
        reply = await Scripted([f"About {state['topic']}"]).ainvoke("x")
        return {"joke": reply.content}

    recorded = await recording(
        chain_of(joke, state=State, checkpointer=saver(kept)), state={"topic": "cats"}
    )
    assert answers(recorded) == ["About cats"]
    assert recorded.state == {"topic": "cats", "joke": "About cats"}


@task
async def ask(messages: Any) -> AIMessage:
    return await Scripted(["Hel", "lo"]).ainvoke(messages)  # type: ignore[return-value]


@both
async def test_an_entrypoint_over_messages(kept: bool) -> None:
    @entrypoint(checkpointer=saver(kept))
    async def workflow(messages: list[Any]) -> Any:
        assert [message.content for message in messages] == ["hi"]
        return await ask(messages)

    assert answers(await recording(workflow)) == ["Hello"]


@both
async def test_an_entrypoint_over_a_dict(kept: bool) -> None:
    @entrypoint(checkpointer=saver(kept))
    async def workflow(given: dict[str, Any]) -> Any:
        reply = await ask(given["messages"])
        return {"messages": [*given["messages"], reply], "count": given["count"]}

    recorded = await recording(workflow, state={"count": 3})
    assert answers(recorded) == ["Hello"]
    assert recorded.state == {"count": 3}


@both
async def test_an_entrypoint_over_text(kept: bool) -> None:
    @entrypoint(checkpointer=saver(kept))
    async def workflow(text: str) -> str:
        return f"{text}: {(await ask(text)).content}"

    assert answers(await recording(workflow)) == ["Hello"]


async def test_a_sync_entrypoint() -> None:
    @task
    def ask_sync(messages: Any) -> Any:
        return Scripted(["Hello"]).invoke(messages)

    @entrypoint()
    def workflow(messages: list[Any]) -> Any:
        return ask_sync(messages).result()

    assert answers(await recording(workflow)) == ["Hello"]


@both
async def test_a_subgraph_as_a_node(kept: bool) -> None:
    inner = chain_of(talker(Scripted(["a"]), "one"), talker(Scripted(["b"]), "two"))
    builder = StateGraph(Chat)
    builder.add_node("inner", inner)
    builder.add_node("last", talker(Scripted(["c"])))
    builder.add_edge(START, "inner")
    builder.add_edge("inner", "last")
    assert answers(await recording(builder.compile(checkpointer=saver(kept)))) == ["a", "b", "c"]


@both
async def test_a_subgraph_with_a_state_of_its_own(kept: bool) -> None:
    class Own(TypedDict):
        question: str

    async def think(state: Own) -> Any:
        await Scripted(["inner thought"]).ainvoke("x")
        return {"question": "done"}

    inner = chain_of(think, state=Own)

    async def outer(state: Chat) -> Any:
        result = await inner.ainvoke({"question": "?"})
        return {"messages": [AIMessage(result["question"])]}

    assert answers(await recording(chain_of(outer, checkpointer=saver(kept)))) == [
        "inner thought",
        "done",
    ]


@both
async def test_an_agent_as_a_tool(kept: bool) -> None:
    inner = create_agent(Scripted(["inner"]), [])

    @tool
    async def ask_expert() -> str:
        """Ask."""
        return str((await inner.ainvoke({"messages": [("user", "go")]}))["messages"][-1].content)

    model = Scripted([call("ask_expert", "c1")], ["outer"])
    recorded = await recording(create_agent(model, [ask_expert], checkpointer=saver(kept)))
    assert sorted(answers(recorded)) == ["inner", "outer"]


@both
async def test_goto(kept: bool) -> None:
    async def first(state: Chat) -> Any:
        return Command(goto="second", update={"messages": [AIMessage("from first")]})

    async def second(state: Chat) -> Any:
        return Command(goto=END, update=[("messages", [AIMessage("from second")])])

    builder = StateGraph(Chat)
    builder.add_node("first", first, destinations=("second",))
    builder.add_node("second", second)
    builder.add_edge(START, "first")
    assert answers(await recording(builder.compile(checkpointer=saver(kept)))) == [
        "from first",
        "from second",
    ]


async def test_handoff_from_a_subgraph_to_its_parent() -> None:
    async def leave(state: Chat) -> Any:
        update = {"messages": [await Scripted(["handing over"]).ainvoke("x")]}
        return Command(goto="other", graph=Command.PARENT, update=update)

    builder = StateGraph(Chat)
    builder.add_node("inner", chain_of(leave))
    builder.add_node("other", talker(Scripted(["taken over"])))
    builder.add_edge(START, "inner")
    assert answers(await recording(builder.compile())) == ["handing over", "taken over"]


async def test_messages_under_another_key() -> None:
    class State(TypedDict):
        chat: list[Any]

    agent = agent_of(talker(Scripted(["a"]), key="chat"), state=State, messages_key="chat")
    recorded = await record_run(agent, run_input("hi"))
    recorded.check_snapshot()
    assert answers(recorded) == ["a"]
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
