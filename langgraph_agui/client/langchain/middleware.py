"""`RemoteInterrupts`: questions of the remote agent that is the model of a `create_agent` agent.

In: the answers of `AGUIChatModel`. Out: LangGraph's interrupts, and their answers for the model's
next call.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, NotRequired, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
from langchain.agents.middleware.types import ModelRequest, ModelResponse, PrivateStateAttr
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.runtime import Runtime

from langgraph_agui.client.langchain.approvals import ask, valid_answers
from langgraph_agui.client.langchain.to_agui_request import open_interrupts, withheld_calls

# The result of a call that an interrupt asks about; an approved call is repeated.
WITHHELD: Final = "The agent asks before this may run."


class _State(AgentState[Any]):
    # The answers to the agent's last interrupts, by their ids.
    agui_answers: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


class RemoteInterrupts(AgentMiddleware[_State, Any]):
    """For `create_agent(AGUIChatModel(...), middleware=[RemoteInterrupts()], checkpointer=...)`.

    Each interrupt of the remote agent becomes LangGraph's `interrupt()`, one after the other, with
    the AG-UI interrupt as its value and the payload as its answer. The model's next call sends the
    answers. It cancels an interrupt that has expired meanwhile, that a client cancels (payload
    `{"agui_cancelled": True}`), or that has no answer when a new turn begins. A local tool that an
    interrupt asks about runs once the agent has the answer, if the answer approves.
    """

    state_schema = _State

    def before_agent(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Forget the answers of an earlier turn: its agent will not accept them any more."""
        return {"agui_answers": {}} if state.get("agui_answers") else None

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: _State, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Ask, if the model's answer has interrupts.

        Tools that the answer calls run before the agent goes on, except for those that an interrupt
        asks about.
        """
        last = state["messages"][-1]
        if not isinstance(last, AIMessage) or not (interrupts := open_interrupts(last)):
            return None
        answers = {one.id: ask(one) for one in interrupts}
        # Not for the remote agent: `create_agent` would report calls without results as malformed.
        results = [
            ToolMessage(WITHHELD, tool_call_id=call["id"] or "", name=call["name"])
            for call in withheld_calls(last)
        ]
        update = {"agui_answers": answers, "messages": results}
        return update if last.tool_calls else {**update, "jump_to": "model"}

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Pass the answers to the model."""
        return handler(_with_answers(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """See `wrap_model_call`."""
        return await handler(_with_answers(request))


def _with_answers(request: ModelRequest[Any]) -> ModelRequest[Any]:
    last = next((one for one in reversed(request.messages) if isinstance(one, AIMessage)), None)
    if last is None or not (interrupts := open_interrupts(last)):
        return request
    # An interrupt without an answer will get none: a new turn has begun instead.
    given = cast("dict[str, Any]", request.state.get("agui_answers") or {})
    answers, cancel = valid_answers(interrupts, given)
    settings = {**request.model_settings, "resume": answers, "cancel": cancel}
    return request.override(model_settings=settings)
