"""`RemoteInterrupts`: what a remote agent waits for, asked by an agent whose model it is.

In: the answers of `AGUIChatModel`. Out: LangGraph's interrupts, and their answers to the model's next call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, cast

from langchain_core.messages import AIMessage
from langgraph.types import interrupt

from langgraph_agui.client.outgoing import open_interrupts
from langgraph_agui.client.resuming import has_expired

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain.agents.middleware.types import ModelRequest, ModelResponse, PrivateStateAttr
except ImportError as error:
    raise ImportError('LangChain is missing: pip install "langgraph-agui[middleware]"') from error

if TYPE_CHECKING:
    from langgraph.runtime import Runtime


class _State(AgentState[Any]):
    agui_answers: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    """The answers to what the agent has asked last, by the ids of its interrupts."""


class RemoteInterrupts(AgentMiddleware[_State, Any]):
    """For `create_agent(AGUIChatModel(...), middleware=[RemoteInterrupts()], checkpointer=...)`.

    What the remote agent waits for is asked by LangGraph's `interrupt()`, one question after the other, with the AG-UI
    interrupt as its value and the payload as its answer; the model's next call brings the answers. One that has expired
    meanwhile is cancelled.
    """

    state_schema = _State

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Ask, if the model's answer is a question. Tools that it has called as well run before it goes on."""
        last = state["messages"][-1]
        asked = open_interrupts(last)
        if not asked:
            return None
        answers = {one.id: interrupt(one.model_dump(mode="json", by_alias=True)) for one in asked}
        calls = isinstance(last, AIMessage) and last.tool_calls
        return {"agui_answers": answers, **({} if calls else {"jump_to": "model"})}

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The same."""
        return self.after_model(state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Give the model the answers."""
        return handler(_answered(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Give the model the answers."""
        return await handler(_answered(request))


def _answered(request: ModelRequest[Any]) -> ModelRequest[Any]:
    asked = next((open_interrupts(one) for one in reversed(request.messages) if isinstance(one, AIMessage)), [])
    given = cast("dict[str, Any]", request.state.get("agui_answers") or {})
    late = [one.id for one in asked if has_expired(one)]
    answers = {one.id: given[one.id] for one in asked if one.id in given and one.id not in late}
    if not answers and not late:
        return request
    return request.override(model_settings={**request.model_settings, "resume": answers, "cancel": late})
