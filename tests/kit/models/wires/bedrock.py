"""Bedrock Converse: `POST /model/<id>/converse-stream` (binary event stream) and `/converse`."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from tests.kit.models.turns import Block, Call, Reasoning, Turn
from tests.kit.models.wires.base import GIVEN, USED, Request, Wire, compact

USAGE = {"inputTokens": USED, "outputTokens": GIVEN, "totalTokens": USED + GIVEN}
METRICS = {"latencyMs": 1}


class BedrockWire(Wire):
    content_type = "application/vnd.amazon.eventstream"

    def wants_stream(self, request: Request) -> bool:
        return request.path.endswith("/converse-stream")

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        whole = self.whole(turn, request)
        yield _event("messageStart", {"role": "assistant"})
        for index, block in enumerate(whole["output"]["message"]["content"]):
            place = {"contentBlockIndex": index}
            if call := block.get("toolUse"):
                start = {"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}}
                yield _event("contentBlockStart", {**place, "start": start})
            for delta in _deltas(block, turn):
                yield _event("contentBlockDelta", {**place, "delta": delta})
            yield _event("contentBlockStop", place)
        yield _event("messageStop", {"stopReason": whole["stopReason"]})
        yield _event("metadata", {"usage": USAGE, "metrics": METRICS})

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        content = [_whole(block, request, index) for index, block in enumerate(turn.blocks)]
        message = {"message": {"role": "assistant", "content": content}}
        stop = "tool_use" if turn.calls else "end_turn"
        return {"output": message, "stopReason": stop, "usage": USAGE, "metrics": METRICS}


def _event(kind: str, payload: dict[str, Any]) -> bytes:
    """One frame of Amazon's event stream encoding."""
    headers = {":event-type": kind, ":message-type": "event", ":content-type": "application/json"}
    head, body = b"".join(map(_header, headers.items())), compact(payload).encode()
    prelude = struct.pack("!II", 16 + len(head) + len(body), len(head))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + body
    return message + struct.pack("!I", zlib.crc32(message))


def _header(given: tuple[str, str]) -> bytes:
    key, text = (one.encode() for one in given)
    return struct.pack("!B", len(key)) + key + struct.pack("!BH", 7, len(text)) + text


def _deltas(block: dict[str, Any], turn: Turn) -> Iterator[dict[str, Any]]:
    if "text" in block:
        yield from ({"text": piece} for piece in turn.pieces(block["text"]))
    elif call := block.get("toolUse"):
        args = turn.pieces(compact(call["input"]))
        yield from ({"toolUse": {"input": piece}} for piece in args)
    elif thought := block["reasoningContent"].get("reasoningText"):
        said = turn.pieces(thought["text"])
        yield from ({"reasoningContent": {"text": piece}} for piece in said)
        if "signature" in thought:
            yield {"reasoningContent": {"signature": thought["signature"]}}
    else:
        yield block


def _whole(block: Block, request: Request, index: int) -> dict[str, Any]:
    if isinstance(block, Call):
        call_id = block.id or f"tooluse_{request.seq:04d}_{index}"
        call = {"toolUseId": call_id, "name": block.name, "input": dict(block.args)}
        return {"toolUse": call}
    if not isinstance(block, Reasoning):
        return {"text": block.text}  # type: ignore[union-attr]
    if block.redacted is not None:
        redacted = base64.b64encode(block.redacted.encode()).decode()
        return {"reasoningContent": {"redactedContent": redacted}}
    signed = {} if block.signature is None else {"signature": block.signature}
    return {"reasoningContent": {"reasoningText": {"text": block.joined, **signed}}}
