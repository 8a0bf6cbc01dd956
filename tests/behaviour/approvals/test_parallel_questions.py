"""Nodes that ask at the same time, and questions that are open beside others that are not any
more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from ag_ui.core import Interrupt, ResumeEntry
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent
from tests.kit.graphs.pauses import Mode
from tests.kit.graphs.small import Chat
from tests.kit.models.scripted import Piece, Scripted, call
from tests.kit.run.dialogues import answering, approvals, resolved
from tests.kit.run.thread_client import Client, asked, ending


class Both(Client):
    """A client of nodes A and B, which ask two questions each, one after the other; A fails after
    its first until it is mended."""

    def __init__(self, broken: bool = True, **approvals: Any) -> None:
        self.done: list[tuple[str, Any, Any]] = []
        self.broken = broken

        async def a(state: Chat) -> None:
            first = interrupt("A1")
            if self.broken:
                await asyncio.sleep(0.05)  # B asks again before that
                raise ConnectionError("down")
            self.done.append(("A", first, interrupt("A2")))

        async def b(state: Chat) -> None:
            self.done.append(("B", interrupt("B1"), interrupt("B2")))

        builder = StateGraph(Chat).add_node("A", a).add_node("B", b)
        graph = builder.add_edge(START, "A").add_edge(START, "B").compile(InMemorySaver())
        super().__init__(LangGraphAgent(graph, approvals=ApprovalOptions(**approvals)))


def answers(questions: list[Interrupt]) -> list[ResumeEntry]:
    return resolved(*((one.id, f"to {one.message}") for one in questions))


def texts(questions: list[Interrupt]) -> list[str]:
    return sorted(str(one.message) for one in questions)


@pytest.mark.parametrize("cancels", [False, True])
async def test_a_node_that_failed_asks_again_when_another_one_is_answered(cancels: bool) -> None:
    both = Both()
    first = await both.ask("go")
    assert texts(first) == ["A1", "B1"]
    failed = await both.send(resume=answers(first))
    assert failed.last.type.value == "RUN_ERROR"
    both.broken = False
    open_ = asked(await both.connect())
    assert texts(open_) == ["B2"]
    if cancels:
        assert ending(await both.send(resume=answering(open_, ...))) == "cancelled"
        assert (both.done, len(await both.ask("again"))) == ([], 2)
        return
    left = await both.ask(resume=answers(open_))
    assert texts(left) == ["A2"]
    assert [one.id for one in asked(await both.connect())] == [one.id for one in left]
    assert ending(await both.send(resume=answers(left))) == "success"
    assert sorted(both.done) == [("A", "to A1", "to A2"), ("B", "to B1", "to B2")]


async def test_an_approved_tool_that_failed_does_not_run_again_when_another_question_is_answered(
    mode: Mode,
) -> None:
    """LangGraph would run it again with its old approval: so the other question is closed too."""
    ran: list[int] = []

    @tool
    async def transfer(amount: int) -> str:
        """Transfer money."""
        await asyncio.sleep(0.05)  # the other tool asks again before that
        ran.append(amount)
        raise ConnectionError("the bank is closed")

    @tool
    async def ask() -> str:
        """Ask the user."""
        return f"{interrupt('One?')} {interrupt('Two?')}"

    def script(messages: list[BaseMessage]) -> list[Piece]:
        if isinstance(messages[-1], ToolMessage) or messages[-1].text != "go":
            return ["re ", messages[-1].text]
        return [call("transfer", "t1", 0, amount=1), call("ask", "a1", 1)]

    guarded = HumanInTheLoopMiddleware({"transfer": True}, interrupt_mode=mode)
    model, saver = Scripted(script=script), InMemorySaver()
    graph = create_agent(model, [transfer, ask], middleware=[guarded], checkpointer=saver)
    client = Client(LangGraphAgent(graph))
    failed = await client.send(resume=approvals(await client.ask("go")))
    assert ending(failed) == "tool_error"
    assert ending(await client.connect()) == "success"
    late = await client.send(resume=answering((await client.snapshot()).interrupts, "yes"))
    assert ending(late) == "interrupt_unknown"
    assert (await client.send("hello")).messages[-1].content == "re hello"
    assert ran == [1]


@pytest.mark.parametrize("policy", ["refuse", "cancel"])
async def test_a_message_beside_a_cancel_of_what_is_closed_while_others_are_open(
    policy: Any,
) -> None:
    """The cancel changes nothing: the message is refused, or heard, as it is without."""
    both = Both(broken=False, when_paused=policy)
    first = await both.ask("go")
    await both.ask(resume=answers(first))
    recorded = await both.send("more", resume=answering(first, ...))
    if policy == "refuse":
        assert (ending(recorded), await both.texts()) == ("interrupt_unanswered", ["go"])
    else:
        assert (texts(asked(recorded)), await both.texts()) == (["A1", "B1"], ["go", "more"])
    assert both.done == []
