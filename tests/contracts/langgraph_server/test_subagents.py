"""Subagents and teams of a graph on a LangGraph server: who says what, in all modes, and tasks that
run at once, of which one asks, fails or has ended while another one goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from langgraph_agui import ClientOptions
from langgraph_agui.graphs import RemoteGraphAdapter
from langgraph_agui.translate.server.stream import RemoteGraphRunner
from tests.behaviour.subagents.test_pauses import suspended
from tests.behaviour.subagents.test_teams import (
    QUESTIONS,
    check_conversation,
    kept_words,
    spoken_words,
    without_emptied,
)
from tests.contracts.langgraph_server.conftest import Clients, kept
from tests.contracts.langgraph_server.subagent_graphs import BUILT, ENDING, MODES
from tests.kit.deep import deep, together
from tests.kit.expect.owners import (
    check_all,
    check_lifecycle,
    check_no_subagents,
    check_tags,
    check_words,
    ends,
    sayings,
    starts,
    tag,
)
from tests.kit.graphs.subagents import BOSS
from tests.kit.graphs.teams import TEAMS
from tests.kit.run.agents import RecordedRun, dumped
from tests.kit.run.dialogues import answering, approvals
from tests.kit.run.thread_client import Client, asked, ending

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.types import StateSnapshot

pytestmark = [pytest.mark.xdist_group("remote"), deep]

few = pytest.mark.parametrize("name", ["deep", "two_agents_in_a_tool", "copied", "declared_shared"])
hows = pytest.mark.parametrize("how", MODES)


async def run(client: Client, *new: str, outcome: str = "success", **fields: Any) -> RecordedRun:
    recorded = await client.send(*new, **fields)
    check_lifecycle(recorded.events)
    check_tags(recorded)
    assert ending(recorded) == outcome
    if outcome in ("success", "interrupt"):
        recorded.check_snapshot()
    return recorded


def speakers(*runs: RecordedRun) -> set[str]:
    return {speaker for recorded in runs for speaker, _ in sayings(recorded.events)}


def ended(recorded: RecordedRun) -> list[tuple[str, str | None]]:
    """The subagents in the order in which they end, and how they have failed."""
    names = {subagent: start.name for subagent, start in starts(recorded.events).items()}
    told = ends(recorded.events).items()
    return [(names[subagent], getattr(end, "code", None)) for subagent, end in told]


def steps(recorded: RecordedRun) -> list[tuple[str, str, str | None]]:
    """The steps, as they begin and end, with whose they are."""
    events = recorded.of("STEP_STARTED", "STEP_FINISHED")
    return [(event.type.value, event.step_name, tag(event)) for event in events]


@pytest.mark.parametrize("name", ENDING)
async def test_whose_everything_is(client_of: Clients, name: str) -> None:
    recorded, built = await run(client_of(f"subagents_{name}"), "hi"), BUILT[name]
    owners = check_all(recorded, built)
    assert owners.keys() == built.subagents.keys()
    told = starts(recorded.events)
    assert {*told} == {*owners.values()}
    outcomes = [(end.type.value, end.outcome) for end in ends(recorded.events).values()]
    assert outcomes == [("SUBAGENT_FINISHED", None)] * len(owners)
    for subagent, start in told.items():
        assert subagent.startswith("tools:") == (start.parent_tool_call_id is not None)
    if name == "two_agents_in_a_tool":  # the second agent of a task counts
        assert owners["two"] == f"{owners['one']}:1"


@few
async def test_other_modes(client_of: Clients, name: str) -> None:
    built = BUILT[name]
    inline, hidden = [
        await run(client_of(f"subagents_{name}", clients=ClientOptions(subagents=mode)), "hi")
        for mode in ("inline", "hidden")
    ]
    check_no_subagents(inline)
    check_no_subagents(hidden)
    assert speakers(inline) == {BOSS, *built.subagents} | built.team
    assert speakers(hidden) == {BOSS} | built.team | built.copied
    used = sum(usage.input_tokens or 0 for usage in hidden.last.usage)
    assert used >= 10 * (1 + len(built.subagents))


@hows
async def test_an_approval_is_the_innermosts(client_of: Clients, how: str) -> None:
    client, built = client_of(f"subagents_guarded_{how}"), BUILT[f"guarded_{how}"]
    recorded = await run(client, "hi", outcome="interrupt")
    owners = check_all(recorded, built)
    assert owners.keys() == {"mid_a", "mid_b", "leaf_a", "leaf_b"}
    (question,) = asked(recorded)
    assert question.subagent_run_id == owners["leaf_a"]
    assert suspended(recorded) == {owners["leaf_a"]: [question.id], owners["mid_a"]: None}
    assert question.tool_call_id == "leaf_a.0" or how == "batched"
    after = await run(client, resume=approvals([question]))
    assert check_words(after, built) == owners
    # The others have ended before the pause, though the server begins their tasks again.
    told = starts(after.events)
    parents = {subagent: start.parent_subagent_run_id for subagent, start in told.items()}
    assert parents == {owners["mid_a"]: None, owners["leaf_a"]: owners["mid_a"]}
    assert suspended(after) == {}
    [result] = [one for one in after.of("TOOL_CALL_RESULT") if one.tool_call_id == "leaf_a.0"]
    assert (result.content, tag(result)) == ("deployed leaf_a0", owners["leaf_a"])


@together(hows, pytest.mark.parametrize("mode", ["inline", "hidden"]))
async def test_an_approval_without_subagents(client_of: Clients, how: str, mode: Any) -> None:
    client = client_of(f"subagents_guarded_{how}", clients=ClientOptions(subagents=mode))
    before = await run(client, "hi", outcome="interrupt")
    assert [one.subagent_run_id for one in asked(before)] == [None]
    after = await run(client, resume=approvals(asked(before)))
    check_no_subagents(before)
    check_no_subagents(after)
    inner = {"mid_a", "mid_b", "leaf_a", "leaf_b"}
    assert speakers(before, after) == ({BOSS} if mode == "hidden" else {BOSS, *inner})


@pytest.mark.parametrize(
    ("name", "outcome", "expected"),
    [
        ("failing_True", "success", [("inner", "model_error"), ("outer", "model_error")]),
        ("failing_False", "model_error", [("inner", "model_error"), ("outer", "model_error")]),
        ("beside", "model_error", [("ann", "model_error"), ("bob", "cancelled")]),
        # The server does not tell that it was a tool. It was no model, though one was speaking.
        ("inside_True", "success", [("bob", "cancelled"), ("mid", "graph_error")]),
        ("inside_False", "graph_error", [("bob", "cancelled"), ("mid", "graph_error")]),
        ("pausing_and_failing", "model_error", [("bob", "model_error"), ("leaf", "cancelled")]),
    ],
)
async def test_one_fails(
    client_of: Clients, name: str, outcome: str, expected: Any, left: list[bool]
) -> None:
    recorded = await run(client_of(f"subagents_{name}"), "hi", outcome=outcome)
    assert ended(recorded) == expected
    assert all(end.message for end in ends(recorded.events).values())
    assert "a secret" not in "".join(event.model_dump_json() for event in recorded.events)
    assert left == [False] or outcome != "success"


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether tasks are left when a run has ended, of all runs. If not, the server need not be
    asked how it has ended."""
    found, check_end = [], RemoteGraphRunner._check_end

    async def end(runner: RemoteGraphRunner) -> None:
        found.append(bool(runner._tasks))
        await check_end(runner)

    monkeypatch.setattr(RemoteGraphRunner, "_check_end", end)
    return found


