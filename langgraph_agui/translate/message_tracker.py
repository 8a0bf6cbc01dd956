"""What models say and nodes return, each told once: the messages of one run.

Model calls and whole messages enter, in the order in which a source tells of them; they leave through the items. The
same message may come several times, from the model, the node and the state of its graph, and under more than one id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from ag_ui.core import Message
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages import ToolMessage as LCToolMessage

from langgraph_agui.messages.assistant_turn import AssistantTurn
from langgraph_agui.messages.blocks import read_blocks
from langgraph_agui.messages.conversation import Conversation
from langgraph_agui.messages.encrypted_values import (
    AGENT,
    EncryptedValueCodec,
    MessageSource,
)
from langgraph_agui.messages.provider import maker_of
from langgraph_agui.messages.to_agui import agui_role
from langgraph_agui.translate.event_sinks import Sink
from langgraph_agui.translate.message_emitter import MessageEmitter, StreamingMessage
from langgraph_agui.translate.snapshot import StateMessages
from langgraph_agui.translate.subagents import SubagentRun, SubagentTracker
from langgraph_agui.translate.usage import Usage


@dataclass(slots=True)
class _ModelRun:
    """One LLM call: what its start told, and the message that it is saying."""

    run_id: UUID
    metadata: Mapping[str, object]
    source: MessageSource = AGENT
    best_id: str | None = None
    live: StreamingMessage | None = None

    unsure: bool = True
    """Whether a better id may come."""

    def rank(self, message_id: str | None) -> None:
        """Keep the best id seen: a provider's beats LangChain's own (as in the sum of the chunks)."""
        if message_id and self.unsure:
            self.best_id = message_id
            self.unsure = message_id.startswith(("lc_", "run-"))


class MessageTracker:
    """The messages of one run.

    Args:
        conversation: What the client holds.
        sink: Takes the events.
        values: Writes the opaque values.
        lanes: Knows what is told of whom.

    Attributes:
        items: What is said, and what of it is open.
        usage: What the models reported.
        providers: Whose models have spoken.
    """

    def __init__(
        self, conversation: Conversation, sink: Sink, values: EncryptedValueCodec, lanes: SubagentTracker
    ) -> None:
        self.items = MessageEmitter(conversation, sink, values)
        self._lanes = lanes
        self._models: dict[UUID, _ModelRun] = {}
        self._seen: set[str] = set()
        self._said_by: dict[str, str | None] = {}
        self._said: dict[str, list[tuple[BaseMessage, str]]] = {}
        self._messages = StateMessages(values)
        self.usage = Usage()
        self.providers: set[str] = set()

    # -- the thread ---------------------------------------------------------------------------------------------

    def know(self, thread: Sequence[BaseMessage]) -> None:
        """Take note of the thread as the checkpoint holds it: nothing in it is new."""
        self._seen.update(message.id for message in thread if message.id)
        self._messages.begin(thread)
        self.items.conversation.know_calls(
            (call["id"], call["name"])
            for message in thread
            if isinstance(message, AIMessage) and agui_role(message) is not None
            for call in message.tool_calls
        )

    def begin(self, messages: Sequence[BaseMessage]) -> None:
        """Take the root graph's messages as the run finds them."""
        self._messages.begin(messages)

    def update(self, messages: Sequence[BaseMessage]) -> None:
        """Take what a superstep has made of them."""
        self._messages.update(messages)
        self._tell_apart(messages)
        self._claim(messages)

    def _tell_apart(self, messages: Sequence[BaseMessage]) -> None:
        """Find which message it is that the state holds, where several of this run have the same id of their own."""
        if not any(len(said) > 1 for said in self._said.values()):
            return
        for message in messages:
            said = self._said.get(message.id or "", ())
            if len(said) > 1:
                same = [public for one, public in said if one is message or _words(one) == _words(message)]
                if same:
                    self._messages.alias(message.id or "", same[-1])

    def notice(self, messages: Iterable[BaseMessage]) -> None:
        """Take note of messages that a graph or node was given: they are nothing new."""
        self._seen.update(message.id for message in messages if message.id)

    def snapshot(self) -> list[Message]:
        """The whole conversation, as the graph's state has it."""
        return self._messages.snapshot(self.items.conversation, self.items.call_ids)

    # -- models -------------------------------------------------------------------------------------------------

    def model_start(self, run_id: UUID, metadata: Mapping[str, object], lane: SubagentRun | None = None) -> None:
        """A visible model call begins."""
        self._models[run_id] = _ModelRun(run_id, metadata, self._lanes.source(lane))

    def token(self, run_id: UUID, message: BaseMessage) -> None:
        """A chunk of a model call's message. The hot path."""
        model = self._models.get(run_id)
        if model is None:
            return
        live = model.live
        if live is not None:
            if model.unsure and message.id != model.best_id:
                model.rank(message.id)
                live.turn.rename(self._public_id(model.best_id, run_id))
            live.add_chunk(message)
            return
        model.rank(message.id)
        if parts := read_blocks(message):
            provider = message.response_metadata.get("model_provider") or model.metadata.get("ls_provider")
            model_name = model.metadata.get("ls_model_name")
            public = self._public_id(model.best_id, run_id)
            model.live = live = self.items.begin(public, _text(provider), _text(model_name), source=model.source)
            live.feed(parts)

    def _public_id(self, message_id: str | None, run_id: UUID) -> str:
        if message_id is None or message_id in self.items.conversation.ids:
            return f"lc_run--{run_id}"
        return message_id

    def model_end(
        self, run_id: UUID, message: BaseMessage, metadata: Mapping[str, object], *, hidden: bool = False
    ) -> None:
        """A model call has ended with `message`, the whole of what it said; it stays hidden, whoever returns it."""
        self.usage.add(message, metadata)
        if (provider := maker_of(message.response_metadata)) is not None:
            self.providers.add(provider)
        if hidden and message.id is not None:
            self._messages.hide(message.id)
        model = self._models.pop(run_id, None)
        if model is None:
            return
        if model.live is not None:
            public = model.live.turn.message_id
            self.items.finish(model.live, message)
        elif self._repeats(message.id, model.source):
            return
        else:
            public = self._public_id(message.id, run_id)
            self.items.whole(message, public, model.source)
        if message.id is not None:
            self._said.setdefault(message.id, []).append((message, public))
            if model.source.subagent_run_id is None or message.id not in self._seen:
                self._seen.add(message.id)
                self._said_by[message.id] = model.source.subagent_run_id
                self._messages.alias(message.id, public)

    def _repeats(self, message_id: str | None, source: MessageSource) -> bool:
        """Whether this agent has said a message of that id before; another's may have the same id by chance."""
        if source.subagent_run_id is None:
            return message_id in self._seen and self._said_by.get(message_id or "") is None
        return message_id is not None and self._said_by.get(message_id) == source.subagent_run_id

    def model_failed(self, run_id: UUID) -> list[str]:
        """A model call failed: what it said is closed at once. Return the ids of its items."""
        model = self._models.pop(run_id, None)
        if model is None or model.live is None:
            return []
        self.items.fail(model.live)
        return [item.id for item in model.live.turn.blocks]

    # -- nodes --------------------------------------------------------------------------------------------------

    def returned(
        self,
        messages: Iterable[tuple[BaseMessage, str | None]],
        given: Callable[[], Iterable[BaseMessage]],
        lane: SubagentRun | None,
    ) -> None:
        """A node has returned messages, each with the id of the streamed message that it copies.

        Args:
            messages: The messages.
            given: Finds those in its input, which are nothing new.
            lane: The subagent that the node is part of.
        """
        new: list[tuple[BaseMessage, str | None]] = []
        for message, copied in messages:
            if message.id not in self._seen:
                new.append((message, copied))
            elif (record := self._record(message.id, lane)) is not None:
                self.items.stored(record, message)
        if new:
            self.notice(given())
        for message, copied in new:
            if copied is not None and message.id is not None and message.id not in self._seen:
                self._seen.add(message.id)
                self._messages.alias(message.id, copied)
            self.arrived(message, lane)

    def _record(self, state_id: str | None, lane: SubagentRun | None) -> AssistantTurn | None:
        """What was said in this run under a message's own id, if a node of this lane may change it."""
        record = self.items.conversation.records.get(self._messages.public(state_id or ""))
        return record if record is not None and (lane is None or record.source.subagent_run_id == lane.id) else None

    def arrived(self, message: BaseMessage, lane: SubagentRun | None = None) -> None:
        """A whole message: say it, unless it was said, streamed, echoed or hidden."""
        if message.id is None or message.id in self._seen or self._messages.hides(message.id):
            return
        self._seen.add(message.id)
        if agui_role(message) is not None and message.id not in self.items.conversation.ids:
            self.items.whole(message, message.id, self._lanes.source(lane))

    def announce(self, message: AIMessage) -> None:
        """Say calls of our own, those that the client does not know from an earlier run."""
        knows = self.items.conversation.knows_call
        message.tool_calls = [call for call in message.tool_calls if not knows(call["id"] or "")]
        if message.tool_calls:
            self.items.whole(message, f"{message.tool_calls[0]['id']}:message")

    def answered(self, message: LCToolMessage) -> None:
        """A tool that no node ran has answered a call."""
        message.id = message.id or str(uuid4())
        self.arrived(message)

    def appended(self, messages: Sequence[BaseMessage]) -> None:
        """The thread gets these results, which no tool has returned. A client that holds their calls is told."""
        self._messages.update([*self.stored, *messages])
        for message in messages:
            if isinstance(message, LCToolMessage) and self.items.conversation.holds_call(message.tool_call_id):
                self.arrived(message)

    def _claim(self, messages: Sequence[BaseMessage]) -> None:
        """Note which of the messages in the root graph's state are what subagents have said."""
        if accounts := self.items.conversation.accounts:
            for message in messages:
                if message.id is not None and (public := self._messages.public(message.id)) in accounts:
                    self.items.of_thread(message, public)

    @property
    def stored(self) -> Sequence[BaseMessage]:
        """The messages of the root graph's state as they are now."""
        return self._messages.now

    # -- the end ------------------------------------------------------------------------------------------------

    def close(self, lane: str | None = None) -> None:
        """Close what a subagent has left open, or (None) everything; what a model says after that is not told."""
        self._models = {
            run_id: model for run_id, model in self._models.items() if lane and model.source.visible_id != lane
        }
        self.items.close(lane)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _words(message: BaseMessage) -> tuple[object, ...]:
    """What tells two messages apart that have the same id."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return message.text, [(call["id"], call["name"], call["args"]) for call in calls]
