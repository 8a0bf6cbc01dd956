"""Agents that work at once, each with calls of the same ids: each question and each result is about
the call of its own agent, and each approved call runs once, in whichever process."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from ag_ui.core import Message
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

from langgraph_agui import LangGraphAgent
from tests.kit.deep import together
from tests.kit.expect.histories import assert_valid
from tests.kit.models.scripted import Piece, Scripted, call, calling, part
from tests.kit.run.dialogues import resolved
from tests.kit.run.thread_client import Client, asked, ending

NAMES = "abc"


class Spenders:
    """Agents that spend twice, with calls of the same ids."""

    def __init__(self, mode: Any) -> None:
        self.done: list[tuple[str, int]] = []
        self.seen: list[list[BaseMessage]] = []

        @tool
        async def spend(who: str, amount: int) -> str:
            """Spend."""
            self.done.append((who, amount))
            return f"{who} spent {amount}"

        guard = [HumanInTheLoopMiddleware({"spend": True}, interrupt_mode=mode)] if mode else []
        self.one = create_agent(Scripted(script=self.spending), [spend], middleware=guard)

    def spending(self, messages: list[BaseMessage]) -> Sequence[Piece]:
        self.seen.append(messages)
        who = messages[0].text
        number = sum(message.type == "tool" for message in messages)
        if number == 2:
            return [f"Done by {who}."]
        return [call("spend", f"s{number}", 0, who=who, amount=number + 1)]


def as_nodes(spenders: Spenders, saver: Any) -> Any:
    """They are a node of a team."""

    def send(state: MessagesState) -> list[Send]:
        return [Send("one", {"messages": [HumanMessage(name)]}) for name in NAMES]

    builder = StateGraph(MessagesState)
    builder.add_node("one", spenders.one)
    builder.add_conditional_edges(START, send, ["one"])
    return builder.compile(checkpointer=saver)


def as_tasks(spenders: Spenders, saver: Any) -> Any:
    """A node runs them, and keeps their messages to itself."""

    async def one(state: Any) -> dict[str, Any]:
        result = await spenders.one.ainvoke({"messages": [HumanMessage(state["who"])]})
        return {"messages": [result["messages"][-1]]}

    def send(state: MessagesState) -> list[Send]:
        return [Send("one", {"who": name}) for name in NAMES]

    builder = StateGraph(MessagesState)
    builder.add_node("one", one)
    builder.add_conditional_edges(START, send, ["one"])
    return builder.compile(checkpointer=saver)


def as_tools(spenders: Spenders, saver: Any) -> Any:
    """A tool runs them, in parallel calls."""

    @tool
    async def delegate(who: str) -> str:
        """Delegate."""
        result = await spenders.one.ainvoke({"messages": [HumanMessage(who)]})
        return str(result["messages"][-1].text)

    calls = [
        part("delegate", json.dumps({"who": name}), f"d{at}", at) for at, name in enumerate(NAMES)
    ]

    def script(messages: list[BaseMessage]) -> Sequence[Piece]:
        return ["Ok."] if messages[-1].type == "tool" else [calling(*calls)]

    return create_agent(Scripted(script=script), [delegate], checkpointer=saver)


def calls_in(messages: Sequence[Message]) -> dict[str, dict[str, Any]]:
    """The arguments of the calls of `spend`, by the client's ids."""
    return {
        one.id: json.loads(one.function.arguments)
        for message in messages
        for one in getattr(message, "tool_calls", None) or ()
        if one.function.name == "spend"
    }


def check_results(messages: Sequence[Message], amounts: dict[str, list[int]]) -> None:
    """Each call has the result of its own agent; `amounts` is what each has spent."""
    calls = calls_in(messages)
    results = [one for one in messages if one.role == "tool" and one.tool_call_id in calls]
    assert sorted(one.tool_call_id for one in results) == sorted(calls)
    for one in results:
        who = calls[one.tool_call_id]["who"]
        if "spent" in str(one.content):
            assert any(f"{who} spent {amount}" in str(one.content) for amount in amounts[who])
        else:
            assert amounts[who] == []


BUILDS: list[Callable[[Spenders, Any], Any]] = [as_nodes, as_tasks, as_tools]


@pytest.mark.parametrize("order", [(2, 0, 1), (0, 1, 2)])
@together(
    pytest.mark.parametrize("mode", ["batched", "per_call"]),
    pytest.mark.parametrize("build", BUILDS),
)
async def test_each_question_is_about_the_call_of_its_own_agent(
    build: Any, mode: Any, order: Sequence[int], saver: Any
) -> None:
    spenders = Spenders(mode)
    client = Client(LangGraphAgent(build(spenders, saver)))
    run = await client.send("Go.")
    amounts: dict[str, list[int]] = {name: [] for name in NAMES}
    for turn in (1, 2):
        questions = {one.metadata["args"]["who"]: one for one in asked(run)}
        assert sorted(questions) == [*NAMES]
        calls = calls_in(client.held)
        about = {name: calls[one.tool_call_id] for name, one in questions.items()}
        assert about == {name: {"who": name, "amount": turn} for name in NAMES}
        # Another process, and a client that holds nothing.
        other = Client(LangGraphAgent(build(spenders, saver)))
        shown = await other.connect()
        assert [one.id for one in asked(shown)] == [one.id for one in asked(run)]
        calls = calls_in(shown.messages)
        for one in asked(shown):
            assert one.tool_call_id not in calls or calls[one.tool_call_id] == one.metadata["args"]
        part_ = await client.send(resume=resolved((questions["a"].id, True)))
        assert ending(part_) == "interrupt_unanswered"
        edited = {"who": "b", "amount": 10 * turn}
        payloads = [True, {"approved": True, "editedArgs": edited}, {"approved": False}]
        answers = [(questions[name].id, one) for name, one in zip(NAMES, payloads, strict=True)]
        client.agent = other.agent
        answered = resolved(*(answers[at] for at in order))
        run = await client.send(resume=answered)
        amounts["a"].append(turn)
        amounts["b"].append(10 * turn)
    assert ending(run) == "success"
    done = [(name, amount) for name in NAMES for amount in amounts[name]]
    assert sorted(spenders.done) == done
    check_results(client.held, amounts)
    await client.send(resume=answered)  # the same answers again
    assert sorted(spenders.done) == done
    for messages in spenders.seen:
        assert_valid(messages)


@pytest.mark.parametrize("build", BUILDS)
async def test_each_result_belongs_to_the_call_of_its_own_agent(build: Any, saver: Any) -> None:
    spenders = Spenders(None)
    client = Client(LangGraphAgent(build(spenders, saver)))
    assert ending(await client.send("Go.")) == "success"
    assert len(calls_in(client.held)) == 6
    check_results(client.held, {name: [1, 2] for name in NAMES})
