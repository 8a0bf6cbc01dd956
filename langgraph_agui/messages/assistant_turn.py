"""One assistant message, held as the AG-UI messages that a client makes of it.

Parts go in (`Record.item` says which item each belongs to), `Message` objects come out. The live stream fills a
record part by part, history fills one with a whole message: both hold the same items under the same ids.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from time import monotonic

from ag_ui.core import AssistantMessage, FunctionCall, ReasoningMessage, ToolCall
from langchain_core.messages import AIMessage, BaseMessage

from langgraph_agui.messages.blocks import BESIDE, BlockDelta, BlockKind, read_blocks
from langgraph_agui.messages.encrypted_values import (
    EncryptedValueCodec,
    Envelope,
    Holder,
    MessageSource,
    is_mark,
    visible_subagent_of,
)
from langgraph_agui.messages.envelope import VisibleTurn, encode_envelopes
from langgraph_agui.messages.redaction import hides_reasoning, warn_reasoning_dropped
from langgraph_agui.messages.template import VisibleText, parsed
from langgraph_agui.messages.think_tags import Piece
from langgraph_agui.messages.tool_calls import Call

logger = logging.getLogger(__name__)

_TAGGED = "think"
"""First part of the key of reasoning that stood between tags."""

_HIGH, _LOW = "\ud800", "\udc00"


@dataclass(slots=True, eq=False)
class Block:
    """One text, reasoning block or tool call. `id` is its public id; `say`, while it is open, tells the client more.

    One that is not `shown` has no words for the client.
    """

    kind: BlockKind
    id: str
    key: Hashable
    provider_id: str | None = None
    name: str | None = None
    pieces: list[str] = field(default_factory=list)
    half: str = ""
    envelope: Envelope | None = None
    encrypted: str | None = None
    metadata: dict[str, object] | None = None
    since: float | None = None
    shown: bool = True
    say: Callable[[str], object] | None = None

    @property
    def text(self) -> str:
        """All that the item said so far."""
        return "".join(self.pieces)

    def grow(self, text: str) -> str:
        """Append `text` and return what may be shown of it now.

        Half of a surrogate pair waits for its other half; one that never comes is shown as U+FFFD.
        """
        if not self.shown:
            return ""
        if self.half or not text.isascii():
            text = self._well_formed(text)
        self.pieces.append(text)
        return text

    def end(self) -> str:
        """Return what is left to show when nothing more will come: a replacement for half a pair."""
        rest, self.half = "\ufffd" if self.half else "", ""
        if rest:
            self.pieces.append(rest)
        return rest

    def lasted(self) -> dict[str, object] | None:
        """The metadata that are known at the item's end: for how long it was said, if somebody heard that."""
        if self.metadata is None or self.since is None:
            return None
        told: dict[str, object] = {"durationMs": round((monotonic() - self.since) * 1000)}
        self.metadata.update(told)
        return told

    def _well_formed(self, text: str) -> str:
        text, self.half = self.half + text, ""
        if text and _HIGH <= text[-1] < _LOW:
            text, self.half = text[:-1], text[-1]
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text


