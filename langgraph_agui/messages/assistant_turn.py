"""One assistant message as a document: the blocks that a client sees, and the AG-UI messages made
of them.

Block deltas enter `AssistantTurn.block`; `reasoning_message` and `assistant_message` give AG-UI
messages. The live stream fills a turn delta by delta, history fills one with a whole message. Both
give the same blocks and ids.
"""

import re
from codecs import utf_16_le_decode
from collections import Counter
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from ag_ui import core as agui
from langchain_core.messages import AIMessage, BaseMessage

from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.messages.blocks import (
    CALLS,
    REASONING_KWARG,
    BlockDelta,
    BlockKind,
    read_blocks,
)
from langgraph_agui.messages.citations import CITATIONS, read_citations
from langgraph_agui.messages.content import FAILED_WITHOUT_TEXT, free_call_id
from langgraph_agui.messages.encrypted_values import (
    AGENT,
    EncryptedValueCodec,
    Envelope,
    MessageSource,
)
from langgraph_agui.messages.envelope import (
    encode_message,
    make_envelope,
    owner_id,
    visible_text,
)
from langgraph_agui.messages.hidden import NOTHING, Hidden, hidden_in
from langgraph_agui.messages.made import made_media
from langgraph_agui.messages.providers import is_whole, shows_reasoning
from langgraph_agui.messages.redaction import hides_reasoning, warn_reasoning_dropped
from langgraph_agui.messages.server_tools import RUN_BY_PROVIDER, server_call_id
from langgraph_agui.messages.think_tags import TAGGED, TagSplitter
from langgraph_agui.messages.transformed_blocks import TransformedBlocks
from langgraph_agui.messages.transformers import warn_refused
from langgraph_agui.protocol.json import canonical_json

logger = run_logger(__name__)

_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(slots=True, eq=False)
class Block:
    """One text, reasoning block, tool call, or result of a server's tool. The client knows it by
    `id`, and may not read it unless it is `visible`. The `key` of a result is the id of its call.

    `pieces` is its text so far, and `half` a surrogate (UTF-16) that waits for the other half of
    its pair. `subagent_run_id` is that of its events.
    """

    kind: BlockKind
    id: str
    key: Hashable
    provider_id: str | None = None
    name: str | None = None
    pieces: list[str] = field(default_factory=list)
    half: bytes = b""
    metadata: dict[str, object] | None = None
    visible: bool = True
    subagent_run_id: str | None = None

    @property
    def text(self) -> str:
        """The text so far; the arguments of a call."""
        return "".join(self.pieces)

    def grow(self, text: str) -> str:
        """Append `text` and return the part to show now.

        Half of a surrogate pair waits for its other half. If that never comes, `end` shows U+FFFD.
        """
        if not self.visible:
            return ""
        if self.half or (not text.isascii() and _SURROGATES.search(text)):
            data = self.half + text.encode("utf-16-le", "surrogatepass")
            text, used = utf_16_le_decode(data, "replace", False)
            self.half = data[used:]
        self.pieces.append(text)
        return text

    def end(self) -> str:
        """Return the rest to show when nothing more will come: a replacement for half a
        pair.
        """
        rest, self.half = "\ufffd" if self.half else "", b""
        if rest:
            self.pieces.append(rest)
        return rest


