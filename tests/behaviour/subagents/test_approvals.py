"""Approvals inside the innermost of two subagents that work at once."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import Interrupt
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ClientOptions, LangGraphAgent
from tests.kit.deep import together
from tests.kit.expect.owners import check_all, check_no_subagents, ends, starts
from tests.kit.graphs.pauses import Mode
from tests.kit.graphs.subagents import Built, guarded
from tests.kit.run.agents import RecordedRun
from tests.kit.run.dialogues import resolved
from tests.kit.run.thread_client import Client, asked

modes = pytest.mark.parametrize("mode", ["batched", "per_call"])

ANSWERS: dict[str, Any] = {
    "approve": {"approved": True},
    "edit": {"approved": True, "editedArgs": {"env": "moon"}},
    "reject": {"approved": False, "message": "no"},
}
DONE = {"approve": ["leaf_a0"], "edit": ["moon"], "reject": []}


class Paused:
    """A thread whose innermost subagent asks."""

    def __init__(self, mode: Mode, *, both: bool = False, count: int = 1, **options: Any) -> None:
        self.done: list[str] = []
        self.built: Built = guarded(InMemorySaver(), mode, self.done, both=both, count=count)
        self.client = Client(LangGraphAgent(graph=self.built.graph, **options))

    @property
    def seen(self) -> dict[str, int]:
        """How often each model was asked."""
        models = {"boss": self.built.boss, **self.built.models}
        return {name: len(model.seen) for name, model in models.items()}

    async def begin(self) -> tuple[RecordedRun, dict[str, str], list[Interrupt]]:
        recorded = await self.client.send("hi")
        owners = check_all(recorded, self.built)
        return recorded, owners, sorted(asked(recorded), key=lambda one: str(one.tool_call_id))


def suspended(recorded: RecordedRun) -> dict[str, list[str] | None]:
    """The subagents that wait, and what they ask themselves."""
    found = {}
    for subagent_id, event in ends(recorded.events).items():
        assert event.type.value == "SUBAGENT_FINISHED"
        if event.outcome is not None:
            assert event.outcome.type == "suspended"
            found[subagent_id] = event.outcome.interrupt_ids or None
    return found


@modes
async def test_the_question_is_the_innermost_ones(mode: Mode) -> None:
    paused = Paused(mode)
    recorded, owners, (question,) = await paused.begin()
    assert question.subagent_run_id == owners["leaf_a"]
    assert question.tool_call_id == "leaf_a.0"
    assert suspended(recorded) == {owners["leaf_a"]: [question.id], owners["mid_a"]: None}
    assert set(starts(recorded.events)) == set(owners.values())
    assert paused.done == []


@modes
async def test_two_ask_at_once(mode: Mode) -> None:
    paused = Paused(mode, both=True)
    recorded, owners, questions = await paused.begin()
    assert [one.tool_call_id for one in questions] == ["leaf_a.0", "leaf_b.0"]
    assert [one.subagent_run_id for one in questions] == [owners["leaf_a"], owners["leaf_b"]]
    assert suspended(recorded) == {
        owners["leaf_a"]: [questions[0].id],
        owners["leaf_b"]: [questions[1].id],
        owners["mid_a"]: None,
        owners["mid_b"]: None,
    }
    answers = resolved(
        (questions[1].id, {"approved": True}), (questions[0].id, {"approved": False})
    )
    done = await paused.client.send(resume=answers)
    assert check_all(done, paused.built) == owners
    assert set(starts(done.events)) == set(owners.values())
    assert suspended(done) == {}
    assert paused.done == ["leaf_b0"]
    assert done.messages[-1].content == "boss: ends 1"


@modes
async def test_two_questions_of_one_subagent(mode: Mode) -> None:
    paused = Paused(mode, count=2)
    recorded, owners, questions = await paused.begin()
    assert [one.tool_call_id for one in questions] == ["leaf_a.0", "leaf_a.1"]
    assert {one.subagent_run_id for one in questions} == {owners["leaf_a"]}
    ids = suspended(recorded)[owners["leaf_a"]]
    assert ids is not None
    assert sorted(ids) == sorted(one.id for one in questions)
    done = await paused.client.send(
        resume=resolved(*((one.id, {"approved": True}) for one in questions))
    )
    assert check_all(done, paused.built) == owners
    assert sorted(paused.done) == ["leaf_a0", "leaf_a1"]


@together(modes, pytest.mark.parametrize("answer", ANSWERS))
async def test_an_answer(mode: Mode, answer: str) -> None:
    paused = Paused(mode)
    _, owners, (question,) = await paused.begin()
    before = paused.seen
    recorded = await paused.client.send(resume=resolved((question.id, ANSWERS[answer])))
    assert recorded.last.outcome.type == "success"
    assert check_all(recorded, paused.built) == owners
    assert set(starts(recorded.events)) == {owners["mid_a"], owners["leaf_a"]}
    assert suspended(recorded) == {}
    assert paused.done == DONE[answer]
    assert recorded.messages[-1].content == "boss: ends 1"
    again = {
        event.tool_call_id
        for event in recorded.of("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END")
    }
    assert not again
    # Each goes on from where it stood: one more answer of the three that wait, none of those that
    # were done.
    asked_again = {name: count - before[name] for name, count in paused.seen.items()}
    assert asked_again == {"boss": 1, "mid_a": 1, "mid_b": 0, "leaf_a": 1, "leaf_b": 0}


@modes
async def test_a_client_that_holds_nothing_answers(mode: Mode) -> None:
    """Where it came back by `connect`, the links name what that has shown."""
    paused = Paused(mode)
    _, owners, (question,) = await paused.begin()
    paused.client.held = (await paused.client.connect()).messages
    recorded = await paused.client.send(resume=resolved((question.id, {"approved": True})))
    assert recorded.last.outcome.type == "success"
    assert {owners["mid_a"], owners["leaf_a"]} == set(starts(recorded.events))
    assert paused.done == ["leaf_a0"]


@modes
async def test_asked_twice_by_the_same_invocation(mode: Mode) -> None:
    """The second run is refused for its answer, and changes nothing; the third one goes on."""
    paused = Paused(mode)
    _, owners, (question,) = await paused.begin()
    refused = await paused.client.send(resume=resolved((question.id, "yes")))
    assert refused.last.code == "interrupt_invalid"
    assert not starts(refused.events)
    recorded = await paused.client.send(resume=resolved((question.id, {"approved": True})))
    assert check_all(recorded, paused.built) == owners


@together(
    modes,
    pytest.mark.parametrize("shown", ["inline", "hidden"]),
    pytest.mark.parametrize("answer", ANSWERS),
)
async def test_other_modes_ask_without_an_owner(mode: Mode, shown: str, answer: str) -> None:
    paused = Paused(mode, clients=ClientOptions(subagents=shown))
    recorded = await paused.client.send("hi")
    (question,) = asked(recorded)
    check_no_subagents(recorded)
    assert question.subagent_run_id is None
    assert question.tool_call_id == ("leaf_a.0" if shown == "inline" else None) or shown == "hidden"
    done = await paused.client.send(resume=resolved((question.id, ANSWERS[answer])))
    check_no_subagents(done)
    done.check_snapshot()
    assert paused.done == DONE[answer]
    assert done.messages[-1].content == "boss: ends 1"
