"""What an agent decides about reasoning: who sees it, and how it travels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from langgraph_agui.messages.provider import SUMMARISING
from langgraph_agui.messages.seal import ReasoningSeal
from langgraph_agui.messages.think_tags import ThinkTagSplitter

Visibility = Literal["full", "summary", "hidden"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningOptions:
    """How reasoning is shown to the client, and how it comes back for the provider (docs/reasoning.md).

    Args:
        visibility: `"full"` shows all reasoning; `"summary"` what a provider itself calls a summary (OpenAI
            Responses, Gemini), other reasoning is hidden; `"hidden"` none. Hidden reasoning is announced by an empty
            reasoning message, and comes back on the next turn if `seal` is given. Without one, a message whose
            reasoning is hidden goes back to its provider as plain text and calls. Messages and reasoning blocks in
            state, results, interrupts, custom events and tool results are shown without it too.
        seal: Encrypts and authenticates every `encryptedValue`, bound to its thread and message. Values that are not
            sealed by it are then dropped.
        max_bytes: The length of one `encryptedValue`, at most. A message that needs a longer one travels without its
            opaque values; a longer one that comes in is dropped.
        metadata: Whether reasoning messages say in `metadata` which `provider` and `model` thought, and for how many
            milliseconds (`durationMs`; not for what arrived in one piece).
        think_tags: For models that write their reasoning into their text: splits it at tags. Each message gets a
            splitter like this one.
        provider: The provider of the agent's model, or several, by LangChain's names (`model_provider`:
            `"anthropic"`, `"openai"`, `"google_genai"`, `"bedrock_converse"`, ...). Opaque values of other providers
            are not sent to it, and bare values of foreign clients are taken to be its own (of a single one). Without
            it the agent looks for chat models in its graph and holds back what none of them made; bare values are
            then dropped.

    Raises:
        ValueError: `visibility` or `max_bytes` is none of the above.
    """

    visibility: Visibility = "full"
    seal: ReasoningSeal | None = None
    max_bytes: int = 1_000_000
    metadata: bool = False
    think_tags: ThinkTagSplitter | None = None
    provider: str | Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Refuse what is none of the options."""
        if self.visibility not in ("full", "summary", "hidden"):
            raise ValueError(f"visibility must be 'full', 'summary' or 'hidden', not {self.visibility!r}")
        if self.max_bytes < 1:
            raise ValueError(f"max_bytes must be positive, not {self.max_bytes}")

    @property
    def providers(self) -> tuple[str, ...]:
        """The names of `provider`."""
        given = self.provider
        return () if given is None else (given,) if isinstance(given, str) else tuple(given)

    def shows(self, provider: str | None) -> bool:
        """Whether the client sees the words of the reasoning blocks of this provider."""
        return self.visibility == "full" or (self.visibility == "summary" and provider in SUMMARISING)
