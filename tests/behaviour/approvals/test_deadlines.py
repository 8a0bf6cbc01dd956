"""How long a question may be answered: from the moment at which it was asked, by whichever
agent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ApprovalOptions, LangGraphAgent
from tests.kit.deep import deep, each_value
from tests.kit.graphs.pauses import Mode, around, as_tool, happened, last_user_text, spender
from tests.kit.models.scripted import Piece, Scripted, call
from tests.kit.run.dialogues import cancelled, resolved
from tests.kit.run.thread_client import Client, asked, ending

HOUR = timedelta(hours=1)
WRAPPED: dict[str, Callable[[Any, Any], Any]] = {
    "alone": lambda agent, saver: agent(saver),
    "tool": lambda agent, saver: as_tool(agent(None), 1, saver),
    "tool of a tool": lambda agent, saver: as_tool(as_tool(agent(None), 2), 1, saver),
    "node": lambda agent, saver: around(agent(None), saver),
    "node of a node": lambda agent, saver: around(around(agent(None)), saver),
}


class Asker:
    """An agent that asks twice, one after the other; `thought` is when it had thought about
    each."""

    def __init__(self, mode: Mode, delay: float = 0.0) -> None:
        self.thought: list[datetime] = []
        self.mode, self.delay = mode, delay

    def __call__(self, saver: Any) -> Any:
        return spender(self.mode, saver, model=Scripted(script=self.script))

    def script(self, messages: list[BaseMessage]) -> list[Piece]:
        number = sum(isinstance(message, ToolMessage) for message in messages)
        if number == 2:
            return ["Done."]
        asks = call("spend", f"s{number}", file=last_user_text(messages), amount=number)
        return [self.delay, asks, lambda: self.thought.append(datetime.now(UTC))]


@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize("wrapped", WRAPPED)
@each_value()
async def test_the_time_counts_from_the_question_itself(
    wrapped: str, mode: Mode, saver: Any, tmp_path: Any
) -> None:
    asker = Asker(mode)
    client = Client(
        LangGraphAgent(WRAPPED[wrapped](asker, saver), approvals=ApprovalOptions(timeout=HOUR))
    )
    questions = await client.ask(str(tmp_path / "happened"))
    for number in range(2):
        (one,) = questions
        since = datetime.fromisoformat(str(one.expires_at)) - HOUR
        assert asker.thought[number] <= since <= datetime.now(UTC)
        assert [again.expires_at for again in asked(await client.connect())] == [one.expires_at]
        recorded = await client.send(resume=resolved((one.id, {"approved": False})))
        questions = asked(recorded) if number == 0 else []
    assert ending(recorded) == "success"


@deep
async def test_a_subagent_that_thinks_for_long_leaves_time_to_answer(tmp_path: Any) -> None:
    asker = Asker("batched", delay=2.1)
    graph = as_tool(asker(None), 1, InMemorySaver())
    client = Client(LangGraphAgent(graph, approvals=ApprovalOptions(timeout=timedelta(seconds=2))))
    (first,) = await client.ask(str(tmp_path / "happened"))
    (second,) = await client.ask(resume=resolved((first.id, {"approved": False})))
    assert ending(await client.send(resume=resolved((second.id, {"approved": False})))) == "success"


async def test_it_runs_out(tmp_path: Any) -> None:
    graph = as_tool(Asker("batched")(None), 1, InMemorySaver())
    client = Client(
        LangGraphAgent(graph, approvals=ApprovalOptions(timeout=timedelta(seconds=0.05)))
    )
    (one,) = await client.ask(str(tmp_path / "happened"))
    await asyncio.sleep(0.06)
    assert (
        ending(await client.send(resume=resolved((one.id, {"approved": False}))))
        == "interrupt_expired"
    )


@pytest.mark.parametrize("timeout", [timedelta.max, float("inf"), 1e12])
async def test_a_time_later_than_any_date_is_never(timeout: Any, tmp_path: Any) -> None:
    graph = spender("batched", InMemorySaver())
    client = Client(LangGraphAgent(graph, approvals=ApprovalOptions(timeout=timeout)))
    questions = await client.ask(str(tmp_path / "happened"))
    assert [one.expires_at for one in questions] == [None, None]
    answers = resolved(*((one.id, True) for one in questions))
    assert ending(await client.send(resume=answers)) == "success"


@pytest.mark.parametrize("busy", ["refuse", "wait"])
async def test_the_moment_at_which_it_runs_out(busy: Any, tmp_path: Any) -> None:
    """Two workers get the same answers around it: all of them count, or none, and once."""
    for number, early in enumerate((0.1, 0.02, 0.0, -0.02)):
        file, saver = str(tmp_path / str(number)), InMemorySaver()
        options: Any = {"approvals": ApprovalOptions(timeout=0.4), "on_busy": busy}
        one, other = (LangGraphAgent(spender("per_call", saver), **options) for _ in range(2))
        client = Client(one)
        questions = await client.ask(file)
        end = datetime.fromisoformat(str(questions[0].expires_at))
        await asyncio.sleep((end - datetime.now(UTC)).total_seconds() - early)
        answers = resolved(*((question.id, True) for question in questions))
        clients = [Client(agent, held=client.held) for agent in (one, other, one)]
        ends = {
            ending(run)
            for run in await asyncio.gather(*(each.send(resume=answers) for each in clients))
        } - {"thread_busy"}
        assert (ends, happened(file)) in [({"success"}, [1, 2]), ({"interrupt_expired"}, [])]
        if not happened(file):
            denied = await client.send(resume=cancelled(*(one.id for one in questions)))
            assert (ending(denied), happened(file)) == ("success", [])
