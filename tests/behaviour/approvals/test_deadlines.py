"""How long a question may be answered: from the moment at which it was asked, by whichever agent."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ApprovalOptions, LangGraphAgent
from tests.kit.graphs.pauses import Mode, around, as_tool, happened, last_user_text, spender
from tests.kit.models.scripted import Piece, Scripted, call
from tests.kit.run.dialogues import answering, approvals
from tests.kit.run.thread_client import Client, asked, ending

HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("mode", "place"),
    [("batched", "alone"), ("per_call", "alone"), ("batched", "tool"), ("per_call", "node")],
)
async def test_the_time_counts_from_the_question_itself(
    mode: Mode, place: str, tmp_path: Any
) -> None:
    thought: list[datetime] = []

    def script(messages: list[BaseMessage]) -> list[Piece]:
        number = sum(isinstance(message, ToolMessage) for message in messages)
        asks = call("spend", f"s{number}", file=last_user_text(messages), amount=number)
        done: list[Piece] = ["Done."]
        return [asks, lambda: thought.append(datetime.now(UTC))] if number < 2 else done

    saver, inner = InMemorySaver(), spender(mode, model=Scripted(script=script))
    if place == "alone":
        inner.checkpointer = saver
    elif place == "tool":
        inner = as_tool(as_tool(inner, 2), 1, saver)
    else:
        inner = around(around(inner), saver)
    client = Client(LangGraphAgent(inner, approvals=ApprovalOptions(timeout=HOUR)))
    questions = await client.ask(str(tmp_path / "happened"))
    for number in range(2):
        [one] = questions
        since = datetime.fromisoformat(str(one.expires_at)) - HOUR
        assert thought[number] <= since <= datetime.now(UTC)
        assert [again.expires_at for again in asked(await client.connect())] == [one.expires_at]
        recorded = await client.send(resume=answering([one], {"approved": False}))
        questions = asked(recorded) if number == 0 else []
    assert ending(recorded) == "success"


@pytest.mark.parametrize("timeout", [timedelta.max, float("inf"), 1e12])
async def test_a_time_later_than_any_date_is_never(timeout: Any, tmp_path: Any) -> None:
    graph = spender("batched", InMemorySaver())
    client = Client(LangGraphAgent(graph, approvals=ApprovalOptions(timeout=timeout)))
    questions = await client.ask(str(tmp_path / "happened"))
    assert [one.expires_at for one in questions] == [None, None]
    assert ending(await client.send(resume=approvals(questions))) == "success"


@pytest.mark.parametrize(("busy", "early"), [("refuse", 0.1), ("wait", 0.0), ("wait", -0.02)])
async def test_the_moment_at_which_it_runs_out(busy: Any, early: float, tmp_path: Any) -> None:
    """Two workers get the same answers around it: all of them count, or none, and once."""
    file, saver = str(tmp_path / "happened"), InMemorySaver()
    options: Any = {"approvals": ApprovalOptions(timeout=0.3), "on_busy": busy}
    one, other = (LangGraphAgent(spender("per_call", saver), **options) for _ in range(2))
    client = Client(one)
    questions = await client.ask(file)
    end = datetime.fromisoformat(str(questions[0].expires_at))
    await asyncio.sleep((end - datetime.now(UTC)).total_seconds() - early)
    clients = [Client(agent, held=client.held) for agent in (one, other, one)]
    runs = (each.send(resume=approvals(questions)) for each in clients)
    ends = {ending(run) for run in await asyncio.gather(*runs)} - {"thread_busy"}
    assert (ends, happened(file)) in [({"success"}, [1, 2]), ({"interrupt_expired"}, [])]
    late = LangGraphAgent(one.graph, approvals=ApprovalOptions(timeout=timedelta(0)))
    if ends == {"interrupt_expired"}:  # what is too late can be cancelled
        client.agent = late
        assert ending(await client.send(resume=answering(questions, ...))) == "success"
        assert happened(file) == []
