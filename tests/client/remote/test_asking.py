"""What a remote agent asks: interrupts of the local graph, answered through it, each guarded tool run once at most."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from langgraph_agui.client import RemoteAgent
from langgraph_agui.told import CANCELLED
from tests.adapter.models import Scripted, call, calling, part
from tests.adapter.streams import Told, run_input
from tests.client.remote.world import Client, Host, around, words


class Bank:
    """A remote agent whose tool needs an approval; `sent` is what has really been done."""

    def __init__(self, host: Host, *turns: Any, **options: Any) -> None:
        self.sent: list[int] = []

        @tool
        def transfer(amount: int) -> str:
            """Send money."""
            self.sent.append(amount)
            return f"sent {amount}"

        self.model = Scripted(*turns)
        guarded = HumanInTheLoopMiddleware({"transfer": True})
        self.inner = create_agent(self.model, [transfer], middleware=[guarded])
        self.url = host(
            create_agent(self.model, [transfer], middleware=[guarded], checkpointer=InMemorySaver()), **options
        )

    def client(self, **options: Any) -> Client:
        return Client(around(RemoteAgent(self.url, name="bank", **options), checkpointer=InMemorySaver()))


def once() -> list[Any]:
    return [[call("transfer", "t1", amount=5)], ["Done."], ["Anything else?"]]


def twice() -> list[Any]:
    both = calling(part("transfer", '{"amount": 1}', "t1", 0), part("transfer", '{"amount": 2}', "t2", 1))
    return [["Both. ", both], ["Done."], ["Anything else?"]]


def results(messages: Any) -> list[tuple[str, str]]:
    return [(one.tool_call_id, one.text) for one in messages if isinstance(one, LCToolMessage)]


ANSWERS: dict[str, tuple[Any, list[int]]] = {
    "approve": ({"approved": True}, [5]),
    "reject": ({"approved": False, "message": "no way"}, []),
    "edit": ({"approved": True, "editedArgs": {"amount": 7}}, [7]),
    "cancel": (None, []),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_one_question(host: Host, name: str) -> None:
    payload, sent = ANSWERS[name]
    bank = Bank(host, *once())
    client = bank.client()
    told = await client.say("pay")
    (ended,) = told.of("SUBAGENT_FINISHED")
    (one,) = client.open
    assert (one.reason, one.tool_call_id, ended.outcome.interrupt_ids) == ("tool_call", "t1", [one.id])
    assert one.metadata["args"] == {"amount": 5}
    assert one.subagent_run_id == ended.subagent_run_id
    assert bank.sent == []
    given = run_input(*client.messages, thread=client.thread)
    again = Told([event async for event in client.agent.connect(given)], given)
    assert again.last.outcome.interrupts == client.open
    assert [message.id for message in again.messages] == [message.id for message in told.messages]
    told = await client.answer(payload)
    assert told.last.outcome.type == "success"
    assert bank.sent == sent
    ((call_id, text),) = results(await client.held())
    assert call_id == "t1"
    said = f"sent {sent[0]}" if sent else "no way" if payload else "rejected"
    assert said in text
    assert words(await client.held())[-1] == ("ai", "Done.")

    # The remote thread goes on: it has heard everything once.
    await client.say("thanks")
    assert words(bank.model.seen[-1])[-2:] == [("ai", "Done."), ("human", "thanks")]
    assert len(bank.model.seen[-1]) == 5
    assert bank.sent == sent


async def test_two_questions_answered_together(host: Host) -> None:
    bank = Bank(host, *twice())
    client = bank.client()
    await client.say("pay")
    assert {one.tool_call_id for one in client.open} == {"t1", "t2"}
    await client.answer(*({"approved": one.tool_call_id == "t1"} for one in client.open))
    assert bank.sent == [1]
    assert sorted(call_id for call_id, _ in results(await client.held())) == ["t1", "t2"]


async def test_two_questions_answered_one_after_the_other(host: Host) -> None:
    bank = Bank(host, *twice())
    client = bank.client()
    await client.graph.ainvoke({"messages": "pay"}, client.config)
    first, second = (await client.graph.aget_state(client.config)).interrupts
    made = await client.graph.ainvoke(Command(resume={second.id: {"approved": True}}), client.config)
    assert [one.id for one in made["__interrupt__"]] == [first.id]
    assert bank.sent == []
    await client.graph.ainvoke(Command(resume={first.id: {CANCELLED: True}}), client.config)
    assert bank.sent == [2 if second.value["toolCallId"] == "t2" else 1]


async def test_it_asks_again(host: Host) -> None:
    bank = Bank(host, [call("transfer", "t1", amount=1)], [call("transfer", "t2", amount=2)], ["Done."])
    client = bank.client()
    await client.say("pay")
    told = await client.answer({"approved": True})
    assert (bank.sent, [one.tool_call_id for one in client.open]) == ([1], ["t2"])
    assert told.of("TOOL_CALL_RESULT")[0].tool_call_id == "t1"
    await client.answer({"approved": True})
    assert bank.sent == [1, 2]
    assert [kind for kind, _ in words(await client.held())] == ["human", "ai", "tool", "ai", "tool", "ai"]


async def test_a_question_that_has_expired_is_cancelled(host: Host) -> None:
    bank = Bank(host, *once(), approval_timeout=timedelta(seconds=0))
    client = bank.client()
    await client.graph.ainvoke({"messages": "pay"}, client.config)
    await client.graph.ainvoke(Command(resume={"approved": True}), client.config)
    assert bank.sent == []
    assert words(await client.held())[-1] == ("ai", "Done.")


async def test_a_question_beside_a_local_tool(host: Host) -> None:
    def asks(state: MessagesState) -> Any:
        number = sum(message.type == "tool" for message in state["messages"])
        if number:
            return {"messages": AIMessage("Done.", id="end")}
        answer = interrupt("which way?")
        return {"messages": AIMessage(str(answer), id="asked")}

    def calls(state: MessagesState) -> Any:
        if any(message.type == "tool" for message in state["messages"]):
            return {}
        request = {"name": "where_am_i", "args": {}, "id": "w1", "type": "tool_call"}
        return {"messages": AIMessage("Where?", tool_calls=[request], id="calls")}

    builder = StateGraph(MessagesState)
    builder.add_node("asks", asks)
    builder.add_node("calls", calls)
    builder.add_edge(START, "asks")
    builder.add_edge(START, "calls")
    ran: list[str] = []

    @tool
    def where_am_i() -> str:
        """Find the user."""
        ran.append("here")
        return "Rome"

    url = host(builder.compile(InMemorySaver()))
    client = Client(around(RemoteAgent(url, name="guide", tools=[where_am_i]), checkpointer=InMemorySaver()))
    told = await client.say("where to?")
    (one,) = client.open
    assert one.message == "which way?"
    assert ran == ["here"]
    assert [event.content for event in told.of("TOOL_CALL_RESULT")] == ["Rome"]
    await client.answer("left")
    assert ran == ["here"]
    assert results(await client.held()) == [("w1", "Rome")]
    assert ("ai", "left") in words(await client.held())


async def test_a_question_of_a_remote_subagent(host: Host) -> None:
    bank = Bank(host, *once())
    graph = StateGraph(MessagesState).add_node("teller", bank.inner).add_edge(START, "teller").compile(InMemorySaver())
    client = Client(around(RemoteAgent(host(graph), name="bank"), checkpointer=InMemorySaver()))
    await client.say("pay")
    (one,) = client.open
    await client.answer({"approved": True})
    assert bank.sent == [5]
    assert one.metadata["args"] == {"amount": 5}


async def test_a_new_turn_instead_of_an_answer(host: Host) -> None:
    bank = Bank(host, ["Hello."], *once())
    graph = around(RemoteAgent(bank.url, name="bank"), checkpointer=InMemorySaver())
    client = Client(graph, input_while_paused="cancel_and_continue")
    await client.say("hi")
    await client.say("pay")
    assert len(client.open) == 1
    told = await client.say("never mind")
    assert told.last.outcome.type == "success"
    assert bank.sent == []
    assert words(bank.model.seen[-1])[-1] == ("human", "never mind")
    assert words(bank.model.seen[-1])[:2] == [("human", "hi"), ("ai", "Hello.")]
    # The agent hears first that the call was cancelled.
    assert words(await client.held()) == [
        *[("human", "hi"), ("ai", "Hello."), ("human", "pay"), ("human", "never mind")],
        *[("ai", "Done."), ("ai", "Anything else?")],
    ]
    await client.say("and now?")
    assert bank.sent == []
    assert len(bank.model.seen[-1]) == 9


async def test_a_question_from_within_a_local_tool(host: Host) -> None:
    bank = Bank(host, *once())
    teller, boss = RemoteAgent(bank.url, name="bank"), Scripted([call("ask", "a1")], ["Paid."])

    @tool
    async def ask() -> str:
        """Ask the bank."""
        return (await teller.ainvoke({"messages": [HumanMessage("pay")]}))["messages"][-1].text

    client = Client(create_agent(boss, [ask], checkpointer=InMemorySaver()))
    await client.say("go")
    assert [one.tool_call_id for one in client.open] == ["t1"]
    await client.answer({"approved": True})
    assert bank.sent == [5]
    assert words(await client.held()) == [("human", "go"), ("ai", ["ask"]), ("tool", "Done."), ("ai", "Paid.")]


async def test_without_a_graph(host: Host) -> None:
    bank = Bank(host, *once())
    agent = RemoteAgent(bank.url, name="bank", checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "alone"}}
    made = await agent.ainvoke({"messages": [HumanMessage("pay")]}, config)
    (one,) = made["__interrupt__"]
    assert one.value["toolCallId"] == "t1"
    assert words(made["messages"]) == [("ai", ["transfer"])]
    made = await agent.ainvoke(Command(resume={"approved": True}), config)
    assert words(made["messages"]) == [("ai", ["transfer"]), ("tool", "sent 5"), ("ai", "Done.")]
    assert bank.sent == [5]
    again = await asyncio.to_thread(agent.invoke, {"messages": [HumanMessage("and?")]}, config)
    assert words(again["messages"]) == [("ai", "Anything else?")]
    assert words(bank.model.seen[-1]) == [("human", "and?")]
