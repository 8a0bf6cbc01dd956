"""The example with researchers in parallel; tests/behaviour/subagents/test_called_by_nodes.py looks at its
events."""

from __future__ import annotations

import subprocess
import sys

from examples.research_team.main import agent
from langgraph_agui.testing import record_run
from tests.kit.paths import ROOT
from tests.kit.processes.demo_server import running
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.agents import user


def test_it_runs_from_a_clone() -> None:
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


def test_the_reference_client_at_the_served_team(node_client: NodeClient) -> None:
    with running("serve", "examples.research_team.main:agent", cwd=ROOT) as url:
        asked = user("Prices?", "u1").model_dump(by_alias=True, exclude_none=True)
        run = node_client.run(url=url, threadId="team", messages=[asked], state={})
        assert run.accepted
        assert run.warnings == []
        assert not run.pendingToolCallIds
        assert run.events.count("SUBAGENT_STARTED") == 3
        assert run.messages[-1]["content"].startswith("# Prices?")


async def test_each_question_sends_researchers_out() -> None:
    run = await record_run(agent, "Which prices have risen?")
    for _ in range(2):
        assert run.outcome == "success"
        starts = [one for one in run.events if one.type == "SUBAGENT_STARTED"]
        assert len(starts) == 3
        assert len({one.parent_tool_call_id for one in starts}) == 3
        run = await run.then("And since?")
