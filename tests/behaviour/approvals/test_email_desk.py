"""The email desk asks in the form of Agent Inbox, and does what the person says."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from ag_ui.core import ResumeEntry

from examples.email_desk.main import make_agent, outbox
from tests.kit.paths import ROOT
from tests.kit.processes.demo_server import running
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.agents import RecordedRun, collect, dumped, record_run, run_input, user

MAIL = {"author": "Ada", "subject": "Tomorrow", "text": "When do you come?"}


def test_it_runs_from_a_clone() -> None:
    command = [sys.executable, "-m", "examples.email_desk"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[-1] == "sent: I will come at half past., I will come at ten, as you wish."
    kinds = [line.rpartition(": ")[2] for line in lines if line.startswith("  asked")]
    assert kinds == ["edit", "response", "accept", "ignore"]


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize(
    ("response", "sent", "said"),
    [
        ({"type": "accept", "args": None}, ["I will come at nine."], "Done: sent to the sender"),
        (
            {
                "type": "edit",
                "args": {"action": "write_email", "args": {"to": "Ada", "content": "No."}},
            },
            ["No."],
            "Done: sent to Ada: No.",
        ),
        ({"type": "ignore", "args": None}, [], "This is what I would answer."),
    ],
)
async def test_each_answer(response: Any, sent: list[str], said: str, typed: bool) -> None:
    outbox.clear()
    agent = make_agent()
    given: dict[str, Any] = {"thread": "t", "state": {} if typed else {"email_input": MAIL}}
    messages = [user("When do you come?", "u1")] if typed else []
    first = await record_run(agent, run_input(*messages, **given))
    (asked,) = first.last.outcome.interrupts
    assert outbox == []
    given["state"] = first.state
    resume = [ResumeEntry(interrupt_id=asked.id, status="resolved", payload=response)]
    second = await record_run(agent, run_input(*first.messages, **given, resume=resume))
    assert second.last.outcome.type == "success"
    assert outbox == sent
    answers = [one.content for one in second.messages if one.role == "assistant"]
    assert str(answers[-1]).startswith(said)
    empty = run_input(thread="t")
    shown = RecordedRun(await collect(agent.connect(empty)), empty)
    assert dumped(shown.messages) == dumped(second.messages)


def test_the_reference_client_at_the_served_desk(node_client: NodeClient) -> None:
    with running("serve", "examples.email_desk.main:agent", cwd=ROOT) as url:
        mail = user("When do you come?", "u1").model_dump(by_alias=True, exclude_none=True)
        run = node_client.run(url=url, threadId="desk", messages=[mail], state={})
        assert run.accepted
        assert run.warnings == []
        assert run.messages[-1]["toolCalls"][0]["function"]["name"] == "write_email"
