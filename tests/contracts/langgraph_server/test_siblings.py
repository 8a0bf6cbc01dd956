"""Tasks that run at once on a LangGraph server: one asks, fails or has ended, while another one
goes on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from ag_ui.core import ResumeEntry
from langgraph.pregel.remote import RemoteGraph

from langgraph_agui import LangGraphAgent
from langgraph_agui.graphs import RemoteGraphAdapter
from langgraph_agui.translate.server.stream import RemoteGraphRunner
from tests.contracts.langgraph_server.sibling_graphs import ASKING, BOTH, BUILT
from tests.kit.deep import deep
from tests.kit.expect.owners import check_lifecycle, check_tags, check_words, ends, starts, tag
from tests.kit.run.agents import RecordedRun, record_run, run_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.runnables import RunnableConfig
    from langgraph.types import StateSnapshot

    Agents = Callable[..., LangGraphAgent]

pytestmark = [pytest.mark.xdist_group("remote"), deep]

# One in which a node asks, and one in which only a half of the calls does.
FIRST = {"in_a_node_per_call", "half_batched"}
modes = pytest.mark.parametrize("mode", ["batched", pytest.param("per_call", marks=deep)])


@pytest.fixture
def agent(server: str) -> Agents:
    def make(name: str, **options: Any) -> LangGraphAgent:
        return LangGraphAgent(graph=RemoteGraph(f"siblings_{name}", url=server), **options)

    return make


def checked(recorded: RecordedRun) -> RecordedRun:
    check_lifecycle(recorded.events)
    check_tags(recorded)
    return recorded


async def begin(agent: LangGraphAgent) -> RecordedRun:
    return checked(await record_run(agent, run_input("hi", thread=str(uuid4()))))


async def connected(agent: LangGraphAgent, before: RecordedRun) -> list[Any]:
    """What one is asked who joins the thread later."""
    given = run_input(*before.messages, thread=before.input.thread_id)
    recorded = RecordedRun([event async for event in agent.connect(given)], given)
    return list(recorded.last.outcome.interrupts)


async def go_on(
    agent: LangGraphAgent, before: RecordedRun, *answered: Any, payload: Any = None
) -> RecordedRun:
    answers = [
        ResumeEntry(interrupt_id=one.id, status="resolved", payload=payload or {"approved": True})
        for one in answered
    ]
    return checked(
        await record_run(
            agent, run_input(*before.messages, thread=before.input.thread_id, resume=answers)
        )
    )


def asked(recorded: RecordedRun) -> list[Any]:
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    assert recorded.last.outcome.type == "interrupt"
    return list(recorded.last.outcome.interrupts)


def succeeded(recorded: RecordedRun) -> None:
    assert recorded.last.type.value == "RUN_FINISHED", recorded.last
    assert recorded.last.outcome.type == "success"
    recorded.check_snapshot()


def steps(recorded: RecordedRun) -> list[tuple[str, str, str | None]]:
    """The steps, as they begin and end, with whose they are."""
    events = recorded.of("STEP_STARTED", "STEP_FINISHED")
    return [(event.type.value, event.step_name, tag(event)) for event in events]


def left_by(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether tasks are left when a run has ended, of all runs from now on."""
    left, check_end = [], RemoteGraphRunner._check_end

    async def end(drive: RemoteGraphRunner) -> None:
        left.append(bool(drive._tasks))
        await check_end(drive)

    monkeypatch.setattr(RemoteGraphRunner, "_check_end", end)
    return left


@deep
@pytest.mark.parametrize(
    "name", [name if name in FIRST else pytest.param(name, marks=deep) for name in ASKING]
)
async def test_who_asks_is_known_to_whoever_connects(agent: Agents, name: str) -> None:
    recorded = await begin(agent(name))
    owners, (question,) = check_words(recorded, BUILT[name]), asked(recorded)
    assert question.subagent_run_id == owners["ann"]
    (again,) = await connected(agent(name), recorded)
    # Of a graph whose tasks the server does not show it tells what is around it, and of several of
    # one tool nothing.
    around = starts(recorded.events)[owners["ann"]].parent_subagent_run_id
    unrecorded = {"in_a_node_batched": around, "in_a_node_per_call": around, "second_batched": None}
    assert again.subagent_run_id == unrecorded.get(name, owners["ann"])
    call = None if name in ("second_batched", "in_a_node_batched") else "ann.0"
    assert (question.tool_call_id, again.tool_call_id) == (call, call)
    succeeded(await go_on(agent(name), recorded, question))


