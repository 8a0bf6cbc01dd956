"""Ollama: `POST /api/chat`, newline-delimited JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kit.models.turns import Block, Call, Reasoning, Turn
from tests.kit.models.wires.base import Request, compact

if TYPE_CHECKING:
    from collections.abc import Iterator


class OllamaWire:
    content_type = "application/x-ndjson"

    def wants_stream(self, request: Request) -> bool:
        return bool(request.body.get("stream", True))

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        messages = [message for block in turn.blocks for message in _messages(block, turn)]
        if not (turn.finish_on_last and messages):
            messages.append(_message())
        for message in messages[:-1]:
            yield _line({**_envelope(request), "message": message, "done": False})
        yield _line({**_envelope(request), "message": messages[-1], **_end(turn)})

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        message = _message(turn.text)
        if turn.reasoning:
            message["thinking"] = turn.reasoning
        if turn.calls:
            message["tool_calls"] = [_call(call) for call in turn.calls]
        return {**_envelope(request), "message": message, **_end(turn)}

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": message}

    def stream_error(self, message: str, request: Request) -> bytes:
        return _line({"error": message})


def _line(data: dict[str, Any]) -> bytes:
    return f"{compact(data)}\n".encode()


def _envelope(request: Request) -> dict[str, Any]:
    return {"model": request.model, "created_at": "2026-01-02T03:04:05.678901Z"}


def _message(content: str = "") -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def _call(block: Call) -> dict[str, Any]:
    return {"function": {"name": block.name, "arguments": block.dict_args}}


def _messages(block: Block, turn: Turn) -> Iterator[dict[str, Any]]:
    if isinstance(block, Call):
        yield {**_message(), "tool_calls": [_call(block)]}
    elif isinstance(block, Reasoning):
        for piece in turn.pieces(block.joined):
            yield {**_message(), "thinking": piece}
    else:
        for piece in turn.pieces(block.text):
            yield _message(piece)


def _end(turn: Turn) -> dict[str, Any]:
    return {
        "done": True,
        "done_reason": "length" if turn.cut else "stop",
        "total_duration": 1_000_000,
        "load_duration": 1_000,
        "prompt_eval_count": turn.usage.input,
        "prompt_eval_duration": 1_000,
        "eval_count": turn.usage.output,
        "eval_duration": 1_000,
    }
