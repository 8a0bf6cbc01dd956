"""Bedrock Converse: `POST /model/<id>/converse-stream` (binary event stream) and `/converse`."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import TYPE_CHECKING, Any

from tests.kit.models.turns import Block, Call, Reasoning, Text, Turn
from tests.kit.models.wires.base import Request, compact

if TYPE_CHECKING:
    from collections.abc import Iterator


class BedrockWire:
    content_type = "application/vnd.amazon.eventstream"

    def wants_stream(self, request: Request) -> bool:
        return request.path.endswith("/converse-stream")

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        yield _event("messageStart", {"role": "assistant"})
        for index, block in enumerate(turn.blocks):
            place = {"contentBlockIndex": index}
            if isinstance(block, Call):
                start = {"toolUseId": _call_id(block, request, index), "name": block.name}
                yield _event("contentBlockStart", {**place, "start": {"toolUse": start}})
            for delta in _deltas(block, turn):
                yield _event("contentBlockDelta", {**place, "delta": delta})
            yield _event("contentBlockStop", place)
        yield _event("messageStop", {"stopReason": _stop_reason(turn)})
        yield _event("metadata", {"usage": _usage(turn), "metrics": {"latencyMs": 1}})

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        content = [_whole(block, request, index) for index, block in enumerate(turn.blocks)]
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": _stop_reason(turn),
            "usage": _usage(turn),
            "metrics": {"latencyMs": 1},
        }

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"message": message}

    def stream_error(self, message: str, request: Request) -> bytes:
        headers = {":exception-type": "modelStreamErrorException", ":message-type": "exception"}
        return _frame(headers, {"message": message})


def _event(kind: str, payload: dict[str, Any]) -> bytes:
    return _frame({":event-type": kind, ":message-type": "event"}, payload)


def _frame(headers: dict[str, str], payload: dict[str, Any]) -> bytes:
    """One frame of Amazon's event stream encoding."""
    head = b"".join(_header(name, value) for name, value in headers.items())
    head += _header(":content-type", "application/json")
    body = compact(payload).encode()
    prelude = struct.pack("!II", 16 + len(head) + len(body), len(head))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + body
    return message + struct.pack("!I", zlib.crc32(message))


def _header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack("!B", len(key)) + key + struct.pack("!BH", 7, len(text)) + text


def _deltas(block: Block, turn: Turn) -> Iterator[dict[str, Any]]:
    if isinstance(block, Call):
        yield from ({"toolUse": {"input": piece}} for piece in turn.pieces(block.json_args))
    elif isinstance(block, Text):
        yield from ({"text": piece} for piece in turn.pieces(block.text))
    elif block.redacted is not None:
        yield {"reasoningContent": {"redactedContent": _base64(block.redacted)}}
    else:
        yield from ({"reasoningContent": {"text": piece}} for piece in turn.pieces(block.joined))
        if block.signature is not None:
            yield {"reasoningContent": {"signature": block.signature}}


def _whole(block: Block, request: Request, index: int) -> dict[str, Any]:
    if isinstance(block, Call):
        call = {
            "toolUseId": _call_id(block, request, index),
            "name": block.name,
            "input": block.dict_args,
        }
        return {"toolUse": call}
    if isinstance(block, Reasoning):
        if block.redacted is not None:
            return {"reasoningContent": {"redactedContent": _base64(block.redacted)}}
        signed = {} if block.signature is None else {"signature": block.signature}
        return {"reasoningContent": {"reasoningText": {"text": block.joined, **signed}}}
    return {"text": block.text}


def _base64(secret: str) -> str:
    return base64.b64encode(secret.encode()).decode()


def _call_id(call: Call, request: Request, index: int) -> str:
    return call.id or f"tooluse_{request.seq:04d}_{index}"


def _stop_reason(turn: Turn) -> str:
    if turn.cut:
        return "max_tokens"
    return "tool_use" if turn.calls else "end_turn"


def _usage(turn: Turn) -> dict[str, int]:
    return {
        "inputTokens": turn.usage.input,
        "outputTokens": turn.usage.output,
        "totalTokens": turn.usage.total,
    }
