"""Pauses in subagents: whose the question is, and that the subagents are the same when the run goes
on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ag_ui.core import Interrupt
from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.behaviour.subagents.alone import plain
from tests.kit.deep import together
from tests.kit.expect.histories import assert_valid
from tests.kit.expect.owners import (
    check_all,
    check_lifecycle,
    check_no_subagents,
    check_tags,
    ends,
    starts,
)
from tests.kit.graphs.pauses import Mode
from tests.kit.graphs.small import talker
from tests.kit.graphs.subagents import (
    WHY,
    Built,
    ExpectedSubagent,
    Notes,
    agent_of,
    agent_tool,
    asking,
    boss_of,
    called,
    graph_of,
    guarded,
    guarded_leaf,
    in_a_boss_node,
    tools_of,
)
from tests.kit.models.voices import voice
from tests.kit.run.agents import RecordedRun
from tests.kit.run.dialogues import approvals, resolved
from tests.kit.run.thread_client import Client, asked, ending

modes = pytest.mark.parametrize("mode", ["batched", "per_call"])


# Graphs around an agent called `leaf` that asks.


def in_a_tool(saver: Any, leaf: Any) -> Built:
    return tools_of(saver, {"leaf": leaf})


def in_a_sync_tool(saver: Any, leaf: Any) -> Built:
    return tools_of(saver, {"leaf": leaf}, sync=True)


def tool_in_tool(saver: Any, leaf: Any) -> Built:
    mid = create_agent(voice("mid", ("leaf", WHY)), [agent_tool("leaf", leaf)])
    built = tools_of(saver, {"mid": mid})
    built.subagents["leaf"] = called("leaf", "leaf", "mid")
    return built


def second_of_a_tool(saver: Any, leaf: Any) -> Built:
    """The tool runs from its beginning when it goes on; the first agent then speaks in its old
    subagent."""
    graph, boss = boss_of(saver, [agent_tool("both", agent_of(voice("one")), leaf)], ("both", WHY))
    return Built(graph, boss, {"one": called("both", "both"), "leaf": called("leaf", "both")})


def in_a_node(saver: Any, leaf: Any) -> Built:
    return Built(
        *in_a_boss_node(saver, consult=consulting(leaf)), {"leaf": ExpectedSubagent("leaf")}
    )


def declared_apart(saver: Any, leaf: Any) -> Built:
    """A node of a declared subgraph, whose messages stay inside, asks the agent."""
    speak = talker(voice("outer"), "speak", "notes")
    outer = graph_of(Notes, speak=speak, consult=consulting(leaf))
    graph, boss = in_a_boss_node(saver, part=outer)
    subagents = {"outer": ExpectedSubagent("part"), "leaf": ExpectedSubagent("leaf", "outer")}
    return Built(graph, boss, subagents)


def consulting(leaf: Any) -> Any:
    async def consult(state: Any) -> None:
        await leaf.ainvoke(asking("why"))

    return consult


Kind = Callable[[Any, Any], Built]
ONCE: list[Kind] = [in_a_tool, in_a_sync_tool, tool_in_tool, second_of_a_tool]
"""Graphs that ask in their first turn only."""


@together(
    pytest.mark.parametrize("kind", [*ONCE, in_a_node, declared_apart]),
    modes,
    pytest.mark.parametrize("back", ["live", "restarted", "reloaded"]),
)
async def test_the_subagents_go_on_under_their_ids(kind: Kind, mode: Mode, back: str) -> None:
    done: list[str] = []
    leaf, model = guarded_leaf("leaf", mode, done)
    built = kind(InMemorySaver(), leaf)
    client = Client(LangGraphAgent(built.graph))
    first = await client.send("hi")
    owners = check_all(first, built)
    assert owners.keys() == built.subagents.keys()
    (question,) = asked(first)
    assert (question.subagent_run_id, question.tool_call_id) == (owners["leaf"], "leaf.0")
    shown = await client.connect()
    assert asked(shown) == [question]
    if back != "live":
        client.agent = LangGraphAgent(built.graph)
    if back == "reloaded":
        client.held = shown.messages
    recorded = await client.send(resume=approvals([question]))
    assert ending(recorded) == "success"
    if back != "reloaded":  # then the links name what was shown
        assert check_all(recorded, built) == owners
    owners.pop("one", None)
    assert {*owners.values()} <= {*starts(recorded.events)}
    assert (done, len(model.seen)) == (["leaf0"], 2)
    assert recorded.messages[-1].content == "boss: ends 1"
    again = await client.send("again")
    check_lifecycle(again.events)
    check_tags(again)
    assert ending(again) == ("success" if kind in ONCE else "interrupt")
    if kind in ONCE:
        *before, _ = await client.stored()
        assert plain(built.boss.seen[-1]) == plain(before)
        assert [one.type for one in before] == ["human", "ai", "tool", "ai", "human"]
        assert_valid(before)


async def test_a_question_of_a_subagents_tool() -> None:
    """`interrupt()` in a tool: the question is about that call, and is the subagent's."""

    @tool
    async def pick(what: str) -> str:
        """Pick."""
        return f"picked {interrupt('Which one?')}"

    leaf = create_agent(voice("leaf", ("pick", {"what": "a"})), [pick], name="leaf")
    built = tool_in_tool(InMemorySaver(), leaf)
    client = Client(LangGraphAgent(built.graph))
    first = await client.send("hi")
    owners = check_all(first, built)
    (question,) = asked(first)
    assert question.subagent_run_id == owners["leaf"]
    recorded = await client.send(resume=resolved((question.id, "red")))
    assert check_all(recorded, built) == owners
    results = {one.tool_call_id: one.content for one in recorded.messages if one.role == "tool"}
    assert results["leaf.0"] == "picked red"


