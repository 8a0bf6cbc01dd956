"""AG-UI history as LangChain messages, reasoning included.

A client's messages enter `HistoryConverter.to_langchain` (or `agui_messages_to_langchain`),
LangChain messages leave. Each assistant message is made from its envelope and from the reasoning
messages that it names. If one of them is missing, altered or another message's, the message comes
back as text and calls: a provider signs a message as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ag_ui import core as agui
from ag_ui.core import Message, MessagesSnapshotEvent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langgraph_agui.kernel.checks import check_type
from langgraph_agui.kernel.seal import InvalidEnvelope, RejectReason
from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.messages.assistant_turn import AssistantTurn
from langgraph_agui.messages.blocks import CALL_BLOCKS, read_blocks
from langgraph_agui.messages.client_media import ClientMedia
from langgraph_agui.messages.content import own_call_id, says_unfinished, without_calls
from langgraph_agui.messages.encrypted_values import (
    EncryptedValueCodec,
    Envelope,
    has_only_source,
    is_subagent_only,
)
from langgraph_agui.messages.envelope import (
    decode_message,
    derived_id,
    owner_id,
    to_langchain_calls,
)
from langgraph_agui.messages.providers import maker_of
from langgraph_agui.messages.server_tools import without_server_tools
from langgraph_agui.messages.to_agui import langchain_messages_to_agui, user_or_tool_message
from langgraph_agui.options import MediaUrls, ReasoningOptions
from langgraph_agui.protocol.json import same_arguments
from langgraph_agui.protocol.schema import known_messages, messages_in

logger = run_logger(__name__)


def agui_messages_to_langchain(
    messages: Iterable[Message | Mapping[str, object]] | MessagesSnapshotEvent | str | bytes,
    *,
    reasoning: ReasoningOptions | None = None,
    thread_id: str = "",
    provider: str | Sequence[str] | None = None,
    instructions: Literal["ignore", "accept"] = "ignore",
    media_urls: MediaUrls | None = "public",
) -> list[BaseMessage]:
    """Return the messages of an AG-UI client as LangChain messages, with the same ids.

    User, assistant and tool messages are converted, media parts included. Reasoning becomes part of
    the assistant message that it led to, so that the provider gets exactly the bytes it would have
    received without AG-UI in between. Activity messages are left out (AG-UI 1.0, activities). So
    are system and developer messages, unless `instructions` accepts them: instructions are the
    server's. Malformed, unknown and foreign content is left out with a warning. Arguments that are
    not a JSON object make an invalid tool call.

    Args:
        messages: Messages, as objects or as the JSON that a client sends (data or text), or the
            event that has them all.
        reasoning: The options under which the messages were sent to the client.
        thread_id: The thread of the messages. Sealed values open in no other thread.
        provider: The provider or providers that will get the messages, by LangChain's name
            (`model_provider`). Messages of other providers keep text and calls only. The default is
            `reasoning.provider`; with neither, nothing is filtered.
        instructions: `"accept"` turns system and developer messages into system messages, in place.
            A developer's is marked as such, as LangChain does for OpenAI.
        media_urls: Which addresses media may have, as for `LangGraphAgent`; inline data are checked
            as there. None for messages that no client has sent: their media stay as they are.

    Raises:
        TypeError: `reasoning` is none.
        ValueError: `messages` is a text, and no JSON list of messages.
        RunInputError: Media are not of the type that they claim, or have an address that is not
            allowed.
    """
    check_type("reasoning", reasoning, ReasoningOptions | None)
    if isinstance(messages, str | bytes):
        messages = messages_in(messages)
    known = known_messages(messages)
    options = reasoning or ReasoningOptions()
    options = replace(options, provider=provider or options.provider)
    converter = HistoryConverter(
        thread_id, options, instructions, ProviderFilter(options.providers)
    )
    return converter.to_langchain(
        known, ClientMedia(media_urls, known) if media_urls is not None else None
    )


def for_provider(messages: Iterable[BaseMessage], *providers: str) -> list[BaseMessage]:
    """Return `messages` as a model of one of `providers` may be sent them.

    Signatures and ciphertext mean something to one provider only, and some packages forward others'
    by accident.

    Args:
        messages: LangChain messages. If `response_metadata["model_provider"]` names another
            provider, a message keeps its text and calls, and loses its reasoning and all else. The
            other messages stay as they are.
        providers: Names of providers (`model_provider`: `"anthropic"`, `"openai"`,
            `"bedrock_converse"`, ...).
    """
    return [_portable(message, providers) for message in messages]


def _portable(message: BaseMessage, providers: Sequence[str]) -> BaseMessage:
    """Return a message of another provider as text and calls, the one form that every package
    takes.
    """
    if not isinstance(message, AIMessage) or maker_of(message.response_metadata) in (
        None,
        *providers,
    ):
        return message
    return AIMessage(
        "".join(delta.text for delta in read_blocks(message, whole=True) if delta.kind == "text"),
        tool_calls=message.tool_calls,
        invalid_tool_calls=message.invalid_tool_calls,
        id=message.id,
        name=message.name,
    )


class ProviderFilter:
    """Keeps values of other providers' models from the models of one graph.

    Args:
        names: The providers (`model_provider`) of the graph's models; none if they are not known.
            Then nothing is filtered.
        learns: Whether a provider that turns up in a run is added. A node may make a model that
            nobody could find before.
    """

    def __init__(self, names: Iterable[str] = (), *, learns: bool = False) -> None:
        self._names = frozenset(names)
        self._learns = learns

    def learn(self, names: Iterable[str]) -> None:
        """Add the providers whose models have answered in a run."""
        if self._learns and self._names:
            self._names |= frozenset(names)

    def apply(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return `messages` as the graph's models may be sent them."""
        if not self._names:
            return list(messages)
        filtered = for_provider(messages, *self._names)
        if changed := sum(one is not other for one, other in zip(messages, filtered, strict=True)):
            logger.info(
                "%d messages of other providers than %s go without reasoning.",
                changed,
                sorted(self._names),
            )
        return filtered


