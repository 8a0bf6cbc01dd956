"""Answers checked before anything runs: what a client sends enters, what the graph is resumed with leaves.

An answer counts only for a request that the thread's checkpoint holds open. The ids of requests are LangGraph's, which
name one pause of one task, so an answer is for exactly the call and the arguments in the request, and counts once.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ag_ui.core import ResumeEntry

from langgraph_agui.errors import ErrorCode, RunInputError
from langgraph_agui.interrupts.decisions import Action, Decision, InvalidAnswer, read_decision, rejection
from langgraph_agui.interrupts.pending import InterruptRequest, PendingInterrupts
from langgraph_agui.protocol.wire import has_expired


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a set of answers means.

    Attributes:
        values: What each LangGraph interrupt is resumed with, by its id; nothing for a breakpoint.
        abandoned: Whether the pause is abandoned: nothing of it runs.
        decisions: What was decided about each request, in order.
    """

    values: dict[str, object] = field(default_factory=dict)
    abandoned: bool = False
    decisions: Sequence[tuple[InterruptRequest, ResumeEntry, Decision]] = ()


@dataclass(frozen=True, slots=True)
class CommandAnswers:
    """Answers that come without the ids of what they answer.

    Attributes:
        entries: The same as entries of `resume`, for what is open now.
        fingerprint: Tells the same input, sent again, from another that says the same.
    """

    entries: Sequence[ResumeEntry]
    fingerprint: str


def resolve(entries: Sequence[ResumeEntry], pending: PendingInterrupts) -> Resolution:
    """Check the answers to a pause and return what they mean.

    A `cancelled` approval is a rejection, where the graph takes rejections. A `cancelled` request of a remote agent is
    passed on to it. Any other cancelled request abandons the whole pause: then no other answer may let anything run.

    Raises:
        RunInputError: A request is answered twice, unknown, left out, expired, or answered with what does not fit.
    """
    answers = _by_request(entries, pending)
    decisions = [(request, answers[request.id], _decide(request, answers[request.id])) for request in pending.requests]
    kinds = {decision.type for _, _, decision in decisions}
    if pending.at_breakpoint:
        return Resolution(abandoned=kinds != {"approve"}, decisions=decisions)
    if "cancel" in kinds:
        if kinds - {"cancel", "reject"}:
            message = "This interrupt cannot be rejected. To cancel it, cancel or reject all open interrupts."
            raise RunInputError(ErrorCode.INTERRUPT_INVALID, message)
        return Resolution(abandoned=True, decisions=decisions)
    values = {request.id: decision.value for request, _, decision in decisions if request.batch is None}
    for batch in {request.batch for request in pending.requests if request.batch is not None}:
        values[batch] = {"decisions": [decision.value for request, _, decision in decisions if request.batch == batch]}
    return Resolution(values, decisions=decisions)


def _by_request(entries: Sequence[ResumeEntry], pending: PendingInterrupts) -> dict[str, ResumeEntry]:
    open_ = {request.id for request in pending.requests}
    counts = Counter(entry.interrupt_id for entry in entries)
    if unknown := counts.keys() - open_:
        raise RunInputError(ErrorCode.INTERRUPT_UNKNOWN, f"No open interrupt has the id {min(unknown)!r}.")
    if twice := [name for name, count in counts.items() if count > 1]:
        raise RunInputError(ErrorCode.INTERRUPT_DUPLICATE, f"The interrupt {twice[0]!r} is answered more than once.")
    if missing := open_ - counts.keys():
        raise RunInputError(ErrorCode.INTERRUPT_UNANSWERED, f"The interrupt {min(missing)!r} is not answered.")
    return {entry.interrupt_id: entry for entry in entries}


def _decide(request: InterruptRequest, entry: ResumeEntry) -> Decision:
    if entry.status == "cancelled":
        takes_rejection = request.action is not None and "reject" in request.action.allowed
        return rejection() if takes_rejection else request.if_cancelled or Decision("cancel", {})
    if has_expired(request.interrupt):
        raise RunInputError(ErrorCode.INTERRUPT_EXPIRED, f"The interrupt {request.id!r} can only be cancelled now.")
    try:
        return request.read(entry.payload)
    except InvalidAnswer as error:
        raise RunInputError(ErrorCode.INTERRUPT_INVALID, str(error)) from error


# -- answers that are sent again --------------------------------------------------------------------------------------


def fingerprint(entries: Sequence[ResumeEntry]) -> str:
    """Return a digest of a set of answers: the same answers, in any order, have the same."""
    plain = sorted([entry.interrupt_id, entry.status, json.dumps(entry.payload, sort_keys=True)] for entry in entries)
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:32]


def was_given(entry: ResumeEntry, values: Sequence[object]) -> bool:
    """Return whether an answer is part of one of the resume values that its task was given before."""
    number = entry.interrupt_id.partition(":")[2]
    return any(_same_answer(entry.payload, _part(value, number)) for value in values)


def _part(value: object, number: str) -> object:
    """Return the decision about one request of a batched approval; other resume values as they are."""
    decisions = value.get("decisions") if number and isinstance(value, Mapping) else None
    if not isinstance(decisions, list):
        return value
    position = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else len(decisions)
    return decisions[position] if position < len(decisions) else None


def _same_answer(payload: object, decision: object) -> bool:
    """Return whether a payload stands for a decision, in whichever form."""
    if payload == decision:
        return True
    if not isinstance(decision, Mapping) or "type" not in decision:
        return False
    edited = decision.get("edited_action")
    name, args = (str(edited.get("name")), edited.get("args")) if isinstance(edited, Mapping) else ("", None)
    try:
        given = read_decision(payload, Action(name))
    except InvalidAnswer:
        return False
    return (
        given.type == decision["type"] and given.edited_args == args and (args is not None or given.value == decision)
    )
