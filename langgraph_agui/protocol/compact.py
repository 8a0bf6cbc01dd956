"""Fewer events with the same outcome: the fragments of a message or call, joined.

Events enter `compact`, events leave. A client that folds them holds the same messages and state.
"""

from __future__ import annotations

from collections.abc import Iterable

from ag_ui.core import Event

from langgraph_agui.protocol.event_order import Growing, ItemKind, item_of


def compact(events: Iterable[Event]) -> list[Event]:
    """Return the events with the fragments of each text, reasoning and call joined, for storing or
    replaying a run.

    Fragments are joined until the next event of any other kind. The fragments of several items that
    stream at the same time become one for each item. All other events stay as they are, in their
    order. The argument is not changed.
    """
    result: list[Event] = []
    parts: dict[tuple[ItemKind, str, str | None], list[Growing]] = {}
    for event in events:
        if isinstance(event, Growing) and event.raw_event is None and event.metadata is None:
            parts.setdefault((*item_of(event), event.subagent_run_id), []).append(event)
            continue
        result += map(_joined, parts.values())
        parts.clear()
        result.append(event)
    return [*result, *map(_joined, parts.values())]


def _joined(fragments: list[Growing]) -> Growing:
    first = fragments[0]
    return (
        first.model_copy(update={"delta": "".join(one.delta for one in fragments)})
        if fragments[1:]
        else first
    )
