"""Token usage of one run: one entry for each provider and model (AG-UI 1.0, token usage)."""

from __future__ import annotations

from collections.abc import Mapping

from ag_ui.core import TokenUsage, aggregate_token_usage, token_usage_from_langchain_metadata
from langchain_core.messages import AIMessage, BaseMessage

from langgraph_agui.messages.options import vendor


class Usage:
    """Adds up what each model call of the run reported, hidden calls included."""

    def __init__(self) -> None:
        self._calls: list[TokenUsage] = []

    def add(self, message: BaseMessage, metadata: Mapping[str, object]) -> None:
        """Count one finished call.

        Args:
            message: The call's whole message.
            metadata: What the callback of the call's start told of provider and model.
        """
        if not isinstance(message, AIMessage) or not message.usage_metadata:
            return
        provider = message.response_metadata.get("model_provider") or metadata.get("ls_provider")
        model = message.response_metadata.get("model_name") or metadata.get("ls_model_name")
        entry = token_usage_from_langchain_metadata(
            message.usage_metadata,
            provider=vendor(provider) if isinstance(provider, str) else None,
            model=model if isinstance(model, str) else None,
        )
        if entry is not None:
            self._calls.append(entry)

    def total(self) -> list[TokenUsage] | None:
        """The entries for the run's last event; None where no call reported any."""
        return aggregate_token_usage(self._calls) or None
