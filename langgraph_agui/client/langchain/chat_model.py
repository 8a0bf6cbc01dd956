"""`AGUIChatModel`: a remote AG-UI agent as a LangChain chat model.

In: LangChain messages, and what is bound or given with the call. Out: the chunks of one message, made of the events of
one run.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import httpx2
from ag_ui.core import Context, RunAgentInput
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LangSmithParams, LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel, agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, Field

from langgraph_agui.client.agent import AGUIClient
from langgraph_agui.client.endpoint import RETRIES, TIMEOUT, HTTPClient, parsed_url, public, resume_entries
from langgraph_agui.client.langchain.answering import Answer
from langgraph_agui.client.langchain.outgoing import Outgoing, agent_key, outgoing
from langgraph_agui.client.remote_run import RemoteRun
from langgraph_agui.client.tools import agui_tool
from langgraph_agui.protocol.jsonable import to_jsonable

logger = logging.getLogger(__name__)

_OURS = frozenset(
    {"tools", "wanted", "resume", "cancel", "state", "context", "forwarded_props", "thread_id", "on_event"}
)


class AGUIChatModel(BaseChatModel):
    """Any AG-UI 1.0 agent as a chat model: one call is one run of the agent.

    ```python
    model = AGUIChatModel(url="http://127.0.0.1:8000/agent")
    agent = create_agent(model, tools=[get_user_location])  # runs here, called by the agent over there
    ```

    The answer is one `AIMessage` of standard content blocks: text, `reasoning` with the agent's encrypted values, calls
    of bound tools as tool calls, the agent's own calls and results as `server_tool_call` and `server_tool_result`
    blocks, which nobody here runs. A call of a bound tool that the agent answers itself, because it has one of that
    name, stands among `invalid_tool_calls`, so that it is not run twice. `usage_metadata` counts the whole run;
    `finish_reason` is `stop`, `tool_calls`, `interrupt` or `cancelled`. In the next call the agent gets back exactly
    what it said. What AG-UI has no place for (`stop`, model settings) is left out with a warning.

    The conversation's thread is that of the last message in it that the agent said, so it needs to be named nowhere; a
    conversation without one begins a new thread.

    If the agent waits for an answer, `open_interrupts` of the message has the questions, and the next call must answer
    them: `model.invoke(messages, resume={interrupt_id: payload}, cancel=[])`.
    A call of a bound tool that is asked about is no tool call either: it becomes one of the answer to that next call,
    if the answer approves it (`true`, `{"approved": true, "editedArgs"?: {}}`, or LangChain's `approve`) and the agent
    has not settled it.
    :class:`~langgraph_agui.client.langchain.remote_agent.RemoteAgent` does all of that by LangGraph's `interrupt()`.

    Further keyword arguments of a call, or of `bind`: `state` (the shared state), `context`, `forwarded_props` and
    `thread_id` in place of the model's own; `on_event`, which is given each event of the run.

    Raises, from a call: the errors of :mod:`langgraph_agui.client.errors`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, hide_input_in_errors=True)

    url: str = Field(repr=False)
    """The agent's address."""
    headers: Mapping[str, str] | None = Field(default=None, repr=False)
    """Sent with each request."""
    timeout: float | httpx2.Timeout | None = TIMEOUT
    """See `AGUIClient`."""
    http_client: httpx2.Client | None = Field(default=None, repr=False)
    """For `invoke` and `stream`; see `AGUIClient`."""
    http_async_client: httpx2.AsyncClient | None = Field(default=None, repr=False)
    """For `ainvoke` and `astream`; see `AGUIClient`."""
    retries: int = RETRIES
    """See `AGUIClient`."""
    thread_id: str | None = None
    """The agent's thread, if it is to be named."""
    context: Sequence[Context] = ()
    """What the application tells of itself."""
    forwarded_props: Mapping[str, Any] = Field(default_factory=dict, repr=False)
    """What else the agent is sent."""
    cache: Any = False
    """None: an agent that acts must be asked."""

    def model_post_init(self, _context: Any) -> None:
        """Check address and headers. Raises `ValueError` if HTTP cannot carry them."""
        self._client(None)

    def _client(self, http_client: HTTPClient | None) -> AGUIClient:
        # Made for each call: the fields may have been changed since the last one.
        return AGUIClient(
            self.url, headers=self.headers, timeout=self.timeout, http_client=http_client, retries=self.retries
        )

    @property
    def _agent(self) -> str:
        return agent_key(self.url)

    @property
    def _llm_type(self) -> str:
        return "ag-ui"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"agent": self._agent}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return LangSmithParams(ls_provider="ag-ui", ls_model_name=self._shown, ls_model_type="chat")

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Show where the agent is, and neither headers nor credentials."""
        yield "url", self._shown
        yield from super().__repr_args__()

    @property
    def _shown(self) -> str:
        return public(parsed_url(self.url))

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Offer tools that run here to the agent (AG-UI 1.0, frontend tools).

        Raises `ValueError` for a tool without a schema. Nobody can make an agent call one: where `tool_choice` asks for
        a call (`any`, a name), an answer without it is a `ToolNotCalledError`.
        """
        offered = [convert_to_openai_tool(tool) for tool in ([] if tool_choice == "none" else tools)]
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
        sent, run_input = self._input(messages, stop, kwargs)
        with self._client(self.http_client).run(run_input) as run:
            answer = self._answer(run, sent, kwargs)
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
        sent, run_input = self._input(messages, stop, kwargs)
        async with self._client(self.http_async_client).run(run_input) as run:
            answer = self._answer(run, sent, kwargs)
            async for event in run:
                for chunk in answer.feed(event):
                    yield chunk
        for chunk in answer.finish():
            yield chunk

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, **kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, **kwargs))

    def _answer(self, run: RemoteRun, sent: Outgoing, kwargs: Mapping[str, Any]) -> Answer:
        tools = {tool.name for tool in run.input.tools or ()}
        return Answer(run, self._agent, tools, sent, kwargs.get("on_event"), kwargs.get("wanted") or ())

    def _input(
        self, messages: Sequence[BaseMessage], stop: list[str] | None, kwargs: Mapping[str, Any]
    ) -> tuple[Outgoing, RunAgentInput]:
        """What the conversation comes to, and what the agent is sent of it."""
        if unknown := [*(name for name in kwargs if name not in _OURS), *(["stop"] if stop else [])]:
            logger.warning("AG-UI has no place for %s, which was left out.", ", ".join(sorted(unknown)))
        sent = outgoing(messages, self._agent, kwargs.get("thread_id") or self.thread_id)
        resume = resume_entries(sent.interrupts, kwargs.get("resume") or {}, kwargs.get("cancel") or ())
        run_input = RunAgentInput(
            thread_id=sent.thread_id,
            run_id=str(uuid4()),
            messages=sent.messages,
            state=to_jsonable(kwargs.get("state", {})),
            tools=[agui_tool(tool) for tool in kwargs.get("tools") or ()],
            context=list(kwargs.get("context", self.context)),
            forwarded_props=to_jsonable(kwargs.get("forwarded_props", self.forwarded_props)),
            resume=resume or None,
        )
        return sent, run_input
