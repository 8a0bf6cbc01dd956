"""The team with handoffs: its agents speak in one conversation, and each turn goes to the last."""

from __future__ import annotations

from examples.support_team.main import agent
from langgraph_agui.testing import record_run
from tests.kit.paths import ROOT
from tests.kit.processes.demo_server import running
from tests.kit.processes.node_client import NodeClient
from tests.kit.run.agents import RecordedRun, collect, dumped, run_input, user


async def test_agents_hand_over_and_the_last_one_goes_on() -> None:
    first = await record_run(agent, "My internet is down.")
    assert first.text.endswith("Ada's line has been down since this morning.")
    assert first.state == {"active": "technician"}
    second = await first.then("Is my invoice paid?")
    assert second.text.endswith("Invoice 17: 40 euros, paid on 3 May.")
    assert second.state == {"active": "billing"}
    third = await second.then("Which invoice was that?")
    called = [event.tool_call_name for event in third.events if event.type == "TOOL_CALL_START"]
    assert called == ["find_invoice"]
    runs = (first, second, third)
    assert [run.outcome for run in runs] == ["success"] * 3
    assert not any(getattr(event, "subagent_run_id", None) for run in runs for event in run.events)
    empty = run_input(thread=first.input.thread_id)
    shown = RecordedRun(await collect(agent.connect(empty)), empty)
    assert dumped(shown.messages) == dumped(third.messages)


def test_the_reference_client_at_the_served_team(node_client: NodeClient) -> None:
    with running("serve", "examples.support_team.main:agent", cwd=ROOT) as url:
        asked = user("Is my invoice paid?", "u1").model_dump(by_alias=True, exclude_none=True)
        run = node_client.run(url=url, threadId="team", messages=[asked], state={})
        assert run.accepted
        assert run.warnings == []
        assert not run.pendingToolCallIds
        assert run.messages[-1]["content"].endswith("Invoice 17: 40 euros, paid on 3 May.")
