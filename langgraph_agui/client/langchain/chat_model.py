"""`AGUIChatModel`: a remote AG-UI agent as a LangChain chat model.

In: LangChain messages, and the options of the call. Out: the chunks of one message, made of the
events of one run. The last chunk has the run's outcome, its usage, and the details that tie the
message to the agent (`langgraph_agui.client.langchain.to_agui_request`).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast
from uuid import uuid4

import httpx2
from ag_ui import core as agui
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LangSmithParams, LanguageModelInput
from langchain_core.language_models.chat_models import (
    BaseChatModel,
    agenerate_from_stream,
    generate_from_stream,
)
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall, UsageMetadata
from langchain_core.messages.ai import add_usage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, Field

from langgraph_agui.client.agent import AGUIClient, RemoteRun
from langgraph_agui.client.endpoint import (
    RETRIES,
    TIMEOUT,
    HTTPClient,
    parsed_url,
    public,
)
from langgraph_agui.client.errors import ToolNotCalledError
from langgraph_agui.client.langchain.approvals import Approvals
from langgraph_agui.client.langchain.chunks import ChunkBuilder
from langgraph_agui.client.langchain.event_history import EventHistory
from langgraph_agui.client.langchain.to_agui_request import (
    AGUIRequest,
    agent_key,
    normalized_args,
    to_agui_request,
)
from langgraph_agui.client.limits import DEFAULT_LIMITS, ClientLimits
from langgraph_agui.client.resume import resume_entries
from langgraph_agui.client.tools import agui_tool
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.protocol.json import dump_json, to_jsonable

logger = run_logger(__name__)

_CALL_ARGUMENTS = frozenset(
    {
        "tools",
        "wanted",
        "resume",
        "cancel",
        "state",
        "context",
        "forwarded_props",
        "thread_id",
        "on_event",
        "joins",
    }
)


class AGUIChatModel(BaseChatModel):
    """Any AG-UI 1.0 agent as a chat model: one call is one run of the agent.

    ```python
    model = AGUIChatModel(url="http://127.0.0.1:8000/agent")
    agent = create_agent(model, tools=[get_user_location])  # runs here, called from there
    ```

    The answer is one `AIMessage` of standard content blocks: text; `reasoning` with the agent's
    encrypted values; calls of bound tools as tool calls; the agent's own calls and results as
    `server_tool_call` and `server_tool_result` blocks, which do not run here. A call of a bound
    tool that the agent answers itself, because it has one of that name, is among
    `invalid_tool_calls`, so that it does not run twice. `usage_metadata` counts the whole run;
    `finish_reason` is `stop`, `tool_calls`, `interrupt` or `cancelled`. The next call gives the
    agent its messages back exactly as it sent them. Options without a place in AG-UI (`stop`, model
    settings) are left out with a warning.

    The agent's last message names the thread of the conversation, so you need not. A conversation
    without one begins a new thread.

    If the agent waits for an answer, `open_interrupts` of the message has the questions, and the
    next call must answer them: `model.invoke(messages, resume={interrupt_id: payload}, cancel=[])`.
    A call of a bound tool that an interrupt asks about is no tool call yet. It becomes one of the
    answer to that next call if the payload approves it (`true`,
    `{"approved": true, "editedArgs"?: {}}`, or LangChain's `approve`) and the agent has not settled
    it. `RemoteAgent` does all of that through LangGraph's `interrupt()`.

    Further keyword arguments of a call, or of `bind`: `state` (the shared state); `context`,
    `forwarded_props` and `thread_id` instead of the model's own; `on_event`, which gets each event
    of the run.

    A call raises the errors of `langgraph_agui.client.errors`.

    Attributes:
        url: The agent's address.
        headers: Sent with each request.
        timeout: See `AGUIClient`.
        http_client: For `invoke` and `stream`; see `AGUIClient`.
        http_async_client: For `ainvoke` and `astream`; see `AGUIClient`.
        retries: See `AGUIClient`.
        limits: See `AGUIClient`. Rounds of local tools are counted since the last message of the
            user.
        thread_id: The agent's thread; None finds it in the messages.
        context: Context for the agent, sent with each run.
        forwarded_props: Sent to the agent as they are.
        cache: Off: an agent has effects, so each call must reach it.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, hide_input_in_errors=True)

    url: str = Field(repr=False)
    headers: Mapping[str, str] | None = Field(default=None, repr=False)
    timeout: float | httpx2.Timeout | None = TIMEOUT
    http_client: httpx2.Client | None = Field(default=None, repr=False)
    http_async_client: httpx2.AsyncClient | None = Field(default=None, repr=False)
    retries: int = RETRIES
    limits: ClientLimits = DEFAULT_LIMITS
    thread_id: str | None = None
    context: Sequence[agui.Context] = ()
    forwarded_props: Mapping[str, Any] = Field(default_factory=dict, repr=False)
    cache: Any = False

    def model_post_init(self, _context: Any) -> None:
        """Check address and headers. Raises `ValueError` if HTTP cannot carry them."""
        self._client(None)

    def _client(self, http_client: HTTPClient | None) -> AGUIClient:
        # Made for each call: the fields may have been changed since the last one.
        return AGUIClient(
            self.url,
            headers=self.headers,
            timeout=self.timeout,
            http_client=http_client,
            retries=self.retries,
            limits=self.limits,
        )

    @property
    def _llm_type(self) -> str:
        return "ag-ui"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"agent": agent_key(self.url)}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return LangSmithParams(
            ls_provider="ag-ui", ls_model_name=self._public_url, ls_model_type="chat"
        )

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Show where the agent is, without headers and credentials."""
        yield "url", self._public_url
        yield from super().__repr_args__()

    @property
    def _public_url(self) -> str:
        return public(parsed_url(self.url))

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer tools that run here to the agent (AG-UI 1.0, frontend tools).

        Raises `ValueError` for a tool without a schema. AG-UI cannot force a call: where
        `tool_choice` asks for one (`any`, a name), an answer without it raises
        `ToolNotCalledError`.
        """
        offered = [
            convert_to_openai_tool(tool) for tool in ([] if tool_choice == "none" else tools)
        ]
        names = [agui_tool(tool).name for tool in offered]
        if tool_choice not in (None, False, "auto", "none"):
            kwargs["wanted"] = [name for name in names if f"'{name}'" in repr(tool_choice)] or names
        return self.bind(tools=offered, **kwargs)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages, stop, kwargs, self.http_client)
        with answer.run as run:
            for event in run:
                yield from answer.feed(event)
        yield from answer.finish()

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        answer = self._answer(messages, stop, kwargs, self.http_async_client)
        async with answer.run as run:
            async for event in run:
                for chunk in answer.feed(event):
                    yield chunk
        for chunk in answer.finish():
            yield chunk

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return generate_from_stream(self._stream(messages, *args, **kwargs, joins=True))

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, *args, **kwargs, joins=True))

    def _answer(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        kwargs: Mapping[str, Any],
        http: HTTPClient | None,
    ) -> _Answer:
        """Return the answer to `messages`, of a run that has not started."""
        given = {*kwargs, "stop"} if stop else {*kwargs}
        if unknown := sorted(given - _CALL_ARGUMENTS):
            logger.warning("AG-UI has no field for %s, which was left out.", ", ".join(unknown))
        thread_id = kwargs.get("thread_id") or self.thread_id
        request = to_agui_request(messages, agent_key(self.url), thread_id)
        self.limits.check_tool_rounds(request.tool_rounds)
        answers, cancel = kwargs.get("resume") or {}, kwargs.get("cancel") or ()
        resume = resume_entries(request.interrupts, answers, cancel)
        run_input = agui.RunAgentInput(
            thread_id=request.thread_id,
            run_id=str(uuid4()),
            messages=request.messages,
            state=to_jsonable(kwargs.get("state", {})),
            tools=[agui_tool(tool) for tool in kwargs.get("tools") or ()],
            context=list(kwargs.get("context", self.context)),
            forwarded_props=to_jsonable(kwargs.get("forwarded_props", self.forwarded_props)),
            resume=resume or None,
        )
        return _Answer(self._client(http).run(run_input), request, kwargs)