async def test_a_breakpoint() -> None:
    speak, after = (talker(voice("leaf"), name, "notes") for name in ("speak", "after"))
    inner = graph_of(Notes, speak=speak, after=after)
    inner.interrupt_before_nodes = ["after"]
    graph, boss = in_a_boss_node(InMemorySaver(), part=inner)
    built = Built(graph, boss, {"leaf": ExpectedSubagent("part")})
    client = Client(LangGraphAgent(graph))
    first = await client.send("hi")
    owners = check_all(first, built)
    assert suspended(first) == {owners["leaf"]: None}
    recorded = await client.send(resume=approvals(asked(first)))
    assert ending(recorded) == "success"
    assert check_all(recorded, built) == owners


# The innermost of two subagents that work at once.

ANSWERS: dict[str, Any] = {
    "approve": ({"approved": True}, ["leaf_a0"]),
    "edit": ({"approved": True, "editedArgs": {"env": "moon"}}, ["moon"]),
    "reject": ({"approved": False, "message": "no"}, []),
}
answers = pytest.mark.parametrize(("payload", "effect"), ANSWERS.values(), ids=ANSWERS)


class Paused:
    """A thread whose innermost subagent asks."""

    def __init__(self, mode: Mode, **fields: Any) -> None:
        self.done: list[str] = []
        self.built = guarded(InMemorySaver(), mode, self.done, **fields)
        self.client = Client(LangGraphAgent(self.built.graph))

    async def begin(self) -> tuple[RecordedRun, dict[str, str], list[Interrupt]]:
        recorded = await self.client.send("hi")
        owners = check_all(recorded, self.built)
        return recorded, owners, sorted(asked(recorded), key=lambda one: str(one.tool_call_id))


def suspended(recorded: RecordedRun) -> dict[str, list[str] | None]:
    """The subagents that wait, and what they ask themselves."""
    ended = ends(recorded.events)
    assert {one.type.value for one in ended.values()} == {"SUBAGENT_FINISHED"}
    outcomes = {subagent: one.outcome for subagent, one in ended.items() if one.outcome}
    assert {one.type for one in outcomes.values()} <= {"suspended"}
    return {subagent: one.interrupt_ids or None for subagent, one in outcomes.items()}


