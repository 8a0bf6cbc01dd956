"""How a client is asked does not decide how it may answer. Clients of before AG-UI 1.0 are asked as
by `ag-ui-langgraph`: by events with the graph's own value, and a run that ends without an outcome.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Message, ResumeEntry
from langgraph.checkpoint.memory import InMemorySaver

from langgraph_agui import ApprovalOptions, LangGraphAgent
from langgraph_agui.options import AskBy
from tests.contracts.migrated.test_commands import Commanded
from tests.kit.graphs.forms import node_asking
from tests.kit.graphs.pauses import KINDS, around, asking, happened
from tests.kit.run.agents import RecordedRun, record_run, run_input, user
from tests.kit.run.approval_matrix import Paused, amount_of, right
from tests.kit.run.dialogues import result
from tests.kit.run.thread_client import Client, asked

PLACES = ("interrupt", "breakpoint", "batched", "per_call", "tool_per_call", "subgraph_batched")
GRAPHS: dict[str, Callable[[Any], Any]] = {kind: KINDS[kind] for kind in PLACES}
GRAPHS["subgraph_interrupt"] = lambda saver: around(asking(), saver)
OLD, NEW = None, "1.0"
ASKED: list[tuple[str | None, AskBy]] = [
    *((NEW, "auto"), (NEW, "both"), (NEW, "tool_call"), (OLD, "auto")),
    *((OLD, "outcome"), (OLD, "both"), (OLD, "tool_call")),
]


@dataclass
class Resuming(Paused):
    """A thread that is answered by `resume`."""

    protocol: str | None = NEW

    async def resume(
        self, agent: LangGraphAgent, entries: Sequence[ResumeEntry], *new: Message
    ) -> RecordedRun:
        fields = {"protocol_version": self.protocol, "resume": list(entries) or None}
        given = run_input(*self.messages, *new, thread=self.thread, **fields)
        return await record_run(agent, given)


class Resulting(Resuming):
    """A thread whose approvals are answered by results of `request_approval`, others by `resume`."""

    async def resume(
        self, agent: LangGraphAgent, entries: Sequence[ResumeEntry], *new: Message
    ) -> RecordedRun:
        questions = {one.id for one in self.asked if "value" in (one.metadata or {})}
        ids = [one for one in entries if one.interrupt_id not in questions]
        results = [result(f"approval:{one.interrupt_id}", one.payload) for one in ids]
        rest = [one for one in entries if one.interrupt_id in questions]
        return await super().resume(agent, rest, *results, *new)


ANSWERED: dict[str, Callable[..., Paused]] = {
    "resume": Resuming,
    "command": Commanded,
    "command with event": lambda *given, **more: Commanded(*given, way="with event", **more),
    "result": Resulting,
}
# each graph with each way of answering, and each way of asking with each way of answering
ROWS = [(*row, *way) for row, way in zip(product(GRAPHS, ANSWERED), cycle(ASKED))]


@pytest.mark.parametrize(("kind", "answered", "protocol", "ask_by"), ROWS)
async def test_an_answer_counts_in_each_form(
    kind: str, answered: str, protocol: str | None, ask_by: AskBy, tmp_path: Path
) -> None:
    agent = LangGraphAgent(GRAPHS[kind](InMemorySaver()), approvals=ApprovalOptions(ask_by=ask_by))
    file = tmp_path / "happened"
    given = run_input(user(str(file)), thread="t", protocol_version=protocol)
    first = await record_run(agent, given)
    assert first.last.type == "RUN_FINISHED", first.last
    questions = asked(await Client(LangGraphAgent(agent.graph)).connect(protocol_version=NEW))
    questions.sort(key=amount_of)
    paused = ANSWERED[answered](kind, "t", file, first.messages, questions, protocol=protocol)
    plain = Paused(kind.removeprefix("subgraph_"), "t", file, (), questions)
    entries, expected = right(plain, "approve")
    assert happened(file) == []
    for _ in range(2):  # the second time as a client whose connection broke
        done = await paused.resume(agent, entries)
        assert done.last.type == "RUN_FINISHED", done.last
        outcome = done.last.outcome and done.last.outcome.type
        assert outcome == ("success" if protocol == NEW else None)
        assert happened(file) == expected


def questions_in(events: Sequence[Any]) -> list[str]:
    """What a client is asked by events: JSON with its keys in order, and other text as it is. Nodes
    that run at once ask in no order."""
    found = []
    for text in (event.value for event in events if event.type == "CUSTOM"):
        assert isinstance(text, str)
        with suppress(ValueError):
            text = json.dumps(json.loads(text), sort_keys=True)
        found.append(text)
    return sorted(found)


SPEND = {"name": "spend", "args": {"amount": 1}, "description": "Spend"}
REVIEW = {"action_name": "spend", "allowed_decisions": ["approve"]}
UNDESCRIBED = [{**SPEND, "description": ""}, {"name": "spend", "args": {}}]
VALUES: dict[str, Any] = {
    "a text": "Which?",
    "a text that looks like JSON": '{"a": 1',
    "an object": {"question": "Which?", "options": ["ä", {"b": None}], "metadata": {"value": 1}},
    "a list": [{"action_request": {"action": "mail", "args": {}}, "description": "A mail"}],
    "more than a batched approval": {
        "action_requests": [SPEND],
        "review_configs": [{**REVIEW, "args_schema": {"type": "object"}}],
        "title": "Please decide",
    },
    "a batch undescribed": {"action_requests": UNDESCRIBED, "review_configs": [REVIEW] * 2},
    "more than an approval": {
        "type": "tool_approval",
        "tool_call_id": "c1",
        **SPEND,
        "more": "EUR",
    },
    "a number": 7,
    "nothing": None,
}
SAME = {kind: make for kind, make in GRAPHS.items() if kind != "breakpoint"}
SAME |= {name: partial(node_asking, value) for name, value in VALUES.items()}


@pytest.mark.parametrize("kind", SAME)
@pytest.mark.providers
async def test_an_old_client_is_asked_as_by_ag_ui_langgraph(kind: str, tmp_path: Path) -> None:
    import ag_ui_langgraph

    given = run_input(user(str(tmp_path / "happened")), thread="t", protocol_version=OLD)
    theirs = ag_ui_langgraph.LangGraphAgent(name="theirs", graph=SAME[kind](InMemorySaver()))
    told = [event async for event in theirs.run(given)]
    client = Client(LangGraphAgent(SAME[kind](InMemorySaver())))
    for ours in (
        await record_run(client.agent, given),
        await client.connect(protocol_version=OLD),
        await record_run(client.agent, given),
    ):
        assert questions_in(ours.of("CUSTOM")) == questions_in(told) != []
        for last in (ours.last, told[-1]):
            assert (last.type, last.outcome) == ("RUN_FINISHED", None)
        ids = [event.raw_event["id"].partition(":")[0] for event in ours.of("CUSTOM")]
        assert ids == [one.id for one in (await client.snapshot()).interrupts]
