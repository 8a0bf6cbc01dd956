"""The closing snapshot: the graph's messages and the client's, as one conversation.

The messages of the root graph's state enter while the run works; the list for `MESSAGES_SNAPSHOT`
leaves at its end. Of a message that both sides hold, the client's copy stays unless this run
emitted it or the graph changed it. Messages that the graph has removed from the end of the thread,
or that the user has edited away, leave the client too.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Container, Sequence
from operator import is_
from typing import TypeAlias, cast

from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    Message,
    ReasoningMessage,
    ToolMessage,
    UserMessage,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages import ToolMessage as LCToolMessage

from langgraph_agui.graphs.past import PastMessages, is_replaced, removed_from_end
from langgraph_agui.messages.assistant_turn import AssistantTurn
from langgraph_agui.messages.content import (
    is_unanswered,
    is_unfinished,
    text_of,
    without_calls,
)
from langgraph_agui.messages.conversation import (
    Conversation,
    Record,
    Unkept,
    by_own_id,
    gone_messages,
    merge_messages,
    without_gone,
)
from langgraph_agui.messages.encrypted_values import EncryptedValueCodec
from langgraph_agui.messages.envelope import owner_id
from langgraph_agui.messages.hidden import NOTHING, hidden_in
from langgraph_agui.messages.made import made_media
from langgraph_agui.messages.server_tools import is_server_call
from langgraph_agui.messages.to_agui import agui_role, is_summary, tool_message, user_message
from langgraph_agui.protocol.json import canonical_json, dump_json, same_arguments

_Content: TypeAlias = tuple[str, tuple[str | None, ...]]


class ThreadMessages:
    """The messages of the root graph's state: as the run found them, as they are now, and under
    which public ids.

    Args:
        conversation: The client's messages.
        codec: Encodes the values of messages that were not streamed.
        held: The client's messages when the run begins.
        may_remove: Whether the graph may remove messages.

    Attributes:
        now: The messages as they are now.
        hidden: The ids of messages that the client must not see.
    """

    def __init__(
        self,
        conversation: Conversation,
        codec: EncryptedValueCodec,
        held: Sequence[Message],
        *,
        may_remove: bool,
    ) -> None:
        self._conversation = conversation
        self._codec = codec
        self._held = held
        self._may_remove = may_remove
        # The thread as the run finds it.
        self._thread: Sequence[BaseMessage] = ()
        # The messages that the graph starts from. The first ones stand: the client has them too,
        # as `Conversation.plain`.
        self._initial: Sequence[BaseMessage] = ()
        self._standing = 0
        self.now: Sequence[BaseMessage] = ()
        self._past = PastMessages()
        # The ids of the client's messages that the run adds to the thread; None if the client's
        # list is the conversation.
        self._taken: Collection[str] | None = None
        self._unkept: Sequence[Unkept] = ()
        self.hidden: set[str] = set()

    def set_initial(self, messages: Sequence[BaseMessage]) -> None:
        """Take the messages that the run starts from."""
        if not (self._standing and self._has_standing(messages)):
            held, self._standing = count_standing(self._conversation.plain, messages)
            self._conversation.make_records(held)
        self._initial = self.now = messages

    def _has_standing(self, messages: Sequence[BaseMessage]) -> bool:
        """Return whether messages begin with those that stand."""
        standing = self._initial[: self._standing]
        return len(messages) >= len(standing) and all(map(is_, standing, messages))

    def _still_standing(self) -> int:
        """Return how many messages of the thread still stand. Nobody has to look at them again."""
        conversation = self._conversation
        if not (self._standing and conversation.plain):
            return 0
        ids = (*self.hidden, *(one.id for one in self.now[self._standing :]))
        if self._has_standing(self.now) and not any(map(conversation.has_plain, ids)):
            return self._standing
        conversation.make_records()
        return 0

    def later(self) -> Sequence[BaseMessage]:
        """Return the messages as they are now, behind those that stand."""
        return self.now[self._still_standing() :]

    def update(self, messages: Sequence[BaseMessage]) -> None:
        """Take the messages as they are after a superstep."""
        if self._may_remove and (removed := removed_from_end(self.now, messages)):
            self._lose(removed, replaced=is_replaced(self.now, messages))
        self.now = messages

    def _lose(self, removed: Sequence[BaseMessage], *, replaced: bool) -> None:
        """Note messages that are gone. Those that something has replaced were trimmed, unless a
        node has removed them by their ids.
        """
        # A graph that puts something in the place of several turns has summed them up, however it
        # removes them.
        if replaced and sum(message.type == "human" for message in removed) > 1:
            return
        for message in removed:
            record = self._conversation.record_of(message)
            record.is_gone |= record.is_removed or not replaced

    def remove(self, message_ids: Collection[str]) -> None:
        """Note messages that a node removes by their ids."""
        for message in self.now if message_ids else ():
            if message.id in message_ids:
                self._conversation.record_of(message).is_removed = True

    def find_gone(self, past: PastMessages) -> None:
        """Find messages that the client holds and the thread has no more."""
        if not self._past.had:
            self._past, self._thread = past, self.now
        kept = {message.id for message in self.later()}
        kept.update(message.id for message in self._conversation.plain[-1:])
        for gone in gone_messages(self._conversation.messages(), kept, past):
            if (record := self._conversation.get(gone)) is not None:
                record.is_gone = True

    def take(self, message_ids: Collection[str]) -> None:
        """Note the client's messages that the run adds to a thread that the server knows. All else
        that the client holds beside the thread is then its own.
        """
        self._taken = {*(self._taken or ()), *message_ids}

    def load_unkept(self, unkept: Sequence[Unkept]) -> None:
        """Take the messages of the paused step that the run starts from."""
        self._unkept = self._unkept or unkept

    def before(self) -> tuple[list[Message], PastMessages]:
        """Return the conversation as it was before the run, with its media and with what the run
        takes from the client, and the messages that the thread has had.
        """
        conversation = Conversation(self._held)
        thread = ThreadMessages(conversation, self._codec, self._held, may_remove=self._may_remove)
        thread.hidden = self.hidden
        if self._taken is not None:
            thread.take(self._taken)
        thread.set_initial(self._thread)
        thread.find_gone(self._past)
        conversation.restore(self._unkept, show=False)
        messages = thread.with_media()
        own = thread.beside(messages)
        return [one for one in messages if one.id not in own], self._past

    def own_in(self, snapshot: Sequence[Message]) -> set[str]:
        """Return the ids of the messages in a snapshot that only the run's client holds: neither
        the thread had them when the run began, nor has it them now, nor does the run emit them.
        """
        own = self.beside(snapshot)
        return own - {one.id for one in self.before()[0]} if own else own

    def trimmed(self) -> set[str]:
        """Return the ids of the messages that the thread had when the run began, and that the graph
        has trimmed since, with their reasoning.
        """
        if len(self.now) >= len(self._thread) and all(map(is_, self._thread, self.now)):
            return set()
        kept = {message.id for message in self.now}
        lost = [self._conversation.record_of(one) for one in self._thread if one.id not in kept]
        trimmed = {record.id for record in lost if not record.is_gone}
        if not trimmed:
            return set()
        before, _ = self.before()
        return {one.id for one in before} - _others(before, trimmed)

    def beside(self, messages: Sequence[Message]) -> set[str]:
        """Return the ids of the client's messages among these that are none of the thread as it is
        now, and that the run does not emit.
        """
        if self._taken is None:
            return set()
        conversation = self._conversation
        visible = {conversation.public_id(one.id) for one in self.later() if self._is_visible(one)}
        shared = visible | conversation.ids_of_this_run() | {*self._taken}
        others = _others([one for one in messages if not conversation.has_plain(one.id)], shared)
        return others & {one.id for one in self._held} if others else others

    def with_media(self) -> list[Message]:
        """Return the snapshot with the media of the state's messages: each activity behind its
        message and the results of that.
        """
        media: dict[str, ActivityMessage] = {}
        for made in self.now:
            if isinstance(made, AIMessage) and self._is_visible(made) and not hidden_in(made).text:
                public = self._conversation.public_id(made.id)
                activity = made_media(made, public, transformers=self._codec.transformers)
                if activity is not None:
                    media[public] = activity
        if not media:
            return self.snapshot()
        result: list[Message] = []
        waiting: list[Message] = []
        for message in self.snapshot():
            if not isinstance(message, ToolMessage):
                result += waiting
                waiting = []
            result.append(message)
            if message.id in media:
                waiting.append(media.pop(message.id))
        return [*result, *waiting, *media.values()]

    def snapshot(self) -> list[Message]:
        """Return the client's messages with the state's among them, and without activities: the
        client keeps its own.
        """
        conversation, now = self._conversation, self.later()
        conversation.pair([one for one in now if agui_role(one) is not None])
        visible = [message for message in now if self._is_visible(message)]
        self._find_lost_ids(visible)
        before = {message.id: message for message in self._initial[len(self.now) - len(now) :]}
        converted = [self._convert(message, before.get(message.id)) for message in visible]
        merged: list[Message] = [
            message
            for message in merge_messages(conversation.later(), converted)
            if not isinstance(message, ActivityMessage)
        ]
        kept = {conversation.public_id(message.id) for message in now}
        stays = kept | conversation.ids_of_this_run()
        merged = without_calls(merged, is_unfinished, stays)
        gone = conversation.gone() | self._settled_too_early(merged, now)
        if gone:
            merged = without_gone(merged, gone - kept, kept)
        return [*conversation.plain, *merged]

    def _settled_too_early(self, merged: Sequence[Message], now: Sequence[BaseMessage]) -> set[str]:
        """Return the ids of the results that say that there is none, for calls that have one
        now.
        """
        ours = {
            one.tool_call_id: one.id
            for one in merged
            if isinstance(one, ToolMessage) and is_unanswered(one)
        }
        records = [self._conversation.of_graph(one.id) for one in now if ours]
        calls = [record.answers for record in records if record is not None]
        return {ours[call.id] for call in calls if call is not None and call.id in ours}

    def _is_visible(self, message: BaseMessage) -> bool:
        if not message.id or message.id in self.hidden or agui_role(message) is None:
            return False
        record = self._conversation.of_graph(message.id)
        # the result of a hidden call is hidden
        return not isinstance(message, LCToolMessage) or (
            record is not None and (record.content is not None or record.answers is not None)
        )

    def _find_lost_ids(self, visible: Sequence[BaseMessage]) -> None:
        """Find messages that the client holds under an id of an earlier run, which the thread does
        not know.

        A node that streams a model may store the same words under an id of its own, or under that
        of a subagent's message: only the run itself knew both. Those with calls are found by them.
        """
        lost = self._without_copy(visible)
        if not lost:
            return
        conversation = self._conversation
        records = [conversation.of_graph(message.id) for message in visible]
        claimed = {record.id for record in records if record is not None and not record.differs}
        held_ids: defaultdict[_Content, deque[Record]] = defaultdict(deque)
        for held in conversation.later():
            record = conversation.get(held.id)
            if record is None or not record.is_of_earlier_run or held.id in claimed:
                continue
            if held.id in self._past:  # the graph has trimmed it, and has others with its words
                continue
            if isinstance(held, AssistantMessage) and record.source.subagent_run_id is None:
                content = (
                    held.content or "",
                    (
                        *(call.own_id for call in record.calls if not is_server_call(call.id)),
                        *(canonical_json(one.function.arguments) for one in held.tool_calls or ()),
                    ),
                )
                held_ids[content].append(record)
        for message in lost:
            message_id = cast("str", message.id)
            own = AssistantTurn.from_message(message, message_id, values=self._codec)
            text = own.assistant_message().content or ""
            calls = own.assistant_message().tool_calls or ()
            said = (
                *(str(call["id"]) for call in message.tool_calls),
                *(canonical_json(one.function.arguments) for one in calls),
            )
            found = held_ids.get((text, said))
            if found:
                conversation.name(message_id, found.popleft())

    def _without_copy(self, visible: Sequence[BaseMessage]) -> list[AIMessage]:
        """Return the messages of which the client has no copy, or one of other words."""
        lost: list[AIMessage] = []
        for message in visible:
            if not isinstance(message, AIMessage):
                continue
            record = self._conversation.of_graph(message.id)
            if record is not None and record.content is not None:
                record.differs = self._differs(message, record)
            if record is None or record.content is None or record.differs:
                lost.append(message)
        return lost

    def _differs(self, message: AIMessage, record: Record) -> bool:
        """Return whether the client holds other words or calls than the thread: its connection
        broke in the middle.
        """
        held = record.content
        if not isinstance(held, AssistantMessage) or _says(record, held, message):
            return False
        turn = AssistantTurn.from_message(
            message, record.id, values=self._codec, new_call_id=self._ids_of_calls(message)
        )
        return _words(held) != _words(turn.assistant_message())

    def _ids_of_calls(self, message: BaseMessage) -> Callable[[str], str]:
        """Return the client's ids of a message's calls, as a function of the model's."""
        calls = by_own_id(self._conversation.calls_in(message))
        return lambda own_id: calls[own_id].popleft().id if calls[own_id] else own_id

    def _is_stale(self, message: BaseMessage, record: Record) -> bool:
        """Return whether the client's copy of a message is older than the thread's, or only a part
        of it.
        """
        shown = record.shown()
        if shown.subagent_run_id is not None:
            # The root graph holds it, so it is the conversation's. A message of another kind stays
            # as it is: no client takes one for the other.
            return shown.role == agui_role(message)
        if not isinstance(message, AIMessage):
            return self._is_edited(message, record) or self._has_other_result(message, record)
        return record.differs and self._differs(message, record)

    def _is_edited(self, message: BaseMessage, record: Record) -> bool:
        """Return whether the user has edited a message in another tab: it has other words than the
        client's copy.
        """
        held = record.content
        return isinstance(held, UserMessage) and text_of(held.content) != message.text

    def _has_other_result(self, message: BaseMessage, record: Record) -> bool:
        """Return whether the client has answered a call itself, and the thread has another result
        of it.
        """
        held = record.content
        return (
            isinstance(held, ToolMessage)
            and held.id != message.id
            and text_of(held.content) != message.text
        )

    def _convert(
        self, message: BaseMessage, before: BaseMessage | None
    ) -> tuple[str, Sequence[Message]]:
        """Return the public id that marks the message's place, and the AG-UI messages to put there,
        if any.

        Args:
            message: The message.
            before: The same, as the graph has found it.
        """
        conversation = self._conversation
        record = conversation.of_graph(message.id) or Record(message.id or "")
        live, held, public = record.turn, record.content is not None, record.id
        if live is None and held and before is message and not self._is_stale(message, record):
            return public, ()  # this run did not touch it
        match agui_role(message):
            case "assistant":
                own = {block.id for block in live.blocks} if live is not None else set[str]()
                ids = conversation.ids - own if own else conversation.ids
                turn = AssistantTurn.from_message(
                    message,
                    public,
                    ids,
                    self._codec,
                    like=live,
                    new_call_id=self._ids_of_calls(message),
                )
                if live is not None and live.same_content(turn):
                    return public, ()
                if isinstance(message, AIMessage):
                    turn.finish(message)
                alone = Conversation()
                alone.append_turn(Record(public, turn=turn))
                return public, alone.messages()
            case "tool":
                result, call = cast("LCToolMessage", message), record.answers
                name, call_id = (call.name, call.id) if call is not None else (None, None)
                return public, [tool_message(result, public, self._codec, name, call_id=call_id)]
            case _:
                was_changed = before is not None and before.content != message.content
                if held and not was_changed and not self._is_stale(message, record):
                    return public, ()
                return public, [user_message(message, public, self._codec)]


