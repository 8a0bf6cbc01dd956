"""Chat completions (`POST …/chat/completions`) and its dialects.

OpenAI, DeepSeek, xAI, Groq and OpenRouter send the same frames and differ in where reasoning and
usage go; Mistral also puts its thinking inside the content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.kit.models.turns import Block, Call, Item, Reasoning, Turn
from tests.kit.models.wires.base import CREATED, Request, sse

if TYPE_CHECKING:
    from collections.abc import Iterator

Delta = dict[str, Any]


class ChatWire:
    """OpenAI's own dialect, with the `reasoning_content` that compatible servers (DeepSeek, xAI)
    add."""

    content_type = "text/event-stream; charset=utf-8"
    answer_id = "chatcmpl"

    def wants_stream(self, request: Request) -> bool:
        return bool(request.body.get("stream"))

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        deltas = [self.opening(), *self.deltas(turn, request)]
        if not turn.finish_on_last:
            deltas.append(self.closing())
        for delta in deltas[:-1]:
            yield sse(self.chunk(request, delta))
        yield sse(self.last(turn, request, deltas[-1]))
        if (request.body.get("stream_options") or {}).get("include_usage"):
            yield sse({**self.chunk(request, None), "usage": self.usage(turn)})
        yield sse("[DONE]")

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        choice = {
            "index": 0,
            "message": self.message(turn, request),
            "finish_reason": self.finish(turn),
            "logprobs": None,
        }
        return {
            **self.envelope(request, "chat.completion"),
            "choices": [choice],
            "usage": self.usage(turn),
        }

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": {"message": message, "type": "server_error", "param": None, "code": None}}

    def stream_error(self, message: str, request: Request) -> bytes:
        return sse(self.error(500, message))

    # What a dialect changes.

    def opening(self) -> Delta:
        return {"role": "assistant", "content": "", "refusal": None}

    def closing(self) -> Delta:
        return {}

    def last(self, turn: Turn, request: Request, delta: Delta) -> dict[str, Any]:
        """The chunk with the finish reason."""
        return self.chunk(request, delta, self.finish(turn))

    def reasoning_deltas(self, block: Reasoning, index: int, turn: Turn) -> Iterator[Delta]:
        """The deltas of one stretch of reasoning; `index` counts what came before, see `width`."""
        for piece in turn.pieces(block.joined):
            yield {"reasoning_content": piece}

    def width(self, block: Reasoning) -> int:
        """How many indexes a stretch of reasoning takes up."""
        return 1

    def call_deltas(self, call: Call, index: int, call_id: str, turn: Turn) -> Iterator[Delta]:
        start = {
            "id": call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }
        yield {"tool_calls": [{"index": index, **start}]}
        for piece in turn.pieces(call.json_args):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}

    def message(self, turn: Turn, request: Request) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        if turn.reasoning:
            message["reasoning_content"] = turn.reasoning
        for item in turn.blocks:
            if isinstance(item, Item):
                message |= item.data
        return {**message, **self.whole_calls(turn, request)}

    # Shared by all of them.

    def deltas(self, turn: Turn, request: Request) -> Iterator[Delta]:
        calls = thoughts = 0
        for block in turn.blocks:
            if isinstance(block, Call):
                yield from self.call_deltas(block, calls, self.call_id(block, request, calls), turn)
                calls += 1
            elif isinstance(block, Reasoning):
                yield from self.reasoning_deltas(block, thoughts, turn)
                thoughts += self.width(block)
            else:
                yield from ({"content": piece} for piece in turn.pieces(block.text))

    def envelope(self, request: Request, kind: str) -> dict[str, Any]:
        answer_id = f"{self.answer_id}-{request.seq:04d}"
        return {"id": answer_id, "object": kind, "created": CREATED, "model": request.model}

    def chunk(
        self, request: Request, delta: Delta | None, finish: str | None = None
    ) -> dict[str, Any]:
        choices = []
        if delta is not None:
            choices = [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]
        return {**self.envelope(request, "chat.completion.chunk"), "choices": choices}

    def finish(self, turn: Turn) -> str:
        if turn.cut:
            return "length"
        return "tool_calls" if turn.calls else "stop"

    def usage(self, turn: Turn) -> dict[str, Any]:
        return {
            "prompt_tokens": turn.usage.input,
            "completion_tokens": turn.usage.output,
            "total_tokens": turn.usage.total,
            "prompt_tokens_details": {"cached_tokens": turn.usage.cached},
            "completion_tokens_details": {"reasoning_tokens": turn.usage.reasoning},
        }

    def call_id(self, call: Call, request: Request, index: int) -> str:
        return call.id or f"call_{request.seq:04d}_{index}"

    def whole_calls(self, turn: Turn, request: Request) -> dict[str, Any]:
        calls = [
            {
                "id": self.call_id(call, request, index),
                "type": "function",
                "function": {"name": call.name, "arguments": call.json_args},
            }
            for index, call in enumerate(turn.calls)
        ]
        return {"tool_calls": calls} if calls else {}


class GroqWire(ChatWire):
    """Groq: `reasoning` when the request asks for it parsed, and usage under `x_groq`."""

    def reasoning_deltas(self, block: Reasoning, index: int, turn: Turn) -> Iterator[Delta]:
        for piece in turn.pieces(block.joined):
            yield {"reasoning": piece, "channel": "analysis"}

    def last(self, turn: Turn, request: Request, delta: Delta) -> dict[str, Any]:
        groq = {"id": f"req_{request.seq:04d}", "usage": self.usage(turn)}
        return {**self.chunk(request, delta, self.finish(turn)), "x_groq": groq}

    def message(self, turn: Turn, request: Request) -> dict[str, Any]:
        message = super().message(turn, request)
        if "reasoning_content" in message:
            message["reasoning"] = message.pop("reasoning_content")
        return message


class XaiWire(ChatWire):
    """xAI: reasoning tokens are counted beside the completion's, not among them."""

    def usage(self, turn: Turn) -> dict[str, Any]:
        usage = super().usage(turn)
        return {**usage, "completion_tokens": turn.usage.output - turn.usage.reasoning}


