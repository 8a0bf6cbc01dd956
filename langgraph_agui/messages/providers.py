"""Facts about providers, by their names: who made a message, and whose reasoning is a
summary.
"""

from collections.abc import Mapping

from langgraph_agui.options import ReasoningOptions

# Providers whose reasoning blocks are summaries: their APIs never return the reasoning word for
# word. OpenAI: "Reasoning summaries" (`summary` of a reasoning item); Gemini: "Thought summaries"
# (`include_thoughts`). Claude is not among them: some of its models summarize, and a message does
# not show whether its model does.
SUMMARISING = frozenset({"openai", "azure", "google_genai", "google_vertexai"})


def shows_reasoning(options: ReasoningOptions, provider: str | None) -> bool:
    """Return whether the client sees the text of the reasoning blocks of this provider."""
    return options.visibility == "full" or (
        options.visibility == "summary" and provider in SUMMARISING
    )


_VENDORS = {
    "amazon_bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "google_genai": "google",
    "google_vertexai": "google",
    "mistralai": "mistral",
}


def vendor(name: str) -> str:
    """Return the lowercase vendor id that AG-UI 1.0 wants in usage, for LangChain's name of a
    provider.
    """
    return _VENDORS.get(name, name)


def maker_of(metadata: Mapping[str, object]) -> str | None:
    """Return the provider of a message from its `response_metadata`; None if they do not name it.

    langchain-xai names OpenAI as the provider of its Responses messages; the name of the model
    distinguishes them.
    """
    provider, model = metadata.get("model_provider"), metadata.get("model_name")
    if provider == "openai" and isinstance(model, str) and model.startswith("grok"):
        return "xai"
    return provider if isinstance(provider, str) else None


# Where packages keep why a model has ended. The values say that it has ended its text itself, or
# that a limit has cut the text; all others, that somebody else has (a filter, a client).
END_REASONS = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_ENDED = frozenset(
    {
        "stop",
        "stop_sequence",
        "end_turn",
        "eos_token",
        "complete",
        "tool_calls",
        "tool_use",
        "function_call",
    }
)
_CUT = frozenset({"length", "max_tokens", "model_length", "model_context_window_exceeded"})


def end_of(metadata: Mapping[str, object]) -> dict[str, str]:
    """Return why a model has ended its message, from its `response_metadata`; empty if they do not
    tell.
    """
    return {key: value for key in END_REASONS if isinstance(value := metadata.get(key), str)}


def was_cut(metadata: Mapping[str, object]) -> bool:
    """Return whether a limit has cut the text of a message."""
    return any(reason.lower() in _CUT for reason in end_of(metadata).values())


def is_whole(metadata: Mapping[str, object], options: ReasoningOptions) -> bool:
    """Return whether the model has ended its text itself. Unless clients see all reasoning, the
    metadata must say so: hidden reasoning that was cut is no answer.
    """
    if options.visibility == "full":
        return not was_cut(metadata)
    reasons = {reason.lower() for reason in end_of(metadata).values()}
    return bool(reasons) and reasons <= _ENDED
