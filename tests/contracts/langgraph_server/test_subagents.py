"""Subagents of a graph on a LangGraph server: who says what, in all modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

import pytest
from ag_ui.core import ResumeEntry
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.contracts.langgraph_server.kit_graphs import ENDING, FAILING, PAUSING
from tests.kit.deep import deep, together
from tests.kit.expect.owners import (
    check_all,
    check_lifecycle,
    check_no_subagents,
    check_words,
    ends,
    sayings,
    starts,
    tag,
)
from tests.kit.graphs.subagents import BOSS
from tests.kit.run.agents import RecordedRun, record_run, run_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from ag_ui.core import RunAgentInput

    Mode = Literal["attributed", "inline", "hidden"]
    Agents = Callable[..., LangGraphAgent]

pytestmark = [pytest.mark.xdist_group("remote"), deep]

FEW = ["deep", "two_agents_in_a_tool"]
graphs = pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=deep) for name in ENDING]
)
few = pytest.mark.parametrize(
    "name", [*FEW, *(pytest.param(name, marks=deep) for name in ("copied", "declared_shared"))]
)
asks = pytest.mark.parametrize("how", PAUSING)


@pytest.fixture
def agent(server: str) -> Agents:
    def make(name: str, mode: Mode = "attributed") -> LangGraphAgent:
        return LangGraphAgent(
            graph=RemoteGraph(f"subagents_{name}", url=server),
            clients=ClientOptions(subagents=mode),
        )

    return make


async def finished(
    agent: LangGraphAgent, outcome: str, request: RunAgentInput | None = None
) -> RecordedRun:
    """A run that ends with this outcome."""
    recorded = await record_run(agent, request or run_input("hi", thread=str(uuid4())))
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    assert recorded.last.outcome.type == outcome
    recorded.check_snapshot()
    return recorded


async def received(agent: LangGraphAgent) -> RecordedRun:
    """A run that comes to its end."""
    return await finished(agent, "success")


def speakers(recorded: RecordedRun) -> list[str]:
    return sorted(speaker for speaker, _ in sayings(recorded.events))


@graphs
async def test_whose_everything_is(agent: Agents, name: str) -> None:
    recorded, built = await received(agent(name)), ENDING[name]
    owners = check_all(recorded, built)
    assert set(owners) == set(built.subagents)
    assert [event.subagent_run_id for event in recorded.of("SUBAGENT_STARTED")] == list(
        starts(recorded.events)
    )
    assert set(starts(recorded.events)) == set(owners.values())
    assert [(end.type.value, end.outcome) for end in ends(recorded.events).values()] == [
        ("SUBAGENT_FINISHED", None)
    ] * len(built.subagents)
    for subagent_id, start in starts(recorded.events).items():
        assert subagent_id.startswith("tools:") == (start.parent_tool_call_id is not None)


async def test_a_second_agent_of_a_task_counts(agent: Agents) -> None:
    recorded = await received(agent("two_agents_in_a_tool"))
    owners = check_words(recorded, ENDING["two_agents_in_a_tool"])
    assert owners["two"] == f"{owners['one']}:1"


@deep
@few
async def test_inline_says_all_and_nothing_of_subagents(agent: Agents, name: str) -> None:
    inline, attributed = await received(agent(name, "inline")), await received(agent(name))
    check_no_subagents(inline)
    if not ENDING[name].copied:  # what the parent repeats of a subagent is told once only here
        assert speakers(inline) == speakers(attributed)


@few
async def test_hidden_tells_nothing_of_subagents(agent: Agents, name: str) -> None:
    recorded, built = await received(agent(name, "hidden")), ENDING[name]
    check_no_subagents(recorded)
    assert set(speakers(recorded)) == {BOSS} | built.team | built.copied
    assert sum(usage.input_tokens or 0 for usage in recorded.last.usage) >= 10 * (
        1 + len(built.subagents)
    )


async def paused(agent: LangGraphAgent) -> RecordedRun:
    return await finished(agent, "interrupt")


async def approve(agent: LangGraphAgent, before: RecordedRun) -> RecordedRun:
    asked = before.last.outcome.interrupts
    answers = [
        ResumeEntry(interrupt_id=one.id, status="resolved", payload={"approved": True})
        for one in asked
    ]
    return await finished(
        agent, "success", run_input(*before.messages, thread=before.input.thread_id, resume=answers)
    )


def result_of(recorded: RecordedRun, call_id: str) -> Any:
    return next(event for event in recorded.of("TOOL_CALL_RESULT") if event.tool_call_id == call_id)


@asks
async def test_an_approval_is_the_innermosts(agent: Agents, how: str) -> None:
    recorded, built = await paused(agent(f"guarded_{how}")), PAUSING[how]
    owners, ended = check_all(recorded, built), ends(recorded.events)
    assert set(owners) == {"mid_a", "mid_b", "leaf_a", "leaf_b"}
    asked = recorded.last.outcome.interrupts
    assert [one.subagent_run_id for one in asked] == [owners["leaf_a"]]
    outcomes = {speaker: ended[subagent_id].outcome for speaker, subagent_id in owners.items()}
    assert outcomes["leaf_b"] is outcomes["mid_b"] is None
    assert outcomes["leaf_a"].type == outcomes["mid_a"].type == "suspended"
    assert outcomes["leaf_a"].interrupt_ids == [one.id for one in asked]
    assert not outcomes["mid_a"].interrupt_ids
    if how == "per_call":
        assert [one.tool_call_id for one in asked] == ["leaf_a.0"]


@deep
@asks
async def test_a_resumed_subagent_is_the_same(agent: Agents, how: str) -> None:
    before = await paused(agent(f"guarded_{how}"))
    first = check_all(before, PAUSING[how])
    recorded = await approve(agent(f"guarded_{how}"), before)
    check_lifecycle(recorded.events)
    assert check_words(recorded, PAUSING[how]) == first
    # The others have ended before the pause, though the server begins their tasks again.
    assert set(starts(recorded.events)) == {first["mid_a"], first["leaf_a"]}
    assert {end.outcome for end in ends(recorded.events).values()} == {None}
    result = result_of(recorded, "leaf_a.0")
    assert (result.content, tag(result)) == ("deployed leaf_a0", first["leaf_a"])
    parents = {
        subagent_id: start.parent_subagent_run_id
        for subagent_id, start in starts(recorded.events).items()
    }
    assert parents == {first["mid_a"]: None, first["leaf_a"]: first["mid_a"]}


@deep
@together(asks, pytest.mark.parametrize("mode", ["inline", "hidden"]))
async def test_an_approval_without_subagents(agent: Agents, how: str, mode: Mode) -> None:
    before = await paused(agent(f"guarded_{how}", mode))
    check_no_subagents(before)
    assert [one.subagent_run_id for one in before.last.outcome.interrupts] == [None]
    recorded = await approve(agent(f"guarded_{how}", mode), before)
    check_no_subagents(recorded)
    said = set(speakers(before)) | set(speakers(recorded))
    assert said == ({BOSS} if mode == "hidden" else {BOSS, *PAUSING[how].subagents})


@pytest.mark.parametrize("handled", FAILING)
async def test_a_subagent_fails(agent: Agents, handled: bool) -> None:
    recorded = await record_run(agent(f"failing_{handled}"), run_input("hi", thread=str(uuid4())))
    assert recorded.last.type.value == ("RUN_FINISHED" if handled else "RUN_ERROR")
    check_lifecycle(recorded.events)
    began, ended = starts(recorded.events), ends(recorded.events)
    assert [event.name for event in began.values()] == ["outer", "inner"]
    assert [began[subagent_id].name for subagent_id in ended] == ["inner", "outer"]
    assert {end.type.value for end in ended.values()} == {"SUBAGENT_ERROR"}
    assert all(end.message and end.code for end in ended.values())
    assert not any("a secret" in event.model_dump_json() for event in recorded.events)
