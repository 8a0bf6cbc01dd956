"""One run of a remote agent as the answer of a chat model.

In: the run's events. Out: the chunks of one message; the last of them says how the run ended, what it cost, and what
ties the message to the agent (:mod:`~langgraph_agui.client.outgoing`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from ag_ui.core import Event, RunFinishedEvent, TokenUsage, ToolCallResultEvent
from langchain_core.messages import AIMessageChunk, UsageMetadata
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, add_usage
from langchain_core.outputs import ChatGenerationChunk

from langgraph_agui.client.afterwards import Heard
from langgraph_agui.client.chunks import MessageChunks
from langgraph_agui.client.history import AGUI
from langgraph_agui.client.remote_run import RemoteRun
from langgraph_agui.protocol.jsonable import to_jsonable

_REASONS = {"interrupt": "interrupt", "cancelled": "cancelled"}


class Answer:
    """Makes the chunks of one answer, all under the run's id.

    Args:
        run: The run, which is told the events before they come here.
        agent: The `agent_key` of its agent.
        tools: The names of the tools that the caller runs.
        on_event: Is given each event.
    """

    def __init__(
        self, run: RemoteRun, agent: str, tools: Collection[str], on_event: Callable[[Event], object] | None = None
    ) -> None:
        self._run, self._agent, self._on_event = run, agent, on_event
        self._chunks = MessageChunks(tools=tools, history=run.input.messages)
        self._heard = Heard(run.input.messages)
        self._pending: set[str] = set()
        """The calls that the caller is to answer."""

    def feed(self, event: Event) -> Iterator[ChatGenerationChunk]:
        """Yield what `event` adds; at the run's end also what only a snapshot has told."""
        if self._on_event is not None:
            self._on_event(event)
        if isinstance(event, RunFinishedEvent):
            for one in self._heard.unsaid():
                yield from self._take(one)
        yield from self._take(event)

    def _take(self, event: Event) -> Iterator[ChatGenerationChunk]:
        self._heard.take(event)
        for chunk in self._chunks.feed(event):
            yield self._generation(chunk)
        if isinstance(event, ToolCallResultEvent):
            self._pending.discard(event.tool_call_id)

    def finish(self) -> Iterator[ChatGenerationChunk]:
        """Yield what completes the message; the run has ended without an error."""
        *rest, last = self._chunks.finish()
        for chunk in rest:
            yield self._generation(chunk)
        run = self._run
        marks: dict[str, object] = {"agent": self._agent, "thread": run.input.thread_id}
        if run.interrupts:
            marks["interrupts"] = to_jsonable(run.interrupts)
        last.additional_kwargs = {AGUI: {**last.additional_kwargs.get(AGUI, {}), **marks}}
        models = {entry.model for entry in run.usage if entry.model}
        reason = _REASONS.get(run.outcome or "", "tool_calls" if self._pending else "stop")
        last.response_metadata = {
            **last.response_metadata,
            "finish_reason": reason,
            **({"model_name": ", ".join(sorted(models))} if models else {}),
        }
        last.usage_metadata = usage_metadata(run.usage)
        yield self._generation(last)

    def _generation(self, chunk: AIMessageChunk) -> ChatGenerationChunk:
        chunk.id = self._run.input.run_id
        self._pending.update(call["id"] for call in chunk.tool_call_chunks if call["id"])
        return ChatGenerationChunk(message=chunk)


def usage_metadata(usage: Sequence[TokenUsage]) -> UsageMetadata | None:
    """The tokens of a run as LangChain counts them, which is the same way; None where none were reported."""
    if not usage:
        return None
    found = UsageMetadata(input_tokens=0, output_tokens=0, total_tokens=0)
    for entry in usage:
        found = add_usage(found, _counted(entry))
    return found


def _counted(entry: TokenUsage) -> UsageMetadata:
    told, said, total = entry.input_tokens or 0, entry.output_tokens or 0, entry.total_tokens
    found = UsageMetadata(input_tokens=told, output_tokens=said, total_tokens=told + said if total is None else total)
    given = InputTokenDetails()
    if entry.cached_input_tokens is not None:
        given["cache_read"] = entry.cached_input_tokens
    if entry.cache_write_input_tokens is not None:
        given["cache_creation"] = entry.cache_write_input_tokens
    if given:
        found["input_token_details"] = given
    if entry.reasoning_tokens is not None:
        found["output_token_details"] = OutputTokenDetails(reasoning=entry.reasoning_tokens)
    return found
