"""Which local calls may run, where the agent asks about them first (AG-UI 1.0, interrupts).

In: a call of a tool that runs here, what is asked, and the answers. Out: whether it is asked about, and whether it was
approved. To approve is the server's affair and its payload open, so whatever is not known as a yes is none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from ag_ui.core import Interrupt, ResumeEntry
from langchain_core.messages import InvalidToolCall, ToolCall


def asks_about(interrupt: Interrupt, call: ToolCall | InvalidToolCall) -> bool:
    """Whether an interrupt asks about a call: by the call's id, in its metadata too, else by the name of its tool.

    An approval that names neither may be about any call.
    """
    if call["id"] and (interrupt.tool_call_id == call["id"] or _mentions(interrupt.metadata, call["id"])):
        return True
    if interrupt.tool_call_id is not None:
        return False
    told = (interrupt.metadata or {}).get("name")
    return _mentions(interrupt.metadata, call["name"]) or (
        interrupt.reason == "tool_call" and not isinstance(told, str)
    )


def approved(call: ToolCall, asked: Iterable[Interrupt], answers: Iterable[ResumeEntry]) -> bool:
    """Whether the answers let a call run that was asked about, as it stands: all that asked about it have a yes.

    A call whose arguments somebody has edited may not: its own are not those that were approved.
    """
    given = {entry.interrupt_id: entry for entry in answers}
    entries = [given.get(interrupt.id) for interrupt in asked if asks_about(interrupt, call)]
    return bool(entries) and all(
        entry is not None and entry.status == "resolved" and _is_yes(entry.payload, call) for entry in entries
    )


def _is_yes(payload: object, call: ToolCall) -> bool:
    """AG-UI's payload, `{approved, editedArgs?}`, and the decisions of LangChain, one or in a batch."""
    if not isinstance(payload, Mapping):
        return payload is True
    batch = payload.get("decisions")
    if isinstance(batch, list):
        return bool(batch) and all(isinstance(one, Mapping) and _is_yes(one, call) for one in batch)
    words = [payload[key] is True for key in ("approved", "accepted") if key in payload]
    words += [payload["type"] == "approve"] if "type" in payload else []
    edited = payload.get("editedArgs")
    return bool(words) and all(words) and (edited is None or edited == call["args"])


def _mentions(metadata: Mapping[str, object] | None, word: str | None) -> bool:
    """Whether `word` stands in the metadata, be it in JSON text within."""
    return bool(word) and f'"{word}"' in json.dumps(metadata or {}, ensure_ascii=False, default=str).replace("\\", "")
