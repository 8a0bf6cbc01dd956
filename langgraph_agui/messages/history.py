"""One conversation on its way back from a client: AG-UI messages in, LangChain messages out.

Each assistant message is put together from its own envelope, those of the reasoning messages that it names, and those
of its calls. If one of them is missing, altered or another's, the message comes back as text and calls, and nothing
opaque of it is used: what a provider has signed is signed as a whole.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from ag_ui.core import (
    AssistantMessage,
    DeveloperMessage,
    Message,
    ReasoningMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages import SystemMessage as LCSystemMessage
from langchain_core.messages import ToolMessage as LCToolMessage

from langgraph_agui.messages.encrypted_values import (
    EncryptedValueCodec,
    Envelope,
    RejectReason,
    is_mark,
    is_subagent_only,
)
from langgraph_agui.messages.envelope import VisibleTurn, decode_envelope, derived_id
from langgraph_agui.messages.provider_filter import Bare, Thought, from_bare_values
from langgraph_agui.messages.template import InvalidEnvelope, VisibleText
from langgraph_agui.messages.tool_calls import Call, to_langchain_calls
from langgraph_agui.messages.user_tool_content import MessageContent, decode_content

logger = logging.getLogger(__name__)


class _Unusable(Exception):  # noqa: N818  # a state of the data, not a fault of the program
    """A message cannot be put together from the values that came with it."""

    def __init__(self, fault: RejectReason) -> None:
        self.fault = fault


class _Parts(NamedTuple):
    """An assistant message's envelope, and its reasoning messages; None if they are not all there."""

    envelope: Envelope
    thoughts: list[ReasoningMessage] | None


