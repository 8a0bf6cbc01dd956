"""Chat completions (`POST …/chat/completions`) and its dialects.

OpenAI, DeepSeek, xAI, Groq and OpenRouter send the same frames and differ in where reasoning and
usage go; Mistral also puts its thinking inside the content.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.kit.models.turns import Block, Call, Item, Reasoning, Turn
from tests.kit.models.wires.base import CACHED, CREATED, GIVEN, THOUGHT, USED, Request, Wire, sse

Delta = dict[str, Any]
COUNTS = {"prompt_tokens": USED, "completion_tokens": GIVEN, "total_tokens": USED + GIVEN}


class ChatWire(Wire):
    """OpenAI's own dialect, with the `reasoning_content` that compatible servers (DeepSeek, xAI)
    add. The upper members are what a dialect changes."""

    answer_id = "chatcmpl"
    field = "reasoning_content"
    opening: Delta = {"role": "assistant", "content": "", "refusal": None}  # noqa: RUF012
    closing: Delta = {}  # noqa: RUF012
    usage: Delta = {  # noqa: RUF012
        **COUNTS,
        "prompt_tokens_details": {"cached_tokens": CACHED},
        "completion_tokens_details": {"reasoning_tokens": THOUGHT},
    }

    def last(self, turn: Turn, request: Request, delta: Delta) -> dict[str, Any]:
        """The chunk with the finish reason."""
        return self.chunk(request, delta, finish(turn))

    def reasoning_deltas(self, block: Reasoning, index: int, turn: Turn) -> Iterator[Delta]:
        """The deltas of one stretch of reasoning; `index` counts what came before, see `width`."""
        yield from ({self.field: piece} for piece in turn.pieces(block.joined))

    def width(self, block: Reasoning) -> int:
        """How many indexes a stretch of reasoning takes up."""
        return 1

    def call_deltas(self, call: Call, index: int, call_id: str, turn: Turn) -> Iterator[Delta]:
        start = {"id": call_id, "type": "function", "function": {"name": call.name}}
        start["function"]["arguments"] = ""  # type: ignore[index]
        for piece in [start, *({"function": {"arguments": cut}} for cut in turn.pieces(call.json_args))]:  # fmt: skip
            yield {"tool_calls": [{"index": index, **piece}]}

    def call(self, call: Call, call_id: str) -> Delta:
        function = {"name": call.name, "arguments": call.json_args}
        return {"id": call_id, "type": "function", "function": function}

    def call_id(self, call: Call, request: Request, index: int) -> str:
        return call.id or f"call_{request.seq:04d}_{index}"

    def message(self, turn: Turn, request: Request) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        if turn.reasoning and self.field:
            message[self.field] = turn.reasoning
        for item in turn.of(Item):
            message |= item.data
        return {**message, **self.whole_calls(turn, request)}

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
                yield from ({"content": piece} for piece in turn.pieces(block.text))  # type: ignore[union-attr]

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        deltas = [self.opening, *self.deltas(turn, request)]
        if not turn.finish_on_last:
            deltas.append(self.closing)
        for delta in deltas[:-1]:
            yield sse(self.chunk(request, delta))
        yield sse(self.last(turn, request, deltas[-1]))
        if (request.body.get("stream_options") or {}).get("include_usage"):
            yield sse({**self.chunk(request, None), "usage": self.usage})
        yield sse("[DONE]")

    def whole(self, turn: Turn, request: Request) -> dict[str, Any]:
        choice = {"index": 0, "message": self.message(turn, request), "logprobs": None}
        choices = [{**choice, "finish_reason": finish(turn)}]
        return {**self.envelope(request), "choices": choices, "usage": self.usage}

    def envelope(self, request: Request, kind: str = "chat.completion") -> dict[str, Any]:
        answer_id = f"{self.answer_id}-{request.seq:04d}"
        return {"id": answer_id, "object": kind, "created": CREATED, "model": request.model}

    def chunk(self, request: Request, delta: Delta | None, reason: str | None = None) -> Delta:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        choices = [] if delta is None else [choice]
        return {**self.envelope(request, "chat.completion.chunk"), "choices": choices}

    def whole_calls(self, turn: Turn, request: Request) -> dict[str, Any]:
        calls = [
            self.call(call, self.call_id(call, request, index))
            for index, call in enumerate(turn.calls)
        ]
        return {"tool_calls": calls} if calls else {}


def finish(turn: Turn) -> str:
    return "tool_calls" if turn.calls else "stop"


class GroqWire(ChatWire):
    """Groq: `reasoning` when the request asks for it parsed, and usage under `x_groq`."""

    field = "reasoning"

    def last(self, turn: Turn, request: Request, delta: Delta) -> dict[str, Any]:
        groq = {"id": f"req_{request.seq:04d}", "usage": self.usage}
        return {**super().last(turn, request, delta), "x_groq": groq}


class XaiWire(ChatWire):
    """xAI: reasoning tokens are counted beside the completion's, not among them."""

    usage = {**ChatWire.usage, "completion_tokens": GIVEN - THOUGHT}  # noqa: RUF012


