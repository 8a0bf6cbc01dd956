"""Send reasoning back to providers whose packages forget it.

LangChain's packages for DeepSeek, Groq and xAI read a model's reasoning but never send it back.
`ChatOpenAI` does neither with the servers of others (vLLM, SGLang, Qwen, ...). The classes next to
this module do both. They keep reasoning where those packages do, in
`additional_kwargs["reasoning_content"]`. This module has what they share: which messages of a
history go back with their reasoning, and under which name.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langgraph_agui.messages.blocks import REASONING_KWARG

# Which assistant messages go back with their reasoning. `"tool_calls"`: those with tool calls since
# the last user message, the current loop. `"always"`: all.
Replay: TypeAlias = Literal["tool_calls", "always", "never"]

# The field of requests in which most servers take reasoning.
REASONING_FIELD: Final = "reasoning_content"


def chosen(history: Sequence[BaseMessage], replay: Replay) -> list[bool]:
    """Return for each message of `history` whether its reasoning goes back."""
    loop = max(
        (number for number, message in enumerate(history) if isinstance(message, HumanMessage)),
        default=0,
    )
    return [
        isinstance(message, AIMessage)
        and (
            replay == "always"
            or (
                replay == "tool_calls"
                and number >= loop
                and bool(message.tool_calls or message.invalid_tool_calls)
            )
        )
        for number, message in enumerate(history)
    ]


def give_back(
    sent: Sequence[dict[str, Any]],
    history: Sequence[BaseMessage],
    replay: Replay,
    name: str,
    provider: str,
    *,
    model: str | None = None,
    missing: str | None = None,
) -> None:
    """Put the reasoning of `history` into `sent`, the same messages as the package serialised them.

    A message that does not name its provider or model counts as the reader's own.

    Args:
        sent: One dict for each message of `history`; they are changed.
        history: The messages.
        replay: Which of them.
        name: The name of the API's field for reasoning.
        provider: Whose reasoning the API takes.
        model: The model whose reasoning it takes; None for any of the provider.
        missing: The value of that field in chosen messages without reasoning; None for no field.
    """
    for body, message, wanted in zip(sent, history, chosen(history, replay), strict=True):
        about, text = message.response_metadata, message.additional_kwargs.get(REASONING_KWARG)
        is_own = about.get("model_provider") in (None, provider)
        is_own = is_own and (model is None or about.get("model_name") in (None, model))
        kept = text if is_own and text and isinstance(text, str) else missing
        if wanted and kept is not None:
            body[name] = kept
