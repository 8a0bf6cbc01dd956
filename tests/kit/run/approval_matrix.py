"""One dialogue of the matrix: a pause, every wrong answer, the right one, and that sent again.

After each step what has happened is compared with what was approved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from ag_ui.core import Interrupt, Message, ResumeEntry

from langgraph_agui import ApprovalOptions, LangGraphAgent
from tests.kit.graphs.pauses import KINDS, happened
from tests.kit.run.agents import RecordedRun, record_run, run_input, user
from tests.kit.run.dialogues import answering, resolved

ANSWERS = ("approve", "edit", "reject", "cancel")
CASES = [(kind, answer) for kind in KINDS for answer in ANSWERS]
CASES.remove(("breakpoint", "edit"))

BAD: dict[str, Any] = {
    "the text true": "true",
    "nothing": None,
    "an empty object": {},
    "a number": 1,
    "a list": [True],
    "approved is text": {"approved": "yes"},
    "approved is a number": {"approved": 1},
    "approved is null": {"approved": None},
    "approved under another name": {"Approved": True},
    "more keys": {"approved": True, "force": True},
    "batched decisions": {"decisions": [{"type": "approve"}]},
    "a type that is none": {"type": "approved"},
    "a type that is no text": {"type": ["approve"]},
    "a type with more keys": {"type": "approve", "force": True},
    "a contradiction": {"type": "approve", "approved": False},
    "another contradiction": {"type": "reject", "approved": True},
    "a type that is not allowed": {"type": "respond", "message": "I did it myself"},
    "an edit into another tool": {"type": "edit", "edited_action": {"name": "delete", "args": {}}},
    "edited arguments that are none": {"approved": True, "editedArgs": [5]},
}
"""Payloads that answer no question here."""


@dataclass
class Paused:
    """A thread that waits, and what its client holds."""

    kind: str
    thread: str
    file: Path
    messages: Sequence[Message]
    asked: Sequence[Interrupt]

    def known_calls(self) -> set[str]:
        return {call.id for one in self.messages for call in getattr(one, "tool_calls", None) or ()}

    def entries(self, *payloads: Any) -> list[ResumeEntry]:
        """Answers in the order of the amounts; `...` cancels."""
        pairs = zip(self.asked, payloads, strict=True)
        return [answering([one], said)[0] for one, said in pairs]

    async def resume(
        self, agent: LangGraphAgent, entries: Sequence[ResumeEntry], *new: Message
    ) -> RecordedRun:
        given = run_input(*self.messages, *new, thread=self.thread, resume=list(entries))
        return await record_run(agent, given)


def amount_of(interrupt: Interrupt) -> int:
    recorded = interrupt.metadata or {}
    args = recorded.get("args") or recorded.get("value")
    return int(args["amount"]) if args else 1


async def pause(
    agent: LangGraphAgent, kind: str, answer: str, home: Path, thread: str | None = None
) -> Paused:
    """Begin a dialogue, and check what is asked."""
    name = f"{kind}-{answer}"
    given = run_input(user(str(home / name)), thread=thread or name)
    recorded = await record_run(agent, given)
    assert recorded.last.outcome.type == "interrupt"
    assert recorded.types[-2:] == ["MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    recorded.check_snapshot()
    asked = sorted(recorded.last.outcome.interrupts, key=amount_of)
    paused = Paused(kind, given.thread_id, home / name, recorded.messages, asked)
    calls: list[str | None] = [None, None]
    if paused.kind == "breakpoint":
        calls, reason = [None], "langgraph:breakpoint"
    elif paused.kind == "interrupt":
        reason = "input_required"
    else:
        calls, reason = ["s1-1", "s1-2"], "tool_call"
        assert {"s1-1", "s1-2"} <= paused.known_calls()
    assert [amount_of(one) for one in paused.asked] == [1, 2][: len(calls)]
    assert [one.tool_call_id for one in paused.asked] == calls
    assert {one.reason for one in paused.asked} == {reason}
    assert len({one.id for one in paused.asked}) == len(calls)
    assert all(one.message and one.response_schema for one in paused.asked)
    assert happened(paused.file) == []
    return paused


def right(paused: Paused, answer: str) -> tuple[list[ResumeEntry], list[int]]:
    """The right answers, and what then happens."""
    yes, no = {"approved": True}, {"approved": False}
    if paused.kind == "breakpoint":
        single = {"approve": yes, "reject": no, "cancel": ...}[answer]
        return paused.entries(single), [1] if answer == "approve" else []
    args = {"file": str(paused.file), "amount": 5}
    edit: Any = {"approved": True, "editedArgs": args}
    if paused.kind == "interrupt":
        edit = {"approved": True, "amount": 5}
    elif paused.kind.endswith("per_call"):  # the same, as LangChain says it
        edit = {"type": "edit", "edited_action": {"name": "spend", "args": args}}
    answers = {"approve": (yes, no), "edit": (edit, yes), "reject": (no, no), "cancel": (..., ...)}
    return paused.entries(*answers[answer]), {"approve": [1], "edit": [2, 5]}.get(answer, [])


async def refuse_all(agent: LangGraphAgent, paused: Paused, answer: str) -> None:
    """Give every wrong answer there is; once per kind and store is enough."""
    if answer != "approve":
        return

    async def refuse(
        code: str, *entries: ResumeEntry, new: Sequence[Message] = (), by: LangGraphAgent = agent
    ) -> None:
        recorded = await paused.resume(by, entries, *new)
        assert (recorded.types, recorded.last.code) == (["RUN_STARTED", "RUN_ERROR"], code)
        assert happened(paused.file) == []

    good, _ = right(paused, "approve")
    [unknown] = resolved((f"{good[0].interrupt_id[:-1]}x", {"approved": True}))
    await refuse("interrupt_unanswered")
    await refuse("interrupt_unanswered", new=[user("never mind")])
    await refuse("interrupt_unknown", unknown)
    await refuse("interrupt_unknown", *good, unknown)
    await refuse("interrupt_duplicate", *good, good[0])
    for one in good[:-1]:
        await refuse("interrupt_unanswered", one)
    late = LangGraphAgent(agent.graph, approvals=ApprovalOptions(timeout=timedelta(0)))
    await refuse("interrupt_expired", *good, by=late)
    for payload in BAD.values():
        await refuse("interrupt_invalid", *good[1:], *resolved((good[0].interrupt_id, payload)))


async def decide(
    agent: LangGraphAgent, paused: Paused, answer: str
) -> tuple[RecordedRun, list[ResumeEntry]]:
    """Give the right answer, and check what it brings about."""
    entries, expected = right(paused, answer)
    recorded = await paused.resume(agent, entries)
    given_up = answer == "cancel" and paused.kind in ("interrupt", "breakpoint")
    given_up = given_up or (paused.kind, answer) == ("breakpoint", "reject")
    assert recorded.last.type == "RUN_FINISHED", recorded.last
    assert recorded.last.outcome.type == ("cancelled" if given_up else "success")
    assert given_up or recorded.last.outcome.pending_tool_call_ids is None
    assert happened(paused.file) == expected
    recorded.check_snapshot()
    told = recorded.of("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END")
    assert not {event.tool_call_id for event in told} & paused.known_calls()
    results = [event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")]
    assert sorted(results) == sorted(paused.known_calls())
    return recorded, entries


async def repeat(agent: LangGraphAgent, paused: Paused, entries: Sequence[ResumeEntry]) -> None:
    """Send the same answers again, as a client whose connection broke; and others, too late."""
    before = happened(paused.file)
    again = await paused.resume(agent, entries)
    assert again.last.outcome.type == "success"
    assert not again.of("STEP_STARTED")
    other = resolved(*((one.interrupt_id, True) for one in entries))
    assert (await paused.resume(agent, other)).last.code == "interrupt_unknown"
    assert happened(paused.file) == before
