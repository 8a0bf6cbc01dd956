"""Anthropic Messages: `POST /v1/messages`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.kit.models.turns import Block, Call, Item, Text, Turn
from tests.kit.models.wires.base import Request, sse

if TYPE_CHECKING:
    from collections.abc import Iterator


class AnthropicWire:
    content_type = "text/event-stream; charset=utf-8"

    def wants_stream(self, request: Request) -> bool:
        return bool(request.body.get("stream"))

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        start = {**_envelope(turn, request), "content": [], "stop_reason": None}
        start["usage"] = {**_usage(turn), "output_tokens": 1}
        yield _event("message_start", message=start)
        yield _event("ping")
        for index, block in enumerate(turn.blocks):
            opening, deltas = _streamed(block, turn, request, index)
            if turn.eager_start and deltas and (field := _EAGER.get(opening["type"])):
                opening = {**opening, field: deltas[0][field]}
                deltas = deltas[1:]
            yield _event("content_block_start", index=index, content_block=opening)
            for delta in deltas:
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        yield _event(
            "message_delta",
            delta={"stop_reason": _stop_reason(turn), "stop_sequence": None},
            usage=_usage(turn),
        )
        yield _event("message_stop")

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        return {
            **_envelope(turn, request),
            "content": [_whole(block, request, index) for index, block in enumerate(turn.blocks)],
            "stop_reason": _stop_reason(turn),
            "usage": _usage(turn),
        }

    def error(self, status: int, message: str) -> dict[str, Any]:
        kind = {400: "invalid_request_error", 429: "rate_limit_error", 529: "overloaded_error"}
        return {
            "type": "error",
            "error": {"type": kind.get(status, "api_error"), "message": message},
        }

    def stream_error(self, message: str, request: Request) -> bytes:
        return _event("error", error={"type": "overloaded_error", "message": message})


_EAGER = {"thinking": "thinking", "text": "text"}


def _event(kind: str, **data: Any) -> bytes:
    return sse({"type": kind, **data}, event=kind)


def _envelope(turn: Turn, request: Request) -> dict[str, Any]:
    return {
        "id": f"msg_{request.seq:04d}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "stop_sequence": None,
    }


def _usage(turn: Turn) -> dict[str, int]:
    return {
        "input_tokens": turn.usage.input - turn.usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": turn.usage.cached,
        "output_tokens": turn.usage.output,
    }


def _stop_reason(turn: Turn) -> str:
    if turn.cut:
        return "max_tokens"
    return "tool_use" if turn.calls else "end_turn"


def _call_id(block: Call, request: Request, index: int) -> str:
    return block.id or f"toolu_{request.seq:04d}_{index}"


def _streamed(
    block: Block, turn: Turn, request: Request, index: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block's start and its deltas."""
    if isinstance(block, Call):
        start = {
            "type": "tool_use",
            "id": _call_id(block, request, index),
            "name": block.name,
            "input": {},
        }
        # The API opens every tool input with an empty delta, and leaves it at that for an empty
        # input.
        cuts = ["", *(turn.pieces(block.json_args) if block.args else [])]
        return start, [{"type": "input_json_delta", "partial_json": piece} for piece in cuts]
    if isinstance(block, Item):
        data = dict(block.data)
        if "input" not in data:
            return data, []
        cuts = ["", *turn.pieces(json.dumps(data["input"]))]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in cuts]
        return {**data, "input": {}}, deltas
    if isinstance(block, Text):
        deltas = [{"type": "citations_delta", "citation": dict(cited)} for cited in block.citations]
        deltas += [{"type": "text_delta", "text": piece} for piece in turn.pieces(block.text)]
        cited = {"citations": []} if block.citations else {}
        return {"type": "text", "text": "", **cited}, deltas
    if block.redacted is not None:
        return {"type": "redacted_thinking", "data": block.redacted}, []
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in turn.pieces(block.joined)]
    if block.signature is not None:
        deltas.append({"type": "signature_delta", "signature": block.signature})
    return {"type": "thinking", "thinking": "", "signature": ""}, deltas


def _whole(block: Block, request: Request, index: int) -> dict[str, Any]:
    if isinstance(block, Call):
        call_id = _call_id(block, request, index)
        return {"type": "tool_use", "id": call_id, "name": block.name, "input": block.dict_args}
    if isinstance(block, Item):
        return dict(block.data)
    if isinstance(block, Text):
        cited = [*map(dict, block.citations)] or None
        return {"type": "text", "text": block.text, "citations": cited}
    if block.redacted is not None:
        return {"type": "redacted_thinking", "data": block.redacted}
    return {"type": "thinking", "thinking": block.joined, "signature": block.signature or ""}
