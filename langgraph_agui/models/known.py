"""The providers that a graph's models belong to: those found in it, and those that its runs have shown."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from langchain_core.messages import BaseMessage

from langgraph_agui.messages.provider_filter import for_provider
from langgraph_agui.models.find import providers_in

logger = logging.getLogger(__name__)


class Providers:
    """Keeps what other providers' models thought from those of a graph.

    A model that a node makes when it runs cannot be found. So a provider that turns up in a run is taken in, and a
    graph in which no model, or one of an unknown provider, is found gets its history unfiltered.

    Args:
        names: The providers (`model_provider`) of the graph's models; none if they are not known.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(names)

    @classmethod
    def of(cls, graph: object) -> Providers:
        """The providers of the models that can be found in `graph`."""
        return cls(providers_in(graph))

    def learn(self, names: Iterable[str]) -> None:
        """Take in the providers whose models have spoken in a run."""
        if self._names:
            self._names |= frozenset(names)

    def admit(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return `messages` as the graph's models may be sent them."""
        if not self._names:
            return list(messages)
        admitted = for_provider(messages, *self._names)
        if held := sum(one is not other for one, other in zip(messages, admitted, strict=True)):
            logger.info("%d messages of other providers than %s go without reasoning.", held, sorted(self._names))
        return admitted
