"""How a client is asked does not decide how it may answer.

Clients of before AG-UI 1.0 are asked as by `ag-ui-langgraph`: by events with the graph's own value,
and a run that ends without an outcome.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Message, ResumeEntry, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from langgraph_agui import ApprovalOptions, LangGraphAgent
from langgraph_agui.options import AskBy
from tests.contracts.migrated.test_commands import Commanded
from tests.kit.graphs.pauses import KINDS, around, asking, happened
from tests.kit.graphs.small import chain_of
from tests.kit.run.agents import RecordedRun, collect, record_run, run_input, user
from tests.kit.run.approval_matrix import Paused, amount_of, right

GRAPHS: dict[str, Callable[[Any], Any]] = {
    **{kind: KINDS[kind] for kind in ("interrupt", "breakpoint", "batched", "per_call")},
    **{
        kind: KINDS[kind]
        for kind in ("tool_batched", "tool_per_call", "subgraph_batched", "subgraph_per_call")
    },
    "subgraph_interrupt": lambda saver: around(asking(), saver),
}

OLD, NEW = None, "1.0"
ASKED: dict[str, tuple[str | None, AskBy]] = {
    "a client of 1.0": (NEW, "auto"),
    "a client of 1.0 by both": (NEW, "both"),
    "a client of 1.0 by calls": (NEW, "tool_call"),
    "an old client": (OLD, "auto"),
    "an old client by the outcome": (OLD, "outcome"),
    "an old client by both": (OLD, "both"),
    "an old client by calls": (OLD, "tool_call"),
}


@dataclass
class Resuming(Paused):
    """A thread that is answered by `resume`."""

    protocol: str | None = NEW

    async def resume(
        self, agent: LangGraphAgent, entries: Sequence[ResumeEntry], *new: Message
    ) -> RecordedRun:
        fields = {"protocol_version": self.protocol, "resume": list(entries)}
        return await record_run(
            agent, run_input(*self.messages, *new, thread=self.thread, **fields)
        )


@dataclass
class Resulting(Paused):
    """A thread whose approvals are answered by results of `request_approval`, and its other
    questions by `resume`."""

    protocol: str | None = NEW

    async def resume(
        self, agent: LangGraphAgent, entries: Sequence[ResumeEntry], *new: Message
    ) -> RecordedRun:
        questions = {one.id for one in self.asked if "value" in (one.metadata or {})}
        results = [
            ToolMessage(
                id=f"answer-{one.interrupt_id}",
                tool_call_id=f"approval:{one.interrupt_id}",
                content=json.dumps(one.payload),
            )
            for one in entries
            if one.interrupt_id not in questions
        ]
        resume = [one for one in entries if one.interrupt_id in questions]
        fields = {"protocol_version": self.protocol, "resume": resume or None}
        return await record_run(
            agent, run_input(*self.messages, *results, *new, thread=self.thread, **fields)
        )


ANSWERED: dict[str, Callable[..., Paused]] = {
    "resume": Resuming,
    "command": Commanded,
    "command with event": lambda *given, **more: Commanded(*given, way="with event", **more),
    "result": Resulting,
}


async def connected(agent: LangGraphAgent, protocol: str | None) -> RecordedRun:
    """What a client is told that comes back."""
    given = run_input(thread="t", protocol_version=protocol)
    return RecordedRun(await collect(agent.connect(given)), given)


@pytest.mark.parametrize("answered", ANSWERED)
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("kind", GRAPHS)
async def test_an_answer_counts_in_each_form(
    kind: str, asked: str, answered: str, tmp_path: Path
) -> None:
    protocol, ask_by = ASKED[asked]
    agent = LangGraphAgent(GRAPHS[kind](InMemorySaver()), approvals=ApprovalOptions(ask_by=ask_by))
    file = tmp_path / "happened"
    first = await record_run(
        agent, run_input(user(str(file)), thread="t", protocol_version=protocol)
    )
    assert first.last.type == "RUN_FINISHED", first.last
    shown = await connected(LangGraphAgent(agent.graph), NEW)
    questions = sorted(shown.last.outcome.interrupts, key=amount_of)
    paused = ANSWERED[answered](kind, "t", file, first.messages, questions, protocol=protocol)
    entries, expected = right(
        Paused(kind.removeprefix("subgraph_"), "t", file, (), questions), "approve"
    )
    assert happened(file) == []
    for _ in range(2):  # the second time as a client whose connection broke
        done = await paused.resume(agent, entries)
        assert done.last.type == "RUN_FINISHED", done.last
        assert (done.last.outcome.type if done.last.outcome else None) == (
            "success" if protocol == NEW else None
        )
        assert happened(file) == expected


def questions_in(events: Sequence[Any]) -> list[str]:
    """What a client is asked by events. Nodes that run at once ask in no order."""
    asked = [
        event.value for event in events if event.type == "CUSTOM" and event.name == "on_interrupt"
    ]
    assert all(isinstance(value, str) for value in asked)
    return sorted(map(in_one_form, asked))


def in_one_form(text: str) -> str:
    """Return JSON with its keys in order, and other text as it is."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


