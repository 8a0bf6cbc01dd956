"""Answers checked before anything runs: what a client sends enters, what the graph is resumed with leaves.

An answer counts only for a question that the thread's checkpoint holds open. The ids of questions are LangGraph's,
which name one pause of one task, so an answer is for exactly the call and the arguments that were asked about, and
counts once.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ag_ui.core import ResumeEntry

from langgraph_agui.errors import ErrorCode, RunInputError
from langgraph_agui.interrupts.decisions import Action, Decision, InvalidAnswer, decided, rejected
from langgraph_agui.interrupts.pending import InterruptRequest
from langgraph_agui.interrupts.pending_reader import PendingInterrupts
from langgraph_agui.protocol.wire import has_expired

_CANCEL = Decision("cancel", {})


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a set of answers means.

    Attributes:
        values: What each LangGraph interrupt is resumed with, by its id; nothing for a breakpoint.
        abandoned: Whether the pause is given up: nothing of it runs.
        decisions: What was decided about each question, in order.
    """

    values: dict[str, object] = field(default_factory=dict)
    abandoned: bool = False
    decisions: Sequence[tuple[InterruptRequest, ResumeEntry, Decision]] = ()


def resolve(entries: Sequence[ResumeEntry], pause: PendingInterrupts, now: datetime | None = None) -> Resolution:
    """Check the answers to a pause and return what they mean.

    A `cancelled` approval is a rejection, where the graph takes rejections; a remote agent is told of it. Any other
    cancelled question gives the whole pause up, which only goes together with answers that let nothing run.

    Raises:
        RunInputError: A question is answered twice, unknown, left out, expired, or answered with what does not fit.
    """
    given = _by_id(entries, pause)
    moment = now or datetime.now(UTC)
    decisions = [
        (question, given[question.id], _decide(question, given[question.id], moment)) for question in pause.questions
    ]
    found = {question.id: decision for question, _, decision in decisions}
    if pause.breakpoint is not None:
        return Resolution(abandoned=found[pause.breakpoint.id].type != "approve", decisions=decisions)
    kinds = {decision.type for decision in found.values()}
    if "cancel" in kinds:
        if kinds - {"cancel", "reject"}:
            raise RunInputError(
                ErrorCode.INTERRUPT_INVALID, "An interrupt that takes no rejection is cancelled with all others or not."
            )
        return Resolution(abandoned=True, decisions=decisions)
    values = {one.id: one.value([found[question.id] for question in one.questions]) for one in pause.pending}
    return Resolution(values, decisions=decisions)


def _by_id(entries: Sequence[ResumeEntry], pause: PendingInterrupts) -> dict[str, ResumeEntry]:
    asked = {question.id for question in pause.questions}
    counts = Counter(entry.interrupt_id for entry in entries)
    if unknown := counts.keys() - asked:
        raise RunInputError(ErrorCode.INTERRUPT_UNKNOWN, f"No open interrupt has the id {min(unknown)!r}.")
    if twice := [name for name, count in counts.items() if count > 1]:
        raise RunInputError(ErrorCode.INTERRUPT_DUPLICATE, f"The interrupt {twice[0]!r} is answered more than once.")
    if missing := asked - counts.keys():
        raise RunInputError(ErrorCode.INTERRUPT_UNANSWERED, f"The interrupt {min(missing)!r} is not answered.")
    return {entry.interrupt_id: entry for entry in entries}


def _decide(question: InterruptRequest, entry: ResumeEntry, now: datetime) -> Decision:
    if entry.status == "cancelled":
        takes_rejection = question.action is not None and "reject" in question.action.allowed
        return rejected() if takes_rejection else question.cancelled or _CANCEL
    if has_expired(question.interrupt, now):
        raise RunInputError(ErrorCode.INTERRUPT_EXPIRED, f"The interrupt {question.id!r} can only be cancelled now.")
    try:
        return question.read(entry.payload)
    except InvalidAnswer as error:
        raise RunInputError(ErrorCode.INTERRUPT_INVALID, str(error)) from error


def fingerprint(entries: Sequence[ResumeEntry]) -> str:
    """A digest of a set of answers, in any order: the same answers, sent again, have the same."""
    plain = sorted([entry.interrupt_id, entry.status, json.dumps(entry.payload, sort_keys=True)] for entry in entries)
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:32]


def interrupt_of(question_id: str) -> str:
    """The id of the LangGraph interrupt that a question is of."""
    return question_id.partition(":")[0]


def repeats(entry: ResumeEntry, answers: Sequence[object]) -> bool:
    """Whether an answer is one of those that its question's task was given before."""
    number = entry.interrupt_id.partition(":")[2]
    return any(_alike(entry.payload, _part(answer, number)) for answer in answers)


def _part(answer: object, number: str) -> object:
    """The decision about one question of a batched approval; other answers are whole."""
    decisions = answer.get("decisions") if number and isinstance(answer, Mapping) else None
    if not isinstance(decisions, list):
        return answer
    position = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else len(decisions)
    return decisions[position] if position < len(decisions) else None


def _alike(payload: object, decision: object) -> bool:
    """Whether a payload says what a decision says, in whichever form."""
    if payload == decision:
        return True
    if not isinstance(decision, Mapping) or "type" not in decision:
        return False
    edited = decision.get("edited_action")
    args = edited.get("args") if isinstance(edited, Mapping) else None
    try:
        said = decided(payload, Action(str(edited.get("name")) if isinstance(edited, Mapping) else ""))
    except InvalidAnswer:
        return False
    return said.type == decision["type"] and said.edited_args == args and (args is not None or said.value == decision)
