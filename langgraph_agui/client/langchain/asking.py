"""What a remote agent waits for, asked by LangGraph's `interrupt()`.

In: an AG-UI interrupt. Out: its payload, which fits what the agent asks for as far as that can be told here.
"""

from __future__ import annotations

from ag_ui.core import Interrupt
from langgraph.types import interrupt

from langgraph_agui.custom_events import CANCELLED
from langgraph_agui.interrupts.schema import misfit
from langgraph_agui.protocol.wire import has_expired


def ask(one: Interrupt, fault: str | None = None) -> object:
    """Ask until the answer fits the question's `responseSchema`; return it, or `{CANCELLED: True}`.

    To be called in a node that does nothing else before: LangGraph runs a node that pauses again from its beginning.

    Args:
        one: The question. It is the value of `interrupt()`, in its wire form.
        fault: What was wrong with the answer before, as the agent says; the value has it as `error`.
    """
    value = one.model_dump(mode="json", by_alias=True)
    while True:
        # The same calls come before it each time, so LangGraph finds the earlier answers for them.
        payload: object = interrupt({**value, **({"error": fault} if fault else {}), CANCELLED: True})
        if (fault := _fault(one, payload)) is None:
            return payload


def _fault(asked: Interrupt, payload: object) -> str | None:
    """What is wrong with an answer by the question's `responseSchema`; None if nothing is, or the agent is to judge."""
    if payload == {CANCELLED: True} or has_expired(asked):
        return None
    # The short form of an approval, which schemas do not mention.
    short = asked.reason == "tool_call" and isinstance(payload, bool)
    return misfit({"approved": payload} if short else payload, asked.response_schema, asked.message or asked.id)