VALUES: dict[str, Any] = {
    "a text": "Which?",
    "a text that looks like JSON": '{"a": 1',
    "an object": {
        "question": "Which?",
        "options": ["ä", {"b": None}],
        "metadata": {"value": 1},
        "reason": "confirmation",
    },
    "a list": [{"action_request": {"action": "mail", "args": {}}, "description": "A mail"}],
    "more than a batched approval": {
        "action_requests": [{"name": "spend", "args": {"amount": 1}, "description": "Spend"}],
        "review_configs": [
            {
                "action_name": "spend",
                "allowed_decisions": ["approve"],
                "args_schema": {"type": "object"},
            }
        ],
        "title": "Please decide",
    },
    "a batched approval without descriptions": {
        "action_requests": [
            {"name": "spend", "args": {}, "description": ""},
            {"name": "spend", "args": {}},
        ],
        "review_configs": [{"action_name": "spend", "allowed_decisions": ["approve", "reject"]}]
        * 2,
    },
    "more than an approval of one call": {
        "type": "tool_approval",
        "tool_call_id": "c1",
        "name": "spend",
        "args": {"amount": 1},
        "description": "Spend",
        "currency": "EUR",
    },
    "a number": 7,
    "nothing": None,
}


def asker(value: Any) -> Callable[[Any], Any]:
    async def ask(state: Any) -> dict[str, Any]:
        interrupt(value)
        return {}

    return lambda saver: chain_of(ask, checkpointer=saver)


SAME = {**{kind: make for kind, make in GRAPHS.items() if kind != "breakpoint"}} | {
    name: asker(value) for name, value in VALUES.items()
}


@pytest.mark.parametrize("kind", SAME)
async def test_an_old_client_is_asked_as_by_ag_ui_langgraph(kind: str, tmp_path: Path) -> None:
    import ag_ui_langgraph

    given = run_input(user(str(tmp_path / "happened")), thread="t", protocol_version=OLD)
    theirs = ag_ui_langgraph.LangGraphAgent(name="theirs", graph=SAME[kind](InMemorySaver()))
    told = [event async for event in theirs.run(given)]
    agent = LangGraphAgent(SAME[kind](InMemorySaver()))
    for ours in (
        await record_run(agent, given),
        await connected(agent, OLD),
        await record_run(agent, given),
    ):
        assert questions_in(ours.events) == questions_in(told) != []
        assert (
            (ours.last.type, ours.last.outcome)
            == (told[-1].type, told[-1].outcome)
            == ("RUN_FINISHED", None)
        )
        state = await agent.graph.aget_state({"configurable": {"thread_id": "t"}})
        ids = [event.raw_event["id"].partition(":")[0] for event in ours.of("CUSTOM")]
        assert ids == [one.id for one in state.interrupts]


async def test_the_ids_of_the_events_answer_several_questions(tmp_path: Path) -> None:
    file = tmp_path / "happened"
    agent = LangGraphAgent(asking(InMemorySaver()))
    first = await record_run(agent, run_input(user(str(file)), thread="t", protocol_version=OLD))
    amounts = {
        event.raw_event["id"]: json.loads(event.value)["amount"] for event in first.of("CUSTOM")
    }
    answers = {name: {"approved": amount == 2} for name, amount in amounts.items()}
    props = {"command": {"resume": answers}}
    given = run_input(*first.messages, thread="t", protocol_version=OLD, forwarded_props=props)
    assert (await record_run(agent, given)).last.type == "RUN_FINISHED"
    assert happened(file) == [2]
