"""Ollama: `POST /api/chat`, newline-delimited JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.kit.models.turns import Block, Call, Reasoning, Turn
from tests.kit.models.wires.base import GIVEN, USED, Request, Wire, compact

END = {
    "done": True,
    "done_reason": "stop",
    "total_duration": 1_000_000,
    "load_duration": 1_000,
    "prompt_eval_count": USED,
    "prompt_eval_duration": 1_000,
    "eval_count": GIVEN,
    "eval_duration": 1_000,
}


class OllamaWire(Wire):
    content_type = "application/x-ndjson"

    def wants_stream(self, request: Request) -> bool:
        return bool(request.body.get("stream", True))

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        messages = [message for block in turn.blocks for message in _messages(block, turn)]
        if not (turn.finish_on_last and messages):
            messages.append({})
        for number, message in enumerate(messages, 1):
            end = END if number == len(messages) else {"done": False}
            yield _line(_answer(request, message, end))

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        calls = [_call(call) for call in turn.calls]
        said = {"content": turn.text, "thinking": turn.reasoning, "tool_calls": calls}
        return _answer(request, {key: value for key, value in said.items() if value}, END)


def _line(data: dict[str, Any]) -> bytes:
    return f"{compact(data)}\n".encode()


def _answer(request: Request, message: dict[str, Any], end: dict[str, Any]) -> dict[str, Any]:
    head = {"model": request.model, "created_at": "2026-01-02T03:04:05.678901Z"}
    return {**head, "message": {"role": "assistant", "content": "", **message}, **end}


def _call(block: Call) -> dict[str, Any]:
    return {"function": {"name": block.name, "arguments": dict(block.args)}}


def _messages(block: Block, turn: Turn) -> list[dict[str, Any]]:
    if isinstance(block, Call):
        return [{"tool_calls": [_call(block)]}]
    if isinstance(block, Reasoning):
        return [{"thinking": piece} for piece in turn.pieces(block.joined)]
    return [{"content": piece} for piece in turn.pieces(block.text)]  # type: ignore[union-attr]
