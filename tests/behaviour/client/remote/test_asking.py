"""What a remote agent asks: interrupts of the local graph, answered through it, each guarded tool
run once at most."""

from __future__ import annotations

import asyncio
import sys
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

from langgraph_agui import ApprovalOptions
from langgraph_agui.client import RemoteAgent
from langgraph_agui.nodes import CANCELLED
from tests.kit.models.scripted import Scripted, call, calling, part
from tests.kit.processes.remote_agents import LATER, Client, Host, around, words
from tests.kit.processes.scripted_servers import recording, server
from tests.kit.run.agents import RecordedRun, run_input
from tests.kit.run.wire_events import FINISHED, STARTED, event, in_run, text
from tests.kit.run.wire_events import call as calls


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
            create_agent(
                self.model, [transfer], middleware=[guarded], checkpointer=InMemorySaver()
            ),
            **options,
        )

    def client(self, **options: Any) -> Client:
        return Client(
            around(RemoteAgent(self.url, name="bank", **options), checkpointer=InMemorySaver())
        )


def once() -> list[Any]:
    return [[call("transfer", "t1", amount=5)], ["Done."], ["Anything else?"]]


def twice() -> list[Any]:
    both = calling(
        part("transfer", '{"amount": 1}', "t1", 0), part("transfer", '{"amount": 2}', "t2", 1)
    )
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
    recorded = await client.say("pay")
    (ended,) = recorded.of("SUBAGENT_FINISHED")
    (one,) = client.open
    assert (one.reason, one.tool_call_id, ended.outcome.interrupt_ids) == (
        "tool_call",
        "t1",
        [one.id],
    )
    assert one.metadata["args"] == {"amount": 5}
    assert one.subagent_run_id == ended.subagent_run_id
    assert bank.sent == []
    given = run_input(*client.messages, thread=client.thread)
    again = RecordedRun([event async for event in client.agent.connect(given)], given)
    assert again.last.outcome.interrupts == client.open
    assert [message.id for message in again.messages] == [
        message.id for message in recorded.messages
    ]
    recorded = await client.answer(payload)
    assert recorded.last.outcome.type == "success"
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
    made = await client.graph.ainvoke(
        Command(resume={second.id: {"approved": True}}), client.config
    )
    assert [one.id for one in made["__interrupt__"]] == [first.id]
    assert bank.sent == []
    await client.graph.ainvoke(Command(resume={first.id: {CANCELLED: True}}), client.config)
    assert bank.sent == [2 if second.value["toolCallId"] == "t2" else 1]


async def test_it_asks_again(host: Host) -> None:
    bank = Bank(
        host, [call("transfer", "t1", amount=1)], [call("transfer", "t2", amount=2)], ["Done."]
    )
    client = bank.client()
    await client.say("pay")
    recorded = await client.answer({"approved": True})
    assert (bank.sent, [one.tool_call_id for one in client.open]) == ([1], ["t2"])
    assert recorded.of("TOOL_CALL_RESULT")[0].tool_call_id == "t1"
    await client.answer({"approved": True})
    assert bank.sent == [1, 2]
    assert [kind for kind, _ in words(await client.held())] == [
        "human",
        "ai",
        "tool",
        "ai",
        "tool",
        "ai",
    ]


TYPO: dict[str, Any] = {"aproved": True}
ONLY_REFUSED: dict[str, Any] = {"approved": True, "aproved": True}
"""The schema allows it, so only the agent can refuse it."""


@pytest.mark.parametrize(
    "payload", [TYPO, ONLY_REFUSED, "yes"], ids=["typo", "only refused", "text"]
)
def test_an_answer_that_does_not_fit_is_asked_for_again(host: Host, payload: Any) -> None:
    bank = Bank(host, *once())
    graph, config = around(RemoteAgent(bank.url, name="bank"), checkpointer=InMemorySaver()), LATER
    (one,) = graph.invoke({"messages": "pay"}, config)["__interrupt__"]
    (again,) = graph.invoke(Command(resume={one.id: payload}), config)["__interrupt__"]
    assert "transfer" in again.value["error"]
    assert {key: recorded for key, recorded in again.value.items() if key != "error"} == one.value
    assert bank.sent == []
    (still,) = graph.invoke(None, config)["__interrupt__"]
    assert still.id == again.id
    made = graph.invoke(Command(resume={again.id: {"approved": True}}), config)
    assert bank.sent == [5]
    assert words(made["messages"])[-2:] == [("tool", "sent 5"), ("ai", "Done.")]


async def test_an_answer_that_the_agent_refuses_beside_a_good_one(host: Host) -> None:
    bank = Bank(host, *twice())
    client = bank.client()
    await client.say("pay")
    recorded = await client.answer({"approved": True}, ONLY_REFUSED)
    assert recorded.last.outcome.type == "interrupt"
    assert {one.tool_call_id for one in client.open} == {"t1", "t2"}
    assert all("aproved" in one.metadata["value"]["error"] for one in client.open)
    assert bank.sent == []
    await client.answer(*({"approved": one.tool_call_id == "t2"} for one in client.open))
    assert bank.sent == [2]
    assert sorted(call_id for call_id, _ in results(await client.held())) == ["t1", "t2"]


