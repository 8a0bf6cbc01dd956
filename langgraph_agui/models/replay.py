"""Give reasoning back to providers whose packages forget it.

LangChain's packages for DeepSeek, Groq and xAI read a model's reasoning but never send it back, and `ChatOpenAI` does
neither with the servers of others (vLLM, SGLang, Qwen, ...). The classes beside this module do both. They keep
reasoning where those packages do, in `additional_kwargs["reasoning_content"]`.

Here is what they share: which messages of a history go back with their reasoning, and under which name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

Replay: TypeAlias = Literal["tool_calls", "always", "never"]
"""Which assistant messages go back with their reasoning.

`"tool_calls"`: those with tool calls since the last user message, the loop that is going on. `"always"`: all.
"""

KEPT: Final = "reasoning_content"
"""Where messages keep it, in `additional_kwargs`."""


def chosen(history: Sequence[BaseMessage], replay: Replay) -> list[bool]:
    """Say of each message of `history` whether its reasoning goes back."""
    loop = max((number for number, message in enumerate(history) if isinstance(message, HumanMessage)), default=0)
    return [
        isinstance(message, AIMessage)
        and (
            replay == "always"
            or (replay == "tool_calls" and number >= loop and bool(message.tool_calls or message.invalid_tool_calls))
        )
        for number, message in enumerate(history)
    ]


def reasoning_of(message: BaseMessage, provider: str, model: str | None = None) -> str | None:
    """The reasoning that `message` keeps, unless another provider (or, if `model` is given, another model) made it.

    What one model thought is not put into another's mouth. A message that does not say who made it counts as one's own.
    """
    metadata = message.response_metadata
    if metadata.get("model_provider") not in (None, provider):
        return None
    if model is not None and metadata.get("model_name") not in (None, model):
        return None
    text = message.additional_kwargs.get(KEPT)
    return text if isinstance(text, str) else None


def give_back(
    sent: Sequence[dict[str, Any]],
    history: Sequence[BaseMessage],
    replay: Replay,
    *,
    name: str,
    provider: str,
    model: str | None = None,
    missing: str | None = None,
) -> None:
    """Put the reasoning of `history` into `sent`, the same messages as the package serialised them.

    Args:
        sent: One dict for each message of `history`; they are changed.
        history: The messages.
        replay: Which of them.
        name: The field that the API calls it.
        provider: Whose reasoning the API takes.
        model: Of which model; None for any of the provider.
        missing: What chosen messages without reasoning say in that field; None for no field.
    """
    for body, message, wanted in zip(sent, history, chosen(history, replay), strict=True):
        if wanted and (text := reasoning_of(message, provider, model) or missing) is not None:
            body[name] = text


def heard(said: object, names: Sequence[str]) -> tuple[str, str] | None:
    """The reasoning in an answer's message or delta and the first of `names` under which it is; None without any."""
    for name in names:
        text = said.get(name) if isinstance(said, Mapping) else getattr(said, name, None)
        if isinstance(text, str) and text:
            return name, text
    return None
