"""The conversation as the client holds it: which messages, in which order.

The client's messages, blocks as they begin and tool results enter. The same list leaves that the
reference client makes of the same events (AG-UI 1.0, client apply step): a message is appended with
its first event, and a tool result goes behind the message that holds its call.
"""

from collections.abc import Callable, Collection, Container, Iterable, Sequence
from functools import partial

from ag_ui.core import AssistantMessage, Message, ReasoningMessage, ToolMessage, UserMessage

from langgraph_agui.messages.assistant_turn import AssistantTurn, Block
from langgraph_agui.messages.encrypted_values import AGENT, MessageSource


class Conversation:
    """An ordered set of messages, each under one id.

    Args:
        held: The messages that the client holds already.

    Attributes:
        ids: The ids of all messages.
        turns: The assistant messages of this run, by id.
        holders: The message that holds each call, by the call's id, if the client holds it.
        call_names: The tool of each call, by its id: calls of the conversation, and of the thread
            behind it.
        answered: The ids of the calls that have a result.
        sources: Which subagents wrote messages, by the message's id.
        subagent_only: Messages of subagents in this run that the agent's own history is not known
            to hold.
    """

    def __init__(self, held: Sequence[Message] = ()) -> None:
        self._messages: dict[str, Message] = {message.id: message for message in held}
        # The messages that are no results, in order, each with the results behind it; None has
        # those before all.
        self._order: dict[str | None, list[str] | None] = {None: None}
        self._streamed: dict[str, Callable[[], Message]] = {}
        self.ids: set[str] = set(self._messages)
        self.turns: dict[str, AssistantTurn] = {}
        self.holders: dict[str, str] = {}
        self.call_names: dict[str, str] = {}
        self.answered: set[str] = set()
        self.sources: dict[str, MessageSource] = {}
        self.subagent_only: set[str] = set()
        self._emptied: set[str] = set()
        last: str | None = None
        for message in self._messages.values():
            if message.subagent_run_id:
                self.sources[message.id] = MessageSource(message.subagent_run_id)
            if isinstance(message, ToolMessage):
                self.answered.add(message.tool_call_id)
                self._put_behind(last, message.id)
                continue
            last = message.id
            self._order[last] = None
            for call in (message.tool_calls or ()) if isinstance(message, AssistantMessage) else ():
                self._add_call(call.id, call.function.name, last)

    @property
    def _last(self) -> str | None:
        """The last message that is no result."""
        return next(reversed(self._order))

    def _put_behind(self, place: str | None, result_id: str) -> None:
        results = self._order[place] = self._order[place] or []
        results.append(result_id)

    def find(self, message_id: str) -> AssistantTurn | Message:
        """Return the message of this run with this id; raise `KeyError` if there is none."""
        return self.turns.get(message_id) or self._messages[message_id]

    def replace(self, message: Message) -> None:
        """Put a user or tool message in the place of the one with its id."""
        self._messages[message.id] = message

    def _add_call(self, call_id: str, name: str, message_id: str) -> None:
        self.holders[call_id] = message_id
        self.call_names[call_id] = name

    def in_order(self, call_ids: Container[str]) -> list[str]:
        """Return those of these calls that the client holds, in the order in which it received
        them.
        """
        return [call_id for call_id in self.holders if call_id in call_ids]

    def know_calls(self, calls: Iterable[tuple[str | None, str]]) -> None:
        """Note calls (id and tool) in messages of the thread that the client may not hold yet."""
        for call_id, name in calls:
            if call_id is not None:
                self.call_names.setdefault(call_id, name)

    def begin(self, turn: AssistantTurn, block: Block) -> None:
        """Give `block` its place: the client is about to receive it."""
        if block.kind == "reasoning":
            self._place(turn, block.id, partial(turn.reasoning_message, block))
        else:
            self.begin_assistant(turn)
        if block.kind == "call":
            self._add_call(block.id, block.name or "", turn.message_id)

    def begin_assistant(self, turn: AssistantTurn) -> None:
        """Give the assistant message of `turn` its place, even if it is empty."""
        self._place(turn, turn.message_id, turn.assistant_message)

    def _place(self, turn: AssistantTurn, message_id: str, message: Callable[[], Message]) -> None:
        # one that begins again keeps its place
        if message_id not in self.ids or message_id in self._emptied:
            self._emptied.discard(message_id)
            self._order.setdefault(message_id, None)
            self.ids.add(message_id)
            self._streamed[message_id] = message
        self.turns[turn.message_id] = turn
        self._add_source(turn.message_id, turn.source)

    def append_turn(self, turn: AssistantTurn) -> None:
        """Append a whole assistant message."""
        for block in turn.blocks:
            self.begin(turn, block)
        if turn.encrypted is not None:
            self.begin_assistant(turn)

    def add(self, message: Message, source: MessageSource = AGENT) -> None:
        """Add a user message at the end."""
        self._order.setdefault(message.id, None)
        self._add(message, source)

    def _add(self, message: Message, source: MessageSource) -> None:
        self._messages[message.id] = message
        self.ids.add(message.id)
        self._add_source(message.id, source)

    def _add_source(self, message_id: str, source: MessageSource) -> None:
        if source.subagent_run_id is not None and message_id not in self.sources:
            self.sources[message_id] = source
            self.subagent_only.add(message_id)

    def claim(self, message_id: str) -> MessageSource:
        """Note that the agent's own history holds this subagent's message too; return its
        source.
        """
        self.subagent_only.discard(message_id)
        source = self.sources[message_id] = self.sources[message_id]._replace(in_thread=True)
        return source

    def answer(self, result: ToolMessage, source: MessageSource = AGENT) -> None:
        """Put a tool result behind the message that holds its call, after the results already
        there.
        """
        holder = self.holders.get(result.tool_call_id, self._last)
        self._put_behind(holder if holder in self._order else self._last, result.id)
        self._add(result, source)
        self.answered.add(result.tool_call_id)

    def remove_results(self, call_ids: Container[str | None]) -> bool:
        """Remove the results of these calls; return whether there were any."""
        results = self._results_of(call_ids)
        self._remove({result.id for result in results})
        self.answered -= {result.tool_call_id for result in results}
        return bool(results)

    def _results_of(self, call_ids: Container[str | None]) -> list[ToolMessage]:
        messages = self._messages.values()
        return [
            one for one in messages if isinstance(one, ToolMessage) and one.tool_call_id in call_ids
        ]

    def _remove(self, message_ids: set[str]) -> None:
        order, self._order = self._order, {}
        for message_id, results in order.items():
            if message_id not in message_ids:
                self._order[message_id] = None
            for one in results or ():
                if one not in message_ids:
                    self._put_behind(self._last, one)
        self.ids -= message_ids
        for message_id in message_ids:
            self._streamed.pop(message_id, None)
            self._messages.pop(message_id, None)

    def withdraw(self, turn: AssistantTurn) -> set[str]:
        """Remove an assistant message of this run with the results of its calls; return the ids of
        these calls.

        Its reasoning messages stay and are empty, because no snapshot removes them (AG-UI 1.0,
        client apply step).
        """
        calls = {block.id for block in turn.of_kind("call")}
        for block in turn.of_kind("reasoning"):
            if self._streamed.pop(block.id, None) is not None:
                self._messages[block.id] = ReasoningMessage(
                    id=block.id, role="reasoning", content=""
                )
                self._emptied.add(block.id)
        self._remove({turn.message_id, *(result.id for result in self._results_of(calls))})
        self.turns.pop(turn.message_id, None)
        for call_id in calls:
            self.holders.pop(call_id, None)
            self.call_names.pop(call_id, None)
        return calls

    def messages(self) -> list[Message]:
        """Return all messages, in the client's order."""
        streamed, messages = self._streamed, self._messages
        order = (
            (message_id, *results) if results else (message_id,)
            for message_id, results in self._order.items()
        )
        ids = (one for ids in order for one in ids if one is not None)
        return [streamed[one]() if one in streamed else messages[one] for one in ids]


