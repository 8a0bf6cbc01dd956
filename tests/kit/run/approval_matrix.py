"""One dialogue of the matrix: a pause, every wrong answer, the right one, and that sent again.

After each step what has happened is compared with what was approved; every stream is checked by the
verifier.
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

ANSWERS = ("approve", "edit", "reject", "cancel")
CASES = [
    (kind, answer)
    for kind in KINDS
    for answer in ANSWERS
    if (kind, answer) != ("breakpoint", "edit")
]

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
        return {
            call.id
            for message in self.messages
            for call in getattr(message, "tool_calls", None) or ()
        }

    def entries(self, *payloads: Any) -> list[ResumeEntry]:
        """Answers in the order of the amounts; `...` cancels."""
        return [
            ResumeEntry(interrupt_id=one.id, status="cancelled")
            if payload is ...
            else ResumeEntry(interrupt_id=one.id, status="resolved", payload=payload)
            for one, payload in zip(self.asked, payloads, strict=True)
        ]

    async def resume(
        self, agent: LangGraphAgent, entries: Sequence[ResumeEntry], *new: Message
    ) -> RecordedRun:
        return await record_run(
            agent, run_input(*self.messages, *new, thread=self.thread, resume=list(entries))
        )


def amount_of(interrupt: Interrupt) -> int:
    recorded = interrupt.metadata or {}
    args = recorded.get("args") or recorded.get("value")
    return int(args["amount"]) if args else 1


async def pause(
    agent: LangGraphAgent, kind: str, answer: str, home: Path, thread: str | None = None
) -> Paused:
    """Begin a dialogue, and check what is asked."""
    file = home / f"{kind}-{answer}"
    recorded = await record_run(
        agent, run_input(user(str(file)), thread=thread or f"{kind}-{answer}")
    )
    assert recorded.last.outcome.type == "interrupt"
    assert recorded.types[-2:] == ["MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    recorded.check_snapshot()
    asked = sorted(recorded.last.outcome.interrupts, key=amount_of)
    paused = Paused(kind, recorded.input.thread_id, file, recorded.messages, asked)
    check_questions(paused)
    assert happened(file) == []
    return paused


def check_questions(paused: Paused) -> None:
    calls: list[str | None] = [None, None]
    if paused.kind == "breakpoint":
        calls, reason = [None], "langgraph:breakpoint"
    elif paused.kind == "interrupt":
        reason = "input_required"
    else:
        reason = "tool_call"
        assert {"s1-1", "s1-2"} <= paused.known_calls()
        calls = ["s1-1", "s1-2"]
        assert [one.metadata["args"]["amount"] for one in paused.asked] == [1, 2]  # type: ignore[index]
    assert [one.tool_call_id for one in paused.asked] == calls
    assert {one.reason for one in paused.asked} == {reason}
    assert len({one.id for one in paused.asked}) == len(calls)
    assert all(one.message and one.response_schema for one in paused.asked)


def right(paused: Paused, answer: str) -> tuple[list[ResumeEntry], list[int]]:
    """The right answers, and what then happens."""
    if paused.kind == "breakpoint":
        payload: Any = {
            "approve": {"approved": True},
            "reject": {"approved": False},
            "cancel": ...,
        }[answer]
        return paused.entries(payload), [1] if answer == "approve" else []
    args = {"file": str(paused.file), "amount": 5}
    edit: Any = {"approved": True, "editedArgs": args}
    if paused.kind == "interrupt":
        edit = {"approved": True, "amount": 5}
    elif paused.kind.endswith("per_call"):  # the same, as LangChain says it
        edit = {"type": "edit", "edited_action": {"name": "spend", "args": args}}
    payloads: tuple[Any, Any] = {
        "approve": ({"approved": True}, {"approved": False}),
        "edit": (edit, {"approved": True}),
        "reject": ({"approved": False}, {"approved": False}),
        "cancel": (..., ...),
    }[answer]
    return paused.entries(*payloads), {"approve": [1], "edit": [2, 5]}.get(answer, [])


async def refuse(
    agent: LangGraphAgent, paused: Paused, entries: Sequence[ResumeEntry], code: str
) -> None:
    recorded = await paused.resume(agent, entries)
    assert (recorded.types, recorded.last.code) == (["RUN_STARTED", "RUN_ERROR"], code)
    assert happened(paused.file) == []


async def refuse_all(agent: LangGraphAgent, paused: Paused, answer: str) -> None:
    """Give every wrong answer there is."""
    good, _ = right(paused, "approve")
    unknown = ResumeEntry(
        interrupt_id=f"{good[0].interrupt_id[:-1]}x", status="resolved", payload={"approved": True}
    )
    await refuse(agent, paused, [], "interrupt_unanswered")
    await refuse(agent, paused, [unknown], "interrupt_unknown")
    await refuse(agent, paused, [*good, unknown], "interrupt_unknown")
    await refuse(agent, paused, [*good, good[0]], "interrupt_duplicate")
    for one in good[:-1]:
        await refuse(agent, paused, [one], "interrupt_unanswered")
    late = LangGraphAgent(agent.graph, approvals=ApprovalOptions(timeout=timedelta(0)))
    await refuse(late, paused, good, "interrupt_expired")
    recorded = await paused.resume(agent, [], user("never mind"))
    assert recorded.last.code == "interrupt_unanswered"
    # all of them once per kind and store are enough
    bad = BAD if answer == "approve" else {"the text true": "true"}
    for payload in bad.values():
        wrong = ResumeEntry(interrupt_id=good[0].interrupt_id, status="resolved", payload=payload)
        await refuse(agent, paused, [*good[1:], wrong], "interrupt_invalid")


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
    assert happened(paused.file) == expected
    recorded.check_snapshot()
    again = {
        event.tool_call_id
        for event in recorded.of("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END")
    }
    assert not again & paused.known_calls()
    results = [event.tool_call_id for event in recorded.of("TOOL_CALL_RESULT")]
    assert sorted(results) == sorted(paused.known_calls())
    assert (
        recorded.last.outcome.type == "cancelled"
        or recorded.last.outcome.pending_tool_call_ids is None
    )
    return recorded, entries


async def repeat(agent: LangGraphAgent, paused: Paused, entries: Sequence[ResumeEntry]) -> None:
    """Send the same answers again, as a client whose connection broke; and others, which come too
    late."""
    before = happened(paused.file)
    again = await paused.resume(agent, entries)
    assert again.last.outcome.type == "success"
    assert not again.of("STEP_STARTED")
    other = [
        ResumeEntry(interrupt_id=one.interrupt_id, status="resolved", payload=True)
        for one in entries
    ]
    late = await paused.resume(agent, other)
    assert late.last.code == "interrupt_unknown"
    assert happened(paused.file) == before
