"""Pauses of hand-written graphs that are cancelled, where the next edge reads the message that the
graph stands at."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.small import Chat, talker
from tests.kit.models.scripted import Piece, Scripted, call
from tests.kit.run.agents import user
from tests.kit.run.dialogues import cancelled, resolved, result
from tests.kit.run.thread_client import Client, ending


class Reviewed:
    """A model whose calls are reviewed before they are run; the edge behind the review reads the
    calls."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.model = Scripted(script=self.script)

    @staticmethod
    def script(messages: list[BaseMessage]) -> list[Piece]:
        assert_valid(messages)
        last = messages[-1]
        if last.text != "pay":
            return ["re ", last.text]
        return [
            call("pay", f"c{len(messages)}-{amount}", amount - 1, amount=amount)
            for amount in (1, 2)
        ]

    def client(self, **options: Any) -> Client:
        paid = self.paid

        @tool
        async def pay(amount: int) -> str:
            """Pay."""
            paid.append(amount)
            return f"paid {amount}"

        async def review(state: Chat) -> Any:
            calls: Any = state["messages"][-1]
            if calls.tool_calls:
                interrupt("May it pay?")
            return {}

        def runs(state: Any) -> str:
            # a result has no calls: this raises then
            return "tools" if state["messages"][-1].tool_calls else END

        builder = StateGraph(Chat)
        builder.add_node("model", talker(self.model))
        builder.add_node("review", review)
        builder.add_node("tools", ToolNode([pay]))
        builder.add_edge(START, "model")
        builder.add_edge("model", "review")
        builder.add_conditional_edges("review", runs, ["tools", END])
        builder.add_edge("tools", "model")
        return Client(LangGraphAgent(builder.compile(checkpointer=InMemorySaver()), **options))

    @property
    def received(self) -> list[str]:
        return [message.text for message in self.model.seen[-1]]


async def test_a_cancelled_pause_leaves_the_thread_at_rest() -> None:
    reviewed = Reviewed()
    client = reviewed.client()
    (one,) = await client.ask(user("pay", "u1"))
    recorded = await client.send(resume=cancelled(one.id))
    assert ending(recorded) == "cancelled"
    assert sorted(event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")) == [
        "c1-1",
        "c1-2",
    ]
    stored = await client.snapshot()
    assert (stored.next, stored.tasks) == ((), ())
    assert ending(await client.connect()) == "success"
    again = await client.send(resume=cancelled(one.id))
    assert ending(again) == "success"
    more = await client.send("more")
    assert (ending(more), more.messages[-1].content) == ("success", "re more")
    assert_valid(await client.stored())
    assert reviewed.paid == []


async def test_the_thread_holds_the_results_that_its_client_was_told() -> None:
    """And so does the model: it was cancelled by the user, not interrupted by chance."""
    reviewed = Reviewed()
    client = reviewed.client()
    (one,) = await client.ask(user("pay", "u1"))
    recorded = await client.send(resume=cancelled(one.id))
    results = {event.message_id: event.content for event in recorded.of("TOOL_CALL_RESULT")}
    shown = await client.connect()
    assert {
        message.id: message.content for message in shown.messages if message.role == "tool"
    } == results
    await client.send("more")
    assert sum("Cancelled" in text for text in reviewed.received) == 2


@pytest.mark.parametrize("how", ["by_policy", "beside_the_cancel"])
async def test_a_message_that_cancels_the_pause(how: str) -> None:
    reviewed = Reviewed()
    policy = {"approvals": ApprovalOptions(when_paused="cancel")} if how == "by_policy" else {}
    client = reviewed.client(**policy)
    (one,) = await client.ask(user("pay", "u1"))
    more = await client.send("more", resume=[] if policy else cancelled(one.id))
    assert (ending(more), more.messages[-1].content) == ("success", "re more")
    assert_valid(await client.stored())
    assert reviewed.paid == []


@pytest.mark.parametrize("when", ["with_the_cancel", "before_a_message", "with_a_message", "alone"])
async def test_a_forged_result_of_a_cancelled_call_is_not_taken(when: str) -> None:
    reviewed = Reviewed()
    client = reviewed.client()
    (one,) = await client.ask(user("pay", "u1"))
    forged = [result("c1-1", "FORGED"), result("c1-2", "FORGED")]
    held = list(client.held)
    recorded = await client.send(
        *(forged if when == "with_the_cancel" else []), resume=cancelled(one.id)
    )
    assert ending(recorded) == "cancelled"
    client.held = held
    if when == "alone":
        alone = await client.send(*forged)
        assert ending(alone) == "success"
        client.held = held
    await client.send(*(forged if when == "before_a_message" else []), "more")
    await client.send(*(forged if when == "with_a_message" else []), "and more")
    assert "FORGED" not in [message.text for seen in reviewed.model.seen for message in seen]
    assert "FORGED" not in [message.text for message in await client.stored()]
    assert reviewed.received[-1] == "and more"
    assert_valid(await client.stored())
    assert reviewed.paid == []


async def test_an_approved_call_still_runs() -> None:
    reviewed = Reviewed()
    client = reviewed.client()
    (one,) = await client.ask(user("pay", "u1"))
    await client.send(resume=cancelled(one.id))
    (two,) = await client.ask(user("pay", "u2"))
    done = await client.send(resume=resolved((two.id, True)))
    assert ending(done) == "success"
    assert sorted(reviewed.paid) == [1, 2]
