"""``python -m benchmarks.value_sizes``: how long the encrypted values of one answer of each
provider's package are, without a seal."""

from typing import Any, Final

from langchain_core.messages import AIMessage

from langgraph_agui import ReasoningOptions, langchain_messages_to_agui

from .figures import table

THOUGHT: Final = "The user wants the weather, so I look it up before I answer. " * 30
ANSWER: Final = "It is sunny in Paris, with 24 °C and a light breeze from the west. " * 8
SIGNATURE: Final = "EqQB" + "c2ln" * 150
CIPHERTEXT: Final = "gAAA" + "Y2lw" * 200
RUN: Final = "lc_run--0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
CALL: Final = {"name": "get_weather", "args": {"city": "Paris", "days": 3}, "id": "toolu_01A2b3C4"}
ARGUMENTS: Final = '{"city": "Paris", "days": 3}'
LONG_CALL: Final = {**CALL, "args": {"text": "A paragraph of a document that is written. " * 120}}
TEXT: Final = {"type": "text", "text": ANSWER}


def _thinking(**more: object) -> dict[str, object]:
    return {"type": "thinking", "thinking": THOUGHT, **more}


def _tool_use(call: dict[str, Any]) -> dict[str, object]:
    return {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]}


def _answer(
    provider: str,
    content: Any,
    *calls: dict[str, Any],
    message_id: str = RUN,
    metadata: dict[str, object] | None = None,
    **kwargs: object,
) -> AIMessage:
    return AIMessage(
        content,
        id=message_id,
        tool_calls=list(calls),
        additional_kwargs=kwargs,
        response_metadata={"model_provider": provider, **(metadata or {})},
    )


_SUMMARY = {"type": "summary_text", "text": THOUGHT[:600], "index": 0}
_ITEM = {
    "type": "reasoning",
    "id": "rs_68af0123456789abcdef",
    "summary": [_SUMMARY],
    "encrypted_content": CIPHERTEXT,
}
_FUNCTION = {
    "type": "function_call",
    "id": "fc_68af0123456789abcdef",
    "call_id": CALL["id"],
    "name": CALL["name"],
    "arguments": ARGUMENTS,
}
_SIGNATURES = "__gemini_function_call_thought_signatures__"

ANSWERS: Final[dict[str, AIMessage]] = {
    "Anthropic, text and a call": _answer(
        "anthropic", [{**TEXT, "index": 0}, {**_tool_use(CALL), "index": 1}], CALL
    ),
    "Anthropic, thinking, text and a call": _answer(
        "anthropic",
        [
            _thinking(signature=SIGNATURE, index=0),
            {**TEXT, "index": 1},
            {**_tool_use(CALL), "index": 2, "partial_json": ARGUMENTS},
        ],
        CALL,
    ),
    "Anthropic, thinking twice, redacted once": _answer(
        "anthropic",
        [
            _thinking(signature=SIGNATURE, index=0),
            {"type": "redacted_thinking", "data": CIPHERTEXT, "index": 1},
            _thinking(signature=SIGNATURE, index=2),
            {**TEXT, "index": 3},
        ],
    ),
    "Anthropic, a call of 5 kB": _answer(
        "anthropic", [_thinking(signature=SIGNATURE), _tool_use(LONG_CALL)], LONG_CALL
    ),
    "Anthropic, five text blocks": _answer(
        "anthropic", [_thinking(signature=SIGNATURE), *[{**TEXT, "citations": []}] * 5]
    ),
    "Anthropic, `v1`": _answer(
        "anthropic",
        [
            {"type": "reasoning", "reasoning": THOUGHT, "extras": {"signature": SIGNATURE}},
            TEXT,
            {"type": "tool_call", **CALL},
        ],
        CALL,
        metadata={"output_version": "v1"},
    ),
    "OpenAI Responses": _answer(
        "openai",
        [_ITEM, {**TEXT, "id": "msg_68af0123456789abcdef"}, _FUNCTION],
        CALL,
        message_id="resp_68af0123456789abcdef",
        metadata={"id": "resp_68af0123456789abcdef"},
    ),
    "OpenAI Responses, three summary parts": _answer(
        "openai",
        [
            {**_ITEM, "summary": [{**_SUMMARY, "index": part} for part in range(3)]},
            {**TEXT, "id": "msg_68af0123456789abcdef"},
        ],
        message_id="resp_68af0123456789abcdef",
        metadata={"id": "resp_68af0123456789abcdef"},
    ),
    "OpenAI Responses, `v0`": _answer(
        "openai",
        [TEXT],
        CALL,
        message_id="msg_68af0123456789abcdef",
        reasoning=_ITEM,
        __openai_function_call_ids__={CALL["id"]: "fc_68af0123456789abcdef"},
    ),
    "Gemini": _answer(
        "google_genai",
        [_thinking(signature=SIGNATURE), {**TEXT, "extras": {"signature": SIGNATURE}}],
    ),
    "Gemini, a call": _answer(
        "google_genai", [_thinking()], CALL, **{_SIGNATURES: {CALL["id"]: SIGNATURE}}
    ),
    "Bedrock Converse": _answer(
        "bedrock_converse",
        [
            {
                "type": "reasoning_content",
                "reasoning_content": {"text": THOUGHT, "signature": SIGNATURE},
            },
            TEXT,
            _tool_use(CALL),
        ],
        CALL,
        metadata={"model_name": "anthropic.claude-sonnet-4-20250514-v1:0"},
    ),
    "OpenRouter": _answer(
        "openrouter",
        ANSWER,
        reasoning_content=THOUGHT,
        reasoning_details=[
            {"type": "reasoning.text", "text": THOUGHT, "signature": SIGNATURE, "index": 0}
        ],
    ),
    "DeepSeek, Ollama, Groq, xAI": _answer("deepseek", ANSWER, CALL, reasoning_content=THOUGHT),
    "Mistral": _answer(
        "mistralai",
        [{"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}, TEXT],
    ),
    "think tags": _answer("groq", f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}", CALL),
}


def length(message: AIMessage) -> int:
    """Return the length of the encrypted value of a message."""
    shown = langchain_messages_to_agui([message], reasoning=ReasoningOptions(think_tags=True))
    [value] = [one.encrypted_value for one in shown if one.encrypted_value]
    return len(value)


if __name__ == "__main__":
    print(
        table(
            ["answer", "characters"],
            [[name, f"{length(message):,}"] for name, message in ANSWERS.items()],
        )
    )
