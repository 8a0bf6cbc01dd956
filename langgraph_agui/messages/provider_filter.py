"""What passes between providers, and what other adapters than ours have put into `encryptedValue`.

`for_provider` takes LangChain messages and leaves out what their next reader did not make: signatures and ciphertext
mean something to one provider only, and some packages forward others' by accident. `from_bare_values` makes a
provider's own blocks of values without an envelope, when it is known whose they are.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage, BaseMessage

from langgraph_agui.messages.blocks import read_blocks
from langgraph_agui.messages.envelope import GEMINI_SIGNATURES
from langgraph_agui.messages.provider import maker_of
from langgraph_agui.messages.tool_calls import Call, to_langchain_calls


def for_provider(messages: Iterable[BaseMessage], *providers: str) -> list[BaseMessage]:
    """Return `messages` as a model of one of `providers` may be sent them.

    Args:
        messages: LangChain messages. One that says in `response_metadata["model_provider"]` that another provider
            made it keeps its text and calls, and loses its reasoning and all else; the rest is untouched.
        providers: Names of providers (`model_provider`: `"anthropic"`, `"openai"`, `"bedrock_converse"`, ...).
    """
    return [message if _made_by(message, providers) else _portable(message) for message in messages]


def _made_by(message: BaseMessage, providers: Sequence[str]) -> bool:
    source = maker_of(message.response_metadata) if isinstance(message, AIMessage) else None
    return source is None or source in providers


def _portable(message: BaseMessage) -> BaseMessage:
    """The text and calls of an assistant message, in the one form that every package takes."""
    assert isinstance(message, AIMessage)  # noqa: S101
    return AIMessage(
        "".join(part.text for part in read_blocks(message, whole=True) if part.kind == "text"),
        tool_calls=message.tool_calls,
        invalid_tool_calls=message.invalid_tool_calls,
        id=message.id,
        name=message.name,
    )


class Thought(NamedTuple):
    """A reasoning message of a foreign client: its id, its words, and the value that came with it."""

    id: str
    words: str
    value: str


class Bare(NamedTuple):
    """An assistant turn with values that have no envelope; `value` is the assistant message's own."""

    message_id: str
    text: str
    calls: Sequence[Call]
    thoughts: Sequence[Thought]
    signatures: Mapping[str, str]
    value: str | None = None
    name: str | None = None


def from_bare_values(turn: Bare, provider: str) -> AIMessage | None:
    """Return the message as `provider`'s package would have made it; None if that is not known of one of its values.

    The forms are those of the providers' own documents: Anthropic "Extended thinking", OpenAI "Reasoning items", Gemini
    "Thought signatures", Bedrock `ReasoningContentBlock`.
    """
    make = _BLOCKS.get(provider)
    if make is None or not _fits(turn, provider):
        return None
    blocks = [block for thought in turn.thoughts if (block := make(thought)) is not None]
    if len(blocks) < len(turn.thoughts):
        return None
    if turn.text or turn.value:
        signed = {"extras": {"signature": turn.value}} if turn.value else {}
        blocks.append({"type": "text", "text": turn.text, **signed})
    calls, invalid = to_langchain_calls(turn.calls)
    return AIMessage(
        content=list[str | dict[str, object]](blocks),
        additional_kwargs={GEMINI_SIGNATURES: dict(turn.signatures)} if turn.signatures else {},
        response_metadata={"model_provider": provider},
        tool_calls=calls,
        invalid_tool_calls=invalid,
        id=turn.message_id,
        name=turn.name,
    )


def _fits(turn: Bare, provider: str) -> bool:
    """Whether `provider` has values where the turn has them. Only Gemini's package reads them: they are base64."""
    others = [*turn.signatures.values(), *([turn.value] if turn.value else [])]
    if provider != "google_genai":
        return not others
    try:
        for value in [*others, *(thought.value for thought in turn.thoughts)]:
            b64decode(value, validate=True)
    except ValueError:
        return False
    return True


def _anthropic(thought: Thought) -> dict[str, object]:
    if thought.words:
        return {"type": "thinking", "thinking": thought.words, "signature": thought.value}
    return {"type": "redacted_thinking", "data": thought.value}


def _openai(thought: Thought) -> dict[str, object]:
    summary = [{"type": "summary_text", "text": thought.words}] if thought.words else []
    own_id = {"id": thought.id} if thought.id.startswith("rs_") else {}
    return {"type": "reasoning", **own_id, "summary": summary, "encrypted_content": thought.value}


def _google(thought: Thought) -> dict[str, object]:
    return {"type": "thinking", "thinking": thought.words, "signature": thought.value}


def _bedrock(thought: Thought) -> dict[str, object] | None:
    if not thought.words:
        return None  # redacted content is bytes, and how a foreign client writes bytes is not known
    return {"type": "reasoning_content", "reasoning_content": {"text": thought.words, "signature": thought.value}}


_BLOCKS = {
    "anthropic": _anthropic,
    "openai": _openai,
    "google_genai": _google,
    "bedrock_converse": _bedrock,
}