@pytest.mark.parametrize(
    ("name", "requests"), [("asking", 0), ("siblings_slowly", 1), ("siblings_both_per_call", 4)]
)
async def test_only_states_on_the_way_are_asked_for(
    server: str, name: str, requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: list[str] = []

    load_subgraph = RemoteGraphAdapter.load_subgraph

    async def load(
        graph: RemoteGraphAdapter, config: RunnableConfig, namespace: str
    ) -> StateSnapshot | None:
        asked_for.append(namespace)
        return await load_subgraph(graph, config, namespace)

    monkeypatch.setattr(RemoteGraphAdapter, "load_subgraph", load)
    asked(await begin(LangGraphAgent(graph=RemoteGraph(name, url=server))))
    assert len(asked_for) == requests


@modes
async def test_two_ask_at_once(agent: Agents, mode: str) -> None:
    recorded = await begin(agent(f"both_{mode}"))
    owners = check_words(recorded, BOTH[mode])
    questions = sorted(asked(recorded), key=lambda one: one.tool_call_id)
    expected = [("leaf_a.0", owners["leaf_a"]), ("leaf_b.0", owners["leaf_b"])]
    assert [(one.tool_call_id, one.subagent_run_id) for one in questions] == expected
    again = sorted(
        await connected(agent(f"both_{mode}"), recorded), key=lambda one: one.tool_call_id
    )
    assert [one.model_dump() for one in again] == [one.model_dump() for one in questions]
    outcomes = {subagent_id: end.outcome for subagent_id, end in ends(recorded.events).items()}
    assert {outcome.type for outcome in outcomes.values()} == {"suspended"}
    raised = {
        subagent_id: outcome.interrupt_ids
        for subagent_id, outcome in outcomes.items()
        if outcome.interrupt_ids
    }
    assert raised == {owners["leaf_a"]: [questions[0].id], owners["leaf_b"]: [questions[1].id]}
    done = await go_on(agent(f"both_{mode}"), recorded, *questions)
    succeeded(done)
    assert check_words(done, BOTH[mode]) == owners
    results = {
        event.tool_call_id: (event.content, tag(event)) for event in done.of("TOOL_CALL_RESULT")
    }
    for who in ("leaf_a", "leaf_b"):
        assert results[f"{who}.0"] == (f"deployed {who}0", owners[who])


async def test_one_speaks_on_while_another_one_waits(agent: Agents) -> None:
    recorded = await begin(agent("slowly"))
    owners = check_words(recorded, BUILT["slowly"])
    assert [one.subagent_run_id for one in asked(recorded)] == [owners["ann"]]
    said = [
        event.delta for event in recorded.of("TEXT_MESSAGE_CONTENT") if tag(event) == owners["bob"]
    ]
    assert "".join(said) == "bob: ends 1"
    found = {
        subagent_id: end.outcome and end.outcome.type
        for subagent_id, end in ends(recorded.events).items()
    }
    assert found == {owners["ann"]: "suspended", owners["bob"]: None}
    assert list(found) == [owners["bob"], owners["ann"]]
    assert [event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")] == ["boss.1"]


@deep
@pytest.mark.parametrize("name", ["slowly", "half_per_call"])
async def test_steps_of_what_is_not_run_again_end(
    agent: Agents, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = await begin(agent(name))
    owners = check_words(recorded, BUILT[name])
    left = left_by(monkeypatch)
    done = await go_on(agent(name), recorded, *asked(recorded))
    succeeded(done)
    assert left == [False], "the server need not be asked how the run has ended"
    assert owners["bob"] not in starts(done.events)
    assert {end.type.value for end in ends(done.events).values()} == {"SUBAGENT_FINISHED"}
    assert not [end for end in ends(done.events).values() if end.outcome]
    around = owners.get("mid")
    told_steps = steps(done)
    second = told_steps.index(("STEP_STARTED", "tools (2)", around))
    assert told_steps[second + 1] == ("STEP_FINISHED", "tools (2)", around)


@deep
async def test_steps_of_one_node_end_though_nobody_says_which(
    agent: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = await begin(agent("workers"))
    assert Counter(kind for kind, *_ in steps(recorded)) == {"STEP_STARTED": 3, "STEP_FINISHED": 3}
    left = left_by(monkeypatch)
    done = await go_on(agent("workers"), recorded, *asked(recorded), payload="the last")
    succeeded(done)
    assert left == [False]
    assert done.state["notes"] == ["0", "1", "the last"]
    assert Counter(steps(done)).most_common(1)[0][1] == 1
    assert [kind for kind, *_ in steps(done)] == ["STEP_STARTED"] * 3 + ["STEP_FINISHED"] * 3


@deep
async def test_one_is_cancelled_because_another_one_fails(agent: Agents) -> None:
    recorded = await begin(agent("failing"))
    assert (recorded.last.type.value, recorded.last.code) == ("RUN_ERROR", "model_error")
    names = {subagent_id: start.name for subagent_id, start in starts(recorded.events).items()}
    ended = [
        (names[subagent_id], end.type.value, end.code)
        for subagent_id, end in ends(recorded.events).items()
    ]
    assert ended == [
        ("ann", "SUBAGENT_ERROR", "model_error"),
        ("bob", "SUBAGENT_ERROR", "cancelled"),
    ]
    assert not any("a secret" in event.model_dump_json() for event in recorded.events)


@deep
@pytest.mark.parametrize("handled", [True, False])
async def test_one_is_cancelled_within_what_failed(
    agent: Agents, handled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = left_by(monkeypatch)
    recorded = await begin(agent(f"inside_{handled}"))
    if handled:
        succeeded(recorded)
        assert left == [False]
    else:
        assert (recorded.last.type.value, recorded.last.code) == ("RUN_ERROR", "graph_error")
    names = {subagent_id: start.name for subagent_id, start in starts(recorded.events).items()}
    ended = [
        (names[subagent_id], end.type.value, end.code)
        for subagent_id, end in ends(recorded.events).items()
    ]
    # The server does not tell that it was a tool. It was no model, though one was speaking.
    assert ended == [
        ("bob", "SUBAGENT_ERROR", "cancelled"),
        ("mid", "SUBAGENT_ERROR", "graph_error"),
    ]


@deep
async def test_one_fails_while_another_one_waits(agent: Agents) -> None:
    recorded = await begin(agent("pausing_and_failing"))
    assert (recorded.last.type.value, recorded.last.code) == ("RUN_ERROR", "model_error")
    names = {subagent_id: start.name for subagent_id, start in starts(recorded.events).items()}
    ended = [
        (names[subagent_id], end.type.value, end.code)
        for subagent_id, end in ends(recorded.events).items()
    ]
    assert ended == [
        ("bob", "SUBAGENT_ERROR", "model_error"),
        ("ann", "SUBAGENT_ERROR", "cancelled"),
    ]