@dataclass(frozen=True, slots=True)
class HistoryConverter:
    """Converts the messages of one thread, both ways, as the agent's options set.

    Attributes:
        thread_id: The thread; sealed values are bound to it.
        reasoning: Who sees reasoning, and how opaque values travel.
        instructions: Whether system and developer messages of the client are converted.
        providers: The values that may be sent to the graph's models.
    """

    thread_id: str = ""
    reasoning: ReasoningOptions = field(default_factory=ReasoningOptions)
    instructions: Literal["ignore", "accept"] = "ignore"
    providers: ProviderFilter = field(default_factory=ProviderFilter)

    def to_langchain(
        self, messages: Sequence[Message], media: ClientMedia | None
    ) -> list[BaseMessage]:
        """Return a client's messages for the graph; see `agui_messages_to_langchain`.

        Args:
            messages: The messages.
            media: Judges their media; None if no graph gets them.

        Raises:
            RunInputError: Media of them are refused.
        """
        values = EncryptedValueCodec(self.reasoning, self.thread_id)
        converted = _History(messages, values, self.instructions == "accept", media).to_langchain()
        if media is not None:
            media.check(converted)
        return self.providers.apply(converted)

    def visible_content(self, message: BaseMessage) -> object:
        """Return the content of a message of the thread as its client has it; None if the client
        has none.
        """
        shown = langchain_messages_to_agui(
            [message], reasoning=self.reasoning, thread_id=self.thread_id
        )
        return shown[0].content if shown else None


