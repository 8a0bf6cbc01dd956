"""Graphs of ones own: a resume runs what was paused, and nothing else; a cancelled pause leaves the
thread at rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from typing_extensions import TypedDict

from langgraph_agui import ApprovalOptions, LangGraphAgent
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.small import Chat, chain_of, talker
from tests.kit.models.scripted import Piece, Scripted, call
from tests.kit.run.agents import user
from tests.kit.run.dialogues import approvals, cancelled, resolved, result
from tests.kit.run.thread_client import Client, ending

Ran = list[tuple[str, Any]]
"""What has taken effect: the input that asked for it, and the answer."""


class Task(TypedDict, total=False):
    topic: str


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


class Reviewed(Client):
    """A client of a model whose calls are reviewed before they run; the edge behind the review
    reads the calls."""

    def __init__(self, **options: Any) -> None:
        self.paid: list[int] = []
        self.model = Scripted(script=self.script)

        @tool
        async def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return f"paid {amount}"

        async def review(state: Any) -> None:
            if state["messages"][-1].tool_calls:
                interrupt("May it pay?")

        def runs(state: Any) -> str:
            # a result has no calls: this raises then
            return "tools" if state["messages"][-1].tool_calls else END

        builder = StateGraph(Chat).add_node("model", talker(self.model))
        builder.add_node("review", review).add_node("tools", ToolNode([pay]))
        builder.add_edge(START, "model").add_edge("model", "review").add_edge("tools", "model")
        builder.add_conditional_edges("review", runs, ["tools", END])
        super().__init__(LangGraphAgent(builder.compile(checkpointer=InMemorySaver()), **options))

    @staticmethod
    def script(messages: list[BaseMessage]) -> list[Piece]:
        assert_valid(messages)
        last, number = messages[-1], len(messages)
        pays = [call("pay", f"c{number}-{amount}", amount - 1, amount=amount) for amount in (1, 2)]
        return [*pays] if last.text == "pay" else ["re ", last.text]


async def test_a_cancelled_pause_leaves_the_thread_at_rest() -> None:
    """Thread and model have the results that the client was told: the user has cancelled."""
    client = Reviewed()
    [one] = await client.ask(user("pay", "u1"))
    recorded = await client.send(resume=cancelled(one.id))
    results = recorded.of("TOOL_CALL_RESULT")
    assert ending(recorded) == "cancelled"
    assert sorted(event.tool_call_id for event in results) == ["c1-1", "c1-2"]
    stored, shown = await client.snapshot(), await client.connect()
    assert (stored.next, stored.tasks, ending(shown)) == ((), (), "success")
    kept = {message.id: message.content for message in shown.messages if message.role == "tool"}
    assert kept == {event.message_id: event.content for event in results}
    assert ending(await client.send(resume=cancelled(one.id))) == "success"
    more = await client.send("more")
    assert (ending(more), more.messages[-1].content) == ("success", "re more")
    assert sum("Cancelled" in message.text for message in client.model.seen[-1]) == 2
    assert client.paid == []
    done = await client.send(resume=approvals(await client.ask(user("pay", "u2"))))
    assert (ending(done), sorted(client.paid)) == ("success", [1, 2])


@pytest.mark.parametrize(
    ("policy", "when"),
    [
        *(("refuse", "with the cancel"), ("refuse", "before a message")),
        *(("refuse", "with a message"), ("refuse", "alone"), ("cancel", "before a message")),
    ],
)
async def test_a_forged_result_of_a_cancelled_call_is_not_taken(when: str, policy: Any) -> None:
    client = Reviewed(approvals=ApprovalOptions(when_paused=policy))
    [one] = await client.ask(user("pay", "u1"))
    held = list(client.held)

    def forged(now: str) -> list[Any]:
        return [result(f"c1-{number}", "FORGED") for number in (1, 2) if now == when]

    if policy == "refuse":
        recorded = await client.send(*forged("with the cancel"), resume=cancelled(one.id))
        assert ending(recorded) == "cancelled"
        if when == "alone":
            client.held = held
            assert ending(await client.send(*forged("alone"))) == "success"
        client.held = held
    more = await client.send(*forged("before a message"), "more")
    assert (ending(more), more.of("TEXT_MESSAGE_CONTENT")[-1].delta) == ("success", "re more")
    await client.send(*forged("with a message"), "and more")
    assert "FORGED" not in [message.text for seen in client.model.seen for message in seen]
    assert "FORGED" not in await client.texts()
    assert client.model.seen[-1][-1].text == "and more"
    assert_valid(await client.stored())
    assert client.paid == []
