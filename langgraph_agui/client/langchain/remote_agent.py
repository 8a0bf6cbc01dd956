"""`RemoteAgent`: a remote AG-UI agent inside a local graph.

In: the graph's messages, and the keys of its state that the agent shares. Out: the agent's messages
and its values of the keys. A small graph of its own contains its runs, so that its pauses are
LangGraph's: checkpointed, and resumed in another process. That graph's state is in checkpoints, so
its keys keep their names.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final, TypedDict, cast, get_type_hints
from uuid import uuid4

from ag_ui import core as agui
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ToolCall,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, ensure_config
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallWithContext
from langgraph.types import Command, Overwrite, Send

from langgraph_agui.client.agent import AGUIClient, RemoteRun
from langgraph_agui.client.errors import AgentError
from langgraph_agui.client.langchain.approvals import Approvals, ask, valid_answers
from langgraph_agui.client.langchain.model_runs import ModelRuns, insert_result, local_state
from langgraph_agui.client.langchain.to_agui_request import (
    agent_key,
    to_agui_request,
)
from langgraph_agui.client.resume import resume_entries
from langgraph_agui.client.tools import LocalTools
from langgraph_agui.kernel.aio import run_sync
from langgraph_agui.kernel.checks import check_type
from langgraph_agui.kernel.configs import as_mapping
from langgraph_agui.messages.content import caller_id, cancelled, interrupted
from langgraph_agui.protocol.json import are_whole, same_for_clients, to_jsonable


def _merge_answers(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """Add answers, which come one by one; an empty update removes them all."""
    return {**(old or {}), **new} if new else {}


class _State(TypedDict, total=False):
    """The state of the small graph between two runs of the agent, besides its messages.

    Attributes:
        given: The messages of the graph around it.
        shared: The agent's state.
        thread: The agent's thread.
        branch: Whether a `Send` began this, perhaps several at once.
        open: The agent's open interrupts.
        answers: The answers to them, by id.
        calls: The local calls that run next.
        refused: The ids of local calls that an answer did not approve. They never run, though the
            agent may leave them open.
        fault: Why the agent has refused the last answers.
        rounds: In how many runs the agent has called local tools.
    """

    given: list[AnyMessage]
    shared: Any
    thread: str | None
    branch: bool
    open: list[dict[str, Any]]
    answers: Annotated[dict[str, Any], _merge_answers]
    calls: list[ToolCall]
    refused: list[str]
    fault: str | None
    rounds: int


_FRESH: Final[_State] = {
    "thread": None,
    "open": [],
    "answers": {},
    "refused": [],
    "fault": None,
    "rounds": 0,
}


def _state_schema(messages_key: str) -> type[_State]:
    """Return `_State` with a channel for messages, named as in the graph around it.

    Tools write to this channel.
    """
    channels = get_type_hints(_State, include_extras=True)
    annotations = {**channels, messages_key: Annotated[list[AnyMessage], add_messages]}
    return cast("type[_State]", type("_StateWithMessages", (), {"__annotations__": annotations}))


# The codes of runs that an agent does not begin because of the answers; it accepts other answers.
_REFUSED: Final = ("interrupt_invalid", "interrupt_expired")


class RemoteAgent(Runnable[Any, dict[str, Any]]):
    """A remote agent as a Runnable, and so as a node.

    ```python
    chef = RemoteAgent("http://127.0.0.1:8000/agent", name="chef", state=["recipe"])
    builder.add_node("chef", chef)
    ```

    It takes a state with messages and returns the changes: `{"messages": [...], "recipe": ...}`.
    Each turn of the agent's model is an `AIMessage`, each result of its tools a `ToolMessage`:
    those tools ran on its side. All of it streams. A `LangGraphAgent` shows the agent as a
    subagent, with tool results, activities, custom events and state. Agents that are nodes of the
    remote graph count as the agent itself; messages of subagents that its tools call do not come
    here.

    Each interrupt of the agent becomes one of LangGraph's: `interrupt(value)` with the AG-UI
    interrupt as the value, resumed with its payload (`Command(resume={id: payload})`), also in
    another process. An interrupt is cancelled if it has expired meanwhile, or if a client cancels
    it (payload `{"agui_cancelled": True}`). If an answer does not fit the `responseSchema`, or the
    agent refuses the answers, it is asked again: `error` in the value is why. If the graph here
    abandons a pause, the next turn cancels it on the agent's side. All that needs a checkpointer,
    which the graph around it provides. A call of `tools` that an interrupt asks about runs once the
    answer approves it, in the words of AG-UI or LangChain (`{"approved": True}`), and the agent
    leaves it open. It never runs without approval, nor with edited arguments.

    The messages contain the agent's thread. Where a `Send` begins several branches with the same
    history at once, one continues the thread and the others begin new ones.

    Args:
        agent: The agent, or its URL.
        name: Its name here.
        state: The keys of the graph's state that the agent shares: names, or `{name here: name
            there}`. The agent's values replace those of the graph, so give these keys no reducer.
        tools: Tools that run here, offered to the agent.
        messages_key: The state channel with the conversation.
        context: Context for the agent, sent with each run.
        forwarded_props: Sent to the agent as they are.
        checkpointer: Only for a RemoteAgent outside of graphs whose agent has interrupts.

    A call raises the errors of `langgraph_agui.client.errors`.

    Raises:
        TypeError: An option is of another type, or the `http_client` of `agent` is for reading
            without an event loop.
    """

    def __init__(
        self,
        agent: AGUIClient | str,
        *,
        name: str = "remote_agent",
        state: Collection[str] | Mapping[str, str] = (),
        tools: Sequence[BaseTool | Callable[..., object]] = (),
        messages_key: str = "messages",
        context: Sequence[agui.Context] = (),
        forwarded_props: Mapping[str, object] | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
    ) -> None:
        check_type("agent", agent, AGUIClient | str)
        check_type("state", state, Collection[str] | Mapping[str, str])
        check_type("context", context, Sequence[agui.Context])
        self.name = name
        self._client = AGUIClient(agent) if isinstance(agent, str) else agent
        if self._client.is_blocking:
            raise TypeError(
                "A RemoteAgent needs an http_client that is an httpx2.AsyncClient, or none."
            )
        self._agent = agent_key(self._client.url, name)
        shared = state if isinstance(state, Mapping) else {key: key for key in state}
        self._state_keys = {there: here for here, there in shared.items()}
        self._tools, self._messages_key = LocalTools(tools), messages_key
        # The threads in which branches are running, each with its branch.
        self._busy_threads: dict[str, object] = {}
        self._context, self._props = list(context), dict(forwarded_props or {})
        builder = StateGraph(_state_schema(messages_key))
        builder.add_node("agent", RunnableLambda(self._run_sync, self._run))
        builder.add_node("ask", _ask)
        builder.add_node("tools", ToolNode(list(tools), messages_key=messages_key))
        builder.add_edge(START, "agent")
        builder.add_conditional_edges("agent", self._route, ["ask", "tools", END])
        builder.add_edge(["ask"], "agent")
        builder.add_edge(["tools"], "agent")
        self._graph = builder.compile(checkpointer, name=name)

    def invoke(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Run the agent until it has answered or waits.

        `input` is a state, or a `Command(resume=...)`.
        """
        result = self._graph.invoke(self._input(input, config), config)
        return self._output(_values(input), result)

    async def ainvoke(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """See `invoke`."""
        result = await self._graph.ainvoke(self._input(input, config), config)
        return self._output(_values(input), result)

    def _input(self, given: Any, config: RunnableConfig | None) -> Any:
        if isinstance(given, Command):
            return given
        values, keys = _values(given), self._state_keys.items()
        metadata = ensure_config(config).get("metadata") or {}
        return {
            **_FRESH,
            # With a thread of its own, the graph may still contain the messages of an earlier call.
            self._messages_key: Overwrite([]),
            "given": _messages(values[self._messages_key]),
            "shared": {there: to_jsonable(values[here]) for there, here in keys if here in values},
            # A `Send` began the task that calls, as LangGraph's metadata show.
            "branch": "__pregel_push" in metadata.get("langgraph_triggers", ()),
        }

    def _output(self, given: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
        messages = list(result.get(self._messages_key, ()))
        output: dict[str, Any] = {self._messages_key: messages}
        output |= {
            key: value
            for key, value in local_state(result.get("shared"), self._state_keys).items()
            if key not in given or not same_for_clients(value, to_jsonable(given[key]))
        }
        if "__interrupt__" in result:
            return {**output, "__interrupt__": result["__interrupt__"]}
        for call in _open_calls(messages):
            make_result = cancelled if call["id"] in result.get("refused", ()) else interrupted
            call_id = call["id"] or ""
            closing = make_result(call_id, call["name"], caller_id(messages, call_id))
            insert_result(messages, closing)
        return output

    def _run_sync(self, state: _State, config: RunnableConfig) -> _State:
        """Run the agent for a graph that runs without an event loop, or inside another's."""
        return run_sync(self._run(state, config))

    async def _run(self, state: _State, config: RunnableConfig) -> _State:
        """Run the agent once."""
        self._client.limits.check_tool_rounds(state["rounds"])
        messages = [*state["given"], *self._messages(state)]
        request = to_agui_request(messages, self._agent, state["thread"])
        with self._thread(request.thread_id, state) as thread_id:
            run_input = agui.RunAgentInput(
                thread_id=thread_id,
                run_id=str(uuid4()),
                messages=request.messages,
                state=state["shared"],
                tools=self._tools.offered,
                context=self._context,
                forwarded_props=self._props,
                resume=_resume(state) or None,
            )
            try:
                return await self._run_agent(run_input, state, config)
            except AgentError as error:
                code = getattr(error, "code", None)
                if run_input.resume and code in _REFUSED:
                    # If the state kept these answers, the next resume would send them again.
                    return {"answers": {}, "calls": [], "fault": str(error)}
                if run_input.resume or code != "interrupt_unanswered":
                    raise
                # The graph here has abandoned a pause, and does not know its interrupts any more.
                async with self._client.connect(run_input) as thread:
                    await thread
                open_ids = [one.id for one in thread.interrupts]
                resume = resume_entries(thread.interrupts, {}, cancel=open_ids)
                update = {"run_id": str(uuid4()), "resume": resume}
                return await self._run_agent(run_input.model_copy(update=update), state, config)

    @contextmanager
    def _thread(self, thread_id: str, state: _State) -> Iterator[str]:
        """Give the thread for one run. Of branches that share it, all but one get new ones."""
        if not state["branch"]:
            yield thread_id
            return
        branch = object()
        # atomic: branches may be OS threads
        is_first = self._busy_threads.setdefault(thread_id, branch) is branch
        try:
            yield thread_id if is_first or state["thread"] else str(uuid4())
        finally:
            if is_first:
                del self._busy_threads[thread_id]

    async def _run_agent(
        self, run_input: agui.RunAgentInput, state: _State, config: RunnableConfig
    ) -> _State:
        """Run the agent and return the run's changes to the small graph's state."""
        before = self._messages(state)
        async with self._client.run(run_input) as run:
            model_runs = ModelRuns(run, self._agent, self._state_keys, config)
            messages = await model_runs.messages([*state["given"], *before])
        calls = _open_calls([*before, *messages]) if run.outcome != "cancelled" else []
        calls = [call for call in calls if self._may_run(call, run)]
        earlier = [call for call in calls if call in _open_calls(before)]
        answered = Approvals(_interrupts(state), run_input.resume or ())
        asked = Approvals(run.interrupts)
        refused = [call["id"] or "" for call in earlier if answered.refuse(call)]
        refused = [*state["refused"], *refused]
        waiting = [call["id"] for call in calls if asked.ask_about(call["id"], call["name"])]
        next_calls = [call for call in calls if call["id"] not in {*waiting, *refused}]
        update: _State = {
            "shared": to_jsonable(run.state),
            "thread": run_input.thread_id,
            "open": [one.model_dump(mode="json", by_alias=True) for one in run.interrupts],
            "answers": {},
            "calls": next_calls,
            "rounds": state["rounds"] + bool(next_calls),
            "refused": refused,
            "fault": None,
        }
        return cast("_State", {**update, self._messages_key: messages})

    def _may_run(self, call: ToolCall, run: RemoteRun) -> bool:
        """Return whether a tool here can run a call: it has the tool, and the call is whole.

        The `args` of a call are those that LangChain's parser made of what the agent streamed.
        """
        stored = run.conversation.find_call(call["id"] or "")
        if stored is not None and not are_whole(stored.view().function.arguments):
            return False
        return call["name"] in self._tools.names

    def _messages(self, state: Mapping[str, Any]) -> list[AnyMessage]:
        return cast("list[AnyMessage]", state[self._messages_key])

    def _route(self, state: Mapping[str, Any]) -> list[Send] | str:
        sends = [Send("ask", {"open": [one], "fault": state["fault"]}) for one in state["open"]]
        values = local_state(state["shared"], self._state_keys)
        values[self._messages_key] = [*state["given"], *self._messages(state)]
        for one in state["calls"]:
            call = ToolCallWithContext(__type="tool_call_with_context", tool_call=one, state=values)
            sends.append(Send("tools", call))
        return sends or END


def _values(given: Any) -> Mapping[str, Any]:
    """Return the values of a graph's state; of a resume, none."""
    return {} if isinstance(given, Command) else as_mapping(given) or {}


def _messages(given: Any) -> list[BaseMessage]:
    """Convert one message or many, in all forms that LangGraph's `add_messages` accepts."""
    is_pair = isinstance(given, tuple) and isinstance(next(iter(given), None), str)
    is_one = is_pair or isinstance(given, str | Mapping | BaseMessage)
    return convert_to_messages([given] if is_one else given)


def _ask(state: _State) -> _State:
    [interrupt] = _interrupts(state)
    return {"answers": {interrupt.id: ask(interrupt, state["fault"])}}


def _resume(state: _State) -> list[agui.ResumeEntry]:
    """Return the answers to the open interrupts; those that have expired are cancelled."""
    interrupts = _interrupts(state)
    return resume_entries(interrupts, *valid_answers(interrupts, state["answers"]))


def _interrupts(state: _State) -> list[agui.Interrupt]:
    return [agui.Interrupt.model_validate(one) for one in state["open"]]


def _open_calls(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    answers = [message for message in messages if isinstance(message, AIMessage)]
    calls = [call for message in answers for call in message.tool_calls]
    return [call for call in calls if call["id"] not in answered]
