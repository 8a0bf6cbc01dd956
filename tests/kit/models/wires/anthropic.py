"""Anthropic Messages: `POST /v1/messages`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.kit.models.turns import Block, Call, Item, Text, Turn
from tests.kit.models.wires.base import CACHED, GIVEN, USED, Request, Wire, compact, sse

USAGE = {
    "input_tokens": USED - CACHED,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": CACHED,
    "output_tokens": GIVEN,
}


class AnthropicWire(Wire):
    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        whole = self.whole(turn, request)
        ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield _event("message_start", message={**whole, "content": [], "stop_reason": None})
        yield _event("ping")
        for index, block in enumerate(whole["content"]):
            opening, deltas = _streamed(block, turn)
            kind = opening["type"]
            if turn.eager_start and deltas and kind in ("thinking", "text"):
                opening[kind] = deltas.pop(0)[kind]
            yield _event("content_block_start", index=index, content_block=opening)
            for delta in deltas:
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        yield _event("message_delta", delta=ended, usage=USAGE)
        yield _event("message_stop")

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        content = [_whole(block, request, index) for index, block in enumerate(turn.blocks)]
        head = {"id": f"msg_{request.seq:04d}", "type": "message", "role": "assistant"}
        end = {"stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None}
        return {**head, "model": request.model, "content": content, **end, "usage": USAGE}

    def error(self, status: int, message: str) -> dict[str, Any]:
        kind = "overloaded_error" if status in (503, 529) else "invalid_request_error"
        return {"type": "error", "error": {"type": kind, "message": message}}

    def stream_error(self, message: str, request: Request) -> bytes:
        return sse(self.error(529, message), event="error")


def _event(kind: str, **data: Any) -> bytes:
    return sse({"type": kind, **data}, event=kind)


def _streamed(block: dict[str, Any], turn: Turn) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block's start and its deltas."""
    kind = block["type"]
    if "input" in block:
        # The API opens every tool input with an empty delta, and leaves it at that for an empty
        # input.
        cuts = ["", *(turn.pieces(compact(block["input"])) if block["input"] else [])]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in cuts]
        return {**block, "input": {}}, deltas
    if kind not in ("text", "thinking"):
        return dict(block), []
    cited = [{"type": "citations_delta", "citation": one} for one in block.get("citations") or ()]
    said = [{"type": f"{kind}_delta", kind: piece} for piece in turn.pieces(block[kind])]
    signature = block.get("signature")
    signed = [{"type": "signature_delta", "signature": signature}] if signature else []
    empty = {"signature": ""} if kind == "thinking" else {"citations": []} if cited else {}
    return {"type": kind, kind: "", **empty}, [*cited, *said, *signed]


def _whole(block: Block, request: Request, index: int) -> dict[str, Any]:
    if isinstance(block, Call):
        call_id = block.id or f"toolu_{request.seq:04d}_{index}"
        return {"type": "tool_use", "id": call_id, "name": block.name, "input": dict(block.args)}
    if isinstance(block, Item):
        return dict(block.data)
    if isinstance(block, Text):
        cited = [*map(dict, block.citations)] or None
        return {"type": "text", "text": block.text, "citations": cited}
    if block.redacted is not None:
        return {"type": "redacted_thinking", "data": block.redacted}
    return {"type": "thinking", "thinking": block.joined, "signature": block.signature or ""}