class _History:
    """A conversation as a client sent it.

    Args:
        messages: All messages, in the client's order.
        values: Decodes the opaque values.
        instructions: Whether system and developer messages are converted.
        media: Judges the media of users' messages and of results; None if nothing does.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        values: EncryptedValueCodec,
        instructions: bool,
        media: ClientMedia | None,
    ) -> None:
        self._instructions = instructions
        self._media = media
        messages = without_calls(without_server_tools(messages), says_unfinished)
        self._messages = messages
        self._values = values
        self._rejected: Counter[RejectReason] = Counter()
        self._unclaimed = {
            message.id: message
            for message in messages
            if isinstance(message, agui.ReasoningMessage)
        }
        self._sealed = values.options.seal is not None
        self._tool_names: dict[str, str] = {}
        # The ids that assistant messages have for the calls of the client's ids.
        self._call_ids: dict[str, str] = {}
        self._of_thoughts = {
            message.id: values.decode("reasoning", message.id, message.encrypted_value)
            for message in messages
            if isinstance(message, agui.ReasoningMessage) and message.encrypted_value
        }
        self._in_thoughts = {
            str(envelope.get("of", owner_id(thought_id))): envelope
            for thought_id, envelope in self._of_thoughts.items()
            if isinstance(envelope, Mapping)
        }

    def to_langchain(self) -> list[BaseMessage]:
        """Return the conversation for a graph. Log one warning if any opaque value could not be
        used.
        """
        result = list(in_call_order(self._convert()))
        if self._rejected:
            why = ", ".join(
                f"{count} {reason.value}" for reason, count in sorted(self._rejected.items())
            )
            logger.warning("Opaque values of the client's messages were not used: %s.", why)
            count_dropped("opaque_value", self._rejected.total())
        return result

    def _convert(self) -> Iterator[BaseMessage]:
        envelopes = [self._envelope(message) for message in self._messages]
        claims = [self._claim(*pair) for pair in zip(self._messages, envelopes, strict=True)]
        waiting: list[agui.ReasoningMessage] = []
        for message, envelope, claimed in zip(self._messages, envelopes, claims, strict=True):
            match message:
                case agui.UserMessage() | agui.AssistantMessage() | agui.ToolMessage() if (
                    is_subagent_only(message.subagent_run_id, envelope)
                ):
                    continue
                case agui.UserMessage() | agui.ToolMessage():
                    yield self._user_or_tool(message, envelope)
                case agui.AssistantMessage():
                    yield self._assistant(message, envelope, claimed, waiting)
                    waiting = []
                case agui.SystemMessage() | agui.DeveloperMessage() if self._instructions:
                    kwargs = (
                        {"__openai_role__": "developer"}
                        if isinstance(message, agui.DeveloperMessage)
                        else {}
                    )
                    yield SystemMessage(
                        message.content, id=message.id, name=message.name, additional_kwargs=kwargs
                    )
                case agui.ReasoningMessage(subagent_run_id=None) if message.id in self._unclaimed:
                    waiting.append(message)
                case _:
                    logger.debug("A message with role %r is not given to the graph.", message.role)

    def _envelope(self, message: Message) -> Envelope | RejectReason | None:
        """Return the envelope of a message as a whole, if it has one."""
        if not isinstance(message, agui.UserMessage | agui.AssistantMessage | agui.ToolMessage):
            return None
        if isinstance(message, agui.AssistantMessage) and message.id in self._in_thoughts:
            return self._in_thoughts[message.id]
        value = message.encrypted_value
        return self._values.decode(message.role, message.id, value) if value else None

    def _claim(
        self, message: Message, envelope: Envelope | RejectReason | None
    ) -> list[agui.ReasoningMessage] | None:
        """Take the reasoning messages that an assistant message's envelope names, in order; None if
        one is missing.
        """
        if not isinstance(message, agui.AssistantMessage) or not isinstance(envelope, Mapping):
            return None
        named = envelope.get("reasoning", [])
        found: list[agui.ReasoningMessage] = []
        for one in named if isinstance(named, list) else ():
            thought_id = derived_id(message.id, one) if isinstance(one, int) else str(one)
            thought = self._unclaimed.pop(thought_id, None)
            if thought is None:
                return None
            found.append(thought)
        return found

    def _user_or_tool(
        self, message: agui.UserMessage | agui.ToolMessage, envelope: Envelope | RejectReason | None
    ) -> HumanMessage | ToolMessage:
        """Convert a message with its envelope, or without: it is whole without it."""
        if self._media is not None:
            message = self._media.admit(message)
        name = (
            self._tool_names.get(message.tool_call_id)
            if isinstance(message, agui.ToolMessage)
            else message.name
        )
        call_id = None
        if isinstance(message, agui.ToolMessage):
            call_id = self._call_ids.get(message.tool_call_id)
        if isinstance(envelope, RejectReason):
            self._rejected[envelope] += 1
        elif envelope is not None and not has_only_source(envelope):
            try:
                return user_or_tool_message(
                    message, name, envelope, sealed=self._sealed, call_id=call_id
                )
            except InvalidEnvelope as error:
                self._rejected[error.reason] += 1
        return user_or_tool_message(message, name, call_id=call_id)

    def _assistant(
        self,
        message: agui.AssistantMessage,
        envelope: Envelope | RejectReason | None,
        claimed: list[agui.ReasoningMessage] | None,
        before: Sequence[agui.ReasoningMessage],
    ) -> AIMessage:
        calls = message.tool_calls or ()
        self._tool_names.update((call.id, call.function.name) for call in calls)
        self._call_ids.update((call.id, own_call_id(call.id, message.id)) for call in calls)
        try:
            if isinstance(envelope, Mapping) and not has_only_source(envelope):
                if claimed is None:
                    raise InvalidEnvelope
                restored = decode_message(envelope, message, claimed, sealed=self._sealed)
                if not self._sealed:
                    self._check_shown(restored, message, claimed)
                return restored
            blocks = self._blocks_without_envelope(message, envelope, before)
        except InvalidEnvelope as error:
            self._rejected[error.reason] += 1
            blocks = []
        valid, invalid = to_langchain_calls(message)
        content: Any = message.content or ""
        if blocks:
            content = [*blocks, {"type": "text", "text": content}] if content else blocks
        return AIMessage(
            content,
            response_metadata={"model_provider": "openai"} if blocks else {},
            tool_calls=valid,
            invalid_tool_calls=invalid,
            id=message.id,
            name=message.name,
        )

    def _check_shown(
        self,
        restored: AIMessage,
        message: agui.AssistantMessage,
        thoughts: Sequence[agui.ReasoningMessage],
    ) -> None:
        """Refuse a message whose text, thoughts or calls differ from what the client sees. Anybody
        can have made it.
        """
        turn = AssistantTurn.from_message(restored, message.id, values=self._values)
        calls, made = message.tool_calls or (), turn.of_kind("call")
        pairs = [*zip(calls, made, strict=False)]
        ids = [(call.id, block.provider_id or call.id) for call, block in pairs]
        own_ids = {repr(own) for _, own in ids}  # a block may have anything as its id
        blocks = [
            one
            for one in restored.content
            if isinstance(one, Mapping) and str(one.get("type")) in CALL_BLOCKS
        ]
        if not (
            turn.text_of("text") == (message.content or "")
            and turn.text_of("reasoning") == "".join(thought.content for thought in thoughts)
            and len(made) == len(calls)
            and all(
                call.function.name == (block.name or "")
                and same_arguments(call.function.arguments, block.text)
                for call, block in pairs
            )
            and all(own == public or repr(public) not in own_ids for public, own in ids)
            # Packages send a block of a call as it is, if it is for none of the message's calls.
            and all(
                {repr(block.get("id")), repr(block.get("call_id"))} & own_ids for block in blocks
            )
        ):
            raise InvalidEnvelope(RejectReason.UNSEALED)
        self._call_ids.update(ids)

    def _blocks_without_envelope(
        self,
        message: agui.AssistantMessage,
        reason: object,
        before: Sequence[agui.ReasoningMessage],
    ) -> list[dict[str, object]]:
        """Return the reasoning of a message that another adapter's client holds; none if it brings
        no opaque values.

        One adapter (docs/migrating.md) puts `encrypted_content` of OpenAI's reasoning items into
        `encryptedValue` as it is. A thread that began there may come here. Nobody is known to send
        other values without an envelope.
        """
        if isinstance(reason, RejectReason) and reason is not RejectReason.BARE:
            raise InvalidEnvelope(reason)
        thoughts = [thought for thought in before if thought.encrypted_value]
        for value in (self._of_thoughts[thought.id] for thought in thoughts):
            # An envelope of ours here is another message's.
            if value is not RejectReason.BARE:
                raise InvalidEnvelope(
                    value if isinstance(value, RejectReason) else RejectReason.DAMAGED
                )
        if (
            reason is RejectReason.BARE
            or any(call.encrypted_value for call in message.tool_calls or ())
            or (thoughts and self._values.options.providers != ("openai",))
        ):
            raise InvalidEnvelope(RejectReason.BARE)
        return [
            {
                "type": "reasoning",
                **({"id": thought.id} if thought.id.startswith("rs_") else {}),
                "summary": [{"type": "summary_text", "text": thought.content}]
                if thought.content
                else [],
                "encrypted_content": thought.encrypted_value,
            }
            for thought in thoughts
        ]


def in_call_order(messages: Iterable[BaseMessage]) -> Iterator[BaseMessage]:
    """Put the results of parallel calls in the order of the calls. A client holds them as they
    arrived.
    """
    order: dict[str | None, int] = {}
    results: list[ToolMessage] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            results.append(message)
            continue
        yield from sorted(results, key=lambda result: order.get(result.tool_call_id, len(order)))
        results.clear()
        yield message
        if isinstance(message, AIMessage):
            order = {
                call["id"]: place for place, call in reversed([*enumerate(message.tool_calls)])
            }
    yield from sorted(results, key=lambda result: order.get(result.tool_call_id, len(order)))
