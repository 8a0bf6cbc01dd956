"""Gemini: `POST /v1beta/models/<model>:streamGenerateContent?alt=sse` and `:generateContent`."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from tests.kit.models.turns import Block, Call, Item, Reasoning, Turn
from tests.kit.models.wires.base import Request, sse

if TYPE_CHECKING:
    from collections.abc import Iterator

Part = dict[str, Any]


class GoogleWire:
    content_type = "text/event-stream"

    def wants_stream(self, request: Request) -> bool:
        return request.path.endswith(":streamGenerateContent")

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        chunks = list(_chunks(turn))
        if not (turn.finish_on_last and chunks):
            chunks.append([{"text": ""}])
        for parts in chunks[:-1]:
            yield _frame(_answer(turn, request, parts, finished=False))
        yield _frame(_answer(turn, request, chunks[-1], finished=True))

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        return _answer(turn, request, [_part(block) for block in turn.blocks], finished=True)

    def error(self, status: int, message: str) -> dict[str, Any]:
        name = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}.get(
            status, "INTERNAL"
        )
        return {"error": {"code": status, "message": message, "status": name}}

    def stream_error(self, message: str, request: Request) -> bytes:
        return _frame(self.error(503, message))


def _frame(data: dict[str, Any]) -> bytes:
    return sse(data, end="\r\n\r\n")


def _chunks(turn: Turn) -> Iterator[list[Part]]:
    """The parts of each streamed chunk."""
    for is_call, group in groupby(turn.blocks, key=lambda block: isinstance(block, Call)):
        if is_call:
            calls = [_part(block) for block in group]
            yield from [calls] if turn.calls_together else [[call] for call in calls]
            continue
        for block in group:
            whole = _part(block)
            if isinstance(block, Item):
                yield [whole]
                continue
            signature = whole.pop("thoughtSignature", None)
            parts = [{**whole, "text": piece} for piece in turn.pieces(whole["text"])] or [whole]
            if signature is not None:
                parts[-1]["thoughtSignature"] = signature
            yield from ([part] for part in parts)


def _part(block: Block) -> Part:
    if isinstance(block, Item):
        return dict(block.data)
    signed = {} if block.signature is None else {"thoughtSignature": block.signature}
    if isinstance(block, Call):
        call: dict[str, Any] = {"name": block.name, "args": block.dict_args}
        if block.id is not None:
            call["id"] = block.id
        return {"functionCall": call, **signed}
    if isinstance(block, Reasoning):
        return {"text": block.joined, "thought": True, **signed}
    return {"text": block.text, **signed}


def _answer(turn: Turn, request: Request, parts: list[Part], *, finished: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finished:
        candidate["finishReason"] = "MAX_TOKENS" if turn.cut else "STOP"
        if turn.grounding is not None:
            candidate["groundingMetadata"] = dict(turn.grounding)
    usage = {"promptTokenCount": turn.usage.input, "totalTokenCount": turn.usage.input}
    if finished:
        usage |= {
            "candidatesTokenCount": turn.usage.output - turn.usage.reasoning,
            "thoughtsTokenCount": turn.usage.reasoning,
            "cachedContentTokenCount": turn.usage.cached,
            "totalTokenCount": turn.usage.total,
        }
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": request.path.rsplit("/", 1)[-1].split(":")[0],
        "responseId": f"gemini-{request.seq:04d}",
    }