class _Answer:
    """Makes the chunks of one answer, all with the run's id.

    A call of a local tool that the answers in the request approve becomes a call of this answer if
    it is open at the run's end: the agent does not announce it again (AG-UI 1.0, interrupts).

    Args:
        run: The run. It has applied each event that comes here.
        request: The request to the agent.
        options: The keyword arguments of the call. `on_event` gets each event; the agent must call
            one of the tools that `wanted` names.
    """

    def __init__(self, run: RemoteRun, request: AGUIRequest, options: Mapping[str, Any]) -> None:
        self.run, self._request, self._options = run, request, options
        self._approvals = Approvals(request.interrupts, run.input.resume or ())
        self._tools = {tool.name for tool in run.input.tools or ()}
        self._history = EventHistory(run.conversation)
        self._builder = ChunkBuilder(self._history, self._tools, joins=options.get("joins", False))

    def feed(self, event: agui.Event) -> list[ChatGenerationChunk]:
        """Return the chunks of `event`; at the run's end also those of a snapshot's messages."""
        if (on_event := self._options.get("on_event")) is not None:
            on_event(event)
        events = self._history.receive(event)
        return self._generations(chunk for one in events for chunk in self._builder.feed(one))

    def finish(self) -> list[ChatGenerationChunk]:
        """Return the chunks that complete the message after a run without an error.

        Raises:
            ToolNotCalledError: The run was a success, but without a call of a `wanted` tool.
        """
        run, open_calls = self.run, self._history.open_calls
        asked = [one for one in open_calls if one in self._request.asked_calls]
        settled = [chunk for call_id in asked for chunk in self._settle(call_id)]
        leaves_calls, wanted = self._builder.leaves_calls, self._options.get("wanted")
        if wanted and run.outcome == "success" and not leaves_calls:
            raise run.broken(ToolNotCalledError(f"The agent has not called {' or '.join(wanted)}."))
        details = {"interrupts": to_jsonable(run.interrupts)} if run.interrupts else {}
        *chunks, last = self._builder.finish(
            agent=self._request.agent, thread=run.input.thread_id, **details
        )
        reason = "tool_calls" if leaves_calls else "stop"
        if run.outcome in ("interrupt", "cancelled"):
            reason = run.outcome
        last.response_metadata["finish_reason"] = reason
        if models := {entry.model for entry in run.usage if entry.model}:
            last.response_metadata["model_name"] = ", ".join(sorted(models))
        last.usage_metadata = usage_metadata(run.usage)
        return self._generations([*settled, *chunks, last])

    def _settle(self, call_id: str) -> list[AIMessageChunk]:
        """Return the chunks that allow or forbid the caller a call that the agent asked about.

        The caller may run the call if it has approved the call and the agent has left it open. If
        the agent has announced the call again, its arguments there count.
        """
        repeated = self._builder.repeated_call(call_id)
        if repeated is not None:
            return [] if self._may_run(repeated) else self._builder.withhold(call_id)
        stored = self._history.store.find_call(call_id)
        if stored is None:
            return []
        call = stored.view()
        # The agent has the arguments of the approval, and need not send them back.
        edited = self._approvals.edited_args(call_id, call.function.name)
        if not self._may_run(call, edited):
            return []
        if edited is not None:
            arguments = dump_json(edited)
            function = agui.FunctionCall(name=call.function.name, arguments=arguments)
            call = call.model_copy(update={"function": function})
        return [self._builder.repeat_call(call)]

    def _may_run(self, call: agui.ToolCall, edited: dict[str, Any] | None = None) -> bool:
        """Return whether the run leaves a call to the caller, and the request's answers approve it.

        `edited` arguments replace those of the call.
        """
        run, name = self.run, call.function.name
        arguments = normalized_args(call.function.arguments)
        if run.outcome not in ("success", "interrupt") or name not in self._tools:
            return False
        if arguments is None or call.id in self._history.answered:
            return False
        if Approvals(run.interrupts).ask_about(call.id, name):
            return False
        args = json.loads(arguments) if edited is None else edited
        return self._approvals.approve(ToolCall(id=call.id, name=name, args=args))

    def _generations(self, chunks: Iterable[AIMessageChunk]) -> list[ChatGenerationChunk]:
        generations = [ChatGenerationChunk(message=chunk) for chunk in chunks]
        for one in generations:
            one.message.id = self.run.input.run_id
        return generations


def usage_metadata(usage: Sequence[agui.TokenUsage]) -> UsageMetadata | None:
    """Return the sum of a run's token counts as LangChain has them; None without any."""
    found = None
    for entry in usage:
        given, made = entry.input_tokens or 0, entry.output_tokens or 0
        total = given + made if entry.total_tokens is None else entry.total_tokens
        counted: dict[str, Any] = {
            "input_tokens": given,
            "output_tokens": made,
            "total_tokens": total,
        }
        inputs = {
            "cache_read": entry.cached_input_tokens,
            "cache_creation": entry.cache_write_input_tokens,
        }
        outputs = {"reasoning": entry.reasoning_tokens}
        for key, details in (("input", inputs), ("output", outputs)):
            if known := {name: tokens for name, tokens in details.items() if tokens is not None}:
                counted[f"{key}_token_details"] = known
        found = add_usage(found, cast("UsageMetadata", counted))
    return found
