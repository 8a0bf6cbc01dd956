"""Answers of agents as event streams, for what no graph gives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

START_EVENT = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def frames(*events: dict[str, Any]) -> str:
    """Return the body of an event stream."""
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events)


def text_events(message_id: str, *deltas: str) -> list[dict[str, Any]]:
    """Return the events of an assistant's text."""
    about = {"messageId": message_id}
    contents = [{"type": "TEXT_MESSAGE_CONTENT", **about, "delta": delta} for delta in deltas]
    return [
        {"type": "TEXT_MESSAGE_START", **about},
        *contents,
        {"type": "TEXT_MESSAGE_END", **about},
    ]


def answer(
    page: Page, body: str, *, content_type: str = "text/event-stream", status: int = 200
) -> list[dict[str, Any]]:
    """Let the agent answer every input with `body`; return the list that the inputs are put
    into."""
    inputs: list[dict[str, Any]] = []

    def fulfill(route: Any) -> None:
        inputs.append(json.loads(route.request.post_data))
        route.fulfill(status=status, content_type=content_type, body=body)

    page.route("**/agent", fulfill)
    return inputs


def answer_with(page: Page, *interrupts: dict[str, Any]) -> list[dict[str, Any]]:
    """Let the agent answer every input with these interrupts; return the list that the inputs are
    put into."""
    end = {**END, "outcome": {"type": "interrupt", "interrupts": list(interrupts)}}
    return answer(page, frames(START_EVENT, end))
