"""Questions of a remote agent (AG-UI 1.0, interrupts), and the calls that answers let run here.

In: the agent's interrupts, and the answers to them. Out: questions by LangGraph's `interrupt()`;
whether a call may run. The agent decides what approves a call, and its payload may be anything, so
only a known form of yes approves here.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ag_ui.core import Interrupt, ResumeEntry
from langchain_core.messages import ToolCall
from langgraph.types import interrupt as langgraph_interrupt

from langgraph_agui.nodes import APPROVING, CANCELLED
from langgraph_agui.protocol.relaxed_schema import relax_schema
from langgraph_agui.protocol.response_schema import schema_mismatch
from langgraph_agui.protocol.wire import has_expired

_CANCEL: Final = {CANCELLED: True}


def ask(interrupt: Interrupt, error: str | None = None) -> object:
    """Ask until the answer fits the `responseSchema`. Return it, or `{CANCELLED: True}`.

    Call this in a node that does nothing else before: LangGraph runs a node that pauses again from
    its beginning.

    Args:
        interrupt: The question. The value of `interrupt()` is its wire form, its schema relaxed.
        error: Why the agent has refused the last answer; the value contains it as `error`.
    """
    value = interrupt.model_dump(mode="json", by_alias=True)
    if interrupt.response_schema:
        # A server applies the schema of a value, and this one is not its own.
        value["responseSchema"] = relax_schema(interrupt.response_schema)
    while True:
        # Each pass makes the same calls first, so LangGraph finds the earlier answers for them.
        question = {**value, "error": error} if error else value
        payload: object = langgraph_interrupt({**question, CANCELLED: True})
        if payload == _CANCEL or has_expired(interrupt):
            return payload
        checked = _with_approved(payload) if interrupt.reason == "tool_call" else payload
        subject = interrupt.message or interrupt.id
        error = schema_mismatch(checked, interrupt.response_schema, subject)
        if error is None:
            return payload


def _with_approved(payload: object) -> object:
    """Return the answer to an approval with `approved`, as schemas ask for it."""
    if isinstance(payload, bool):
        return {"approved": payload}
    if isinstance(payload, Mapping) and "type" in payload:
        return {"approved": payload["type"] in APPROVING, **payload}
    return payload


def valid_answers(
    interrupts: Sequence[Interrupt], answers: Mapping[str, object]
) -> tuple[dict[str, object], list[str]]:
    """Return the answers of `ask` that still count, and the ids of the interrupts to cancel."""
    cancelled = [
        one.id for one in interrupts if answers.get(one.id, _CANCEL) == _CANCEL or has_expired(one)
    ]
    return {one.id: answers[one.id] for one in interrupts if one.id not in cancelled}, cancelled


class Approvals:
    """Judges the calls that a run has left open, and that its interrupts may ask about.

    Args:
        interrupts: The interrupts of the run.
        answers: The answers to them, as the next run's input has them.
    """

    def __init__(
        self, interrupts: Iterable[Interrupt], answers: Iterable[ResumeEntry] = ()
    ) -> None:
        self._interrupts = list(interrupts)
        self._answers = {entry.interrupt_id: entry for entry in answers}

    def ask_about(self, call_id: str | None, name: str | None) -> bool:
        """Return whether an interrupt asks about a call."""
        return bool(self._about(call_id, name))

    def approve(self, call: ToolCall) -> bool:
        """Return whether interrupts ask about a call, and all answers let it run as it is."""
        about = self._about(call["id"], call["name"])
        return bool(about) and all(self._is_approved_by(one, call) for one in about)

    def refuse(self, call: ToolCall) -> bool:
        """Return whether an interrupt asks about a call, and the answers do not approve it."""
        return self.ask_about(call["id"], call["name"]) and not self.approve(call)

    def edited_args(self, call_id: str, name: str) -> dict[str, Any] | None:
        """Return the arguments that an answer about a call gives instead of its own."""
        for one in self._about(call_id, name):
            entry = self._answers.get(one.id)
            payload = entry.payload if entry is not None else None
            edited = payload.get("editedArgs") if isinstance(payload, Mapping) else None
            if isinstance(edited, Mapping):
                return dict(edited)
        return None

    def _about(self, call_id: str | None, name: str | None) -> list[Interrupt]:
        return [one for one in self._interrupts if _asks_about(one, call_id, name)]

    def _is_approved_by(self, interrupt: Interrupt, call: ToolCall) -> bool:
        entry = self._answers.get(interrupt.id)
        return entry is not None and entry.status == "resolved" and _approves(entry.payload, call)


def _asks_about(interrupt: Interrupt, call_id: str | None, name: str | None) -> bool:
    """Find the id of the call or, without one, the name of its tool, also in the metadata.

    An approval that names neither may be about any call.
    """
    if call_id and (interrupt.tool_call_id == call_id or _mentions(interrupt.metadata, call_id)):
        return True
    if interrupt.tool_call_id is not None:
        return False
    names_a_tool = isinstance((interrupt.metadata or {}).get("name"), str)
    return _mentions(interrupt.metadata, name) or (
        interrupt.reason == "tool_call" and not names_a_tool
    )


def _approves(payload: object, call: ToolCall) -> bool:
    """Read AG-UI's payload, `{approved, editedArgs?}`, or LangChain's decisions, one or a batch."""
    if not isinstance(payload, Mapping):
        return payload is True
    batch = payload.get("decisions")
    if isinstance(batch, list):
        return bool(batch) and all(
            isinstance(one, Mapping) and _approves(one, call) for one in batch
        )
    decisions = [payload[key] is True for key in ("approved", "accepted") if key in payload]
    decisions += [payload["type"] == "approve"] if "type" in payload else []
    edited = payload.get("editedArgs")
    return bool(decisions) and all(decisions) and (edited is None or edited == call["args"])


def _mentions(metadata: Mapping[str, object] | None, word: str | None) -> bool:
    """Return whether the metadata contain `word` as a string, also in JSON within a string."""
    text = json.dumps(metadata or {}, ensure_ascii=False, default=str).replace("\\", "")
    return bool(word) and f'"{word}"' in text
