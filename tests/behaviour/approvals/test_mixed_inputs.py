"""What comes beside answers, beside cancels of what is closed, and once more after a failure:
nothing of it is lost."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Tool, ToolMessage
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import AGUIMiddleware, ApprovalOptions, LangGraphAgent
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.pauses import guard
from tests.kit.models.scripted import Piece, Scripted, call, calling, part
from tests.kit.run.agents import user
from tests.kit.run.dialogues import cancelled, resolved
from tests.kit.run.thread_client import Client, asked, ending

FRONT = Tool(name="front", description="In the client.", parameters={"type": "object"})


class Steps:
    """An agent that spends as often as the user's message says, one approval after the other, and
    then answers."""

    def __init__(self, **options: Any) -> None:
        self.spent: list[int] = []
        self.fails = False
        self.model = Scripted(script=self.script)
        spent = self.spent

        @tool
        async def spend(amount: int) -> str:
            """Spend money."""
            spent.append(amount)
            return "spent"

        graph = create_agent(
            self.model,
            [spend],
            middleware=[guard("batched"), AGUIMiddleware()],
            checkpointer=InMemorySaver(),
        )
        self.client = Client(LangGraphAgent(graph, **options))

    def script(self, messages: list[BaseMessage]) -> list[Piece]:
        assert_valid(messages)
        if self.fails:
            raise ConnectionError("429")
        place = max(place for place, message in enumerate(messages) if message.type == "human")
        done = sum(isinstance(message, LCToolMessage) for message in messages[place:])
        text = messages[place].text
        if text == "front" and not done:
            return [call("front", f"f{len(messages)}")]
        if text.startswith("spend") and done < int(text.split()[1]):
            return [call("spend", f"s{len(messages)}", amount=done + 1)]
        if text == "spend 1 front" and done == 1:
            return [calling(*(part("front", "{}", f"f{at}", at) for at in (1, 2)))]
        return [f"re {text}"]

    async def humans(self) -> list[str]:
        return [message.text for message in await self.client.stored() if message.type == "human"]


@pytest.mark.parametrize("whole", [True, False], ids=["whole list", "only what is new"])
async def test_a_message_beside_an_answer_whose_run_pauses_again(whole: bool) -> None:
    steps = Steps()
    (one,) = await steps.client.ask(user("spend 2", "u1"))
    if not whole:
        steps.client.held = []
    recorded = await steps.client.send(user("also", "u2"), resume=resolved((one.id, True)))
    (two,) = asked(recorded)
    assert steps.spent == [1]
    recorded = await steps.client.send(user("and", "u3"), resume=resolved((two.id, True)))
    assert ending(recorded) == "success"
    assert steps.spent == [1, 2]
    assert await steps.humans() == ["spend 2", "also", "and"]
    replayed = await steps.client.send(resume=resolved((two.id, True)))
    assert ending(replayed) == "success"
    assert await steps.humans() == ["spend 2", "also", "and"]


async def test_a_message_that_waits_is_heard_when_the_pause_is_given_up() -> None:
    steps = Steps(approvals=ApprovalOptions(when_paused="cancel"))
    (one,) = await steps.client.ask(user("spend 2", "u1"))
    await steps.client.send(user("also", "u2"), resume=resolved((one.id, True)))
    recorded = await steps.client.send(user("never mind", "u3"))
    assert ending(recorded) == "success"
    assert steps.spent == [1]
    assert await steps.humans() == ["spend 2", "also", "never mind"]


@pytest.mark.parametrize("one_by_one", [True, False])
async def test_a_message_waits_until_the_client_has_run_its_tools(one_by_one: bool) -> None:
    steps = Steps()
    (one,) = asked(await steps.client.send(user("spend 1 front", "u1"), tools=[FRONT]))
    answers = resolved((one.id, True))
    recorded = await steps.client.send(user("also", "u2"), resume=answers, tools=[FRONT])
    assert recorded.last.outcome.pending_tool_call_ids == ["f1", "f2"]
    assert await steps.humans() == ["spend 1 front"]
    results = [
        ToolMessage(id=f"r{at}", role="tool", tool_call_id=f"f{at}", content="seen")
        for at in (1, 2)
    ]
    if one_by_one:
        await steps.client.send(results[0], tools=[FRONT])
        assert await steps.humans() == ["spend 1 front"]
        results = results[1:]
    recorded = await steps.client.send(*results, tools=[FRONT])
    assert ending(recorded) == "success"
    kept = [message.text for message in await steps.client.stored()]
    assert kept == ["spend 1 front", "", "spent", "", "seen", "seen", "also", "re also"]


async def test_only_what_is_new_beside_an_answer() -> None:
    steps = Steps()
    (one,) = await steps.client.ask(user("spend 1", "u1"))
    steps.client.held = []
    recorded = await steps.client.send(user("hello", "u2"), resume=resolved((one.id, True)))
    assert ending(recorded) == "success"
    assert await steps.humans() == ["spend 1", "hello"]


async def test_only_what_is_new_beside_a_cancel_of_what_is_closed() -> None:
    steps = Steps()
    (one,) = await steps.client.ask(user("spend 1", "u1"))
    await steps.client.send(resume=resolved((one.id, True)))
    steps.client.held = []
    recorded = await steps.client.send(user("hello", "u2"), resume=cancelled(one.id))
    assert ending(recorded) == "success"
    assert await steps.humans() == ["spend 1", "hello"]
    assert steps.spent == [1]


async def test_the_same_once_more_after_the_model_has_failed_behind_a_clients_result() -> None:
    steps = Steps()
    recorded = await steps.client.send(user("front", "u1"), tools=[FRONT])
    (call_id,) = recorded.last.outcome.pending_tool_call_ids
    result = ToolMessage(id="r", role="tool", tool_call_id=call_id, content="seen")
    steps.fails = True
    assert ending(await steps.client.send(result, tools=[FRONT])) == "model_error"
    steps.fails = False
    again = await steps.client.send(result, tools=[FRONT])
    assert (ending(again), again.messages[-1].content) == ("success", "re front")
    calls = len(steps.model.seen)
    assert ending(await steps.client.send(tools=[FRONT])) == "success"
    assert len(steps.model.seen) == calls


async def test_a_new_message_over_an_open_call_of_the_client() -> None:
    """No stream answers a client's call: the verifier refuses that."""
    steps = Steps()
    await steps.client.send(user("front", "u1"), tools=[FRONT])
    recorded = await steps.client.send(user("hello", "u2"), tools=[FRONT])
    assert ending(recorded) == "success"
    assert recorded.of("TOOL_CALL_RESULT") == []
    assert "re hello" in [message.content for message in recorded.messages]


async def test_connect_shows_the_convention_s_call_behind_the_conversation() -> None:
    steps = Steps(approvals=ApprovalOptions(ask_by="tool_call"))
    await steps.client.send(user("hi", "u1"))
    await steps.client.send(user("spend 1", "u2"))
    steps.client.held = []
    recorded = await steps.client.connect()
    assert [message.role for message in recorded.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "assistant",
    ]
    assert recorded.messages[-1].tool_calls[0].function.name == "request_approval"  # type: ignore[union-attr]
