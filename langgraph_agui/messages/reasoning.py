"""The opaque side of a message: what a client must keep for the provider without reading it.

Signatures, redacted blocks, ciphertext and provider ids leave as `encryptedValue`s (AG-UI 1.0, reasoning): one on
each reasoning message, one on each signed tool call, one on the assistant message for what belongs to neither.
A value is base64url of compact JSON, `{"v": 1, "provider": ..., ...}`; bytes inside are `{"$bytes": base64}`.
"""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage

from langgraph_agui.messages.blocks import CALL_BLOCKS, REASONING_BLOCKS, Block

_GEMINI_SIGNATURES = "__gemini_function_call_thought_signatures__"
_WORDS = frozenset({"type", "index", "thinking", "reasoning", "summary", "text", "content"})
_ARGUMENTS = frozenset({"type", "index", "name", "args", "input", "arguments", "partial_json", "call_id", "status"})
_TEXT = frozenset({"type", "index", "text"})


class Opaque(NamedTuple):
    """The encoded values of one message.

    `reasoning` pairs the number of a reasoning item with its value, `calls` a tool call id with its value;
    `message` is the value of the assistant message itself.
    """

    reasoning: list[tuple[int, str]]
    calls: list[tuple[str, str]]
    message: str | None


def opaque(message: AIMessage) -> Opaque:
    """Collect what `message` carries besides words, thoughts and arguments.

    Args:
        message: A whole message; of a streamed one, the sum of its chunks.
    """
    provider = message.response_metadata.get("model_provider")
    content = message.content
    blocks = [] if isinstance(content, str) else [block for block in content if isinstance(block, dict)]
    reasoning = [
        (number, _encode(provider, "block", block)) for number, block in _reasoning(message.additional_kwargs, blocks)
    ]
    calls = [(call, _encode(provider, "call", rest)) for call, rest in _calls(message, blocks).items()]
    rest = _rest(message.additional_kwargs, blocks)
    return Opaque(reasoning, calls, _encode(provider, "message", rest) if rest else None)


def _reasoning(kwargs: Mapping[str, object], blocks: Sequence[Block]) -> Iterator[tuple[int, Block]]:
    """The opaque rest of each reasoning block, under the number of the block's first item."""
    number = 1 if kwargs.get("reasoning_content") else 0
    beside = kwargs.get("reasoning")
    if isinstance(beside, Mapping):
        blocks = [{**beside, "type": "reasoning"}, *blocks]
    for outer in blocks:
        value = outer.get("value") if outer.get("type") == "non_standard" else None
        block: Block = value if isinstance(value, Mapping) else outer
        if block.get("type") not in REASONING_BLOCKS:
            continue
        if rest := _without(block, _WORDS):
            yield number, {"type": block["type"], **rest}
        number += _items(block)


def _items(block: Block) -> int:
    summary = block.get("summary")
    return max(1, len(summary)) if isinstance(summary, list) else 1


def _without(block: Block, words: frozenset[str]) -> dict[str, object]:
    rest: dict[str, object] = {}
    for key, value in block.items():
        kept = _without(value, frozenset({"text"})) if isinstance(value, Mapping) else value
        if key not in words and kept not in (None, "", {}, []):
            rest[key] = kept
    if isinstance(block_id := rest.get("id"), str) and block_id.startswith("lc_"):
        del rest["id"]
    return rest


def _calls(message: AIMessage, blocks: Sequence[Block]) -> dict[str, dict[str, object]]:
    known = {call["id"] for call in [*message.tool_calls, *message.invalid_tool_calls] if call["id"]}
    found: dict[str, dict[str, object]] = {}
    for block in blocks:
        if block.get("type") not in CALL_BLOCKS:
            continue
        call_id = block.get("call_id") or block.get("id")
        rest = _without(block, _ARGUMENTS)
        if rest.get("id") == call_id:
            del rest["id"]
        if isinstance(call_id, str) and call_id in known and rest:
            found[call_id] = rest
    signatures = message.additional_kwargs.get(_GEMINI_SIGNATURES)
    if isinstance(signatures, Mapping):
        for call_id, signature in signatures.items():
            found.setdefault(call_id, {})["signature"] = signature
    return found


def _rest(kwargs: Mapping[str, object], blocks: Sequence[Block]) -> dict[str, object]:
    rest: dict[str, object] = {}
    if details := kwargs.get("reasoning_details"):
        rest["reasoning_details"] = details
    texts = [_without(block, _TEXT) for block in blocks if block.get("type") == "text"]
    if any(texts):
        rest["texts"] = texts
    return rest


def _encode(provider: object, slot: str, value: Block) -> str:
    envelope = {"v": 1, "provider": provider, slot: _plain(value)}
    text = json.dumps(envelope, separators=(",", ":"), ensure_ascii=False, default=str)
    return urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).rstrip(b"=").decode()


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return {"$bytes": b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
