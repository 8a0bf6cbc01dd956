"""A remote agent's run, replayed as if its messages were said here.

In: the events of a run. Out: LangChain messages, an `AIMessage` for each turn of its model and a `ToolMessage` for each
of its results, in their order. Each `AIMessage` is said by a model run of its own while it comes, so whatever listens
to a graph (LangGraph's `messages` mode, tracers, `LangGraphAgent`) hears it like any model's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeAlias

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    CustomEvent,
    Event,
    ReasoningEncryptedValueEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunFinishedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    SubagentStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from ag_ui.core import ToolMessage as AGUIToolMessage
from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
    adispatch_custom_event,
)
from langchain_core.language_models.chat_models import BaseChatModel, agenerate_from_stream
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from pydantic import PrivateAttr

from langgraph_agui.client.langchain.afterwards import Heard, sealed
from langgraph_agui.client.langchain.answering import usage_metadata
from langgraph_agui.client.langchain.chunks import MessageChunks
from langgraph_agui.client.langchain.history import AGUI
from langgraph_agui.client.langchain.results import open_calls
from langgraph_agui.client.remote_run import RemoteRun
from langgraph_agui.custom_events import dispatch_agent_output
from langgraph_agui.messages.parts import content_blocks
from langgraph_agui.protocol.event_order import item_of
from langgraph_agui.state.emit import emit_state

_Opening: TypeAlias = TextMessageStartEvent | ReasoningMessageStartEvent | ToolCallStartEvent
_Growing: TypeAlias = TextMessageContentEvent | ReasoningMessageContentEvent | ToolCallArgsEvent
_Closing: TypeAlias = TextMessageEndEvent | ReasoningMessageEndEvent | ToolCallEndEvent
_Said: TypeAlias = _Opening | _Growing | _Closing | ToolCallResultEvent | ReasoningEncryptedValueEvent


class Replay:
    """Reads one run of a remote agent.

    Args:
        run: The run.
        agent: The `agent_key` of its agent.
        state_keys: The keys of its state that are shown here, each with its name here.
        config: Under what the messages are said.
    """

    def __init__(self, run: RemoteRun, agent: str, state_keys: Mapping[str, str], config: RunnableConfig) -> None:
        self.run, self.marks = run, {"agent": agent, "thread": run.input.thread_id}
        self._keys, self._config = state_keys, config
        self._events = aiter(run)
        self._next: Event | None = None
        """An event that was read too early: it begins the next message, or ends the run."""
        self._results: list[ToolMessage] = []
        self._untold: ToolMessage | None = None
        """The last result: its encrypted value may follow."""
        self._heard = Heard(run.input.messages)
        self._open = open_calls(run.input.messages)
        """The calls that the conversation waits for: some agents announce one again once it is approved."""
        self._stages: set[str] = set()
        """The subagents that are parts of the agent itself: no call of its own has begun them."""
        self._unsaid: list[Event] | None = None
        """What is left to say of what only snapshots have told; None before the run has ended."""
        self._count = self._told = 0

    async def messages(self, given: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Read the run to its end and return what was said; `given` is what it was asked.

        Raises the errors of :mod:`langgraph_agui.client.errors`.
        """
        said: list[BaseMessage] = []
        last = 0
        while (event := await self._take()) is not None:
            if self._speaks(event):
                self._next, self._count = event, self._count + 1
                # Each is asked only what has come since the one before: callers format all of it for each model run.
                asked = said[last:] if self._count > 1 else [*given, *said]
                last = len(said)
                said.append(await _Voice.of(self).ainvoke(asked, self._config))
            else:
                await self._aside(event)
            for result in self._results:
                put_result(said, result)
            self._results = []
        values = self._heard.values
        return self._renamed([sealed(message, values["message"], values["tool-call"]) for message in said])

    async def message(self) -> AsyncIterator[ChatGenerationChunk]:
        """Yield the chunks of the next message: up to the first item after results have come for its calls."""
        chunks = MessageChunks(history=self.run.input.messages)
        async for event in self._items():
            for chunk in chunks.feed(event):
                yield self._chunk(chunk)
        *rest, last = chunks.finish()
        for chunk in rest:
            yield self._chunk(chunk)
        last.additional_kwargs = {AGUI: {**last.additional_kwargs.get(AGUI, {}), **self.marks}}
        last.usage_metadata = usage_metadata(self.run.usage) if isinstance(self._next, RunFinishedEvent) else None
        yield self._chunk(last)

    def _chunk(self, chunk: Any) -> ChatGenerationChunk:
        chunk.id = f"{self.run.input.run_id}:{self._count}"
        return ChatGenerationChunk(message=chunk)

    async def _items(self) -> AsyncIterator[Event]:
        """The events of one message.

        Once nothing is open, results end it: an agent that hears them has begun anew. So does another text, unless
        tools that run here are to answer it first.
        """
        open_, texts, waits = set[tuple[str, str]](), set[str](), False
        offered, results = {tool.name for tool in self.run.input.tools or ()}, len(self._results)
        while (event := await self._take()) is not None:
            if isinstance(event, _Opening) and self._speaks(event):
                another = isinstance(event, TextMessageStartEvent) and bool(texts - {event.message_id})
                if not open_ and (len(self._results) > results or (another and not waits)):
                    self._next = event
                    return
                open_.add(item_of(event))
                if isinstance(event, TextMessageStartEvent):
                    texts.add(event.message_id)
                elif isinstance(event, ToolCallStartEvent):
                    waits = waits or event.tool_call_name in offered
                yield event
            elif isinstance(event, _Growing | _Closing):
                if (item := item_of(event)) in open_:
                    yield event
                    open_ -= {item} if isinstance(event, _Closing) else set()
            elif isinstance(event, ReasoningEncryptedValueEvent):
                yield event
            elif isinstance(event, RunFinishedEvent):
                self._next = event
                return
            else:
                await self._aside(event)

    async def _take(self) -> Event | None:
        event, self._next = self._next, None
        if event is None:
            event = await self._read()
            await self._settle(event)
        return event

    async def _read(self) -> Event | None:
        """The next event; before the end, what only a snapshot has told."""
        if self._unsaid:
            return self._noted(self._unsaid.pop(0))
        event = await anext(self._events, None)
        if not isinstance(event, RunFinishedEvent) or self._unsaid is not None:
            return self._noted(event) if event is not None else None
        self._unsaid = [*self._heard.unsaid(), event]
        return await self._read()

    def _noted(self, event: Event) -> Event:
        """Keep what is to be known of an event; return it as the agent's own if a part of the agent has sent it."""
        if isinstance(event, SubagentStartedEvent) and event.parent_tool_call_id is None:
            if event.parent_subagent_run_id in (None, *self._stages):
                self._stages.add(event.subagent_run_id)
        elif isinstance(event, _Said) and event.subagent_run_id in self._stages:
            event = event.model_copy(update={"subagent_run_id": None})
        self._heard.take(event)
        return event

    async def _settle(self, event: Event | None) -> None:
        """Tell the last result, now that all of it is known."""
        result = self._untold
        if result is None:
            return
        if isinstance(event, ReasoningEncryptedValueEvent) and event.entity_id == result.additional_kwargs[AGUI]["id"]:
            result.additional_kwargs[AGUI]["encrypted_value"] = event.encrypted_value
        else:
            self._untold = None
            await dispatch_agent_output(result, self._config)

    async def _aside(self, event: Event) -> None:
        """What is no part of a message is told beside it; what subagents say that tools have called stays there."""
        match event:
            # Results of calls that the conversation does not hold have no place in it.
            case ToolCallResultEvent() if event.subagent_run_id is None and event.tool_call_id in self._heard.calls:
                self._untold = self._result(event)
                self._results.append(self._untold)
            case StateSnapshotEvent() | StateDeltaEvent():
                emit_state(self.state())
            case CustomEvent():
                await adispatch_custom_event(event.name, event.value, config=self._config)
            case ActivitySnapshotEvent() | ActivityDeltaEvent():
                await dispatch_agent_output(event, self._config)

    def _result(self, event: ToolCallResultEvent) -> ToolMessage:
        """A result under an id of this run: the agent's own may be that of a local message, which it would replace."""
        self._told += 1
        failed = (event.metadata or {}).get("status") == "error"
        content = content_blocks(event.content, message_id=event.message_id)
        told = {"id": event.message_id, **({} if event.metadata is None else {"metadata": event.metadata})}
        return ToolMessage(
            id=f"{self.run.input.run_id}:result:{self._told}",
            tool_call_id=event.tool_call_id,
            name=self._heard.calls[event.tool_call_id],
            content=content,  # type: ignore[arg-type]  # blocks are JSON objects
            status="error" if failed else "success",
            additional_kwargs={AGUI: {**self.marks, **told}},
        )

    def _renamed(self, said: list[BaseMessage]) -> list[BaseMessage]:
        """Note the ids that results have in a snapshot, where they were streamed under others."""
        ids = {one.tool_call_id: one.id for one in self._heard.snapshot if isinstance(one, AGUIToolMessage)}
        for place, one in enumerate(said):
            if isinstance(one, ToolMessage) and one.tool_call_id in ids:
                told = {**one.additional_kwargs[AGUI], "id": ids[one.tool_call_id]}
                renamed = one.model_copy(update={"additional_kwargs": {AGUI: told}})
                said[place] = sealed(renamed, self._heard.values["message"], {})
        return said

    def _speaks(self, event: Event) -> bool:
        """Whether an event opens something that the agent itself says, and has not said before."""
        return _speaks(event) and not (isinstance(event, ToolCallStartEvent) and event.tool_call_id in self._open)

    def state(self) -> dict[str, object]:
        """The agent's state, as far as it is shown here, under the names it has here."""
        held = self.run.state if isinstance(self.run.state, dict) else {}
        return {here: held[there] for there, here in self._keys.items() if there in held}


class _Voice(BaseChatModel):
    """Says one message of a replay."""

    _replay: Replay = PrivateAttr()

    @classmethod
    def of(cls, replay: Replay) -> _Voice:
        voice = cls(cache=False)
        voice._replay = replay
        return voice

    @property
    def _llm_type(self) -> str:
        return "ag-ui"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError("A replay is read by coroutines.")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await agenerate_from_stream(self._replay.message())

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in self._replay.message():
            yield chunk


def put_result(said: list[BaseMessage], result: ToolMessage) -> None:
    """Put a result into `said`: behind its call and the results there; first, if the call was made before."""
    place = len(said)
    while place > 0 and not _calls(said[place - 1], result.tool_call_id):
        place -= 1
    while place < len(said) and isinstance(said[place], ToolMessage):
        place += 1
    said.insert(place, result)


def _calls(message: BaseMessage, call_id: str) -> bool:
    return isinstance(message, AIMessage) and any(call["id"] == call_id for call in message.tool_calls)


def _speaks(event: Event) -> bool:
    """Whether an event opens something that the agent itself says."""
    if isinstance(event, TextMessageStartEvent) and event.role not in (None, "assistant"):
        return False
    return isinstance(event, _Opening) and event.subagent_run_id is None