class History:
    """A conversation as a client sent it.

    Args:
        messages: All messages, in the client's order.
        values: Reads the opaque values.
        instructions: Whether system and developer messages are taken.
    """

    def __init__(self, messages: Sequence[Message], values: EncryptedValueCodec, instructions: bool = False) -> None:
        self._instructions = instructions
        self._messages = messages
        self._values = values
        self._faults: Counter[RejectReason] = Counter()
        self._opened = [self._open(message) for message in messages]
        self._thoughts = {message.id: message for message in messages if isinstance(message, ReasoningMessage)}
        self._unclaimed = dict(self._thoughts)
        told = zip(messages, self._opened, strict=True)
        self._made_of = [self._parts(message, opened) for message, opened in told]
        self._names: dict[str, str] = {}

    def to_langchain(self) -> list[BaseMessage]:
        """The conversation for a graph. Logs one warning if any opaque value could not be used."""
        result = list(in_call_order(self._convert()))
        if self._faults:
            why = ", ".join(f"{count} {fault.value}" for fault, count in sorted(self._faults.items()))
            logger.warning("Opaque values of the client's messages were not used: %s.", why)
        return result

    def _open(self, message: Message) -> Envelope | RejectReason | None:
        """The envelope of a message as a whole, if it has one."""
        if not isinstance(message, UserMessage | AssistantMessage | ToolMessage) or not message.encrypted_value:
            return None
        return self._values.read(message.role, message.id, message.encrypted_value)

    def _convert(self) -> Iterator[BaseMessage]:
        waiting: list[ReasoningMessage] = []
        for message, opened, parts in zip(self._messages, self._opened, self._made_of, strict=True):
            match message:
                case UserMessage() | AssistantMessage() | ToolMessage() if is_subagent_only(
                    message.subagent_run_id, opened
                ):
                    continue
                case UserMessage():
                    yield self._user(message, opened)
                case ToolMessage():
                    yield self._tool(message, opened)
                case AssistantMessage():
                    own = [thought for thought in waiting if thought.subagent_run_id == message.subagent_run_id]
                    waiting = [thought for thought in waiting if thought.subagent_run_id != message.subagent_run_id]
                    yield self._assistant(message, parts, own)
                case SystemMessage() | DeveloperMessage() if self._instructions:
                    yield _instruction(message)
                case ReasoningMessage() if message.id in self._unclaimed:
                    waiting.append(message)
                case _:
                    logger.debug("A message with role %r is not given to the graph.", message.role)

    # -- user and tool messages ---------------------------------------------------------------------------------

    def _user(self, message: UserMessage, opened: Envelope | RejectReason | None) -> HumanMessage:
        held = self._held(message, opened, message.name)
        return HumanMessage(held.content, id=message.id, name=held.name, additional_kwargs=held.kwargs)

    def _tool(self, message: ToolMessage, opened: Envelope | RejectReason | None) -> LCToolMessage:
        held = self._held(message, opened, self._names.get(message.tool_call_id))
        failed = message.error is not None or (message.metadata or {}).get("status") == "error"
        return LCToolMessage(
            held.content,
            id=message.id,
            tool_call_id=held.call_id or message.tool_call_id,
            name=held.name,
            status="error" if failed else "success",
            additional_kwargs=held.kwargs,
        )

    def _held(
        self, message: UserMessage | ToolMessage, opened: Envelope | RejectReason | None, name: str | None
    ) -> MessageContent:
        """All of a message that is whole without its envelope."""
        if isinstance(opened, RejectReason):
            self._faults[opened] += 1
        elif opened is not None and not is_mark(opened):
            try:
                return decode_content(message, opened, name)
            except InvalidEnvelope:
                self._faults[RejectReason.DAMAGED] += 1
        return decode_content(message, None, name)

    # -- assistant messages -------------------------------------------------------------------------------------

    def _parts(self, message: Message, opened: Envelope | RejectReason | None) -> _Parts | RejectReason | None:
        """What an assistant message is made of, by its envelope; None if it has none."""
        if not isinstance(message, AssistantMessage) or opened is None or isinstance(opened, RejectReason):
            return opened if isinstance(opened, RejectReason) else None
        return None if is_mark(opened) else _Parts(opened, self._claim(message.id, opened.get("r", 0)))

    def _claim(self, message_id: str, claimed: object) -> list[ReasoningMessage] | None:
        """The reasoning messages that a message says are its own, in order; None if one of them is not there for it."""
        count = claimed if type(claimed) is int else 0
        ids = claimed if isinstance(claimed, list) else (derived_id(message_id, number) for number in range(count))
        found: list[ReasoningMessage] = []
        for thought_id in ids:
            if not isinstance(thought_id, str) or (thought := self._unclaimed.pop(thought_id, None)) is None:
                return None
            found.append(thought)
        return found

    def _assistant(
        self, message: AssistantMessage, parts: _Parts | RejectReason | None, before: Sequence[ReasoningMessage]
    ) -> AIMessage:
        calls = [Call(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
        self._names.update((call.id, call.name) for call in calls)
        try:
            if isinstance(parts, _Parts):
                return self._with_envelope(message, calls, parts)
            if parts is None or parts is RejectReason.BARE:
                return self._without_envelope(message, calls, before)
            raise _Unusable(parts)
        except _Unusable as error:
            self._faults[error.fault] += 1
        except InvalidEnvelope:
            self._faults[RejectReason.DAMAGED] += 1
        return _simple(message, calls)

    def _with_envelope(self, message: AssistantMessage, calls: Sequence[Call], parts: _Parts) -> AIMessage:
        if parts.thoughts is None:
            raise InvalidEnvelope
        words = VisibleText(
            text=message.content or "",
            reasoning=[thought.content for thought in parts.thoughts],
            arguments=[call.arguments for call in calls],
        )
        signatures = self._members("call", "s", message.tool_calls or ())
        words.signatures = {number: words.fill(signature) for number, signature in signatures.items()}
        words.blocks = self._members("reasoning", "b", parts.thoughts)
        return decode_envelope(
            parts.envelope, VisibleTurn(message.id, words, [thought.id for thought in parts.thoughts], calls)
        )

    def _members(
        self, holder: Literal["reasoning", "call"], name: str, entities: Sequence[ReasoningMessage | ToolCall]
    ) -> dict[int, object]:
        """What the envelopes of a message's reasoning or calls hold, by number."""
        found: dict[int, object] = {}
        for number, entity in enumerate(entities):
            if not entity.encrypted_value:
                continue
            opened = self._values.read(holder, entity.id, entity.encrypted_value)
            if isinstance(opened, RejectReason):
                raise _Unusable(opened)
            if name in opened:
                found[number] = opened[name]
        return found

    def _without_envelope(
        self, message: AssistantMessage, calls: Sequence[Call], before: Sequence[ReasoningMessage]
    ) -> AIMessage:
        """A message of a foreign client, or one that was cut short: only opaque values make words a provider's own."""
        thoughts = [
            Thought(thought.id, thought.content, self._bare("reasoning", thought.id, thought.encrypted_value))
            for thought in before
            if thought.encrypted_value
        ]
        signatures = {
            call.id: self._bare("call", call.id, call.encrypted_value)
            for call in message.tool_calls or ()
            if call.encrypted_value
        }
        value = message.encrypted_value or None
        if not (thoughts or signatures or value):
            return _simple(message, calls)
        entities: list[AssistantMessage | ReasoningMessage] = [message, *before]
        told = {name for one in entities if isinstance(name := (one.metadata or {}).get("provider"), str)}
        told = told or set(self._values.options.providers)
        provider = told.pop() if len(told) == 1 else None
        turn = Bare(message.id, message.content or "", calls, thoughts, signatures, value, message.name)
        rebuilt = from_bare_values(turn, provider) if provider is not None else None
        if rebuilt is None:
            raise _Unusable(RejectReason.BARE)
        return rebuilt

    def _bare(self, holder: Literal["reasoning", "call"], entity_id: str, value: str) -> str:
        opened = self._values.read(holder, entity_id, value)
        if isinstance(opened, RejectReason) and opened is not RejectReason.BARE:
            raise _Unusable(opened)
        if not isinstance(opened, RejectReason):
            raise InvalidEnvelope  # ours, but the assistant message has lost its part
        return value


def in_call_order(messages: Iterable[BaseMessage]) -> Iterator[BaseMessage]:
    """Put the results of parallel calls in the order of the calls: a client holds them as they arrived."""
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
            order = {}
            for place, call in enumerate(message.tool_calls):
                order.setdefault(call["id"], place)
    yield from sorted(results, key=lambda result: order.get(result.tool_call_id, len(order)))


def _simple(message: AssistantMessage, calls: Sequence[Call]) -> AIMessage:
    """The message as far as the client can read it."""
    valid, invalid = to_langchain_calls(calls)
    return AIMessage(
        message.content or "", tool_calls=valid, invalid_tool_calls=invalid, id=message.id, name=message.name
    )


def _instruction(message: SystemMessage | DeveloperMessage) -> LCSystemMessage:
    kwargs = {"__openai_role__": "developer"} if isinstance(message, DeveloperMessage) else {}
    return LCSystemMessage(message.content, id=message.id, name=message.name, additional_kwargs=kwargs)