def count_standing(client: Sequence[Message], thread: Sequence[BaseMessage]) -> tuple[int, int]:
    """Return how many messages at the beginning of a client's list stand as they are, and how many
    messages of the thread these are: the client has all of those, in the same words.

    Args:
        client: Plain messages of the client.
        thread: The thread's messages.
    """
    place = 0
    for number, message in enumerate(thread):
        first = place
        while place < len(client) and client[place].role == "reasoning":
            place += 1
        if place == len(client) or not _stands(client[first : place + 1], message):
            return first, number
        place += 1
    return place, len(thread)


def _stands(copy: Sequence[Message], message: BaseMessage) -> bool:
    """Return whether a client's copy of a message, with the reasoning before it, stands."""
    *thoughts, held = copy
    if held.id != message.id:
        return False
    if type(message) is AIMessage:
        if message.tool_calls or message.invalid_tool_calls or hidden_in(message) is not NOTHING:
            return False
    elif type(message) is not HumanMessage or is_summary(message):
        return False
    if isinstance(held, AssistantMessage) and message.type == "ai":
        if not all(_is_shared(thought, held, {held.id}) for thought in thoughts):
            return False
    elif not isinstance(held, UserMessage) or message.type != "human" or thoughts:
        return False
    said = message.content
    return text_of(held.content or "") == (said if isinstance(said, str) else message.text)


