"""`record_run`: one run of an agent, checked; and `RecordedRun`, which goes on from there.

In: a user's text, or any other input of a run. Out: the events, and what the client has after them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, Protocol, TypeAlias, cast, get_args
from uuid import uuid4

from ag_ui import core as agui
from ag_ui.core import Event, Message, RunAgentInput
from pydantic import BaseModel

from langgraph_agui.client import RunFailedError
from langgraph_agui.protocol import Fold, Verifier, to_jsonable

# The classes of messages.
_MESSAGES: Final[tuple[type[BaseModel], ...]] = get_args(get_args(Message)[0])

Outcome: TypeAlias = Literal["success", "interrupt", "cancelled", "error"]


class _Stream(Protocol):
    def __aiter__(self) -> AsyncIterator[Event]: ...

    async def aclose(self) -> object: ...


class _Agent(Protocol):
    def run(self, run_input: RunAgentInput, /) -> _Stream: ...


@dataclass(frozen=True, repr=False)
class RecordedRun:
    """A finished run, and the messages and state that its client then has.

    Attributes:
        agent: The agent.
        input: The input of the run.
        events: Its events, in the form that `Verifier` returns.
        options: The options that the agent's `run` had, beside the input.
    """

    agent: _Agent
    input: RunAgentInput
    events: list[Event]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Show how the run has ended, and the agent's answer."""
        problem = (
            f", code={self.error.code!r}, message={self.error.message!r}" if self.error else ""
        )
        return f"RecordedRun(outcome={self.outcome!r}{problem}, text={self.text!r})"

    @cached_property
    def _client(self) -> Fold:
        client = Fold(self.input.messages, self.input.state)
        for event in self.events:
            client.feed(event)
        return client

    @property
    def messages(self) -> list[Message]:
        """The conversation: the messages of the input, and those of the run."""
        return self._client.messages

    @property
    def state(self) -> Any:
        """The shared state, as JSON data."""
        return self._client.state

    @property
    def text(self) -> str:
        """The agent's answer: the text that this run has streamed without that of subagents, a
        blank line between messages.
        """
        begun = {
            one.message_id for one in self.events if isinstance(one, agui.TextMessageStartEvent)
        }
        texts = [
            message.content
            for message in self.messages
            if isinstance(message, agui.AssistantMessage)
            and message.id in begun
            and message.subagent_run_id is None
        ]
        return "\n\n".join(filter(None, texts))

    @property
    def outcome(self) -> Outcome:
        """How the run has ended."""
        if self.error is not None:
            return "error"
        outcome = cast("agui.RunFinishedEvent", self.events[-1]).outcome
        return outcome.type if outcome is not None else "success"

    @property
    def error(self) -> agui.RunErrorEvent | None:
        """The last event of a run that has failed. The log has the exception."""
        last = self.events[-1]
        return last if isinstance(last, agui.RunErrorEvent) else None

    @property
    def interrupts(self) -> list[agui.Interrupt]:
        """The interrupts that the agent waits for."""
        match self.events[-1]:
            case agui.RunFinishedEvent(outcome=agui.RunFinishedInterruptOutcome(interrupts=asked)):
                return asked
        return []

    @property
    def pending_tool_calls(self) -> list[agui.ToolCall]:
        """The calls of this run that have no result yet: the agent has left them to its client."""
        if self.outcome != "success":
            return []
        begun = {
            one.tool_call_id for one in self.events if isinstance(one, agui.ToolCallStartEvent)
        }
        answered = {
            one.tool_call_id for one in self.events if isinstance(one, agui.ToolCallResultEvent)
        }
        return [
            call
            for message in self.messages
            if isinstance(message, agui.AssistantMessage)
            for call in message.tool_calls or ()
            if call.id in begun - answered
        ]

    async def then(self, *messages: str | Message, state: object = None) -> RecordedRun:
        """Record the next run in the thread.

        Args:
            messages: The client adds them to the conversation: texts of the user, or any messages.
            state: The state that the client sends; by default the one that it has now.

        Raises:
            TypeError: One of `messages` is neither.
            ProtocolError: As in `record_run`.
        """
        return await self._go_on(messages, state)

    async def answer(self, *answers: object) -> RecordedRun:
        """Answer every open question and call, and record the run that follows.

        Args:
            answers: For each of `interrupts`, in their order, a payload such as
                `{"approved": True}`, or a `ResumeEntry`. If there are none, for each of
                `pending_tool_calls` its result: a text, other JSON data, or a `ToolMessage`.

        Raises:
            ProtocolError: As in `record_run`.
            ValueError: There are more or fewer answers than questions.
        """
        interrupts, calls = self.interrupts, self.pending_tool_calls
        asked = [(one.message or one.reason).partition("\n")[0] for one in interrupts]
        asked = asked or [one.function.name for one in calls]
        if not answers or len(answers) != len(asked):
            expected = f"one answer for each of {asked}" if asked else "no answer"
            raise ValueError(
                f"The agent waits for {expected}; {len(answers)} came. This is {self}."
            )
        if interrupts:
            return await self._go_on(resume=[*map(_resume_entry, interrupts, answers)])
        return await self._go_on([*map(_result, calls, answers)])

    async def _go_on(
        self,
        messages: Iterable[str | Message] = (),
        state: object = None,
        resume: list[agui.ResumeEntry] | None = None,
    ) -> RecordedRun:
        following = self.input.model_copy(
            update={
                "run_id": str(uuid4()),
                "messages": [*self.messages, *map(_message, messages)],
                "state": self.state if state is None else state,
                "resume": resume,
            }
        )
        return await record_run(self.agent, following, **self.options)


