"""The matrix of `tests/kit/run/approval_matrix.py` on a LangGraph server: what is guarded runs as
often as it was approved."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui import LangGraphAgent
from tests.contracts.langgraph_server.conftest import Clients
from tests.kit.deep import deep, others_deep
from tests.kit.graphs.forms import FORMS
from tests.kit.graphs.pauses import KINDS, happened
from tests.kit.run.approval_matrix import CASES, decide, pause, refuse_all, repeat
from tests.kit.run.dialogues import answering, approvals
from tests.kit.run.thread_client import asked, ending

pytestmark = [pytest.mark.xdist_group("remote"), deep]


@pytest.mark.parametrize("kind", KINDS)
async def test_on_a_server(kind: str, server: str, tmp_path: Path) -> None:
    graph = RemoteGraph(f"approvals_{kind}", url=server)
    dialogues = [dialogue(graph, kind, answer, tmp_path) for of, answer in CASES if of == kind]
    await asyncio.gather(*dialogues)  # a server takes its time before it begins a run


async def dialogue(graph: RemoteGraph, kind: str, answer: str, home: Path) -> None:
    paused = await pause(LangGraphAgent(graph), kind, answer, home, thread=str(uuid4()))
    await refuse_all(LangGraphAgent(graph), paused, answer)
    agent = LangGraphAgent(graph)
    recorded, entries = await decide(agent, paused, answer)
    # a server keeps no mark of what was given up: the answers are too late
    if recorded.last.outcome.type == "cancelled":
        again = await paused.resume(agent, entries)
        late = any(entry.status == "resolved" for entry in entries)
        assert getattr(again.last, "code", None) == ("interrupt_unknown" if late else None)
    else:
        await repeat(agent, paused, entries)


@pytest.mark.parametrize("kind", others_deep(FORMS, lambda kind: kind.partition("_")[0]))
async def test_a_question_in_a_known_form(kind: str, client_of: Clients) -> None:
    client = client_of(f"approvals_{kind}")
    questions = await client.ask("Please.")
    assert [one.tool_call_id for one in questions] == ["c-Ada", "c-Bob"][: len(questions)]
    assert asked(await client.connect()) == questions
    wrong = await client.send(resume=answering(questions, {"decisions": "none"}))
    assert ending(wrong) == "interrupt_invalid"
    dated = {"action": "accept", "content": {"date": "Monday"}}
    right = answering(questions, dated if kind.startswith("mcp") else {"approved": True})
    for _ in range(2):  # the second time as a client whose connection broke
        assert ending(await client.send(resume=right)) == "success"


@pytest.mark.parametrize("kind", ["per_call", "interrupt", "tool_batched"])
async def test_an_approval_whose_work_has_failed(
    kind: str, client_of: Clients, tmp_path: Path
) -> None:
    """The thread's metadata has the record: the same answers again run nothing, others come too
    late."""
    client, file = client_of(f"approvals_{kind}"), tmp_path / "later" / "happened"
    questions = await client.ask(str(file))
    answers = approvals(questions)
    assert (await client.send(resume=answers)).last.type.value == "RUN_ERROR"
    file.parent.mkdir()
    for _ in range(2):
        assert ending(await client.send(resume=answers)) == "success"
    denied = await client.send(resume=answering(questions, {"approved": False}))
    assert ending(denied) == "interrupt_unknown"
    assert happened(file) == []
