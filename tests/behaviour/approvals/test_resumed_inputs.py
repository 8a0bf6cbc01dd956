"""A resume runs what was paused, and nothing else: the input's old messages are no new input,
whatever the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent
from tests.kit.graphs.small import Chat, chain_of
from tests.kit.run.agents import user
from tests.kit.run.dialogues import cancelled, resolved
from tests.kit.run.thread_client import Client, ending

Ran = list[tuple[str, Any]]
"""What has taken effect: the input that asked for it, and the answer."""


class Task(TypedDict, total=False):
    topic: str
    allowed: bool


class Chatting(TypedDict):
    chat: Annotated[list[AnyMessage], add_messages]


def act(ran: Ran, text: str) -> None:
    answer = interrupt("Go on?")
    ran.append((text, answer))


def text_entry(ran: Ran) -> Any:
    @entrypoint(checkpointer=InMemorySaver())
    async def work(text: str) -> str:
        act(ran, text)
        return "done"

    return work


def dict_entry(ran: Ran) -> Any:
    @entrypoint(checkpointer=InMemorySaver())
    async def work(given: dict[str, Any]) -> dict[str, Any]:
        act(ran, given["messages"][-1].text)
        return {"messages": [AIMessage("done")]}

    return work


def asking(then: Any, key: str = "messages", state: Any = Chat) -> Callable[[Ran], Any]:
    def graph(ran: Ran) -> Any:
        async def work(state: Any) -> None:
            act(ran, state["topic"] if key == "topic" else state[key][-1].text)

        return chain_of(work, then, state=state, checkpointer=InMemorySaver())

    return graph


def forget(state: Chat) -> Any:
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), AIMessage("It was something.")]}


def replace(state: Chat) -> Any:
    last = state["messages"][-1]
    said = [HumanMessage(f"{last.text}, please"), AIMessage("Yes.")]
    return {"messages": [RemoveMessage(id=str(last.id)), *said]}


WITH_MESSAGES: dict[str, Callable[[Ran], Any]] = {
    "messages": asking(lambda state: {"messages": [AIMessage("Yes.")]}),
    "chat": asking(lambda state: {"chat": [AIMessage("Yes.")]}, "chat", Chatting),
    "forgets its messages": asking(forget),
    "replaces the user's message": asking(replace),
}
GRAPHS: dict[str, Callable[[Ran], Any]] = {
    "entrypoint of text": text_entry,
    "entrypoint of a dict": dict_entry,
    "without messages": asking(lambda state: {}, "topic", Task),
    **WITH_MESSAGES,
}


def client_of(kind: str) -> tuple[Client, Ran]:
    ran: Ran = []
    agent = LangGraphAgent(GRAPHS[kind](ran), messages_key="chat" if kind == "chat" else "messages")
    return Client(agent, state={"topic": "hi"} if kind == "without messages" else {}), ran


@pytest.mark.parametrize("kind", GRAPHS)
async def test_what_is_approved_happens_once_and_what_is_cancelled_never(kind: str) -> None:
    client, ran = client_of(kind)
    [one] = await client.ask(user("hi", "u1"))
    old = list(client.held)
    for held in (old, client.held, None):  # what the client holds that sends it once more
        client.held = client.held if held is None else held
        recorded = await client.send(resume=resolved((one.id, True)))
        assert (ending(recorded), ran) == ("success", [("hi", True)])
    [two] = await client.ask(user("again", "u2"))
    assert ending(await client.send(resume=cancelled(two.id))) == "cancelled"
    [three] = await client.ask(user("at last", "u3"))
    assert (len({one.id, two.id, three.id}), len(ran)) == (3, 1)
    done = await client.send(resume=resolved((three.id, True)))
    assert (ending(done), len(ran)) == ("success", 2)


@pytest.mark.parametrize("kind", WITH_MESSAGES)
async def test_a_new_message_beside_an_answer_runs_once_after_it(kind: str) -> None:
    client, ran = client_of(kind)
    [one] = await client.ask(user("hi", "u1"))
    [two] = await client.ask(user("more", "u2"), resume=resolved((one.id, True)))
    assert ran == [("hi", True)]
    [three] = await client.ask(user("and more", "u3"), resume=cancelled(two.id))
    assert ran == [("hi", True)]
    done = await client.send(resume=resolved((three.id, "also")))
    assert (ending(done), ran) == ("success", [("hi", True), ("and more", "also")])
    stored = await client.stored("chat" if kind == "chat" else "messages")
    texts = [str(message.text) for message in stored]
    assert texts.count("hi") == (kind in ("messages", "chat"))
    assert sum(text.startswith("and more") for text in texts) == (kind != "forgets its messages")


async def test_an_approval_that_the_state_remembers_is_used_once() -> None:
    """A graph without messages that remembers what it was allowed to: run again, it would do its
    work again."""
    sent: list[str] = []

    def ask(state: Task) -> Any:
        return {"allowed": interrupt("Send the mail?") is True}

    def send(state: Task) -> None:
        sent.append(state["topic"])

    def first(state: Task) -> str:
        return "send" if state.get("allowed") else "ask"

    builder = StateGraph(Task).add_node("ask", ask).add_node("send", send)
    builder.add_conditional_edges(START, first, ["ask", "send"]).add_edge("ask", "send")
    graph = builder.compile(checkpointer=InMemorySaver())
    client = Client(LangGraphAgent(graph), state={"topic": "x"})
    [one] = await client.ask("go")
    recorded = await client.send(resume=resolved((one.id, True)))
    assert (ending(recorded), sent) == ("success", ["x"])
