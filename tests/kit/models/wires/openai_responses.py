"""OpenAI Responses: `POST /v1/responses`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kit.models.turns import Call, Reasoning, Text, Turn
from tests.kit.models.turns import Item as Made
from tests.kit.models.wires.base import CREATED, Request, sse

if TYPE_CHECKING:
    from collections.abc import Iterator

Item = dict[str, Any]
Event = dict[str, Any]


class OpenAIResponsesWire:
    content_type = "text/event-stream; charset=utf-8"

    def wants_stream(self, request: Request) -> bool:
        return bool(request.body.get("stream"))

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        for number, event in enumerate(self._events(turn, request)):
            yield sse({**event, "sequence_number": number}, event=event["type"])

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        return _response(request, status=_status(turn), output=_items(turn, request), turn=turn)

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": "server_error", "param": None, "code": None}}

    def stream_error(self, message: str, request: Request) -> bytes:
        event = {"type": "error", "code": "server_error", "message": message, "param": None}
        return sse({**event, "sequence_number": 9_999}, event="error")

    def _events(self, turn: Turn, request: Request) -> Iterator[Event]:
        opened = _response(request, status="in_progress", output=[])
        yield {"type": "response.created", "response": opened}
        yield {"type": "response.in_progress", "response": opened}
        for output_index, item in enumerate(_items(turn, request)):
            place = {"output_index": output_index}
            yield {"type": "response.output_item.added", **place, "item": _opened(item)}
            place["item_id"] = item["id"]
            if item["type"] == "reasoning":
                yield from _reasoning_events(item, turn, place)
            elif item["type"] == "message":
                yield from _message_events(item, turn, place)
            elif item["type"] == "function_call":
                yield from _call_events(item, turn, place)
            yield {"type": "response.output_item.done", "output_index": output_index, "item": item}
        kind = "response.incomplete" if turn.cut else "response.completed"
        yield {"type": kind, "response": self.whole(turn, request)}


def _status(turn: Turn) -> str:
    return "incomplete" if turn.cut else "completed"


def _response(
    request: Request, *, status: str, output: list[Item], turn: Turn | None = None
) -> Item:
    usage = None
    if turn is not None:
        usage = {
            "input_tokens": turn.usage.input,
            "input_tokens_details": {"cached_tokens": turn.usage.cached, "cache_write_tokens": 0},
            "output_tokens": turn.usage.output,
            "output_tokens_details": {"reasoning_tokens": turn.usage.reasoning},
            "total_tokens": turn.usage.total,
        }
    return {
        "id": f"resp_{request.seq:04d}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "max_output_tokens": None,
        "metadata": {},
        "model": request.model,
        "output": output,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": request.body.get("reasoning"),
        "store": request.body.get("store", True),
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": request.body.get("tools", []),
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": None,
    }


def _items(turn: Turn, request: Request) -> list[Item]:
    """The turn's finished output items. Neighbouring texts share a message item unless told
    otherwise."""
    encrypt = "reasoning.encrypted_content" in (request.body.get("include") or [])
    items: list[Item] = []
    previous: Text | None = None
    for block in turn.blocks:
        tail = f"{request.seq:04d}_{len(items)}"
        if isinstance(block, Text):
            cited = [*map(dict, block.citations)]
            part = {"type": "output_text", "text": block.text, "annotations": cited, "logprobs": []}
            if previous is not None and not block.new_item and previous.phase == block.phase:
                items[-1]["content"].append(part)
            else:
                item = {
                    "id": f"msg_{tail}",
                    "type": "message",
                    "status": "completed",
                    "role": "assistant",
                }
                phase = {"phase": block.phase} if block.phase else {}
                items.append({**item, **phase, "content": [part]})
            previous = block
            continue
        previous = None
        if isinstance(block, Reasoning):
            summary = [{"type": "summary_text", "text": text} for text in block.summaries]
            reasoning: Item = {"id": f"rs_{tail}", "type": "reasoning", "summary": summary}
            if encrypt and block.encrypted is not None:
                reasoning["encrypted_content"] = block.encrypted
            items.append(reasoning)
        elif isinstance(block, Made):
            items.append({"id": f"made_{tail}", **block.data})
        else:
            items.append(_call_item(block, tail))
    return items


def _call_item(block: Call, tail: str) -> Item:
    return {
        "id": f"fc_{tail}",
        "type": "function_call",
        "status": "completed",
        "arguments": block.json_args,
        "call_id": block.id or f"call_{tail}",
        "name": block.name,
    }


def _opened(item: Item) -> Item:
    """An item as it is when it is added: empty, but already with the head of its ciphertext."""
    if item["type"] == "reasoning":
        opened = {**item, "summary": []}
        if "encrypted_content" in item:
            opened["encrypted_content"] = item["encrypted_content"][:6]
        return opened
    if item["type"] not in ("message", "function_call"):
        return {**item, "status": "in_progress"}
    emptied: Item = {"content": []} if item["type"] == "message" else {"arguments": ""}
    return {**item, "status": "in_progress", **emptied}


def _reasoning_events(item: Item, turn: Turn, place: Event) -> Iterator[Event]:
    for summary_index, part in enumerate(item["summary"]):
        at = {**place, "summary_index": summary_index}
        yield {"type": "response.reasoning_summary_part.added", **at, "part": {**part, "text": ""}}
        for piece in turn.pieces(part["text"]):
            yield {"type": "response.reasoning_summary_text.delta", **at, "delta": piece}
        yield {"type": "response.reasoning_summary_text.done", **at, "text": part["text"]}
        yield {"type": "response.reasoning_summary_part.done", **at, "part": part}


def _message_events(item: Item, turn: Turn, place: Event) -> Iterator[Event]:
    for content_index, part in enumerate(item["content"]):
        at = {**place, "content_index": content_index}
        opened = {**part, "text": "", "annotations": []}
        yield {"type": "response.content_part.added", **at, "part": opened}
        for piece in turn.pieces(part["text"]):
            yield {"type": "response.output_text.delta", **at, "delta": piece, "logprobs": []}
        for number, annotation in enumerate(part["annotations"]):
            about = {"annotation_index": number, "annotation": annotation}
            yield {"type": "response.output_text.annotation.added", **at, **about}
        yield {"type": "response.output_text.done", **at, "text": part["text"], "logprobs": []}
        yield {"type": "response.content_part.done", **at, "part": part}


def _call_events(item: Item, turn: Turn, place: Event) -> Iterator[Event]:
    for piece in turn.pieces(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
    done = {"arguments": item["arguments"], "name": item["name"]}
    yield {"type": "response.function_call_arguments.done", **place, **done}
