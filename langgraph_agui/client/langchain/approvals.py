"""What a remote agent asks before it goes on (AG-UI 1.0, interrupts), for callers that are LangGraph graphs.

In: interrupts, their answers, calls of tools that run here. Out: the payloads of LangGraph's `interrupt()`, and whether
a call may run. The server decides what approves a call, and its payload may be anything, so only a known form of yes
approves here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ag_ui.core import Interrupt, ResumeEntry
from langchain_core.messages import ToolCall
from langgraph.types import interrupt as langgraph_interrupt

from langgraph_agui.custom_events import CANCELLED
from langgraph_agui.interrupts.decisions import schema_mismatch
from langgraph_agui.protocol.wire import has_expired

_CANCEL: Final = {CANCELLED: True}


def ask(interrupt: Interrupt, error: str | None = None) -> object:
    """Ask until the answer fits the `responseSchema`. Return it, or `{CANCELLED: True}`.

    Call this in a node that does nothing else before: LangGraph runs a node that pauses again from its beginning.

    Args:
        interrupt: The question. The value of `interrupt()` is its wire form.
        error: Why the agent has refused the last answer; the value contains it as `error`.
    """
    value = interrupt.model_dump(mode="json", by_alias=True)
    while True:
        # Each pass makes the same calls first, so LangGraph finds the earlier answers for them.
        payload: object = langgraph_interrupt({**value, **({"error": error} if error else {}), CANCELLED: True})
        if payload == _CANCEL or has_expired(interrupt):
            return payload
        # Schemas do not mention the short form of an approval.
        is_short = interrupt.reason == "tool_call" and isinstance(payload, bool)
        checked = {"approved": payload} if is_short else payload
        error = schema_mismatch(checked, interrupt.response_schema, interrupt.message or interrupt.id)
        if error is None:
            return payload


def valid_answers(
    interrupts: Sequence[Interrupt], answers: Mapping[str, object]
) -> tuple[dict[str, object], list[str]]:
    """Return the answers that `ask` got and that still count, and the ids of the other interrupts, to be cancelled."""
    cancelled = [one.id for one in interrupts if answers.get(one.id, _CANCEL) == _CANCEL or has_expired(one)]
    return {one.id: answers[one.id] for one in interrupts if one.id not in cancelled}, cancelled


def interrupts_about(interrupts: Iterable[Interrupt], call_id: str | None, name: str | None) -> list[Interrupt]:
    """Return the interrupts that ask about a call."""
    return [one for one in interrupts if _asks_about(one, call_id, name)]


def _asks_about(interrupt: Interrupt, call_id: str | None, name: str | None) -> bool:
    """Find the id of the call or, without one, the name of its tool, also in the metadata.

    An approval that names neither may be about any call.
    """
    if call_id and (interrupt.tool_call_id == call_id or _mentions(interrupt.metadata, call_id)):
        return True
    if interrupt.tool_call_id is not None:
        return False
    names_a_tool = isinstance((interrupt.metadata or {}).get("name"), str)
    return _mentions(interrupt.metadata, name) or (interrupt.reason == "tool_call" and not names_a_tool)


def is_approved(call: ToolCall, interrupts: Iterable[Interrupt], answers: Iterable[ResumeEntry]) -> bool:
    """Return whether each interrupt that asks about a call has an answer that lets it run with its arguments."""
    given = {entry.interrupt_id: entry for entry in answers}
    entries = [given.get(one.id) for one in interrupts_about(interrupts, call["id"], call["name"])]
    return bool(entries) and all(
        entry is not None and entry.status == "resolved" and _approves(entry.payload, call) for entry in entries
    )


def _approves(payload: object, call: ToolCall) -> bool:
    """Understand AG-UI's payload, `{approved, editedArgs?}`, and LangChain's decisions, one or a batch."""
    if not isinstance(payload, Mapping):
        return payload is True
    batch = payload.get("decisions")
    if isinstance(batch, list):
        return bool(batch) and all(isinstance(one, Mapping) and _approves(one, call) for one in batch)
    decisions = [payload[key] is True for key in ("approved", "accepted") if key in payload]
    decisions += [payload["type"] == "approve"] if "type" in payload else []
    edited = payload.get("editedArgs")
    return bool(decisions) and all(decisions) and (edited is None or edited == call["args"])


def _mentions(metadata: Mapping[str, object] | None, word: str | None) -> bool:
    """Return whether the metadata contain `word` as a string, also in JSON within a string."""
    return bool(word) and f'"{word}"' in json.dumps(metadata or {}, ensure_ascii=False, default=str).replace("\\", "")