@together(pytest.mark.parametrize("kind", ["apart", "second", "in_a_node", "half"]), hows)
async def test_who_asks_is_known_to_whoever_connects(
    client_of: Clients, kind: str, how: str
) -> None:
    name = f"{kind}_{how}"
    client = client_of(f"subagents_{name}")
    recorded = await run(client, "hi", outcome="interrupt")
    owners, (question,) = check_words(recorded, BUILT[name]), asked(recorded)
    assert question.subagent_run_id == owners["leaf"]
    (again,) = asked(await client.connect(*client.held))
    # Of a graph whose tasks the server does not show it tells what is around it, and of several of
    # one tool nothing.
    around = starts(recorded.events)[owners["leaf"]].parent_subagent_run_id
    unrecorded = {"in_a_node_batched": around, "in_a_node_per_call": around, "second_batched": None}
    assert again.subagent_run_id == unrecorded.get(name, owners["leaf"])
    call = None if name in ("second_batched", "in_a_node_batched") else "leaf.0"
    assert (question.tool_call_id, again.tool_call_id) == (call, call)
    await run(client, resume=approvals([question]))


@pytest.mark.parametrize(
    ("name", "requests"), [("asking", 0), ("subagents_slowly", 1), ("subagents_both_per_call", 4)]
)
async def test_only_states_on_the_way_are_asked_for(
    client_of: Clients, name: str, requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for: list[str] = []
    load_subgraph = RemoteGraphAdapter.load_subgraph

    async def load(
        graph: RemoteGraphAdapter, config: RunnableConfig, namespace: str
    ) -> StateSnapshot | None:
        asked_for.append(namespace)
        return await load_subgraph(graph, config, namespace)

    monkeypatch.setattr(RemoteGraphAdapter, "load_subgraph", load)
    await run(client_of(name), "hi", outcome="interrupt")
    assert len(asked_for) == requests


@hows
async def test_two_ask_at_once(client_of: Clients, how: str) -> None:
    client, built = client_of(f"subagents_both_{how}"), BUILT[f"both_{how}"]
    recorded = await run(client, "hi", outcome="interrupt")
    owners = check_words(recorded, built)
    questions = sorted(asked(recorded), key=lambda one: str(one.tool_call_id))
    named = [(one.tool_call_id, one.subagent_run_id) for one in questions]
    assert named == [("leaf_a.0", owners["leaf_a"]), ("leaf_b.0", owners["leaf_b"])]
    again = asked(await client.connect(*client.held))
    assert sorted(again, key=lambda one: str(one.tool_call_id)) == questions
    inner = {owners["leaf_a"]: [questions[0].id], owners["leaf_b"]: [questions[1].id]}
    assert suspended(recorded) == {**inner, owners["mid_a"]: None, owners["mid_b"]: None}
    done = await run(client, resume=approvals(questions))
    assert check_words(done, built) == owners
    results = {(one.tool_call_id, one.content, tag(one)) for one in done.of("TOOL_CALL_RESULT")}
    for who in ("leaf_a", "leaf_b"):
        assert (f"{who}.0", f"deployed {who}0", owners[who]) in results


@pytest.mark.parametrize("name", ["slowly", "half_per_call"])
async def test_one_speaks_on_while_another_one_waits(
    client_of: Clients, name: str, left: list[bool]
) -> None:
    """And is not run again, but its step ends."""
    client = client_of(f"subagents_{name}")
    recorded = await run(client, "hi", outcome="interrupt")
    owners, (question,) = check_words(recorded, BUILT[name]), asked(recorded)
    assert question.subagent_run_id == owners["leaf"]
    own = [one for one in recorded.of("TEXT_MESSAGE_CONTENT") if tag(one) == owners["bob"]]
    assert "".join(one.delta for one in own) == "bob: ends 1"
    waiting = [owners["leaf"], *([owners["mid"]] if "mid" in owners else [])]
    assert [*suspended(recorded)] == waiting
    assert next(iter(ends(recorded.events))) == owners["bob"]
    left.clear()
    done = await run(client, resume=approvals([question]))
    assert left == [False]
    assert {*starts(done.events)} == {*waiting}
    assert suspended(done) == {}
    told, around = steps(done), owners.get("mid")
    second = told.index(("STEP_STARTED", "tools (2)", around))
    assert told[second + 1] == ("STEP_FINISHED", "tools (2)", around)


async def test_steps_of_one_node_end_though_nobody_says_which(
    client_of: Clients, left: list[bool]
) -> None:
    client = client_of("workers")
    recorded = await run(client, "hi", outcome="interrupt")
    kinds = ["STEP_STARTED"] * 3 + ["STEP_FINISHED"] * 3
    assert sorted(kind for kind, *_ in steps(recorded)) == sorted(kinds)
    left.clear()
    done = await run(client, resume=answering(asked(recorded), "the last"))
    assert (left, done.state["notes"]) == ([False], ["0", "1", "the last"])
    assert len({*steps(done)}) == 6
    assert [kind for kind, *_ in steps(done)] == kinds


@pytest.mark.parametrize("name", TEAMS)
async def test_a_team_speaks_in_the_conversation(client_of: Clients, name: str) -> None:
    team, client = TEAMS[name](None), client_of(f"team_{name}")
    for question, answer in zip(QUESTIONS, team.answers, strict=True):
        recorded = await client.send(question)
        check_conversation(recorded, answer)
        spoken, stored = spoken_words(recorded.messages), kept_words(await kept(client))
        assert spoken == stored or (team.at_once and sorted(spoken) == sorted(stored))
        shown = await client.connect()
        if not team.at_once:
            assert without_emptied(shown.messages) == without_emptied(recorded.messages)


@hows
async def test_a_pause_in_a_team(client_of: Clients, how: str) -> None:
    client = client_of(f"subagents_shared_{how}")
    first = await run(client, "hi", outcome="interrupt")
    check_no_subagents(first)
    (question,) = asked(first)
    assert (question.subagent_run_id, question.tool_call_id) == (None, "leaf.0")
    shown = await client.connect()
    assert asked(shown) == [question]
    assert dumped(shown.messages) == dumped(first.messages)
    recorded = await client.send(resume=approvals([question]))
    check_conversation(recorded, "boss: ends 1")
    assert spoken_words(recorded.messages) == kept_words(await kept(client))
