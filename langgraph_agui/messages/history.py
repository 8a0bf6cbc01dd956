"""One conversation on its way back from a client: AG-UI messages in, LangChain messages out.

Each assistant message is put together from its own envelope, those of the reasoning messages that it names, and those
of its calls. If one of them is missing, altered or another's, the message comes back as text and calls, and nothing
opaque of it is used: what a provider has signed is signed as a whole.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from ag_ui.core import AssistantMessage, Message, ReasoningMessage, ToolMessage, UserMessage
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages import ToolMessage as LCToolMessage

from langgraph_agui.messages.calls import Call, calls_of
from langgraph_agui.messages.envelope import Shown, derived_ids, unwrap
from langgraph_agui.messages.foreign import Bare, Thought, from_bare_values
from langgraph_agui.messages.plain import restored, tool_content
from langgraph_agui.messages.template import Damaged, Seen
from langgraph_agui.messages.values import Envelope, Fault, Values

logger = logging.getLogger(__name__)


class _Unusable(Exception):  # noqa: N818  # a state of the data, not a fault of the program
    """A message cannot be put together from the values that came with it."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault


class History:
    """A conversation as a client sent it.

    Args:
        messages: All messages, in the client's order.
        values: Reads the opaque values.
    """

    def __init__(self, messages: Sequence[Message], values: Values) -> None:
        self._messages = messages
        self._values = values
        self._faults: Counter[Fault] = Counter()
        self._thoughts = {message.id: message for message in messages if isinstance(message, ReasoningMessage)}
        self._opened = {
            message.id: values.read(message.id, message.encrypted_value)
            for message in messages
            if isinstance(message, AssistantMessage) and message.encrypted_value is not None
        }
        self._claimed = {
            thought
            for message_id, opened in self._opened.items()
            if not isinstance(opened, Fault)
            for thought in _reasoning_ids(message_id, opened)
        }
        self._names: dict[str, str] = {}

    def to_langchain(self) -> list[BaseMessage]:
        """The conversation for a graph. Logs one warning if any opaque value could not be used."""
        result = list(in_call_order(self._convert()))
        if self._faults:
            why = ", ".join(f"{count} {fault.value}" for fault, count in sorted(self._faults.items()))
            logger.warning("Opaque values of the client's messages were not used: %s.", why)
        return result

    def _convert(self) -> Iterator[BaseMessage]:
        waiting: list[ReasoningMessage] = []
        for message in self._messages:
            match message:
                case UserMessage():
                    yield self._user(message)
                case ToolMessage():
                    yield self._tool(message)
                case AssistantMessage():
                    own = [thought for thought in waiting if thought.subagent_run_id == message.subagent_run_id]
                    waiting = [thought for thought in waiting if thought not in own]
                    yield self._assistant(message, own)
                case ReasoningMessage() if message.id not in self._claimed:
                    waiting.append(message)
                case _:
                    logger.debug("A message with role %r is not given to the graph.", message.role)

    # -- user and tool messages ---------------------------------------------------------------------------------

    def _user(self, message: UserMessage) -> HumanMessage:
        envelope = self._small(message.id, message.encrypted_value)
        return HumanMessage(restored(message.content, envelope, message.id), id=message.id, name=message.name)

    def _tool(self, message: ToolMessage) -> LCToolMessage:
        envelope = self._small(message.id, message.encrypted_value)
        name = envelope.get("n", self._names.get(message.tool_call_id))
        failed = message.error is not None or (message.metadata or {}).get("status") == "error"
        return LCToolMessage(
            restored(tool_content(message), envelope, message.id),
            id=message.id,
            tool_call_id=message.tool_call_id,
            name=name if isinstance(name, str) else None,
            status="error" if failed else "success",
            additional_kwargs=self._kwargs(envelope),
        )

    def _kwargs(self, envelope: Envelope) -> dict[str, object]:
        try:
            kwargs = Seen().fill(envelope.get("k", {}))
        except Damaged:
            kwargs = None
        if isinstance(kwargs, dict):
            return kwargs
        self._faults[Fault.DAMAGED] += 1
        return {}

    def _small(self, entity_id: str, value: str | None) -> Envelope:
        """The envelope of a message that is whole without it."""
        opened = self._values.read(entity_id, value) if value is not None else {}
        if isinstance(opened, Fault):
            self._faults[opened] += 1
            return {}
        return opened

    # -- assistant messages -------------------------------------------------------------------------------------

    def _assistant(self, message: AssistantMessage, before: Sequence[ReasoningMessage]) -> AIMessage:
        calls = [Call(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
        self._names.update((call.id, call.name) for call in calls)
        opened = self._opened.get(message.id)
        try:
            if isinstance(opened, Fault) and opened is not Fault.BARE:
                raise _Unusable(opened)
            if opened is None or isinstance(opened, Fault):
                return self._without_envelope(message, calls, before)
            return self._with_envelope(message, calls, opened)
        except _Unusable as error:
            self._faults[error.fault] += 1
        except Damaged:
            self._faults[Fault.DAMAGED] += 1
        return _simple(message, calls)

    def _with_envelope(self, message: AssistantMessage, calls: Sequence[Call], envelope: Envelope) -> AIMessage:
        ids = _reasoning_ids(message.id, envelope)
        if any(thought not in self._thoughts for thought in ids):
            raise Damaged
        words = Seen(
            text=message.content or "",
            reasoning=[self._thoughts[thought].content for thought in ids],
            arguments=[call.arguments for call in calls],
        )
        for number, thought in enumerate(ids):
            if (opened := self._open(thought, self._thoughts[thought].encrypted_value)) is not None:
                words.blocks[number] = opened.get("b")
        for number, call in enumerate(message.tool_calls or ()):
            if (opened := self._open(call.id, call.encrypted_value)) is not None:
                words.signatures[number] = words.fill(opened.get("s"))
        return unwrap(envelope, Shown(message.id, words, ids, calls))

    def _open(self, entity_id: str, value: str | None) -> Envelope | None:
        opened = self._values.read(entity_id, value) if value is not None else None
        if isinstance(opened, Fault):
            raise _Unusable(opened)
        return opened

    def _without_envelope(
        self, message: AssistantMessage, calls: Sequence[Call], before: Sequence[ReasoningMessage]
    ) -> AIMessage:
        """A message of a foreign client, or one that was cut short: only opaque values make words a provider's own."""
        thoughts = [
            Thought(thought.id, thought.content, self._bare(thought.id, thought.encrypted_value))
            for thought in before
            if thought.encrypted_value is not None
        ]
        signatures = {
            call.id: self._bare(call.id, call.encrypted_value)
            for call in message.tool_calls or ()
            if call.encrypted_value is not None
        }
        if not (thoughts or signatures or message.encrypted_value):
            return _simple(message, calls)
        entities: list[AssistantMessage | ReasoningMessage] = [message, *before]
        told = [(entity.metadata or {}).get("provider") for entity in entities]
        provider = next((name for name in told if isinstance(name, str)), self._values.options.provider)
        turn = Bare(
            message.id, message.content or "", calls, thoughts, signatures, message.encrypted_value, message.name
        )
        rebuilt = from_bare_values(turn, provider) if provider is not None else None
        if rebuilt is None:
            raise _Unusable(Fault.BARE)
        return rebuilt

    def _bare(self, entity_id: str, value: str) -> str:
        opened = self._values.read(entity_id, value)
        if isinstance(opened, Fault) and opened is not Fault.BARE:
            raise _Unusable(opened)
        if not isinstance(opened, Fault):
            raise Damaged  # ours, but the assistant message has lost its part
        return value


def in_call_order(messages: Iterable[BaseMessage]) -> Iterator[BaseMessage]:
    """Put the results of parallel calls in the order of the calls: a client holds them in the order of their
    arrival."""
    order: dict[str | None, int] = {}
    results: list[LCToolMessage] = []
    for message in messages:
        if isinstance(message, LCToolMessage):
            results.append(message)
            continue
        yield from sorted(results, key=lambda result: order.get(result.tool_call_id, len(order)))
        results.clear()
        yield message
        if isinstance(message, AIMessage):
            order = {call["id"]: place for place, call in enumerate(message.tool_calls)}
    yield from sorted(results, key=lambda result: order.get(result.tool_call_id, len(order)))


def _simple(message: AssistantMessage, calls: Sequence[Call]) -> AIMessage:
    """The message as far as the client can read it."""
    valid, invalid = calls_of(calls)
    return AIMessage(
        message.content or "", tool_calls=valid, invalid_tool_calls=invalid, id=message.id, name=message.name
    )


def _reasoning_ids(message_id: str, envelope: Envelope) -> list[str]:
    """The reasoning messages that an assistant message is made of, in order."""
    ids = envelope.get("r", 0)
    if isinstance(ids, int):
        return derived_ids(message_id, min(ids, _MANY))
    return (
        [thought for thought in cast("list[object]", ids) if isinstance(thought, str)] if isinstance(ids, list) else []
    )


_MANY = 10_000
"""Reasoning messages that one message can claim: the number is the client's word."""
