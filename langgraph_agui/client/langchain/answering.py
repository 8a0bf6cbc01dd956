"""One run of a remote agent as the answer of a chat model.

In: the run's events. Out: the chunks of one message; the last of them says how the run ended, what it cost, and what
ties the message to the agent (:mod:`~langgraph_agui.client.langchain.outgoing`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ag_ui.core import (
    AssistantMessage,
    Event,
    FunctionCall,
    RunFinishedEvent,
    TokenUsage,
    ToolCall,
    ToolCallResultEvent,
)
from langchain_core.messages import AIMessageChunk, UsageMetadata
from langchain_core.messages import ToolCall as LocalCall
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, add_usage
from langchain_core.outputs import ChatGenerationChunk

from langgraph_agui.client.errors import ToolNotCalledError
from langgraph_agui.client.langchain.afterwards import Heard
from langgraph_agui.client.langchain.approved import approved, asks_about
from langgraph_agui.client.langchain.chunks import MessageChunks
from langgraph_agui.client.langchain.history import AGUI, respelt
from langgraph_agui.client.langchain.outgoing import Outgoing
from langgraph_agui.client.langchain.results import open_calls
from langgraph_agui.client.remote_run import RemoteRun
from langgraph_agui.protocol.jsonable import to_jsonable

_REASONS = {"interrupt": "interrupt", "cancelled": "cancelled"}


class Answer:
    """Makes the chunks of one answer, all under the run's id.

    Args:
        run: The run, which is told the events before they come here.
        agent: The `agent_key` of its agent.
        tools: The names of the tools that the caller runs.
        sent: What the agent was sent. A call of `tools` that the answers in it approve becomes a call of this answer
            if it is open at the run's end: the agent does not announce it again (AG-UI 1.0, interrupts).
        on_event: Is given each event.
        wanted: The tools of which the agent is to call one, if it is to.
    """

    def __init__(
        self,
        run: RemoteRun,
        agent: str,
        tools: Collection[str],
        sent: Outgoing,
        on_event: Callable[[Event], object] | None = None,
        wanted: Collection[str] = (),
    ) -> None:
        self._run, self._agent, self._tools, self._on_event = run, agent, tools, on_event
        self._sent, self._wanted = sent, wanted
        self._chunks = MessageChunks(tools=tools, history=run.input.messages)
        self._heard = Heard(run.input.messages)
        self._answered: set[str] = set()
        """The calls that the run has answered."""

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
            self._answered.add(event.tool_call_id)

    def finish(self) -> Iterator[ChatGenerationChunk]:
        """Yield what completes the message; the run has ended without an error.

        Raises:
            ToolNotCalledError: It has ended as a success, without a call where one was wanted.
        """
        settled = [*self._settled()]
        if self._wanted and self._run.outcome == "success" and not self._chunks.leaves_calls:
            raise self._run.broken(ToolNotCalledError(f"The agent has not called {' or '.join(self._wanted)}."))
        *rest, last = self._chunks.finish()
        for chunk in [*settled, *rest]:
            yield self._generation(chunk)
        run = self._run
        marks: dict[str, object] = {"agent": self._agent, "thread": run.input.thread_id}
        if run.interrupts:
            marks["interrupts"] = to_jsonable(run.interrupts)
        last.additional_kwargs = {AGUI: {**last.additional_kwargs.get(AGUI, {}), **marks}}
        models = {entry.model for entry in run.usage if entry.model}
        reason = _REASONS.get(run.outcome or "", "tool_calls" if self._chunks.leaves_calls else "stop")
        last.response_metadata = {
            **last.response_metadata,
            "finish_reason": reason,
            **({"model_name": ", ".join(sorted(models))} if models else {}),
        }
        last.usage_metadata = usage_metadata(run.usage)
        yield self._generation(last)

    def _settled(self) -> Iterator[AIMessageChunk]:
        """What becomes of the caller's calls of the history that the agent had asked about.

        Those that were approved and that the agent leaves to the caller are its to run; others are not, even if the
        agent announces them again.
        """
        run = self._run
        spoken = [one for one in run.messages if isinstance(one, AssistantMessage)]
        now = {call.id: call for message in spoken for call in message.tool_calls or ()}
        for call_id in (one for one in open_calls(run.input.messages) if one in self._sent.asked):
            said = self._chunks.said_again(call_id)
            call = said or self._edited(now.get(call_id))
            may = call is not None and call_id not in self._answered and self._may_run(call)
            if said is not None and not may and (taken := self._chunks.withhold([call_id])) is not None:
                yield taken
            elif said is None and call is not None and may:
                yield self._chunks.again(call)

    def _edited(self, call: ToolCall | None) -> ToolCall | None:
        """A call with the arguments that its approval gives it: the agent knows them by now, and need not tell them."""
        answers = {entry.interrupt_id: entry.payload for entry in self._run.input.resume or ()}
        local = None if call is None else _local(call)
        if call is None or local is None:
            return call
        for one in self._sent.interrupts:
            given = answers.get(one.id)
            args = given.get("editedArgs") if isinstance(given, Mapping) and asks_about(one, local) else None
            if isinstance(args, Mapping):
                function = FunctionCall(name=call.function.name, arguments=json.dumps(args, ensure_ascii=False))
                return call.model_copy(update={"function": function})
        return call

    def _may_run(self, call: ToolCall) -> bool:
        """Whether a call of the history is the caller's to run now."""
        run, local = self._run, _local(call)
        if run.outcome not in ("success", "interrupt") or local is None or local["name"] not in self._tools:
            return False
        if any(asks_about(one, local) for one in run.interrupts):
            return False
        return approved(local, self._sent.interrupts, run.input.resume or ())

    def _generation(self, chunk: AIMessageChunk) -> ChatGenerationChunk:
        chunk.id = self._run.input.run_id
        return ChatGenerationChunk(message=chunk)


def _local(call: ToolCall) -> LocalCall | None:
    """A call as what runs it takes it; None if its arguments cannot be read."""
    arguments = respelt(call.function.arguments)
    return None if arguments is None else LocalCall(id=call.id, name=call.function.name, args=json.loads(arguments))


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
