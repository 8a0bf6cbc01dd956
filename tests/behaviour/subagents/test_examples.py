"""The examples with teams: researchers in parallel, and agents with handoffs."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from examples.research_team import main as research
from examples.support_team import main as support
from langgraph_agui.testing import record_run
from tests.kit.deep import deep
from tests.kit.paths import ROOT
from tests.kit.processes.demo_server import running
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.agents import dumped, user
from tests.kit.run.thread_client import Client


def test_the_research_team_runs_from_a_clone() -> None:
    command = [sys.executable, "-m", "examples.research_team"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line for line in lines if " starts for " in line] == [
        "ConductResearch starts for research-0: the price of tea in China",
        "ConductResearch 1 starts for research-1: the price of coffee in Brazil",
    ]
    # word by word, or several words at once if the machine is busy
    said = "".join(line.removeprefix("  report: ") for line in lines)
    assert "# Which prices have risen?" in said


@pytest.mark.parametrize(
    ("team", "question", "subagents", "answer"),
    [
        ("research_team", "Prices?", 3, "# Prices?"),
        pytest.param("support_team", "Is my invoice paid?", 0, "Invoice 17: 40 euros", marks=deep),
    ],
)
def test_the_reference_client_at_the_served_team(
    team: str, question: str, subagents: int, answer: str, node_client: NodeClient
) -> None:
    with running("serve", f"examples.{team}.main:agent", cwd=ROOT) as url:
        asked = user(question, "u1").model_dump(by_alias=True, exclude_none=True)
        run = node_client.run(url=url, threadId="team", messages=[asked], state={})
    assert (run.accepted, run.warnings, run.pendingToolCallIds or []) == (True, [], [])
    assert run.events.count("SUBAGENT_STARTED") == subagents
    assert answer in run.messages[-1]["content"]


async def test_each_question_sends_researchers_out() -> None:
    run = await record_run(research.agent, "Which prices have risen?")
    for _ in range(2):
        assert run.outcome == "success"
        starts: Any = [one for one in run.events if one.type == "SUBAGENT_STARTED"]
        assert (len(starts), len({one.parent_tool_call_id for one in starts})) == (3, 3)
        run = await run.then("And since?")


async def test_agents_hand_over_and_the_last_one_goes_on() -> None:
    first = await record_run(support.agent, "My internet is down.")
    assert first.text.endswith("Ada's line has been down since this morning.")
    second = await first.then("Is my invoice paid?")
    assert second.text.endswith("Invoice 17: 40 euros, paid on 3 May.")
    assert (first.state, second.state) == ({"active": "technician"}, {"active": "billing"})
    third = await second.then("Which invoice was that?")
    called = [event.tool_call_name for event in third.events if event.type == "TOOL_CALL_START"]
    assert called == ["find_invoice"]
    runs = (first, second, third)
    assert [run.outcome for run in runs] == ["success"] * 3
    assert not any(getattr(event, "subagent_run_id", None) for run in runs for event in run.events)
    shown = await Client(support.agent, thread=str(first.input.thread_id)).connect()
    assert dumped(shown.messages) == dumped(third.messages)
