"""`RemoteAgent`: a remote AG-UI agent inside a local graph.

In: the graph's messages, and the keys of its state that the agent shares. Out: what the agent has said and what it has
made of the keys. Around its runs is a small graph of its own, so that its pauses are LangGraph's: checkpointed, and
resumed in another process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final, TypedDict, cast, get_type_hints
from uuid import uuid4

import httpx2
from ag_ui.core import Context, Interrupt, ResumeEntry, RunAgentInput
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolCall, ToolMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, ensure_config
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallWithContext
from langgraph.types import Command, Overwrite, Send

from langgraph_agui.aio import run_sync
from langgraph_agui.client.agent import AGUIClient
from langgraph_agui.client.endpoint import resume_entries
from langgraph_agui.client.errors import AgentError
from langgraph_agui.client.langchain.approved import approved, asks_about
from langgraph_agui.client.langchain.asking import ask
from langgraph_agui.client.langchain.outgoing import agent_key, outgoing
from langgraph_agui.client.langchain.replay import Replay, put_result
from langgraph_agui.client.tools import LocalTools
from langgraph_agui.custom_events import CANCELLED
from langgraph_agui.messages.extract import as_mapping
from langgraph_agui.messages.tool_calls import cancelled, interrupted
from langgraph_agui.protocol.jsonable import json_equal, to_jsonable
from langgraph_agui.protocol.wire import has_expired


def _put(held: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """Answers come one by one; none at all begins anew."""
    return {**(held or {}), **new} if new else {}


class _State(TypedDict, total=False):
    """What the small graph keeps between two runs of the agent, besides what has been said."""

    given: list[AnyMessage]
    shared: Any
    thread: str | None
    branch: bool
    """Whether a `Send` has begun this, perhaps several at once."""
    open: list[dict[str, Any]]
    answers: Annotated[dict[str, Any], _put]
    calls: list[ToolCall]
    asked: list[str]
    """The local calls that are asked about."""
    refused: list[str]
    """Those that were, and are not approved."""
    fault: str | None
    """Why the agent has refused the last answers."""


def _saying(messages_key: str) -> type[_State]:
    """`_State` with a channel for what is said, which is called as that of the graph around it: tools write to it."""
    channels = get_type_hints(_State, include_extras=True)
    told = {**channels, messages_key: Annotated[list[AnyMessage], add_messages]}
    return cast("type[_State]", type("_Saying", (), {"__annotations__": told}))


class _Asked(TypedDict):
    """What the agent waits for: one AG-UI interrupt."""

    interrupt: dict[str, Any]
    fault: str | None


_REFUSED: Final = ("interrupt_invalid", "interrupt_expired")
"""The codes of runs that an agent does not begin because of the answers; others may be given."""


class RemoteAgent(Runnable[Any, dict[str, Any]]):
    """A remote agent as a Runnable, and so as a node.

    ```python
    builder.add_node("chef", RemoteAgent("http://127.0.0.1:8000/agent", name="chef", state=["recipe"]))
    ```

    It takes a state with messages and returns what is new: `{"messages": [...], "recipe": ...}`. Each turn of the
    agent's model is an `AIMessage`, each result of its tools a `ToolMessage`: those tools have run over there.
    Everything streams while it comes: a `LangGraphAgent` tells of it as of a subagent, tool results, activities, custom
    events and the state included. Agents that are nodes of the remote graph speak for it; what those say that its tools
    have called stays there.

    What the agent waits for are LangGraph's interrupts here, one for each question: `interrupt(value)` with the AG-UI
    interrupt as the value, resumed with its payload (`Command(resume={id: payload})`), in another process too. One that
    has expired meanwhile is cancelled, as is one that a client cancels (`{"agui_cancelled": True}` for a payload). If
    an answer does not fit the `responseSchema`, or the agent refuses the answers, it is asked again: `error` in the
    value says why. A pause that is given up here is cancelled there with the next turn. All that needs a checkpointer,
    which the graph around it brings along. A call of `tools` that the agent asks about runs once the answer approves
    it, as AG-UI or LangChain say so (`{"approved": True}`), and the agent leaves it open: never unasked, refused or
    edited.

    Its thread stands in its messages. Where a `Send` begins several branches with the same history at once, one goes on
    with the thread and the others begin new ones.

    Args:
        agent: The agent, or its URL.
        name: What it is called here.
        state: The keys of the graph's state that the agent shares: by name, or as `{name here: name there}`. The
            agent's values replace those of the graph, so there should be no reducer on them.
        tools: Tools that run here, offered to the agent.
        messages_key: The state channel that holds the conversation.
        context: What the agent is told of the application.
        forwarded_props: What else it is sent.
        checkpointer: Only for a RemoteAgent that is in no graph, and waits for answers.

    A call raises the errors of :mod:`langgraph_agui.client.errors`.

    Raises:
        TypeError: The `http_client` of `agent` is for reading without an event loop.
    """

    def __init__(
        self,
        agent: AGUIClient | str,
        *,
        name: str = "remote_agent",
        state: Collection[str] | Mapping[str, str] = (),
        tools: Sequence[BaseTool | Callable[..., object]] = (),
        messages_key: str = "messages",
        context: Sequence[Context] = (),
        forwarded_props: Mapping[str, object] | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
    ) -> None:
        self.name = name
        self._client = AGUIClient(agent) if isinstance(agent, str) else agent
        if isinstance(self._client._http, httpx2.Client):
            raise TypeError("A RemoteAgent needs an http_client that is an httpx2.AsyncClient, or none.")
        self._agent = agent_key(self._client.url, name)
        shared = state if isinstance(state, Mapping) else {key: key for key in state}
        self._keys = {there: here for here, there in shared.items()}
        self._tools, self._messages_key = LocalTools(tools), messages_key
        self._held: dict[str, object] = {}
        """The threads that branches are at work in."""
        self._context, self._props = list(context), dict(forwarded_props or {})
        builder = StateGraph(_saying(messages_key))
        builder.add_node("agent", RunnableLambda(self._run_blocking, self._run))
        builder.add_node("ask", _ask, input_schema=_Asked)
        builder.add_node("tools", ToolNode(list(tools), messages_key=messages_key))
        builder.add_edge(START, "agent")
        builder.add_conditional_edges("agent", self._route, ["ask", "tools", END])
        builder.add_edge(["ask"], "agent")
        builder.add_edge(["tools"], "agent")
        self._graph = builder.compile(checkpointer, name=name)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> dict[str, Any]:  # noqa: A002
        """Run the agent until it has answered, or waits. `input` is a state, or a `Command(resume=...)`."""
        return self._output(_held(input), self._graph.invoke(self._input(input, config), config))

    async def ainvoke(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The same from a coroutine."""
        return self._output(_held(input), await self._graph.ainvoke(self._input(input, config), config))

    def _input(self, given: Any, config: RunnableConfig | None) -> Any:
        if isinstance(given, Command):
            return given
        held = _held(given)
        shared = {there: to_jsonable(held[here]) for there, here in self._keys.items() if here in held}
        # A thread of its own may hold an earlier call, which is over.
        fresh: dict[str, Any] = {self._messages_key: Overwrite([]), "thread": None, "open": [], "answers": {}}
        fresh |= {"asked": [], "refused": [], "fault": None, "branch": _is_branch(config)}
        return {"given": _messages(held[self._messages_key]), "shared": shared, **fresh}

    def _output(self, held: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, Any]:
        said, shared = list(made.get(self._messages_key, ())), made.get("shared")
        output: dict[str, Any] = {self._messages_key: said}
        if isinstance(shared, Mapping):
            for there, here in self._keys.items():
                if there in shared and not (here in held and json_equal(shared[there], to_jsonable(held[here]))):
                    output[here] = shared[there]
        if "__interrupt__" in made:
            return {**output, "__interrupt__": made["__interrupt__"]}
        for call in _open_calls(said):
            unanswered = cancelled if call["id"] in made.get("refused", ()) else interrupted
            put_result(said, unanswered(call["id"] or "", call["name"]))
        return output

    async def _run(self, state: _State, config: RunnableConfig) -> _State:
        """One run of the agent."""
        sent = outgoing([*state["given"], *self._said(state)], self._agent, state.get("thread"))
        with self._holding(sent.thread_id, state) as thread_id:
            run_input = RunAgentInput(
                thread_id=thread_id,
                run_id=str(uuid4()),
                messages=sent.messages,
                state=state.get("shared", {}),
                tools=self._tools.offered,
                context=self._context,
                forwarded_props=self._props,
                resume=_resume(state) or None,
            )
            try:
                return await self._heard(run_input, state, config)
            except AgentError as error:
                code = getattr(error, "code", None)
                if run_input.resume and code in _REFUSED:
                    # Kept, these answers would be sent again whenever the graph goes on.
                    return {"answers": {}, "calls": [], "fault": str(error)}
                if run_input.resume or code != "interrupt_unanswered":
                    raise
                # A pause that was given up here, where nothing knows of it any more.
                async with self._client.connect(run_input) as thread:
                    _ = [event async for event in thread]
                given_up = resume_entries(thread.interrupts, {}, {one.id for one in thread.interrupts})
                again = run_input.model_copy(update={"run_id": str(uuid4()), "resume": given_up})
                return await self._heard(again, state, config)

    @contextmanager
    def _holding(self, thread_id: str, state: _State) -> Iterator[str]:
        """The thread for one run. Of several branches that go on with the same one, all but the first get new ones."""
        if not state.get("branch"):
            yield thread_id
            return
        mine = object()
        free = self._held.setdefault(thread_id, mine) is mine
        try:
            yield thread_id if free or state.get("thread") else str(uuid4())
        finally:
            if free:
                del self._held[thread_id]

    async def _heard(self, run_input: RunAgentInput, state: _State, config: RunnableConfig) -> _State:
        """What a run comes to."""
        before = self._said(state)
        async with self._client.run(run_input) as run:
            said = await Replay(run, self._agent, self._keys, config).messages([*state["given"], *before])
        calls = _open_calls([*before, *said]) if run.outcome != "cancelled" else []
        calls = [call for call in calls if call["name"] in self._tools.names]
        refused = _refused(calls, run_input, state)
        asked = [call["id"] or "" for call in calls if any(asks_about(one, call) for one in run.interrupts)]
        made: _State = {
            "shared": to_jsonable(run.state),
            "thread": run_input.thread_id,
            "open": [one.model_dump(mode="json", by_alias=True) for one in run.interrupts],
            "answers": {},
            "calls": [call for call in calls if call["id"] not in {*asked, *refused}],
            "asked": asked,
            "refused": refused,
            "fault": None,
        }
        return cast("_State", {**made, self._messages_key: said})

    def _said(self, state: Mapping[str, Any]) -> list[AnyMessage]:
        return cast("list[AnyMessage]", state.get(self._messages_key, []))

    def _run_blocking(self, state: _State, config: RunnableConfig) -> _State:
        """The same for a graph that runs without an event loop, or inside another's."""
        return run_sync(self._run(state, config))

    def _route(self, state: Mapping[str, Any]) -> list[Send] | str:
        asked = [Send("ask", _Asked(interrupt=one, fault=state.get("fault"))) for one in state["open"]]
        shared = state["shared"] if isinstance(state["shared"], Mapping) else {}
        held = {here: shared[there] for there, here in self._keys.items() if there in shared}
        held[self._messages_key] = [*state["given"], *self._said(state)]
        told = [
            ToolCallWithContext(__type="tool_call_with_context", tool_call=one, state=held) for one in state["calls"]
        ]
        return [*asked, *(Send("tools", one) for one in told)] or END


