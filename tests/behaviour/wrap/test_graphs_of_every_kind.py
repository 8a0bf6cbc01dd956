"""Graphs of every kind, with and without a checkpointer; functional graphs also after a reload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ag_ui.core import Message
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, agent_of, chain_of, talker
from tests.kit.models.scripted import Scripted, call
from tests.kit.run.agents import RecordedRun, dumped, record_run, run_input, user
from tests.kit.run.talking import connect


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


final = entrypoint.final
FORMS: dict[str, Any] = {
    "all": lambda reply, history: history,
    "the answer of a saved list": lambda reply, history: final(value=reply, save=history),
    "a list of a saved list": lambda reply, history: final(value=[reply], save=history),
    "words of a saved list": lambda reply, history: final(value=reply.text, save=history),
    "a state of a saved state": lambda reply, history: final(
        value={"messages": [reply]}, save={"messages": history}
    ),
    "messages beside a saved note": lambda reply, history: final(value=history, save="a note"),
}


def talk(form: str, streams: bool, kept: bool = True) -> tuple[LangGraphAgent, list[list[str]]]:
    """Return an agent that returns or saves its conversation in this form, and what its runs were
    given with what they had kept."""
    given: list[list[str]] = []

    async def answer(messages: Any, previous: Any) -> Any:
        earlier = previous.get("messages", []) if isinstance(previous, dict) else previous
        before = earlier if isinstance(earlier, list) else []
        history: list[BaseMessage] = list(add_messages(before, messages))  # type: ignore[arg-type]
        given.append([str(message.text) for message in history])
        words = f"I have read {history[-1].text}."
        reply = await Scripted([words]).ainvoke("x") if streams else AIMessage(words)
        return FORMS[form](reply, [*history, reply])

    async def over_a_state(state: dict, *, previous: Any = None) -> Any:
        return await answer(state["messages"], previous)

    async def over_a_list(messages: list, *, previous: Any = None) -> Any:
        return await answer(messages, previous)

    work = over_a_state if "state" in form else over_a_list
    saver = InMemorySaver() if kept else None
    return LangGraphAgent(entrypoint(checkpointer=saver)(work)), given


async def say(agent: LangGraphAgent, *messages: Message) -> RecordedRun:
    recorded = await record_run(agent, run_input(*messages, thread="t"))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    return recorded


def words(recorded: RecordedRun) -> list[Any]:
    return [message.content for message in recorded.messages]


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("form", FORMS)
async def test_the_conversation_live_and_after_a_reload(form: str, streams: bool) -> None:
    first = await say(talk(form, streams, kept=False)[0], user("one", "u1"))
    assert words(first) == ["one", "I have read one."]
    agent, _ = talk(form, streams)
    first = await say(agent, user("one", "u1"))
    assert words(first) == ["one", "I have read one."]
    assert first.last.result == ("I have read one." if form.startswith("words") else None)
    second = await say(agent, *first.messages, user("two", "u2"))
    first.check_snapshot()
    second.check_snapshot()
    assert words(second)[2:] == ["two", "I have read two."]
    for held in ([], second.messages):
        shown = await connect(agent, run_input(*held, thread="t"))
        assert dumped(shown.messages) == dumped(second.messages)


@pytest.mark.parametrize("form", ["all", "a list of a saved list", "a state of a saved state"])
async def test_a_client_that_sends_only_what_is_new_and_then_edits_it(form: str) -> None:
    """The function gets what it kept before that message, and the client's list."""
    agent, given = talk(form, streams=False)
    first = await say(agent, user("one", "u1"))
    second = await say(agent, user("two", "u2"))
    assert given[1] == ["one", "I have read one.", "two"]
    # A client keeps the order in which messages have arrived.
    assert words(second) == ["two", "I have read two.", *words(first)]
    assert words(await connect(agent)) == [*given[1], "I have read two."]
    edited = await say(agent, *first.messages, user("three", "u2"))
    assert given[2] == ["one", "I have read one.", "three"]
    assert words(edited) == ["one", "I have read one.", "three", "I have read three."]
    assert dumped((await connect(agent)).messages) == dumped(edited.messages)
