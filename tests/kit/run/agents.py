"""Drive agents in tests: every stream is verified, folded and compared with its closing
snapshot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from ag_ui.core import (
    BaseEvent,
    Event,
    Message,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    UserMessage,
)

from langgraph_agui import LangGraphAgent
from langgraph_agui.compat.old_clients import OldClient
from langgraph_agui.protocol import Verifier, fold
from tests.kit.expect.agreement import record_stream


def user(text: str, message_id: str | None = None) -> UserMessage:
    return UserMessage(id=message_id or str(uuid4()), role="user", content=text)


def run_input(
    *messages: Message | str, thread: str | None = None, run: str | None = None, **fields: Any
) -> RunAgentInput:
    return RunAgentInput(
        thread_id=thread or str(uuid4()),
        run_id=run or str(uuid4()),
        protocol_version=fields.pop("protocol_version", "1.0"),
        messages=[user(message) if isinstance(message, str) else message for message in messages],
        state=fields.pop("state", {}),
        tools=fields.pop("tools", []),
        context=fields.pop("context", []),
        forwarded_props=fields.pop("forwarded_props", {}),
        **fields,
    )


@dataclass
class RecordedRun:
    """A finished stream, and what a client holds after it."""

    events: list[Event]
    input: RunAgentInput

    def __post_init__(self) -> None:
        verifier = Verifier(strict=True, input=self.input)
        for event in self.events:
            verifier.feed(event)
        verifier.finish()
        check_closed(self.events)
        record_stream(self.events, self.input.messages, self.input.state)

    @property
    def types(self) -> list[str]:
        return [event.type.value for event in self.events]

    def of(self, *types: str) -> list[Any]:
        return [event for event in self.events if event.type.value in types]

    @property
    def last(self) -> Any:
        return self.events[-1]

    @property
    def messages(self) -> list[Message]:
        """What the client holds in the end."""
        return fold(self.events, self.input.messages, self.input.state).messages

    @property
    def state(self) -> Any:
        return fold(self.events, self.input.messages, self.input.state).state

    @property
    def streamed(self) -> list[Message]:
        """What the client would hold without the closing snapshot."""
        closing = self.of("MESSAGES_SNAPSHOT")[-1:]
        events = [event for event in self.events if not any(event is one for one in closing)]
        return fold(events, self.input.messages, self.input.state).messages

    @property
    def snapshot(self) -> list[Message]:
        return self.of("MESSAGES_SNAPSHOT")[-1].messages

    def check_snapshot(self) -> None:
        """The closing snapshot says what the stream said, but for activities, which clients keep;
        only `error` is new (no event has a field for it)."""
        streamed = [one for one in self.streamed if one.role != "activity"]
        assert dumped(streamed) == dumped(self.snapshot)


def check_closed(events: Sequence[Event]) -> None:
    """Before RUN_ERROR all is closed, as it must be before RUN_FINISHED."""
    *before, last = events
    if isinstance(last, RunErrorEvent) and before:
        verifier = Verifier()
        for event in [*before, RunFinishedEvent(thread_id="t", run_id="r")]:
            verifier.feed(event)


def dumped(messages: Sequence[Message]) -> list[dict[str, Any]]:
    dumps = [message.model_dump(by_alias=True, mode="json") for message in messages]
    for dump in dumps:
        if (dump.get("metadata") or {}).get("status") == "error":
            dump.pop("error", None)
    return dumps


async def collect(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


async def record_run(agent: LangGraphAgent, given: RunAgentInput, **options: Any) -> RecordedRun:
    """Run `agent` to its end and check the stream, also in the form for clients of before AG-UI
    1.0."""
    recorded = RecordedRun(await collect(agent.run(given, **options)), given)
    check_old_form(recorded)
    return recorded


def check_old_form(recorded: RecordedRun) -> None:
    """A client of before 1.0 ends up with the same messages and state, but for the names of
    subagents."""
    given = recorded.input.model_copy(update={"protocol_version": None})
    old = OldClient(given, shows_subagents=False)
    received: list[Any] = [sent for event in recorded.events for sent in old.convert(event)]
    client = fold(received, given.messages, given.state)
    nameless = [
        [message.model_copy(update={"subagent_run_id": None}) for message in one.messages]
        for one in (client, recorded)
    ]
    assert dumped(nameless[0]) == dumped(nameless[1])
    assert client.state == recorded.state


def plain(event: BaseEvent) -> dict[str, Any]:
    return event.model_dump(by_alias=True, mode="json")