def _others(messages: Sequence[Message], shared: Container[str]) -> set[str]:
    """Return the ids of the messages that are not shared.

    Reasoning goes with its answer, and a result that says that there is none with its call.
    """
    others: set[str] = set()
    calls: set[str] = set()
    thoughts: list[ReasoningMessage] = []
    for message in messages:
        if message.id in shared:
            is_shared = True
        elif isinstance(message, ReasoningMessage):
            thoughts.append(message)
            continue
        else:
            is_ours = isinstance(message, ToolMessage) and is_unanswered(message)
            is_shared = is_ours and cast("ToolMessage", message).tool_call_id in calls
        if not is_shared:
            others.add(message.id)
        elif isinstance(message, AssistantMessage):
            calls |= {call.id for call in message.tool_calls or ()}
        behind = message if isinstance(message, AssistantMessage) and is_shared else None
        others |= {one.id for one in thoughts if not _is_shared(one, behind, shared)}
        thoughts = []
    return others | {one.id for one in thoughts if not _is_shared(one, None, shared)}


def _is_shared(thought: Message, behind: AssistantMessage | None, shared: Container[str]) -> bool:
    """Return whether the answer of reasoning is shared: that of its id, else the one behind it."""
    if not isinstance(thought, ReasoningMessage):
        return False
    if not (thought.content or thought.encrypted_value):
        return False
    if owner := owner_id(thought.id):
        return owner in shared
    return behind is not None and behind.subagent_run_id == thought.subagent_run_id


def _words(message: AssistantMessage) -> tuple[str, list[tuple[str, str]]]:
    """Return the text and the calls, whatever the spelling of their arguments."""
    calls = [
        (call.id, canonical_json(call.function.arguments)) for call in message.tool_calls or ()
    ]
    return message.content or "", calls


def _says(record: Record, held: AssistantMessage, message: AIMessage) -> bool:
    """Return whether the client's copy plainly has the message's text and calls. Cheap: each run
    asks it of each.
    """
    calls, content = held.tool_calls or (), message.content
    if (held.content or "") != (content if isinstance(content, str) else message.text):
        return False
    if not calls or len(calls) != len(message.tool_calls):
        return len(calls) == len(message.tool_calls)
    own_ids = [call.own_id for call in record.calls]
    pairs = zip(calls, own_ids, message.tool_calls, strict=True)
    return all(
        own_id == call["id"] and same_arguments(one.function.arguments, dump_json(call["args"]))
        for one, own_id, call in pairs
    )