def test_the_short_form_of_an_approval(host: Host) -> None:
    bank = Bank(host, *once())
    graph = around(RemoteAgent(bank.url, name="bank"), checkpointer=InMemorySaver())
    graph.invoke({"messages": "pay"}, LATER)
    graph.invoke(Command(resume=True), LATER)
    assert bank.sent == [5]


ASKED_AGAIN = {"id": "i", "reason": "input_required", "responseSchema": {"type": "integer"}}
CODES = ["interrupt_invalid", "interrupt_expired"]


@pytest.mark.parametrize("code", CODES)
def test_refused_answers_are_not_kept(code: str) -> None:
    paused = {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [ASKED_AGAIN]}}
    refused = event("RUN_ERROR", message="Not so.", code=code)
    looks = calls("l1", "{}", name="look")
    looked: list[str] = []

    def look() -> str:
        """Look."""
        looked.append("here")
        return "seen"

    with server(
        recording(STARTED, *looks, paused),
        recording(STARTED, refused),
        recording(*in_run(*text("m", "Well."))),
    ) as running:
        expert = RemoteAgent(running.url, name="expert", tools=[look])
        graph = around(expert, checkpointer=InMemorySaver())
        graph.invoke({"messages": "go"}, LATER)
        (unfit,) = graph.invoke(Command(resume="one"), LATER)["__interrupt__"]
        # by the schema: the agent has not heard it
        assert "'type: integer'" in unfit.value["error"]
        (again,) = graph.invoke(Command(resume=1), LATER)["__interrupt__"]
        assert "Not so." in again.value["error"]
        made = graph.invoke(Command(resume=2), LATER)
    assert [entry["payload"] for one in running.asked[1:] for entry in one.json["resume"]] == [1, 2]
    assert looked == ["here"]
    assert words(made["messages"])[-1] == ("ai", "Well.")


@pytest.mark.parametrize(
    "schema", [{"type": "nothing"}, {"$ref": "#/missing"}, {"pattern": "("}], ids=str
)
def test_a_schema_that_cannot_be_read_is_left_to_the_agent(schema: Any) -> None:
    asked = {**ASKED_AGAIN, "responseSchema": schema}
    paused = {**FINISHED, "outcome": {"type": "interrupt", "interrupts": [asked]}}
    with server(recording(STARTED, paused), recording(*in_run(*text("m", "Well.")))) as running:
        graph = around(RemoteAgent(running.url, name="expert"), checkpointer=InMemorySaver())
        graph.invoke({"messages": "go"}, LATER)
        made = graph.invoke(Command(resume="any"), LATER)
    assert words(made["messages"]) == [("human", "go"), ("ai", "Well.")]


def test_without_jsonschema_the_agent_judges(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    bank = Bank(host, *once())
    graph = around(RemoteAgent(bank.url, name="bank"), checkpointer=InMemorySaver())
    graph.invoke({"messages": "pay"}, LATER)
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    (again,) = graph.invoke(Command(resume=TYPO), LATER)["__interrupt__"]
    assert "aproved" in again.value["error"]
    graph.invoke(Command(resume={"approved": True}), LATER)
    assert bank.sent == [5]


async def test_a_question_that_has_expired_is_cancelled(host: Host) -> None:
    bank = Bank(host, *once(), approvals=ApprovalOptions(timeout=timedelta(seconds=0)))
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
    client = Client(
        around(RemoteAgent(url, name="guide", tools=[where_am_i]), checkpointer=InMemorySaver())
    )
    recorded = await client.say("where to?")
    (one,) = client.open
    assert one.message == "which way?"
    assert ran == ["here"]
    assert [event.content for event in recorded.of("TOOL_CALL_RESULT")] == ["Rome"]
    await client.answer("left")
    assert ran == ["here"]
    assert results(await client.held()) == [("w1", "Rome")]
    assert ("ai", "left") in words(await client.held())


async def test_a_question_of_a_remote_subagent(host: Host) -> None:
    bank = Bank(host, *once())
    graph = (
        StateGraph(MessagesState)
        .add_node("teller", bank.inner)
        .add_edge(START, "teller")
        .compile(InMemorySaver())
    )
    client = Client(around(RemoteAgent(host(graph), name="bank"), checkpointer=InMemorySaver()))
    await client.say("pay")
    (one,) = client.open
    await client.answer({"approved": True})
    assert bank.sent == [5]
    assert one.metadata["args"] == {"amount": 5}


async def test_a_new_turn_instead_of_an_answer(host: Host) -> None:
    bank = Bank(host, ["Hello."], *once())
    graph = around(RemoteAgent(bank.url, name="bank"), checkpointer=InMemorySaver())
    client = Client(graph, approvals=ApprovalOptions(when_paused="cancel"))
    await client.say("hi")
    await client.say("pay")
    assert len(client.open) == 1
    recorded = await client.say("never mind")
    assert recorded.last.outcome.type == "success"
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
    assert words(await client.held()) == [
        ("human", "go"),
        ("ai", ["ask"]),
        ("tool", "Done."),
        ("ai", "Paid."),
    ]


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