class AssistantTurn:
    """The blocks of one LangChain assistant message, in the order in which they began.

    Args:
        message_id: The public id of the assistant message; its text and calls have it.
        taken: Ids of other messages. A provider's id for a reasoning block is not used if it is
            among them.
        values: Encodes the opaque values; has the options for reasoning.
        source: Which agent wrote it.
        new_call_id: Returns the client's id for a new call, from the model's id.
        provider: Who made the message, by LangChain's name.
        model: The name of the model.
        hidden: The hidden parts of the message.

    Attributes:
        blocks: The blocks, in order.
        encrypted: The encrypted value of the whole message.
        citations: The sources that the text names.
        media: The pictures, audio and files of the message, as the client sees them.
        value_holder: The block whose message has that value: the last reasoning, because some
            clients keep the values of reasoning messages only. None is the assistant message.
        transformers: The stream transformers of the graph that the message is from.
        transformed: Its blocks on their way through them, if it arrives in pieces.
    """

    def __init__(
        self,
        message_id: str,
        taken: Collection[str] = (),
        values: EncryptedValueCodec | None = None,
        source: MessageSource = AGENT,
        new_call_id: Callable[[str], str] | None = None,
        *,
        provider: str | None = None,
        model: str | None = None,
        hidden: Hidden = NOTHING,
    ) -> None:
        self.message_id = message_id
        self.source = source
        self._new_call_id = new_call_id
        self._call_ids: set[str] = set()
        self._last_ids: dict[str, str] = {}
        self._hidden = hidden
        # The calls that are hidden, by index or id, and the last call.
        self._hidden_calls: set[Hashable] = set()
        self._last_call: Hashable = None
        self.provider = provider if isinstance(provider, str) else None
        self.blocks: list[Block] = []
        self.encrypted: str | None = None
        self.citations: list[dict[str, object]] = []
        self.media: agui.ActivityMessage | None = None
        self._has_envelope = False
        self.value_holder: Block | None = None
        self._taken = taken
        self._values = values or EncryptedValueCodec()
        self.transformers = self._values.transformers
        self.transformed: TransformedBlocks | None = None
        options = self._values.options
        self._shows = shows_reasoning(options, self.provider)
        self._shows_all = options.visibility == "full"
        about = {"provider": provider, "model": model} if options.metadata else {}
        self._metadata = {
            key: value for key, value in about.items() if isinstance(value, str) and value
        }
        self.splitter = TagSplitter(options.tags) if options.tags is not None else None
        self._by_key: dict[tuple[BlockKind, Hashable], Block] = {}
        # How many blocks there are of each kind, and of each kind with each of the model's ids.
        self._counts: Counter[Hashable] = Counter()
        self._current: Block | None = None

    @classmethod
    def from_message(
        cls,
        message: BaseMessage,
        message_id: str,
        taken: Collection[str] = (),
        values: EncryptedValueCodec | None = None,
        *,
        like: "AssistantTurn | None" = None,
        source: MessageSource = AGENT,
        new_call_id: Callable[[str], str] | None = None,
    ) -> "AssistantTurn":
        """Return the turn of a whole message.

        Args:
            message: The message.
            message_id: Its public id.
            taken: As for the class.
            values: As for the class.
            like: The turn that has streamed this message already; its provider counts.
            source: As for the class.
            new_call_id: As for the class.
        """
        metadata = message.response_metadata
        provider = metadata.get("model_provider") if like is None else like.provider
        model, hidden = metadata.get("model_name"), hidden_in(message)
        turn = cls(
            message_id,
            taken,
            values,
            source,
            new_call_id,
            provider=provider,
            model=model,
            hidden=hidden,
        )
        for delta in chain(turn.split(turn._read_kept(message)), turn.flush(message)):
            turn.block(delta).grow(delta.text)
        for block in turn.blocks:
            block.end()
            if block.kind == "server_call" and not block.text:
                block.grow("{}")
        return turn

    def read(self, message: BaseMessage) -> list[BlockDelta]:
        """Return the blocks of a whole message, as far as the graph's transformers let them
        pass.
        """
        if self.transformers is None:
            return read_blocks(message, whole=True)
        return self.transformers.whole(message)

    def _read_kept(self, message: BaseMessage) -> list[BlockDelta]:
        """Return the blocks of a message that the graph keeps. One that a transformer refuses is
        empty: the thread can be shown without it.
        """
        if self.transformers is None:
            return self.read(message)
        try:
            return self.read(message)
        except Exception:
            warn_refused(self.message_id)
            return []

    def split(self, deltas: Iterable[BlockDelta]) -> Iterator[BlockDelta]:
        """Yield the visible ones of `deltas`, and reasoning between think tags as blocks of its
        own. Whether one is visible may depend on the blocks of those before it.
        """
        return self._split(deltas if self.transformed is None else self.transformed.feed(deltas))

    def _split(self, deltas: Iterable[BlockDelta]) -> Iterator[BlockDelta]:
        for delta in deltas:
            if delta.kind == "text" and self.splitter is not None:
                yield from filter(self._emits, self.splitter.feed(delta.text))
            elif self._emits(delta):
                yield delta

    def _emits(self, delta: BlockDelta) -> bool:
        """Return whether clients see a delta."""
        match delta.kind:
            case "text":
                return not self._hidden.text
            case "reasoning":
                return self._values.emits
            case "call":
                return self._hidden.shown_tools is None or not self._is_hidden_call(delta)
            case "server_call":
                if delta.id is None or delta.name is None:
                    return self._known(delta, delta.key) is not None
                return not self._hidden.hides_call(delta.name)
            case "server_result":
                # A call may stand in the message before: that provider goes on in the next one.
                return self._server_call(delta.id) is not None

    def _is_hidden_call(self, delta: BlockDelta) -> bool:
        if self._hidden.shown_tools == ():
            return True
        if delta.call is not None:
            self._last_call = delta.call
        if delta.name is not None and self._hidden.hides_call(delta.name):
            self._hidden_calls.add(self._last_call)
        return self._last_call in self._hidden_calls

    def flush(self, message: BaseMessage | None) -> Iterator[BlockDelta]:
        """Yield what the message still has when it has ended: what transformers and the splitter
        hold, and results without words for the server's calls that have none. If all of a text
        turns out to be the answer, its reasoning loses its words.

        Args:
            message: The message; None if its model has not come to the end.
        """
        if self.transformed is not None and message is None:
            self.transformed.break_off()
        elif self.transformed is not None:
            yield from self._split(self.transformed.end())
        if self.splitter is not None:
            yield from filter(self._emits, self._end_text(self.splitter, message))
        while (call := self._server_call(None)) is not None:
            yield BlockDelta("server_result", None, "", call.provider_id)

    def _end_text(self, splitter: TagSplitter, message: BaseMessage | None) -> list[BlockDelta]:
        """Return the rest of the text, now that it has ended."""
        options = self._values.options
        whole = message is not None and is_whole(message.response_metadata, options)
        thought = self._by_key.get(("reasoning", (TAGGED, 0)))
        if whole and splitter.unclosed and thought is not None:
            thought.pieces.clear()
            thought.half = b""
        return [*splitter.end(is_whole=whole)]

    @property
    def takes_fragments(self) -> bool:
        """Whether text that only continues a block needs no more than that: it does not go through
        a splitter or transformers.
        """
        return self.splitter is None and self.transformed is None

    @property
    def is_silent(self) -> bool:
        """Whether the message has no words and no calls: reasoning is a message of its own."""
        return all(block.kind == "reasoning" or not block.text for block in self.blocks)

    def drop_calls(self, call_ids: Container[str]) -> None:
        """Leave out these calls: their model has not finished them."""
        self.blocks = [
            block for block in self.blocks if block.kind != "call" or block.id not in call_ids
        ]

    def block(self, delta: BlockDelta) -> Block:
        """Return the block that `delta` belongs to, a new one at the end if it begins one."""
        current = self._current
        if (
            delta.id is None
            and delta.name is None
            and current is not None
            and current.kind == delta.kind
            and current.key == delta.key
        ):
            return current
        if delta.kind == "server_result" and (call := self._server_call(delta.id)) is not None:
            self._current = self._begin_result(call, failed=delta.failed)
            return self._current
        key = delta.call if delta.kind in CALLS else delta.key
        block = self._known(delta, key) or self._begin(delta, key)
        if block.provider_id is None and delta.id is not None:
            block.provider_id = delta.id
            self._counts[delta.kind, delta.id] += 1
            if delta.kind == "call":
                block.id = self._call_id(delta.id)
        block.name = block.name or delta.name
        self._current = block
        return block

    def _known(self, delta: BlockDelta, key: Hashable) -> Block | None:
        if key is None and delta.kind != "text" and delta.id is None:
            # No index and no id: the current block goes on.
            current = self._current
            return current if current is not None and current.kind == delta.kind else None
        block = self._by_key.get((delta.kind, key))
        if block is not None and delta.id is not None and block.provider_id not in (None, delta.id):
            return None  # the same index under another id is another block
        return block

    def _begin(self, delta: BlockDelta, key: Hashable) -> Block:
        if delta.kind == "reasoning" and delta.id is None and isinstance(key, tuple):
            # A further summary part: the first one has the id of the provider's block.
            first = self._by_key.get((delta.kind, (key[0], 0)))
            delta = delta._replace(id=first.provider_id if first is not None else None)
        block = Block(
            delta.kind,
            self._public_id(delta),
            key,
            delta.id,
            delta.name,
            subagent_run_id=self.source.visible_id,
        )
        if delta.kind == "reasoning":
            # Reasoning in kwargs, or between tags in a text, is not a provider's summary.
            raw = key == REASONING_KWARG or (isinstance(key, tuple) and key[0] == TAGGED)
            block.visible = self._shows_all if raw else self._shows
            block.metadata = dict(self._metadata) or None
        elif delta.kind == "server_call":
            block.metadata = dict(RUN_BY_PROVIDER)
        self.blocks.append(block)
        self._counts.update((delta.kind, (delta.kind, delta.id)))
        self._by_key[delta.kind, key] = block
        return block

    def _server_call(self, own_id: str | None) -> Block | None:
        """Return the server's call that a result is for: the open one of this id, or the last."""
        answered = {block.key for block in self.of_kind("server_result")}
        calls = [block for block in self.of_kind("server_call") if block.id not in answered]
        if own_id is not None:
            calls = [block for block in calls if block.provider_id == own_id]
        return calls[-1] if calls else None

    def _begin_result(self, call: Block, *, failed: bool) -> Block:
        """Append the result of a server's call. It is whole when it begins."""
        block = Block(
            "server_result", f"{call.id}:result", call.id, subagent_run_id=call.subagent_run_id
        )
        block.metadata = {**RUN_BY_PROVIDER, **({"status": "error"} if failed else {})}
        self.blocks.append(block)
        return block

    def _public_id(self, delta: BlockDelta) -> str:
        match delta.kind:
            case "text":
                return self.message_id
            case "call":
                if delta.id:
                    return self._call_id(delta.id)
                return f"{self.message_id}:call:{self._counts['call']}"
            case "server_call" | "server_result":
                return server_call_id(self.message_id, self._numbered_id(delta))
            case "reasoning":
                if delta.id is not None:
                    provided = self._numbered_id(delta)
                    if provided not in self._taken and provided != self.message_id:
                        return provided
                return f"{self.message_id}:reasoning:{self._counts['reasoning']}"

    def _numbered_id(self, delta: BlockDelta) -> str:
        """Return the provider's id of a new block, with a number if another one of its kind has
        it.
        """
        same = self._counts[delta.kind, delta.id]
        return f"{delta.id}:{same}" if same else str(delta.id)

    def _call_id(self, own_id: str) -> str:
        if self._new_call_id is not None:
            return self._new_call_id(own_id)
        last = self._last_ids.get(own_id)
        call_id = free_call_id(own_id, self.message_id, self._call_ids, last)
        self._call_ids.add(call_id)
        self._last_ids[own_id] = call_id
        return call_id

    def of_kind(self, kind: BlockKind) -> list[Block]:
        """Return the blocks of this kind, in order."""
        return [block for block in self.blocks if block.kind == kind]

    def finish(self, message: AIMessage) -> None:
        """Take citations, media and the encrypted value from the finished message.

        A message that a node has changed may be finished once more. All that it has shown stays.
        """
        if not self._hidden.text:
            found = read_citations(message, self.text_of("text"))
            if self.transformers is not None and found:
                found = self.transformers.beside("citations", found) or []
            self.citations = found or self.citations
            owner = self.source.visible_id
            media = made_media(message, self.message_id, owner, self.transformers)
            self.media = media or self.media
        self._encode_value(message)

    def _encode_value(self, message: AIMessage) -> None:
        """Make `encrypted` of the finished message.

        There is none if it would be too long, or if reasoning that the client must not read would
        travel without encryption. Such a message comes back as text and calls.
        """
        kinds = {block.kind for block in self.blocks}
        if len(kinds) > 1 and "reasoning" in kinds:  # else only its value makes it a message
            self.value_holder = self.of_kind("reasoning")[-1]
        envelope, value = self._envelope(message), None
        if envelope is not None:
            value = self._encoded(envelope)
            if value is None:
                logger.warning(
                    "The opaque value of message %.80r exceeds max_bytes and is left out.",
                    self.message_id,
                )
                count_dropped("opaque_value")
        if value is not None:
            self._has_envelope = True
        elif not self._has_envelope:
            value = self._encoded(None)
        self.encrypted = value or self.encrypted

    def _encoded(self, envelope: Envelope | None) -> str | None:
        """Return the value of this envelope and of the source of the message."""
        envelope, block = self.source.mark(envelope), self.value_holder
        if envelope is None:
            return None
        if block is None:
            return self._values.encode("assistant", self.message_id, envelope)
        if owner_id(block.id) != self.message_id:
            envelope = {**envelope, "of": self.message_id}
        return self._values.encode("reasoning", block.id, envelope)

    def _envelope(self, message: AIMessage) -> Envelope | None:
        options = self._values.options
        if not self._values.emits or (options.seal is None and self._hidden != NOTHING):
            return None  # hidden words look like words that a client has made up
        if self.transformers is not None and self.transformers.changes(message):
            return None
        if options.seal is None and hides_reasoning(message, options):
            warn_reasoning_dropped()
            return None
        visible = self._message(["call"])
        thoughts = [self.reasoning_message(block) for block in self.of_kind("reasoning")]
        try:
            sealed, holder = options.seal is not None, self.value_holder
            envelope = encode_message(
                message, visible, thoughts, holder.id if holder else None, sealed=sealed
            )
        except RecursionError:
            logger.warning(
                "Message %.80r is nested too deeply; its opaque value is left out.",
                self.message_id,
            )
            count_dropped("opaque_value")
            return None
        if self.transformers is not None and not self.transformers.let_pass(envelope):
            return None
        if envelope is None and self._has_envelope:
            # A node has changed the message and changed it back.
            return make_envelope({}, visible_text(visible, ()))
        return envelope

    def text_of(self, kind: BlockKind) -> str:
        """Return the text of all blocks of this kind."""
        return "".join(block.text for block in self.of_kind(kind))

    def same_content(self, other: "AssistantTurn") -> bool:
        """Whether `other` has the same text, reasoning and calls. Reasoning that `other` has
        dropped does not count.

        The spelling of JSON arguments does not count either.
        """
        return (
            self.text_of("text") == other.text_of("text")
            and self._calls() == other._calls()
            and other.text_of("reasoning") in ("", self.text_of("reasoning"))
        )

    def _calls(self) -> list[tuple[str, str | None, str]]:
        return [
            (block.id, block.name, canonical_json(block.text)) for block in self.of_kind("call")
        ]

    def reasoning_message(self, block: Block) -> agui.ReasoningMessage:
        """Return the AG-UI message of one reasoning block."""
        return agui.ReasoningMessage(
            id=block.id,
            role="reasoning",
            content=block.text,
            encrypted_value=self.encrypted if block is self.value_holder else None,
            metadata=block.metadata,
            subagent_run_id=self.source.visible_id,
        )

    def result_message(self, block: Block) -> agui.ToolMessage:
        """Return the AG-UI message of the result of a server's call."""
        failed = "status" in (block.metadata or {})
        return agui.ToolMessage(
            id=block.id,
            role="tool",
            content=block.text,
            tool_call_id=str(block.key),
            error=(block.text or FAILED_WITHOUT_TEXT) if failed else None,
            metadata=block.metadata,
            subagent_run_id=self.source.visible_id,
        )

    def assistant_message(self) -> agui.AssistantMessage:
        """Return the AG-UI message of the text and the calls; without content if there are only
        calls.
        """
        return self._message(CALLS)

    def _message(self, kinds: Sequence[BlockKind]) -> agui.AssistantMessage:
        calls = [
            agui.ToolCall(
                id=block.id,
                type="function",
                function=agui.FunctionCall(name=block.name or "", arguments=block.text),
                metadata=block.metadata,
            )
            for block in self.blocks
            if block.kind in kinds
        ]
        has_content = not calls or any(block.kind == "text" for block in self.blocks)
        return agui.AssistantMessage(
            id=self.message_id,
            role="assistant",
            content=self.text_of("text") if has_content else None,
            tool_calls=calls or None,
            encrypted_value=self.encrypted if self.value_holder is None else None,
            metadata={CITATIONS: self.citations} if self.citations else None,
            subagent_run_id=self.source.visible_id,
        )