class OpenRouterWire(ChatWire):
    """OpenRouter: `reasoning` for reading and `reasoning_details` for sending back."""

    answer_id = "gen"

    def envelope(self, request: Request, kind: str) -> dict[str, Any]:
        return {
            **super().envelope(request, kind),
            "provider": "Scripted",
            "system_fingerprint": None,
        }

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        yield b": OPENROUTER PROCESSING\n\n"
        yield from super().stream(turn, request)

    def opening(self) -> Delta:
        return {"role": "assistant", "content": ""}

    def closing(self) -> Delta:
        return {"role": "assistant", "content": ""}

    def stream_error(self, message: str, request: Request) -> bytes:
        return sse({**self.chunk(request, None), "error": {"code": 502, "message": message}})

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"error": {"code": status, "message": message}}

    def reasoning_deltas(self, block: Reasoning, index: int, turn: Turn) -> Iterator[Delta]:
        for detail in self._details(block, index):
            field = "text" if detail["type"] == "reasoning.text" else "summary"
            text = detail.pop(field, "")
            signature = detail.pop("signature", None)
            for piece in turn.pieces(text):
                yield {
                    "content": "",
                    "reasoning": piece,
                    "reasoning_details": [{**detail, field: piece}],
                }
            if signature is not None:
                yield {"content": "", "reasoning_details": [{**detail, "signature": signature}]}
            if "data" in detail:
                yield {"content": "", "reasoning_details": [detail]}

    def message(self, turn: Turn, request: Request) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        if turn.reasoning:
            message["reasoning"] = turn.reasoning
        details: list[Delta] = []
        for block in turn.blocks:
            if isinstance(block, Reasoning):
                details += self._details(block, len(details))
        if details:
            message["reasoning_details"] = details
        return {**message, **self.whole_calls(turn, request)}

    def width(self, block: Reasoning) -> int:
        return len(self._details(block, 0))

    def _details(self, block: Reasoning, index: int) -> list[Delta]:
        """The details of a stretch of reasoning, numbered across the whole answer."""
        if block.redacted is not None:
            return [_detail("encrypted", "anthropic-claude-v1", index, data=block.redacted)]
        if block.encrypted is None:
            signed = {} if block.signature is None else {"signature": block.signature}
            return [_detail("text", "anthropic-claude-v1", index, text=block.joined, **signed)]
        form = "openai-responses-v1"
        found = [_detail("summary", form, index, summary=block.joined)] if block.joined else []
        name = f"rs_{index}"
        return [
            *found,
            _detail("encrypted", form, index + len(found), data=block.encrypted, id=name),
        ]


def _detail(kind: str, form: str, index: int, **values: str) -> Delta:
    return {"type": f"reasoning.{kind}", "format": form, "index": index, **values}


class LiteLLMWire(ChatWire):
    """LiteLLM in front of Claude or Gemini: `thinking_blocks`, whose pieces have no index, and
    `provider_specific_fields`, also of calls and of their functions."""

    def reasoning_deltas(self, block: Reasoning, index: int, turn: Turn) -> Iterator[Delta]:
        if block.redacted is None:
            for piece in turn.pieces(block.joined):
                yield {"reasoning_content": piece, **_thinking(_thought(piece))}
            yield {"reasoning_content": "", **_thinking(_thought("", block.signature))}
        else:
            yield _thinking(_redacted(block.redacted))

    def call_deltas(self, call: Call, index: int, call_id: str, turn: Turn) -> Iterator[Delta]:
        for delta in super().call_deltas(call, index, call_id, turn):
            for piece in delta["tool_calls"]:
                if "id" in piece:
                    _sign_for_litellm(piece, call)
            yield delta

    def message(self, turn: Turn, request: Request) -> dict[str, Any]:
        nothing = {"annotations": [], "audio": None, "function_call": None, "images": None}
        message = {**super().message(turn, request), **nothing}
        blocks = [
            _thought(block.joined, block.signature)
            if block.redacted is None
            else _redacted(block.redacted)
            for block in turn.blocks
            if isinstance(block, Reasoning)
        ]
        for sent, call in zip(message.get("tool_calls", ()), turn.calls, strict=True):
            _sign_for_litellm(sent, call)
        return {**message, **_thinking(*blocks)} if blocks else message


