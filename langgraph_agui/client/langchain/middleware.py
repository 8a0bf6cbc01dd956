"""`RemoteInterrupts`: what a remote agent waits for, asked by an agent whose model it is.

In: the answers of `AGUIChatModel`. Out: LangGraph's interrupts, and their answers to the model's next call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, Final, NotRequired, cast

from langchain_core.messages import AIMessage, ToolMessage

from langgraph_agui.client.langchain.asking import ask
from langgraph_agui.client.langchain.outgoing import held_back, open_interrupts
from langgraph_agui.custom_events import CANCELLED
from langgraph_agui.protocol.wire import has_expired

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain.agents.middleware.types import ModelRequest, ModelResponse, PrivateStateAttr
except ImportError as error:
    raise ImportError('LangChain is missing: pip install "langgraph-agui[middleware]"') from error

if TYPE_CHECKING:
    from langgraph.runtime import Runtime


HELD_BACK: Final = "The agent asks before this may run."
"""The result of a call that is asked about; an approved one is made once more."""


class _State(AgentState[Any]):
    agui_answers: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]
    """The answers to what the agent has asked last, by the ids of its interrupts."""


class RemoteInterrupts(AgentMiddleware[_State, Any]):
    """For `create_agent(AGUIChatModel(...), middleware=[RemoteInterrupts()], checkpointer=...)`.

    What the remote agent waits for is asked by LangGraph's `interrupt()`, one question after the other, with the AG-UI
    interrupt as its value and the payload as its answer; the model's next call brings the answers. One that has expired
    meanwhile is cancelled, as is one that a client cancels (`{"agui_cancelled": True}` for a payload), or that is not
    answered before a new turn begins. A local tool that is asked about runs once the agent has the answer, if that
    approves it.
    """

    state_schema = _State

    def before_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Forget the answers of an earlier turn: if its agent has not taken them, it never will."""
        return {"agui_answers": {}} if state.get("agui_answers") else None

    async def abefore_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The same."""
        return self.before_agent(state, runtime)

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Ask, if the model's answer is a question.

        Tools that it has called as well run before it goes on, but for those that it asks about.
        """
        last = state["messages"][-1]
        asked = open_interrupts(last)
        if not asked:
            return None
        answers = {one.id: ask(one) for one in asked}
        held = held_back(last) if isinstance(last, AIMessage) else []
        # Not for the agent: only without results of their own would `create_agent` call them malformed.
        told = [ToolMessage(HELD_BACK, tool_call_id=call["id"] or "", name=call["name"]) for call in held]
        calls = isinstance(last, AIMessage) and last.tool_calls
        return {"agui_answers": answers, "messages": told, **({} if calls else {"jump_to": "model"})}

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
    if not asked:
        return request
    given = cast("dict[str, Any]", request.state.get("agui_answers") or {})
    valid = [one.id for one in asked if one.id in given and given[one.id] != {CANCELLED: True} and not has_expired(one)]
    # What nobody has answered, since a new turn began instead, nobody will.
    told = {"resume": {one: given[one] for one in valid}, "cancel": [one.id for one in asked if one.id not in valid]}
    return request.override(model_settings={**request.model_settings, **told})
