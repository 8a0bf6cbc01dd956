"""Answers to open interrupts, checked before anything is sent (AG-UI 1.0, interrupts)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ag_ui.core import Interrupt, ResumeEntry

from langgraph_agui.client.errors import ResumeError
from langgraph_agui.protocol.wire import has_expired


def resume_entries(
    interrupts: Sequence[Interrupt], answers: Mapping[str, object], cancel: Collection[str] = ()
) -> list[ResumeEntry]:
    """Return the `resume` of a run's input, in the order of `interrupts`.

    Args:
        interrupts: What is open.
        answers: The payload for each interrupt, by its id. To deny is a payload too, such as `{"approved": False}`.
        cancel: The ids of those that nobody will answer.

    Raises:
        ResumeError: Something open is not answered, an answer is for nothing open, one is answered and cancelled, or
            one has expired and is not cancelled.
    """
    known = {interrupt.id for interrupt in interrupts}
    given = {*answers, *cancel}
    if unknown := sorted(given - known):
        raise ResumeError("interrupt_unknown", unknown, f"Nothing is open under {_named(unknown)}.")
    if twice := sorted({*answers} & {*cancel}):
        raise ResumeError("interrupt_duplicate", twice, f"Both answered and cancelled: {_named(twice)}.")
    if missing := [interrupt.id for interrupt in interrupts if interrupt.id not in given]:
        raise ResumeError("interrupt_unanswered", missing, f"The thread waits for answers to {_named(missing)}.")
    if late := [interrupt.id for interrupt in interrupts if interrupt.id in answers and has_expired(interrupt)]:
        raise ResumeError("interrupt_expired", late, f"Too late to answer, only to cancel: {_named(late)}.")
    return [
        ResumeEntry(interrupt_id=interrupt.id, status="cancelled")
        if interrupt.id in cancel
        else ResumeEntry(interrupt_id=interrupt.id, status="resolved", payload=answers[interrupt.id])
        for interrupt in interrupts
    ]


def _named(ids: Sequence[str]) -> str:
    return ", ".join(map(repr, ids))
