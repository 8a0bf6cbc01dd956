"""A plain client for looking at servers: one request at a time, everything it is told is verified
and folded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import httpx2
from ag_ui.core import Message
from pydantic import TypeAdapter

from langgraph_agui.protocol import Fold, SSEDecoder, Verifier

Wire = dict[str, Any]

LOCATION = {
    "name": "get_user_location",
    "description": "Where the user is.",
    "parameters": {"type": "object", "properties": {"precise": {"type": "boolean"}}},
}

_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])


class Player:
    """One conversation. `events` are those of the last run as they were on the wire."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.thread = str(uuid4())
        self.messages: list[Wire] = []
        self.state: Any = {}
        self.events: list[Wire] = []
        self.content_type = ""

    def say(self, text: str) -> list[Wire]:
        self.messages.append({"id": str(uuid4()), "role": "user", "content": text})
        return self.run()

    def answer(self, call_id: str, content: str) -> list[Wire]:
        """Answer a call with a tool message."""
        self.messages.append(
            {"id": str(uuid4()), "role": "tool", "toolCallId": call_id, "content": content}
        )
        return self.run()

    def resume(self, **entry: Any) -> list[Wire]:
        """Answer all interrupts of the last run alike."""
        return self.run(
            resume=[{"interruptId": interrupt["id"], **entry} for interrupt in self.interrupts]
        )

    def run(self, **fields: Any) -> list[Wire]:
        body = {
            "threadId": self.thread,
            "runId": str(uuid4()),
            "protocolVersion": "1.0",
            "messages": self.messages,
            "state": self.state,
            "tools": [LOCATION],
            "context": [],
            "forwardedProps": {},
            **fields,
        }
        decoder = SSEDecoder()
        with httpx2.stream(
            "POST", self.url, json=body, headers={"accept": "text/event-stream"}
        ) as response:
            response.raise_for_status()
            self.content_type = response.headers["content-type"]
            self.events = [event for chunk in response.iter_raw() for event in decoder.feed(chunk)]
        self.events += decoder.finish()
        self._take(body)
        return self.events

    def _take(self, body: Mapping[str, Any]) -> None:
        """Judge the run as the reference client does, and hold what it then holds."""
        verifier = Verifier()
        fold = Fold(_MESSAGES.validate_python(self.messages), self.state)
        for event in self.events:
            verifier.feed(event)
            fold.feed(event)
        verifier.finish()
        assert self.events[-1]["type"] in {"RUN_FINISHED", "RUN_ERROR"}
        for event in self.of("RUN_STARTED", "RUN_FINISHED"):
            assert (event["threadId"], event["runId"]) == (body["threadId"], body["runId"])
        held = _MESSAGES.dump_python(fold.messages, mode="json", by_alias=True, exclude_none=True)
        self.messages = [message for message in held if message["role"] != "activity"]
        self.state = fold.state

    def of(self, *types: str) -> list[Wire]:
        return [event for event in self.events if event["type"] in types]

    @property
    def last(self) -> Wire:
        return self.events[-1]

    @property
    def text(self) -> str:
        return "".join(event["delta"] for event in self.of("TEXT_MESSAGE_CONTENT"))

    @property
    def interrupts(self) -> list[Wire]:
        outcome = self.last.get("outcome") or {}
        return list(outcome.get("interrupts", []))

    @property
    def roles(self) -> list[str]:
        return [message["role"] for message in self.messages]
