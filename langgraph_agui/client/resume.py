"""Answers to the open interrupts of a thread, as a run's input has them (AG-UI 1.0, interrupts)."""

from collections.abc import Collection, Mapping, Sequence

from ag_ui.core import Interrupt, ResumeEntry

from langgraph_agui.client.errors import ResumeError
from langgraph_agui.protocol.wire import has_expired


def resume_entries(
    interrupts: Sequence[Interrupt], answers: Mapping[str, object], cancel: Collection[str] = ()
) -> list[ResumeEntry]:
    """Return the `resume` of a run's input, in the order of `interrupts`.

    Args:
        interrupts: The open interrupts.
        answers: The payload for each interrupt, by its id. A denial is a payload too, such as
            `{"approved": False}`.
        cancel: The ids of the interrupts to cancel.

    Raises:
        ResumeError: An open interrupt has no answer, an answer has no open interrupt, an interrupt
            is both answered and cancelled, or an answered one has expired.
    """
    open_ids = [interrupt.id for interrupt in interrupts]
    if unknown := sorted({*answers, *cancel}.difference(open_ids)):
        raise ResumeError(
            "interrupt_unknown", unknown, f"No open interrupt has the id {_listed(unknown)}."
        )
    if twice := sorted({*answers}.intersection(cancel)):
        raise ResumeError(
            "interrupt_duplicate", twice, f"Either answer or cancel {_listed(twice)}, not both."
        )
    if missing := [name for name in open_ids if name not in answers and name not in cancel]:
        raise ResumeError(
            "interrupt_unanswered", missing, f"Open and not answered: {_listed(missing)}."
        )
    if late := [one.id for one in interrupts if one.id in answers and has_expired(one)]:
        raise ResumeError(
            "interrupt_expired", late, f"Expired, so they can only be cancelled: {_listed(late)}."
        )
    return [
        ResumeEntry(interrupt_id=name, status="resolved", payload=answers[name])
        if name in answers
        else ResumeEntry(interrupt_id=name, status="cancelled")
        for name in open_ids
    ]


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(map(repr, ids))
