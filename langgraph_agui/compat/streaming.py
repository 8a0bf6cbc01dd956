"""`StateStreamingMiddleware` of `ag-ui-langgraph`: the arguments of a tool call as state, while the
model writes them.

A model call enters, with the metadata `predict_state` it leaves. `AGUIMiddleware(predict=...)` does
the same and more.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain_core.messages import ToolMessage
from langchain_core.runnables.config import ensure_config, var_child_runnable_config

from langgraph_agui.kernel.checks import check_type


@dataclass(frozen=True)
class StateItem:
    """One prediction: a tool's argument becomes a key of the state.

    Attributes:
        state_key: The key.
        tool: The tool.
        tool_argument: The argument.
    """

    state_key: str
    tool: str
    tool_argument: str


class StateStreamingMiddleware(AgentMiddleware[Any, Any]):
    """Predicts state from tool calls, but not again for the answer to such a call.

    Args:
        items: The values to predict.

    Raises:
        TypeError: One is not a `StateItem`.
    """

    def __init__(self, *items: StateItem) -> None:
        check_type("items", items, Sequence[StateItem])
        super().__init__()
        self._items = [asdict(item) for item in items]
        self._tools = {item.tool for item in items}

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        """Call the model with the predictions in its metadata."""
        with self._predicting(request):
            return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]
    ) -> Any:
        """Call the model with the predictions in its metadata."""
        with self._predicting(request):
            return await handler(request)

    @contextmanager
    def _predicting(self, request: ModelRequest) -> Iterator[None]:
        last = request.messages[-1] if request.messages else None
        if isinstance(last, ToolMessage) and last.name in self._tools:
            yield
            return
        config = ensure_config()
        predicted = {
            **config,
            "metadata": {**config.get("metadata", {}), "predict_state": self._items},
        }
        token = var_child_runnable_config.set(predicted)  # type: ignore[arg-type]  # the same keys
        try:
            yield
        finally:
            var_child_runnable_config.reset(token)
