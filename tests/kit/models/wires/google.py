"""Gemini: `POST /v1beta/models/<model>:streamGenerateContent?alt=sse` and `:generateContent`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from tests.kit.models.turns import Block, Call, Item, Reasoning, Turn
from tests.kit.models.wires.base import CACHED, GIVEN, THOUGHT, USED, Request, Wire, sse

Part = dict[str, Any]
USAGE = {
    "promptTokenCount": USED,
    "cachedContentTokenCount": CACHED,
    "thoughtsTokenCount": THOUGHT,
    "candidatesTokenCount": GIVEN - THOUGHT,
    "totalTokenCount": USED + GIVEN,
}


class GoogleWire(Wire):
    def wants_stream(self, request: Request) -> bool:
        return request.path.endswith(":streamGenerateContent")

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        chunks = [*_chunks(turn)]
        if not (turn.finish_on_last and chunks):
            chunks.append([{"text": ""}])
        for number, parts in enumerate(chunks, 1):
            answer = _answer(turn, request, parts, finished=number == len(chunks))
            yield sse(answer, end="\r\n\r\n")

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        return _answer(turn, request, [*map(_part, turn.blocks)], finished=True)


def _chunks(turn: Turn) -> Iterator[list[Part]]:
    """The parts of each streamed chunk."""
    for is_call, group in groupby(turn.blocks, key=lambda block: isinstance(block, Call)):
        wholes = [_part(block) for block in group]
        if is_call:
            yield from [wholes] if turn.calls_together else [[call] for call in wholes]
            continue
        for whole in wholes:
            signature = whole.pop("thoughtSignature", None)
            parts = [{**whole, "text": piece} for piece in turn.pieces(whole.get("text", ""))]
            parts = parts or [whole]
            if signature is not None:
                parts[-1]["thoughtSignature"] = signature
            yield from ([part] for part in parts)


def _part(block: Block) -> Part:
    if isinstance(block, Item):
        return dict(block.data)
    signed = {} if block.signature is None else {"thoughtSignature": block.signature}
    if isinstance(block, Call):
        call_id = {} if block.id is None else {"id": block.id}
        return {"functionCall": {"name": block.name, "args": dict(block.args), **call_id}, **signed}
    if isinstance(block, Reasoning):
        return {"text": block.joined, "thought": True, **signed}
    return {"text": block.text, **signed}


def _answer(turn: Turn, request: Request, parts: list[Part], *, finished: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if finished:
        candidate["finishReason"] = "STOP"
        if turn.grounding is not None:
            candidate["groundingMetadata"] = dict(turn.grounding)
    return {
        "candidates": [candidate],
        "usageMetadata": USAGE if finished else {**USAGE, "candidatesTokenCount": 0},
        "modelVersion": request.path.rsplit("/", 1)[-1].split(":")[0],
        "responseId": f"gemini-{request.seq:04d}",
    }