def merge_messages(
    held: Sequence[Message], truth: Iterable[tuple[str, Sequence[Message]]]
) -> list[Message]:
    """Merge the server's messages into `held`; the client loses none.

    Args:
        held: The client's messages.
        truth: For each message of the server, in order: the id that marks its place, and the
            messages to put there (none where the client's copy stands). A message whose id the
            client holds replaces the client's copy; one that is new to the client goes behind the
            place of the server's message before it.
    """
    place = {message.id: message for message in held}
    behind: dict[str | None, list[Message]] = {}
    anchor: str | None = None
    for message_id, messages in truth:
        for message in messages:
            if message.id in place:
                place[message.id] = message
                anchor = message.id
            else:
                behind.setdefault(anchor, []).append(message)
        if message_id in place:
            anchor = message_id
    result = list(behind.get(None, ()))
    for message_id, message in place.items():  # a client may hold one id twice
        result.append(message)
        result.extend(behind.get(message_id, ()))
    return result


def gone_messages(
    held: Sequence[Message], kept: Collection[str | None], past: Container[str]
) -> set[str]:
    """Return the ids of the client's messages that were removed from the end of the thread, or
    edited away.

    They stand behind the last message that the thread has kept, and the thread has had them, or the
    question that they answer. Messages before it were trimmed, and so were those of a client that
    shows nothing of the thread any more.

    Args:
        held: The client's messages.
        kept: The ids of the thread's messages.
        past: The messages that the thread has had.
    """
    places = [index for index, message in enumerate(held) if message.id in kept]
    gone: set[str] = set()
    question_is_gone = False
    for message in held[places[-1] + 1 :] if places else ():
        if isinstance(message, UserMessage):
            question_is_gone = message.id in past
        if question_is_gone or message.id in past:
            gone.add(message.id)
    return gone


def without_gone(
    messages: Sequence[Message], gone: Container[str], kept: Container[str]
) -> list[Message]:
    """Return a conversation without the messages that are gone, and without what subagents said for
    them.

    Their reasoning stays and is empty, because no snapshot removes it (AG-UI 1.0, client apply
    step).

    Args:
        messages: The conversation.
        gone: The ids of the messages that are gone.
        kept: The ids of the thread's messages.
    """
    result: list[Message] = []
    thoughts: list[ReasoningMessage] = []
    speaker_is_gone = False
    for message in messages:
        if isinstance(message, ReasoningMessage):
            thoughts.append(message)
            continue
        previous_is_gone = speaker_is_gone
        if message.subagent_run_id is None or message.id in kept:
            speaker_is_gone = message.id in gone
        is_gone = speaker_is_gone or message.id in gone
        # Reasoning belongs to the answer behind it. Without one, it belongs to the message before
        # it.
        owner_is_gone = previous_is_gone if isinstance(message, UserMessage) else is_gone
        result += _emptied(thoughts) if owner_is_gone else thoughts
        thoughts = []
        if not is_gone:
            result.append(message)
    return [*result, *(_emptied(thoughts) if speaker_is_gone else thoughts)]


def _emptied(thoughts: Sequence[ReasoningMessage]) -> list[ReasoningMessage]:
    return [
        thought.model_copy(update={"content": "", "encrypted_value": None}) for thought in thoughts
    ]