class AssistantTurn:
    """What one LangChain assistant message says, as items in the order in which they were begun.

    Args:
        message_id: The public id of the assistant message; text and calls hang on it.
        taken: Ids that other messages have. A provider's reasoning id among them is not used again.
        values: Writes the opaque values; has the options for reasoning.
        provider: Who says it, by LangChain's name.
        model: The name of the model.
        speaker: The subagent that says it; None is the agent itself.
        public_call: Makes of the id that the model has given a call the one that the client knows it by.
    """

    def __init__(
        self,
        message_id: str,
        taken: Collection[str] = (),
        values: EncryptedValueCodec | None = None,
        *,
        provider: str | None = None,
        model: str | None = None,
        speaker: MessageSource | None = None,
        public_call: Callable[[str], str] | None = None,
    ) -> None:
        self.message_id = message_id
        self._public_call = public_call or str
        self.speaker = speaker
        self.provider = provider if isinstance(provider, str) else None
        self.items: list[Block] = []
        self.encrypted: str | None = None
        self._envelope: Envelope | None = None
        self._taken = taken
        self._values = values or EncryptedValueCodec()
        options = self._values.options
        self._shows, self._shows_all = options.shows(self.provider), options.visibility == "full"
        self._metadata: dict[str, object] = {}
        if options.metadata:
            told = {"provider": provider, "model": model}
            self._metadata = {key: value for key, value in told.items() if isinstance(value, str) and value}
        self.splitter = options.think_tags.fresh() if options.think_tags is not None else None
        self._lead: str | None = ""
        self._by_key: dict[tuple[BlockKind, Hashable], Block] = {}
        self._said: Block | None = None

    @classmethod
    def of(
        cls,
        message: BaseMessage,
        message_id: str,
        taken: Collection[str] = (),
        values: EncryptedValueCodec | None = None,
        *,
        like: AssistantTurn | None = None,
        speaker: MessageSource | None = None,
        public_call: Callable[[str], str] | None = None,
    ) -> AssistantTurn:
        """Hold what a whole message says: text, reasoning and calls. `like` has shown it already."""
        told = message.response_metadata
        provider = told.get("model_provider") if like is None else like.provider
        record = cls(
            message_id,
            taken,
            values,
            provider=provider,
            model=told.get("model_name"),
            speaker=speaker,
            public_call=public_call,
        )
        for part in [*record.split(read_blocks(message, whole=True)), *record.rest()]:
            record.item(part).grow(part.text)
        for item in record.items:
            item.end()
        return record

    def split(self, parts: Iterable[BlockDelta]) -> Iterable[BlockDelta]:
        """Return `parts` with the reasoning that a model wrote into its text apart, if the options ask for that."""
        return parts if self.splitter is None else self._split(parts)

    def _split(self, parts: Iterable[BlockDelta]) -> Iterator[BlockDelta]:
        assert self.splitter is not None  # noqa: S101
        for part in parts:
            if part.kind == "text":
                yield from self._told(self.splitter.feed(part.text))
            else:
                yield part

    def _told(self, pieces: Iterable[Piece]) -> Iterator[BlockDelta]:
        """The parts that `pieces` are; white space before the first tag begins no answer."""
        for piece in pieces:
            if piece.kind == "reasoning":
                self._lead = None
                yield BlockDelta("reasoning", (_TAGGED, piece.number), piece.text)
            elif self._lead is None:
                yield BlockDelta("text", None, piece.text)
            else:
                self._lead += piece.text
                if not self._lead.isspace():
                    text, self._lead = self._lead, None
                    yield BlockDelta("text", None, text)

    def rest(self) -> list[BlockDelta]:
        """What the splitter still holds when the message has ended."""
        if self.splitter is None:
            return []
        parts = list(self._told(self.splitter.end()))
        lead, self._lead = self._lead, None
        return [*parts, BlockDelta("text", None, lead)] if lead else parts

    def rename(self, message_id: str) -> None:
        """Take a better id, unless the client has seen the assistant message: reasoning stands on its own."""
        if all(item.kind == "reasoning" for item in self.items):
            self.message_id = message_id

    def item(self, part: BlockDelta) -> Block:
        """Return the item that `part` belongs to, a new one at the end if it begins one."""
        said = self._said
        if (
            said is not None
            and said.kind == part.kind
            and said.key == part.key
            and part.id is None
            and part.name is None
        ):
            return said
        item = self._known(part) or self._begin(part)
        if item.provider_id is None and part.id is not None:
            item.provider_id = part.id
            if part.kind == "call":
                item.id = self._public_call(part.id)
        item.name = item.name or part.name
        self._said = item
        return item

    def _known(self, part: BlockDelta) -> Block | None:
        if part.key is None and part.kind != "text" and part.id is None:
            # No index and no id: the block that is being said goes on.
            return self._said if self._said is not None and self._said.kind == part.kind else None
        item = self._by_key.get((part.kind, part.id if part.key is None and part.kind == "call" else part.key))
        if item is not None and part.id is not None and item.provider_id not in (None, part.id):
            return None  # the same index under another id is another block
        return item

    def _begin(self, part: BlockDelta) -> Block:
        key = part.id if part.key is None and part.kind == "call" else part.key
        if part.kind == "reasoning" and part.id is None and isinstance(key, tuple):
            # A further summary part: its block was named with the first one.
            first = self._by_key.get((part.kind, (key[0], 0)))
            part = part._replace(id=first.provider_id if first is not None else None)
        item = Block(part.kind, self._public_id(part), key, part.id, part.name)
        if part.kind == "reasoning":
            # What stands beside the content, or between tags in a text, is no provider's summary.
            raw = part.key == BESIDE or (isinstance(part.key, tuple) and part.key[0] == _TAGGED)
            item.shown = self._shows_all if raw else self._shows
            item.metadata = dict(self._metadata) or None
        self.items.append(item)
        self._by_key[part.kind, key] = item
        return item

    def _public_id(self, part: BlockDelta) -> str:
        match part.kind:
            case "text":
                return self.message_id
            case "call":
                calls = [item.id for item in self.items if item.kind == "call"]
                own = self._public_call(part.id) if part.id else None
                return own if own is not None and own not in calls else f"{self.message_id}:call:{len(calls)}"
            case "reasoning":
                number = sum(item.kind == "reasoning" for item in self.items)
                if part.id is not None:
                    same = sum(item.provider_id == part.id and item.kind == "reasoning" for item in self.items)
                    provided = f"{part.id}:{same}" if same else part.id
                    if provided not in self._taken and provided != self.message_id:
                        return provided
                return f"{self.message_id}:reasoning:{number}"

    def seal(self, message: AIMessage) -> list[tuple[Block | None, str]]:
        """Attach the opaque values of the finished message.

        Returns:
            Those that are new, each with its item (None: the assistant message). None of them if one would be too
            long, or if words that the client must not read would travel unsealed: a message comes back whole or
            plain.
        """
        return self._write(list(self._envelopes(message))) or self._write(self._mark())

    def _write(self, envelopes: Iterable[tuple[Holder, Block | None, Envelope]]) -> list[tuple[Block | None, str]]:
        fresh: list[tuple[Block | None, Envelope, str]] = []
        for holder, item, envelope in envelopes:
            if envelope == (self._envelope if item is None else item.envelope):
                continue
            value = self._values.write(holder, self.message_id if item is None else item.id, envelope)
            if value is None:
                logger.warning("The opaque values of message %r exceed max_bytes and are left out.", self.message_id)
                return []
            fresh.append((item, envelope, value))
        for item, envelope, value in fresh:
            if item is None:
                self._envelope, self.encrypted = envelope, value
            else:
                item.envelope, item.encrypted = envelope, value
        return [(item, value) for item, _, value in fresh]

    def _envelopes(self, message: AIMessage) -> Iterator[tuple[Holder, Block | None, Envelope]]:
        options = self._values.options
        if options.seal is None and hides_reasoning(message, options):
            warn_reasoning_dropped()
            return
        thoughts, calls = self._of_kind("reasoning"), self._of_kind("call")
        try:
            envelopes = encode_envelopes(message, self._shown(thoughts, calls))
        except RecursionError:
            logger.warning("Message %r is nested too deeply; its opaque values are left out.", self.message_id)
            return
        for number, envelope in envelopes.reasoning.items():
            yield "reasoning", thoughts[number], envelope
        for number, envelope in envelopes.calls.items():
            yield "call", calls[number], envelope
        own = self.speaker.marked(envelopes.message) if self.speaker is not None else envelopes.message
        if own is not None:
            yield "assistant", None, own

    def _mark(self) -> Iterator[tuple[Holder, Block | None, Envelope]]:
        """Where nothing else travels: whose the message is."""
        mark = self.speaker.marked(None) if self.speaker is not None else None
        if mark is not None and (self._envelope is None or is_mark(self._envelope)):
            yield "assistant", None, mark

    def _of_kind(self, kind: BlockKind) -> list[Block]:
        return [item for item in self.items if item.kind == kind]

    def _shown(self, thoughts: list[Block], calls: list[Block]) -> VisibleTurn:
        said = [Call(item.id, item.name or "", item.text) for item in calls]
        words = VisibleText(
            text="".join(item.text for item in self._of_kind("text")),
            reasoning=[item.text for item in thoughts],
            arguments=[call.arguments for call in said],
        )
        return VisibleTurn(self.message_id, words, [item.id for item in thoughts], said)

    def says_the_same(self, other: AssistantTurn) -> bool:
        """Whether `other` says the same words, thoughts and calls; thoughts that it has dropped stay said.

        The spelling of JSON arguments does not count.
        """
        text, thoughts, calls = self._content()
        others_text, others_thoughts, others_calls = other._content()
        return (text, calls) == (others_text, others_calls) and others_thoughts in ("", thoughts)

    def _content(self) -> tuple[str, str, list[tuple[str, str | None, object]]]:
        def joined(kind: BlockKind) -> str:
            return "".join(item.text for item in self.items if item.kind == kind)

        calls = [(item.id, item.name, _value(item.text)) for item in self.items if item.kind == "call"]
        return joined("text"), joined("reasoning"), calls

    def reasoning(self, item: Block) -> ReasoningMessage:
        """The AG-UI message of one reasoning item."""
        return ReasoningMessage(
            id=item.id,
            role="reasoning",
            content=item.text,
            encrypted_value=item.encrypted,
            metadata=item.metadata,
            subagent_run_id=visible_subagent_of(self.speaker),
        )

    def assistant(self) -> AssistantMessage:
        """The AG-UI message that holds the text and the calls; no content where only calls were said."""
        texts = [item.text for item in self.items if item.kind == "text"]
        calls = [
            ToolCall(
                id=item.id,
                type="function",
                function=FunctionCall(name=item.name or "", arguments=item.text),
                encrypted_value=item.encrypted,
            )
            for item in self.items
            if item.kind == "call"
        ]
        return AssistantMessage(
            id=self.message_id,
            role="assistant",
            content="".join(texts) if texts or not calls else None,
            tool_calls=calls or None,
            encrypted_value=self.encrypted,
            subagent_run_id=visible_subagent_of(self.speaker),
        )


def _value(arguments: str) -> object:
    value = parsed(arguments)
    return arguments if value is None else value
