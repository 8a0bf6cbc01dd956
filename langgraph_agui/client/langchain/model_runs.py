"""A run of a remote agent, as runs of a chat model here.

In: the events of the run. Out: LangChain messages, an `AIMessage` for each answer of its model and
a `ToolMessage` for each of its results, in their order. A model run here generates each `AIMessage`
while it arrives, so listeners of a graph (LangGraph's `messages` mode, tracers, `LangGraphAgent`)
receive it like any model's.
"""

from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from ag_ui import core as agui
from langchain_core.callbacks import adispatch_custom_event
from langchain_core.language_models.chat_models import BaseChatModel, agenerate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from pydantic import Field

from langgraph_agui.client.agent import RemoteRun
from langgraph_agui.client.langchain.chat_model import usage_metadata
from langgraph_agui.client.langchain.chunks import ChunkBuilder
from langgraph_agui.client.langchain.event_history import EventHistory, fields_of
from langgraph_agui.messages.content import REMOTE_KWARG, content_blocks, has_call
from langgraph_agui.nodes import dispatch_agent_output, emit_state
from langgraph_agui.protocol.event_order import Closing, ItemKind, Opening, item_of


class ModelRuns:
    """Reads one run of a remote agent, and makes model runs of it.

    Args:
        run: The run.
        agent: The `agent_key` of its agent.
        state_keys: The keys of its state that the graph here shares, each with its name here.
        config: The config of the model runs that generate the messages.
    """

    def __init__(
        self, run: RemoteRun, agent: str, state_keys: Mapping[str, str], config: RunnableConfig
    ) -> None:
        self._run, self._state_keys, self._config = run, state_keys, config
        self._origin: dict[str, Any] = {"agent": agent, "thread": run.input.thread_id}
        self._events = aiter(run)
        # Events that are read and not consumed yet.
        self._queue: deque[agui.Event] = deque()
        self._history = EventHistory(run.conversation, joins_subagents=True)
        # The messages begun so far, by the id that they have here.
        self._builders: dict[str | None, ChunkBuilder] = {}
        self._result_count = 0
        # Results that are not among the messages yet.
        self._new_results: list[ToolMessage] = []

    async def messages(self, given: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Read the run to its end and return its messages. `given` was sent to the agent.

        Raises the errors of `langgraph_agui.client.errors`.
        """
        messages: list[BaseMessage] = []
        reported = 0
        while (event := await self._peek()) is not None:
            if self._opens_item(event):
                # Only the messages since the last model run: callbacks format all of them.
                prompt = messages[reported:] if self._builders else [*given, *messages]
                reported = len(messages)
                model = RemoteModel(runs=self, cache=False)
                messages.append(await model.ainvoke(prompt, self._config))
            else:
                self._queue.popleft()
                await self._forward(event)
            for result in self._new_results:
                insert_result(messages, result)
            self._new_results.clear()
        results = self._history.result_details()
        return [self._completed(message, results) for message in messages]

    async def stream_message(self, joins: bool = False) -> AsyncIterator[AIMessageChunk]:
        """Yield the chunks of the next message.

        The message ends, once none of its items is open, before the first item after results: the
        model has received these results and begun a new message. It also ends before another text,
        unless a call in it waits for a tool that runs here.
        """
        builder = ChunkBuilder(self._history, joins=joins)
        message_id = f"{self._run.input.run_id}:{len(self._builders) + 1}"
        self._builders[message_id] = builder
        local_tools = {tool.name for tool in self._run.input.tools or ()}
        open_items, text_ids = set[tuple[ItemKind, str]](), set[str]()
        waits_for_tools, results_before = False, self._result_count
        while (event := await self._peek()) is not None:
            if isinstance(event, agui.RunFinishedEvent):
                break
            if isinstance(event, Opening) and self._opens_item(event):
                kind, item_id = item = item_of(event)
                is_other_text = kind == "text message" and bool(text_ids - {item_id})
                has_results = self._result_count > results_before
                if not open_items and (has_results or (is_other_text and not waits_for_tools)):
                    break
                open_items.add(item)
                if kind == "text message":
                    text_ids.add(item_id)
                elif isinstance(event, agui.ToolCallStartEvent):
                    waits_for_tools |= event.tool_call_name in local_tools
            elif isinstance(event, Closing):
                open_items.discard(item_of(event))
            self._queue.popleft()
            for chunk in builder.feed(event):
                chunk.id = message_id
                yield chunk
            await self._forward(event)
        chunks = builder.finish(**self._origin)
        if isinstance(event, agui.RunFinishedEvent):
            chunks[-1].usage_metadata = usage_metadata(self._run.usage)
        for chunk in chunks:
            chunk.id = message_id
            yield chunk

    async def _peek(self) -> agui.Event | None:
        """Return the next event of `EventHistory.receive`, without consuming it."""
        if not self._queue and (event := await anext(self._events, None)) is not None:
            self._queue.extend(self._history.receive(event))
        return self._queue[0] if self._queue else None

    def _opens_item(self, event: agui.Event) -> bool:
        """Return whether an event opens a new item of the agent itself."""
        match event:
            case agui.ToolCallStartEvent(tool_call_id=call_id):
                is_sent = call_id in self._history.open_calls
                return not is_sent and self._history.own_holder(call_id) is not None
            case agui.TextMessageStartEvent() | agui.ReasoningMessageStartEvent():
                return self._history.own_message(event.message_id) is not None
        return False

    async def _forward(self, event: agui.Event) -> None:
        """Pass on an event that is no part of a message, but no result from a tool's subagent."""
        match event:
            # The conversation has no place for results of unknown calls.
            case agui.ToolCallResultEvent() if event.tool_call_id in self._history.calls:
                if self._history.is_own(event.subagent_run_id):
                    await self._add_result(event)
            case agui.StateSnapshotEvent() | agui.StateDeltaEvent():
                emit_state(local_state(self._run.state, self._state_keys))
            case agui.CustomEvent():
                await adispatch_custom_event(event.name, event.value, config=self._config)
            case agui.ActivitySnapshotEvent() | agui.ActivityDeltaEvent():
                await dispatch_agent_output(event, self._config)

    async def _add_result(self, event: agui.ToolCallResultEvent) -> None:
        """Emit a result, with its encrypted value if that comes next."""
        await self._peek()
        stored = self._history.store.find(event.message_id)
        details = {**self._origin, "id": event.message_id, **fields_of(event, "metadata")}
        if stored is not None:
            details |= fields_of(stored.model, "encrypted_value")
        self._result_count += 1
        content = content_blocks(event.content, message_id=event.message_id)
        result = ToolMessage(
            # An id of this run: the agent's own may be that of a local message, which it would
            # replace.
            id=f"{self._run.input.run_id}:result:{self._result_count}",
            tool_call_id=event.tool_call_id,
            name=self._history.calls[event.tool_call_id].name,
            content=content,  # type: ignore[arg-type]  # blocks are JSON objects
            status="error" if self._history.has_failed(event) else "success",
            additional_kwargs={REMOTE_KWARG: details},
        )
        self._new_results.append(result)
        await dispatch_agent_output(result, self._config)

    def _completed(
        self, message: BaseMessage, results: Mapping[str, Mapping[str, Any]]
    ) -> BaseMessage:
        """Return a message with the details that the run has changed since its end."""
        if isinstance(message, AIMessage):
            return self._builders[message.id].update(message)
        details = {
            **message.additional_kwargs[REMOTE_KWARG],
            **results.get(getattr(message, "tool_call_id", ""), {}),
        }
        details.pop("error", None)
        return message.model_copy(update={"additional_kwargs": {REMOTE_KWARG: details}})


class RemoteModel(BaseChatModel):
    """A model that generates the next message of a remote agent's run."""

    runs: ModelRuns = Field(exclude=True, repr=False)

    @property
    def _llm_type(self) -> str:
        return "ag-ui"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError("A remote run is asynchronous; use ainvoke or astream.")

    async def _agenerate(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, joins=True))

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, joins: bool = False, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in self.runs.stream_message(joins):
            yield ChatGenerationChunk(message=chunk)


def local_state(state: object, keys: Mapping[str, str]) -> dict[str, object]:
    """Return the shared keys of a remote agent's state under their names here."""
    values = state if isinstance(state, Mapping) else {}
    return {here: values[there] for there, here in keys.items() if there in values}


def insert_result(messages: list[BaseMessage], result: ToolMessage) -> None:
    """Insert a result after its call and the results there; first, if the call was made before."""
    place = len(messages)
    while place > 0 and not has_call(messages[place - 1], result.tool_call_id):
        place -= 1
    while place < len(messages) and isinstance(messages[place], ToolMessage):
        place += 1
    messages.insert(place, result)