def _held(given: Any) -> Mapping[str, Any]:
    """The keys of a graph's state; of a resume, none."""
    return (None if isinstance(given, Command) else as_mapping(given)) or {}


def _messages(given: Any) -> list[BaseMessage]:
    """One message or many, in all forms that LangGraph's `add_messages` takes."""
    pair = isinstance(given, tuple) and isinstance(next(iter(given), None), str)
    return convert_to_messages([given] if pair or isinstance(given, str | Mapping | BaseMessage) else given)


def _is_branch(config: RunnableConfig | None) -> bool:
    """Whether the task that calls was begun by a `Send`, as LangGraph's metadata say."""
    return "__pregel_push" in (ensure_config(config).get("metadata") or {}).get("langgraph_triggers", ())


def _ask(state: _Asked) -> _State:
    one = Interrupt.model_validate(state["interrupt"])
    return {"answers": {one.id: ask(one, state.get("fault"))}}


def _resume(state: _State) -> list[ResumeEntry]:
    """The answers to what is open; what has expired meanwhile is cancelled."""
    waiting, given = _waiting(state), state.get("answers", {})
    dropped = {one.id for one in waiting if has_expired(one) or given[one.id] == {CANCELLED: True}}
    return resume_entries(waiting, {name: given[name] for name in given if name not in dropped}, dropped)


def _waiting(state: _State) -> list[Interrupt]:
    return [Interrupt.model_validate(one) for one in state.get("open", ())]


def _refused(calls: Sequence[ToolCall], run_input: RunAgentInput, state: _State) -> list[str]:
    """The local calls that must never run, though an agent may leave them open: once refused, always refused."""
    asked = [call for call in calls if call["id"] in state.get("asked", ())]
    lost = [call["id"] or "" for call in asked if not approved(call, _waiting(state), run_input.resume or ())]
    return [*state.get("refused", ()), *lost]


def _open_calls(said: Sequence[BaseMessage]) -> list[ToolCall]:
    answered = {message.tool_call_id for message in said if isinstance(message, ToolMessage)}
    calls = [call for message in said if isinstance(message, AIMessage) for call in message.tool_calls]
    return [call for call in calls if call["id"] not in answered]