async def record_run(
    agent: _Agent,
    given: str | Message | RunAgentInput,
    *,
    state: object = None,
    tools: Iterable[agui.Tool] = (),
    **options: Any,
) -> RecordedRun:
    """Run an agent once, to its end, and check its stream.

    ```python
    run = await record_run(agent, "Send Ada 5 euros")
    paid = await run.answer({"approved": True})
    assert paid.text == "Sent 5 euros to Ada."
    ```

    A run that fails does not raise: see `outcome` and `error`.

    Args:
        agent: A `LangGraphAgent`, an `AGUIClient`, or any other object with `run(RunAgentInput)`.
        given: The text of a user, or a message, in a new thread; or a whole input, which is sent as
            it is.
        state: The state that the client sends; a whole input has its own.
        tools: The tools that the client offers; a whole input has its own.
        options: Options of the agent's `run`, for this run and those that follow: a
            `LangGraphAgent` takes `config` and `context`.

    Raises:
        TypeError: `agent` is no agent, `given` is none of the above, or a whole input came with
            `state` or `tools`.
        ProtocolError: The stream breaks a rule of AG-UI 1.0, for clients or for agents
            (`Verifier` with `strict`).
    """
    if not callable(getattr(agent, "run", None)):
        raise TypeError(
            f"An agent has run(input), as LangGraphAgent(graph) has; {type(agent).__name__} has "
            "none."
        )
    if isinstance(given, RunAgentInput):
        if state is not None or tools:
            raise TypeError(
                "A whole input has its own: write RunAgentInput(state=..., tools=[...])."
            )
    else:
        given = RunAgentInput(
            protocol_version=agui.PROTOCOL_VERSION,
            thread_id=str(uuid4()),
            run_id=str(uuid4()),
            messages=[_message(given)],
            state=state,
            tools=[*tools],
            context=[],
            forwarded_props={},
        )
    run: Callable[..., _Stream] = agent.run
    verifier, events = Verifier(strict=True, input=given), list[Event]()
    with suppress(RunFailedError):  # an `AGUIClient` raises it behind the last event
        async with aclosing(run(given, **options)) as stream:
            async for event in stream:
                events += verifier.feed(event)
    verifier.finish()
    return RecordedRun(agent, given, events, options)


def _message(given: str | Message) -> Message:
    if isinstance(given, str):
        return agui.UserMessage(id=str(uuid4()), content=given)
    if not isinstance(given, _MESSAGES):
        raise TypeError(
            "A client sends texts, or messages of ag_ui.core such as UserMessage(id=..., "
            f"content=...), not {type(given).__name__}."
        )
    return given


def _resume_entry(interrupt: agui.Interrupt, answer: object) -> agui.ResumeEntry:
    if isinstance(answer, agui.ResumeEntry):
        return answer
    return agui.ResumeEntry(interrupt_id=interrupt.id, status="resolved", payload=answer)


def _result(call: agui.ToolCall, answer: object) -> agui.ToolMessage:
    if isinstance(answer, agui.ToolMessage):
        return answer
    text = answer if isinstance(answer, str) else json.dumps(to_jsonable(answer))
    return agui.ToolMessage(id=str(uuid4()), tool_call_id=call.id, content=text)