def _thought(text: str, signature: str | None = None) -> Delta:
    return {"type": "thinking", "thinking": text, "signature": signature or ""}


def _redacted(data: str) -> Delta:
    return {"type": "redacted_thinking", "data": data}


def _thinking(*blocks: Delta) -> Delta:
    return {
        "thinking_blocks": [*blocks],
        "provider_specific_fields": {"thinking_blocks": [*blocks], "citations": None},
    }


def _sign_for_litellm(sent: Delta, call: Call) -> None:
    if call.signature is not None:
        fields = {"provider_specific_fields": {"thought_signature": call.signature}}
        sent.update(fields)
        sent["function"].update(fields)


class GeminiChatWire(ChatWire):
    """Gemini's OpenAI-compatible endpoint: signatures in `extra_content`, of messages and of
    calls. Calls come whole, and all of them have the index 0."""

    def deltas(self, turn: Turn, request: Request) -> Iterator[Delta]:
        yield from super().deltas(turn, request)
        if extra := self._extra(turn):
            yield {"content": "", **extra}

    def reasoning_deltas(self, block: Reasoning, index: int, turn: Turn) -> Iterator[Delta]:
        yield from ()

    def call_deltas(self, call: Call, index: int, call_id: str, turn: Turn) -> Iterator[Delta]:
        yield {"tool_calls": [{"index": 0, **self._call(call, call_id)}]}

    def message(self, turn: Turn, request: Request) -> dict[str, Any]:
        message = super().message(turn, request)
        message.pop("reasoning_content", None)
        return {**message, **self._extra(turn)}

    def whole_calls(self, turn: Turn, request: Request) -> dict[str, Any]:
        calls = [
            self._call(call, self.call_id(call, request, index))
            for index, call in enumerate(turn.calls)
        ]
        return {"tool_calls": calls} if calls else {}

    def _call(self, call: Call, call_id: str) -> Delta:
        function = {"name": call.name, "arguments": call.json_args}
        sent: Delta = {"id": call_id, "type": "function", "function": function}
        return {**sent, **_signed(call.signature)}

    def _extra(self, turn: Turn) -> Delta:
        signatures = [block.signature for block in turn.blocks if not isinstance(block, Call)]
        return _signed(next(filter(None, signatures), None))


def _signed(signature: str | None) -> Delta:
    if signature is None:
        return {}
    return {"extra_content": {"google": {"thought_signature": signature}}}


class MistralWire(ChatWire):
    """Mistral: thinking chunks inside the content, whole tool calls, usage on the finish chunk."""

    answer_id = "cmpl"

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        deltas = [self.opening(), *self.deltas(turn, request)]
        if not (turn.finish_on_last or turn.calls):
            deltas.append(self.closing())
        for delta in deltas[:-1]:
            yield sse(self.chunk(request, delta))
        yield sse({**self.chunk(request, deltas[-1], self.finish(turn)), "usage": self.usage(turn)})
        yield sse("[DONE]")

    def opening(self) -> Delta:
        return {"role": "assistant", "content": ""}

    def closing(self) -> Delta:
        return {"content": ""}

    def error(self, status: int, message: str) -> dict[str, Any]:
        return {"object": "error", "message": message, "type": "server_error", "code": status}

    def deltas(self, turn: Turn, request: Request) -> Iterator[Delta]:
        """All calls come in one delta, as the API sends them."""
        for block in turn.blocks:
            if not isinstance(block, Call):
                yield from ({"content": content} for content in _mistral_content(block, turn))
        if calls := self.whole_calls(turn, request).get("tool_calls"):
            indexed = [{**call, "index": index} for index, call in enumerate(calls)]
            yield {"content": "", "tool_calls": indexed}

    def call_id(self, call: Call, request: Request, index: int) -> str:
        return call.id or f"call{request.seq:03d}x{index}"[:9]

    def message(self, turn: Turn, request: Request) -> dict[str, Any]:
        content: Any = turn.text
        if turn.reasoning:
            content = [
                _mistral_chunk(block) for block in turn.blocks if not isinstance(block, Call)
            ]
        return {"role": "assistant", "content": content, **self.whole_calls(turn, request)}

    def usage(self, turn: Turn) -> dict[str, Any]:
        counts = super().usage(turn)
        return {key: counts[key] for key in ("prompt_tokens", "completion_tokens", "total_tokens")}


def _mistral_chunk(block: Block, piece: str | None = None) -> dict[str, Any]:
    if isinstance(block, Reasoning):
        text = block.joined if piece is None else piece
        return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
    assert not isinstance(block, Call)
    return {"type": "text", "text": block.text if piece is None else piece}


def _mistral_content(block: Block, turn: Turn) -> Iterator[Any]:
    """Thinking streams as a list of chunks, text as plain strings."""
    if isinstance(block, Reasoning):
        yield from ([_mistral_chunk(block, piece)] for piece in turn.pieces(block.joined))
    elif not isinstance(block, Call):
        yield from turn.pieces(block.text)
