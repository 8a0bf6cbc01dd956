"""OpenAI Responses: `POST /v1/responses`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.kit.models.turns import Item as Made
from tests.kit.models.turns import Reasoning, Text, Turn
from tests.kit.models.wires.base import CACHED, CREATED, GIVEN, THOUGHT, USED, Request, Wire, sse

Item = dict[str, Any]
Event = dict[str, Any]
USAGE = {
    "input_tokens": USED,
    "input_tokens_details": {"cached_tokens": CACHED, "cache_write_tokens": 0},
    "output_tokens": GIVEN,
    "output_tokens_details": {"reasoning_tokens": THOUGHT},
    "total_tokens": USED + GIVEN,
}


class OpenAIResponsesWire(Wire):
    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        for number, event in enumerate(self._events(turn, request)):
            yield sse({**event, "sequence_number": number}, event=event["type"])

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        return _response(request, "completed", _items(turn, request), USAGE)

    def stream_error(self, message: str, request: Request) -> bytes:
        event = {"type": "error", "code": "server_error", "message": message, "param": None}
        return sse({**event, "sequence_number": 9_999}, event="error")

    def _events(self, turn: Turn, request: Request) -> Iterator[Event]:
        opened = _response(request, "in_progress", [])
        yield {"type": "response.created", "response": opened}
        yield {"type": "response.in_progress", "response": opened}
        for index, item in enumerate(_items(turn, request)):
            place = {"output_index": index}
            yield {"type": "response.output_item.added", **place, "item": _opened(item)}
            if events := _EVENTS.get(item["type"]):
                for kind, event in events(item, turn):
                    yield {"type": f"response.{kind}", **place, "item_id": item["id"], **event}
            yield {"type": "response.output_item.done", **place, "item": item}
        yield {"type": "response.completed", "response": self.whole(turn, request)}


def _response(request: Request, status: str, output: list[Item], usage: Any = None) -> Item:
    nothing = ("error", "incomplete_details", "instructions", "max_output_tokens", "user")
    return {
        **dict.fromkeys((*nothing, "previous_response_id")),
        "id": f"resp_{request.seq:04d}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "model": request.model,
        "output": output,
        "usage": usage,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "top_p": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "truncation": "disabled",
        "reasoning": request.body.get("reasoning"),
        "store": request.body.get("store", True),
        "tools": request.body.get("tools", []),
    }


def _items(turn: Turn, request: Request) -> list[Item]:
    """The turn's finished output items. Neighbouring texts of one phase share a message item."""
    encrypt = "reasoning.encrypted_content" in (request.body.get("include") or [])
    items: list[Item] = []
    previous: Text | None = None
    for block in turn.blocks:
        tail = f"{request.seq:04d}_{len(items)}"
        done = {"status": "completed"}
        if isinstance(block, Text):
            cited = [*map(dict, block.citations)]
            part = {"type": "output_text", "text": block.text, "annotations": cited, "logprobs": []}
            if previous is not None and previous.phase == block.phase:
                items[-1]["content"].append(part)
            else:
                phase = {"phase": block.phase} if block.phase else {}
                head = {"id": f"msg_{tail}", "type": "message", "role": "assistant", **done}
                items.append({**head, **phase, "content": [part]})
        elif isinstance(block, Reasoning):
            summary = [{"type": "summary_text", "text": text} for text in block.summaries]
            secret = {"encrypted_content": block.encrypted} if encrypt and block.encrypted else {}
            items.append({"id": f"rs_{tail}", "type": "reasoning", "summary": summary, **secret})
        elif isinstance(block, Made):
            items.append({"id": f"made_{tail}", **block.data})
        else:
            call = {"name": block.name, "arguments": block.json_args}
            call["call_id"] = block.id or f"call_{tail}"
            items.append({"id": f"fc_{tail}", "type": "function_call", **done, **call})
        previous = block if isinstance(block, Text) else None
    return items


def _opened(item: Item) -> Item:
    """An item as it is when it is added: empty, but already with the head of its ciphertext."""
    if item["type"] == "reasoning":
        secret = item.get("encrypted_content")
        return {**item, "summary": [], **({"encrypted_content": secret[:6]} if secret else {})}
    empty: Item = {"message": {"content": []}, "function_call": {"arguments": ""}}
    return {**item, "status": "in_progress", **empty.get(item["type"], {})}


def _reasoning_events(item: Item, turn: Turn) -> Iterator[tuple[str, Event]]:
    for number, part in enumerate(item["summary"]):
        at = {"summary_index": number}
        yield "reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
        for piece in turn.pieces(part["text"]):
            yield "reasoning_summary_text.delta", {**at, "delta": piece}
        yield "reasoning_summary_text.done", {**at, "text": part["text"]}
        yield "reasoning_summary_part.done", {**at, "part": part}


def _message_events(item: Item, turn: Turn) -> Iterator[tuple[str, Event]]:
    for number, part in enumerate(item["content"]):
        at = {"content_index": number}
        yield "content_part.added", {**at, "part": {**part, "text": "", "annotations": []}}
        for piece in turn.pieces(part["text"]):
            yield "output_text.delta", {**at, "delta": piece, "logprobs": []}
        for place, cited in enumerate(part["annotations"]):
            about = {"annotation_index": place, "annotation": cited}
            yield "output_text.annotation.added", {**at, **about}
        yield "output_text.done", {**at, "text": part["text"], "logprobs": []}
        yield "content_part.done", {**at, "part": part}


def _call_events(item: Item, turn: Turn) -> Iterator[tuple[str, Event]]:
    for piece in turn.pieces(item["arguments"]):
        yield "function_call_arguments.delta", {"delta": piece}
    done = {"arguments": item["arguments"], "name": item["name"]}
    yield "function_call_arguments.done", done


_EVENTS = {
    "reasoning": _reasoning_events,
    "message": _message_events,
    "function_call": _call_events,
}