class OpenRouterWire(ChatWire):
    """OpenRouter: `reasoning` for reading and `reasoning_details` for sending back."""

    answer_id = "gen"
    field = "reasoning"
    opening = closing = {"role": "assistant", "content": ""}  # noqa: RUF012

    def envelope(self, request: Request, kind: str = "chat.completion") -> dict[str, Any]:
        return {**super().envelope(request, kind), "system_fingerprint": None}

    def reasoning_deltas(self, block: Reasoning, index: int, turn: Turn) -> Iterator[Delta]:
        for detail in self._details(block, index):
            field = "text" if detail["type"] == "reasoning.text" else "summary"
            text, signature = detail.pop(field, ""), detail.pop("signature", None)
            for piece in turn.pieces(text):
                details = {"reasoning_details": [{**detail, field: piece}]}
                yield {"content": "", "reasoning": piece, **details}
            if signature is not None:
                yield {"content": "", "reasoning_details": [{**detail, "signature": signature}]}
            if "data" in detail:
                yield {"content": "", "reasoning_details": [detail]}

    def message(self, turn: Turn, request: Request) -> dict[str, Any]:
        details: list[Delta] = []
        for block in turn.of(Reasoning):
            details += self._details(block, len(details))
        return {**super().message(turn, request), **({"reasoning_details": details} if details else {})}  # fmt: skip

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
        secret = {"data": block.encrypted, "id": f"rs_{index}"}
        return [*found, _detail("encrypted", form, index + len(found), **secret)]


def _detail(kind: str, form: str, index: int, **values: str) -> Delta:
    return {"type": f"reasoning.{kind}", "format": form, "index": index, **values}


class LiteLLMWire(ChatWire):
    """LiteLLM in front of Claude or Gemini: `thinking_blocks`, whose pieces have no index, and
    `provider_specific_fields`, also of calls and of their functions."""

    def reasoning_deltas(self, block: Reasoning, index: int, turn: Turn) -> Iterator[Delta]:
        if block.redacted is not None:
            yield _thinking(_thought(block))
            return
        for piece in turn.pieces(block.joined):
            yield {"reasoning_content": piece, **_thinking(_thought(Reasoning(piece)))}
        ending = _thought(Reasoning(signature=block.signature))
        yield {"reasoning_content": "", **_thinking(ending)}

    def call_deltas(self, call: Call, index: int, call_id: str, turn: Turn) -> Iterator[Delta]:
        start, *rest = super().call_deltas(call, index, call_id, turn)
        yield {"tool_calls": [_sign_for_litellm(start["tool_calls"][0], call)]}
        yield from rest

    def call(self, call: Call, call_id: str) -> Delta:
        return _sign_for_litellm(super().call(call, call_id), call)

    def message(self, turn: Turn, request: Request) -> dict[str, Any]:
        message = {**super().message(turn, request), "annotations": [], "audio": None}
        blocks = [_thought(block) for block in turn.of(Reasoning)]
        return {**message, **(_thinking(*blocks) if blocks else {})}


def _thought(block: Reasoning) -> Delta:
    if block.redacted is not None:
        return {"type": "redacted_thinking", "data": block.redacted}
    return {"type": "thinking", "thinking": block.joined, "signature": block.signature or ""}


