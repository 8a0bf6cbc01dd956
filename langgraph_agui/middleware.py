"""`AGUIMiddleware`: what a `create_agent` agent does for AG-UI at each model call. Needs the extra `middleware`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

from langgraph_agui.messages.foreign import for_provider
from langgraph_agui.models.find import provider_of

try:
    from langchain.agents.middleware import AgentMiddleware
except ImportError as error:
    raise ImportError('LangChain is missing: pip install "langgraph-agui[middleware]"') from error

if TYPE_CHECKING:
    from langchain.agents.middleware import ModelRequest, ModelResponse
    from langchain_core.messages import AnyMessage


class AGUIMiddleware(AgentMiddleware):
    """Sends each model only what its own provider made.

    For agents whose model changes: by a fallback, by `wrap_model_call`, from one turn to the next. Reasoning,
    signatures and ciphertext of other providers are left out of the request, which is all that changes; the state
    keeps them. Put it last in `middleware`, next to the model.
    """

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        """Call the model with the messages that it may be sent."""
        return handler(_admitted(request))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Call the model with the messages that it may be sent."""
        return await handler(_admitted(request))


def _admitted(request: ModelRequest) -> ModelRequest:
    provider = provider_of(request.model)
    if provider is None:
        return request
    return request.override(messages=cast("list[AnyMessage]", for_provider(request.messages, provider)))