@together(modes, answers)
async def test_the_innermost_asks(mode: Mode, payload: Any, effect: list[str]) -> None:
    paused = Paused(mode)
    models = {"boss": paused.built.boss, **paused.built.models}
    recorded, owners, (question,) = await paused.begin()
    assert (question.subagent_run_id, question.tool_call_id) == (owners["leaf_a"], "leaf_a.0")
    assert suspended(recorded) == {owners["leaf_a"]: [question.id], owners["mid_a"]: None}
    assert {*starts(recorded.events)} == {*owners.values()}
    refused = await paused.client.send(resume=resolved((question.id, "yes")))
    assert (ending(refused), starts(refused.events)) == ("interrupt_invalid", {})
    assert paused.done == []
    before = {name: len(model.seen) for name, model in models.items()}
    recorded = await paused.client.send(resume=resolved((question.id, payload)))
    assert ending(recorded) == "success"
    assert check_all(recorded, paused.built) == owners
    assert {*starts(recorded.events)} == {owners["mid_a"], owners["leaf_a"]}
    assert suspended(recorded) == {}
    assert paused.done == effect
    assert recorded.messages[-1].content == "boss: ends 1"
    assert not recorded.of("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END")
    # Each goes on from where it stood: one more answer of the three that wait, none of those that
    # were done.
    more = {name: len(model.seen) - before[name] for name, model in models.items()}
    assert more == {"boss": 1, "mid_a": 1, "mid_b": 0, "leaf_a": 1, "leaf_b": 0}


@modes
async def test_two_ask_at_once(mode: Mode) -> None:
    paused = Paused(mode, both=True)
    recorded, owners, (one, other) = await paused.begin()
    named = [(each.tool_call_id, each.subagent_run_id) for each in (one, other)]
    assert named == [("leaf_a.0", owners["leaf_a"]), ("leaf_b.0", owners["leaf_b"])]
    around = {owners["mid_a"]: None, owners["mid_b"]: None}
    inside = {owners["leaf_a"]: [one.id], owners["leaf_b"]: [other.id]}
    assert suspended(recorded) == inside | around
    answers = resolved((other.id, {"approved": True}), (one.id, {"approved": False}))
    done = await paused.client.send(resume=answers)
    assert check_all(done, paused.built) == owners
    assert {*starts(done.events)} == {*owners.values()}
    assert suspended(done) == {}
    assert paused.done == ["leaf_b0"]


@modes
async def test_two_questions_of_one_subagent(mode: Mode) -> None:
    paused = Paused(mode, count=2)
    recorded, owners, questions = await paused.begin()
    named = [(one.tool_call_id, one.subagent_run_id) for one in questions]
    assert named == [("leaf_a.0", owners["leaf_a"]), ("leaf_a.1", owners["leaf_a"])]
    assert {*(suspended(recorded)[owners["leaf_a"]] or ())} == {one.id for one in questions}
    done = await paused.client.send(resume=approvals(questions))
    assert check_all(done, paused.built) == owners
    assert sorted(paused.done) == ["leaf_a0", "leaf_a1"]


@together(modes, pytest.mark.parametrize("shown", ["inline", "hidden"]), answers)
async def test_other_modes_ask_without_an_owner(
    mode: Mode, shown: Any, payload: Any, effect: list[str]
) -> None:
    paused = Paused(mode)
    paused.client.agent = LangGraphAgent(paused.built.graph, clients=ClientOptions(subagents=shown))
    recorded = await paused.client.send("hi")
    (question,) = asked(recorded)
    check_no_subagents(recorded)
    assert question.subagent_run_id is None
    assert question.tool_call_id == (None if shown == "hidden" else "leaf_a.0")
    done = await paused.client.send(resume=resolved((question.id, payload)))
    check_no_subagents(done)
    done.check_snapshot()
    assert paused.done == effect
    assert done.messages[-1].content == "boss: ends 1"