def _thinking(*blocks: Delta) -> Delta:
    more = {"thinking_blocks": [*blocks], "citations": None}
    return {"thinking_blocks": [*blocks], "provider_specific_fields": more}


def _sign_for_litellm(sent: Delta, call: Call) -> Delta:
    if call.signature is None:
        return sent
    fields = {"provider_specific_fields": {"thought_signature": call.signature}}
    return {**sent, **fields, "function": {**sent["function"], **fields}}


class GeminiChatWire(ChatWire):
    """Gemini's OpenAI-compatible endpoint: signatures in `extra_content`, of messages and of
    calls. Calls come whole, and all of them have the index 0."""

    field = ""

    def deltas(self, turn: Turn, request: Request) -> Iterator[Delta]:
        yield from super().deltas(turn, request)
        if extra := self._extra(turn):
            yield {"content": "", **extra}

    def reasoning_deltas(self, block: Reasoning, index: int, turn: Turn) -> Iterator[Delta]:
        yield from ()

    def call_deltas(self, call: Call, index: int, call_id: str, turn: Turn) -> Iterator[Delta]:
        yield {"tool_calls": [{"index": 0, **self.call(call, call_id)}]}

    def message(self, turn: Turn, request: Request) -> dict[str, Any]:
        return {**super().message(turn, request), **self._extra(turn)}

    def call(self, call: Call, call_id: str) -> Delta:
        return {**super().call(call, call_id), **_signed(call.signature)}

    def _extra(self, turn: Turn) -> Delta:
        signatures = [block.signature for block in turn.blocks if not isinstance(block, Call)]  # type: ignore[union-attr]
        return _signed(next(filter(None, signatures), None))


def _signed(signature: str | None) -> Delta:
    if signature is None:
        return {}
    return {"extra_content": {"google": {"thought_signature": signature}}}


class MistralWire(ChatWire):
    """Mistral: thinking chunks inside the content, whole tool calls, usage on the finish chunk."""

    answer_id = "cmpl"
    opening = {"role": "assistant", "content": ""}  # noqa: RUF012
    closing = {"content": ""}  # noqa: RUF012
    usage = COUNTS

    def stream(self, turn: Turn, request: Request) -> Iterator[bytes]:
        deltas = [self.opening, *self.deltas(turn, request)]
        if not (turn.finish_on_last or turn.calls):
            deltas.append(self.closing)
        for delta in deltas[:-1]:
            yield sse(self.chunk(request, delta))
        yield sse({**self.last(turn, request, deltas[-1]), "usage": self.usage})
        yield sse("[DONE]")

    def deltas(self, turn: Turn, request: Request) -> Iterator[Delta]:
        """Thinking streams as a list of chunks, text as plain strings; all calls come in one delta,
        as the API sends them."""
        for block in turn.blocks:
            if isinstance(block, Reasoning):
                cuts = turn.pieces(block.joined)
                yield from ({"content": [_mistral_chunk(Reasoning(piece))]} for piece in cuts)
            elif not isinstance(block, Call):
                yield from ({"content": piece} for piece in turn.pieces(block.text))  # type: ignore[union-attr]
        if calls := self.whole_calls(turn, request).get("tool_calls"):
            indexed = [{**call, "index": index} for index, call in enumerate(calls)]
            yield {"content": "", "tool_calls": indexed}

    def call_id(self, call: Call, request: Request, index: int) -> str:
        return call.id or f"call{request.seq:03d}x{index}"[:9]

    def message(self, turn: Turn, request: Request) -> dict[str, Any]:
        content: Any = turn.text
        if turn.reasoning:
            content = [_mistral_chunk(one) for one in turn.blocks if not isinstance(one, Call)]
        return {"role": "assistant", "content": content, **self.whole_calls(turn, request)}


def _mistral_chunk(block: Block) -> dict[str, Any]:
    if isinstance(block, Reasoning):
        return {"type": "thinking", "thinking": [{"type": "text", "text": block.joined}]}
    return {"type": "text", "text": block.text}  # type: ignore[union-attr]
