"""New messages while a thread waits, and messages that come beside answers: nothing is lost, and
nothing runs that was not approved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Tool
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import AGUIMiddleware, ApprovalOptions, LangGraphAgent
from tests.kit.expect.histories import assert_valid
from tests.kit.graphs.pauses import KINDS, all_of, guard, happened
from tests.kit.models.scripted import Piece, Scripted, call, calling, part
from tests.kit.run.agents import user
from tests.kit.run.dialogues import Dialogue, approvals, cancelled, resolved, result
from tests.kit.run.thread_client import Client, ending

CANCEL = ApprovalOptions(when_paused="cancel")


def humans(chat: Dialogue) -> list[str]:
    return [message.text for message in chat.model.seen[-1] if message.type == "human"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_new_message_cancels_every_kind_of_pause(kind: str, tmp_path: Path) -> None:
    client = Client(LangGraphAgent(KINDS[kind](InMemorySaver()), approvals=CANCEL))
    files = [tmp_path / "happened.one", tmp_path / "happened.two"]
    old, questions = [await client.ask(user(str(file))) for file in files]
    assert ending(await client.send(resume=approvals(old))) == "interrupt_unknown"
    said = [message.content for message in client.held if message.role == "user"]
    assert said == [str(file) for file in files]
    assert ending(await client.send(resume=approvals(questions))) == "success"
    assert [happened(file) for file in files] == [[], all_of(kind)]
    assert_valid(await client.stored())


@pytest.mark.parametrize(("mode", "cancels"), [("batched", False), ("per_call", True)])
async def test_a_message_beside_the_answers_runs_after_them(cancels: bool, make: Any) -> None:
    chat = make(*(["approve"] if cancels else []))
    one, two = await chat.ask()
    first, chat.file = chat.file, chat.file.with_name("next")
    answers = cancelled(one, two) if cancels else resolved((one, True), (two, False))
    recorded = await chat.send(user(str(chat.file)), resume=answers)
    assert ending(recorded) == "interrupt"
    assert (happened(first), chat.happened) == ([] if cancels else [1], [])
    assert humans(chat) == [str(first), str(chat.file)]
    assert any("Cancelled" in text for text in chat.last_request) == cancels


FRONT = [Tool(name="front", description="In the client.", parameters={"type": "object"})]


class Steps(Client):
    """A client of an agent that spends as often as the user's message says, one approval after the
    other, and then answers."""

    def __init__(self, **options: Any) -> None:
        self.spent: list[int] = []
        self.fails = False
        self.model = Scripted(script=self.script)

        @tool
        async def spend(amount: int) -> str:
            """Spend money."""
            self.spent.append(amount)
            return "spent"

        stack, saver = [guard("batched"), AGUIMiddleware()], InMemorySaver()
        graph = create_agent(self.model, [spend], middleware=stack, checkpointer=saver)
        super().__init__(LangGraphAgent(graph, **options))

    def script(self, messages: list[BaseMessage]) -> list[Piece]:
        assert_valid(messages)
        if self.fails:
            raise ConnectionError("429")
        place = max(place for place, message in enumerate(messages) if message.type == "human")
        done = sum(isinstance(message, ToolMessage) for message in messages[place:])
        text = messages[place].text
        if text == "front" and not done:
            return [call("front", f"f{len(messages)}")]
        if text.startswith("spend") and done < int(text.split()[1]):
            return [call("spend", f"s{len(messages)}", amount=done + 1)]
        if text == "spend 1 front" and done == 1:
            return [calling(*(part("front", "{}", f"f{at}", at) for at in (1, 2)))]
        return [f"re {text}"]


@pytest.mark.parametrize("whole", [True, False], ids=["whole list", "only what is new"])
async def test_a_message_beside_an_answer_whose_run_pauses_again(whole: bool) -> None:
    steps = Steps()
    [one] = await steps.ask(user("spend 2", "u1"))
    steps.held = steps.held if whole else []
    [two] = await steps.ask(user("also", "u2"), resume=resolved((one.id, True)))
    assert steps.spent == [1]
    for new in ([user("and", "u3")], []):  # the second time the answers alone, again
        recorded = await steps.send(*new, resume=resolved((two.id, True)))
        assert (ending(recorded), steps.spent) == ("success", [1, 2])
        assert await steps.texts("human") == ["spend 2", "also", "and"]
    steps.held = steps.held if whole else []
    assert ending(await steps.send(user("bye", "u4"), resume=cancelled(two.id))) == "success"
    assert await steps.texts("human") == ["spend 2", "also", "and", "bye"]
    assert steps.spent == [1, 2]


async def test_a_message_that_waits_is_heard_when_the_pause_is_given_up() -> None:
    steps = Steps(approvals=CANCEL)
    [one] = await steps.ask(user("spend 2", "u1"))
    await steps.send(user("also", "u2"), resume=resolved((one.id, True)))
    assert ending(await steps.send(user("never mind", "u3"))) == "success"
    assert (steps.spent, await steps.texts("human")) == ([1], ["spend 2", "also", "never mind"])


async def test_a_message_waits_until_the_client_has_run_its_tools() -> None:
    steps = Steps()
    questions = await steps.ask(user("spend 1 front", "u1"), tools=FRONT)
    recorded = await steps.send(user("also", "u2"), resume=approvals(questions), tools=FRONT)
    assert recorded.last.outcome.pending_tool_call_ids == ["f1", "f2"]
    await steps.send(result("f1", "seen"), tools=FRONT)
    assert await steps.texts("human") == ["spend 1 front"]
    assert ending(await steps.send(result("f2", "seen"), tools=FRONT)) == "success"
    kept = ["spend 1 front", "", "spent", "", "seen", "seen", "also", "re also"]
    assert await steps.texts() == kept


async def test_the_same_once_more_after_the_model_has_failed_behind_a_clients_result() -> None:
    steps = Steps()
    recorded = await steps.send(user("front", "u1"), tools=FRONT)
    seen = result(*recorded.last.outcome.pending_tool_call_ids, "seen")
    steps.fails = True
    assert ending(await steps.send(seen, tools=FRONT)) == "model_error"
    steps.fails = False
    again = await steps.send(seen, tools=FRONT)
    assert (ending(again), again.messages[-1].content) == ("success", "re front")
    calls = len(steps.model.seen)
    assert ending(await steps.send(tools=FRONT)) == "success"
    assert len(steps.model.seen) == calls
