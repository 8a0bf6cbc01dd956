"""Subagents of a graph on a LangGraph server: who says what, in all modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

import pytest
from ag_ui.core import ResumeEntry
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui import LangGraphAgent
from tests.adapter.streams import Told, run_input, tell
from tests.remote.subagent_graphs import ENDING, FAILING, PAUSING
from tests.subagents.graphs import BOSS
from tests.subagents.owners import check_all, check_lifecycle, check_untold, check_words, ends, sayings, starts, tag

if TYPE_CHECKING:
    from collections.abc import Callable

    Mode = Literal["attributed", "inline", "hidden"]
    Agents = Callable[..., LangGraphAgent]

pytestmark = pytest.mark.xdist_group("remote")

graphs = pytest.mark.parametrize("name", ENDING)
few = pytest.mark.parametrize("name", ["copied", "declared_shared", "deep", "two_agents_in_a_tool"])
asks = pytest.mark.parametrize("how", PAUSING)


@pytest.fixture
def agent(server: str) -> Agents:
    def make(name: str, mode: Mode = "attributed") -> LangGraphAgent:
        return LangGraphAgent(graph=RemoteGraph(f"subagents_{name}", url=server), subagents=mode)

    return make


async def heard(agent: LangGraphAgent) -> Told:
    """A run that comes to its end."""
    told = await tell(agent, run_input("hi", thread=str(uuid4())))
    assert told.last.type.value == "RUN_FINISHED", told.last
    assert told.last.outcome.type == "success"
    told.check_snapshot()
    return told


def speakers(told: Told) -> list[str]:
    return sorted(speaker for speaker, _ in sayings(told.events))


# -- the modes ------------------------------------------------------------------------------------------------------


@graphs
async def test_whose_everything_is(agent: Agents, name: str) -> None:
    told, built = await heard(agent(name)), ENDING[name]
    owners = check_all(told, built)
    assert set(owners) == set(built.lanes)
    assert [event.subagent_run_id for event in told.of("SUBAGENT_STARTED")] == list(starts(told.events))
    assert set(starts(told.events)) == set(owners.values())
    assert {(end.type.value, end.outcome) for end in ends(told.events).values()} == {("SUBAGENT_FINISHED", None)}
    for lane, start in starts(told.events).items():
        assert lane.startswith("tools:") == (start.parent_tool_call_id is not None)


async def test_a_second_agent_of_a_task_counts(agent: Agents) -> None:
    told = await heard(agent("two_agents_in_a_tool"))
    owners = check_words(told, ENDING["two_agents_in_a_tool"])
    assert owners["two"] == f"{owners['one']}:1"


@few
async def test_inline_says_all_and_nothing_of_lanes(agent: Agents, name: str) -> None:
    inline, attributed = await heard(agent(name, "inline")), await heard(agent(name))
    check_untold(inline)
    if not ENDING[name].copied:  # what the parent repeats of a subagent is told once only here
        assert speakers(inline) == speakers(attributed)


@few
async def test_hidden_tells_nothing_of_lanes(agent: Agents, name: str) -> None:
    told, built = await heard(agent(name, "hidden")), ENDING[name]
    check_untold(told)
    assert set(speakers(told)) == {BOSS} | built.shared
    assert sum(usage.input_tokens or 0 for usage in told.last.usage) >= 10 * (1 + len(built.lanes))


# -- approvals in the innermost -------------------------------------------------------------------------------------


async def paused(agent: LangGraphAgent) -> Told:
    told = await tell(agent, run_input("hi", thread=str(uuid4())))
    assert told.last.type.value == "RUN_FINISHED", told.last
    assert told.last.outcome.type == "interrupt"
    told.check_snapshot()
    return told


async def approve(agent: LangGraphAgent, before: Told) -> Told:
    asked = before.last.outcome.interrupts
    answers = [ResumeEntry(interrupt_id=one.id, status="resolved", payload={"approved": True}) for one in asked]
    told = await tell(agent, run_input(*before.messages, thread=before.input.thread_id, resume=answers))
    assert told.last.type.value == "RUN_FINISHED", told.last
    assert told.last.outcome.type == "success"
    told.check_snapshot()
    return told


def result_of(told: Told, call_id: str) -> Any:
    return next(event for event in told.of("TOOL_CALL_RESULT") if event.tool_call_id == call_id)


@asks
async def test_an_approval_is_the_innermosts(agent: Agents, how: str) -> None:
    told, built = await paused(agent(f"guarded_{how}")), PAUSING[how]
    owners, ended = check_all(told, built), ends(told.events)
    assert set(owners) == {"mid_a", "mid_b", "leaf_a", "leaf_b"}
    asked = told.last.outcome.interrupts
    assert [one.subagent_run_id for one in asked] == [owners["leaf_a"]]
    outcomes = {speaker: ended[lane].outcome for speaker, lane in owners.items()}
    assert outcomes["leaf_b"] is outcomes["mid_b"] is None
    assert outcomes["leaf_a"].type == outcomes["mid_a"].type == "suspended"
    assert outcomes["leaf_a"].interrupt_ids == [one.id for one in asked]
    assert not outcomes["mid_a"].interrupt_ids
    if how == "per_call":
        assert [one.tool_call_id for one in asked] == ["leaf_a.0"]


@asks
async def test_a_resumed_subagent_is_the_same(agent: Agents, how: str) -> None:
    before = await paused(agent(f"guarded_{how}"))
    first = check_all(before, PAUSING[how])
    told = await approve(agent(f"guarded_{how}"), before)
    check_lifecycle(told.events)
    assert check_words(told, PAUSING[how]) == first
    # The others have ended before the pause, though the server begins their tasks again.
    assert set(starts(told.events)) == {first["mid_a"], first["leaf_a"]}
    assert {end.outcome for end in ends(told.events).values()} == {None}
    result = result_of(told, "leaf_a.0")
    assert (result.content, tag(result)) == ("deployed leaf_a0", first["leaf_a"])
    parents = {lane: start.parent_subagent_run_id for lane, start in starts(told.events).items()}
    assert parents == {first["mid_a"]: None, first["leaf_a"]: first["mid_a"]}


@asks
@pytest.mark.parametrize("mode", ["inline", "hidden"])
async def test_an_approval_without_lanes(agent: Agents, how: str, mode: Mode) -> None:
    before = await paused(agent(f"guarded_{how}", mode))
    check_untold(before)
    assert [one.subagent_run_id for one in before.last.outcome.interrupts] == [None]
    told = await approve(agent(f"guarded_{how}", mode), before)
    check_untold(told)
    said = set(speakers(before)) | set(speakers(told))
    assert said == ({BOSS} if mode == "hidden" else {BOSS, *PAUSING[how].lanes})


# -- failures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("handled", FAILING)
async def test_a_subagent_fails(agent: Agents, handled: bool) -> None:
    told = await tell(agent(f"failing_{handled}"), run_input("hi", thread=str(uuid4())))
    assert told.last.type.value == ("RUN_FINISHED" if handled else "RUN_ERROR")
    check_lifecycle(told.events)
    began, ended = starts(told.events), ends(told.events)
    assert [event.name for event in began.values()] == ["outer", "inner"]
    assert [began[lane].name for lane in ended] == ["inner", "outer"]
    assert {end.type.value for end in ended.values()} == {"SUBAGENT_ERROR"}
    assert all(end.message and end.code for end in ended.values())
    assert not any("a secret" in event.model_dump_json() for event in told.events)
