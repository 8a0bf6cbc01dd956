"""The conversation: one record for each message, with its calls and their results.

The client's messages, those of the thread, and those that a run emits enter. The same list leaves
that the reference client makes of the same events (AG-UI 1.0, client apply step): a message is
appended with its first event, and a tool result goes behind the message that holds its call.

Models repeat ids: some count their calls from 0 in each answer. So a call is known by its record.
The client's id of a call is unique in the thread: the model's own, or, where an earlier call has
that, one with the id of the message before it.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Container, Iterable, KeysView, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, takewhile
from typing import Final, NamedTuple, TypeAlias

from ag_ui.core import AssistantMessage, Message, ReasoningMessage, ToolMessage, UserMessage
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages import ToolMessage as LCToolMessage

from langgraph_agui.kernel.configs import graph_of, graph_run_at
from langgraph_agui.messages.assistant_turn import AssistantTurn, Block
from langgraph_agui.messages.blocks import CALLS
from langgraph_agui.messages.content import free_call_id, own_call_id
from langgraph_agui.messages.encrypted_values import AGENT, MessageSource
from langgraph_agui.messages.hidden import hidden_in
from langgraph_agui.messages.server_tools import is_server_call
from langgraph_agui.protocol.json import dump_json, same_arguments

# The roles of messages that may be plain.
_PLAIN: Final = frozenset({"user", "assistant", "reasoning"})

# A message that the client holds, or what makes it of a message that still grows.
Content: TypeAlias = Message | Callable[[], Message]


@dataclass(slots=True, eq=False)
class Call:
    """A tool call.

    Attributes:
        id: The client's id.
        own_id: The model's id, which other calls may have too.
        holder: The message with the call.
        name: The tool.
        result: The result.
        is_shown: Whether the client has the call.
        is_withdrawn: Whether its message was taken back.
    """

    id: str
    own_id: str
    holder: "Record"
    name: str = ""
    result: "Record | None" = None
    is_shown: bool = False
    is_withdrawn: bool = False


@dataclass(slots=True, eq=False)
class Record:
    """A message.

    Attributes:
        id: The client's id.
        content: The client's message; None if the client does not have it.
        source: Which agent wrote it.
        turn: The message as a document, if this run emits it.
        calls: Its calls.
        results: The results that stand behind it.
        answers: The call that it answers.
        task: The checkpoint namespace of the task that has made it, or whose graph keeps it; empty
            once the root graph keeps it.
        is_kept: Whether that graph keeps it. If not, it goes when the task runs again.
        stays: Whether it stays though no graph keeps it: its author has sent it by himself.
        is_over: Whether it was made by an inner graph that has ended.
        is_elsewhere: Whether a node has put it into another channel than the conversation.
        differs: Whether the client holds other words than the graph.
        is_removed: Whether a node has removed it by its id.
        is_gone: Whether the thread has lost it, and the client is to lose it too.
        message: The message as the model or the node has returned it.
        owner: The assistant message that a reasoning message belongs to, if this run emits it.
        is_named: Whether the graph is known to have it under another id than the client.
    """

    id: str
    content: Content | None = None
    source: MessageSource = AGENT
    turn: AssistantTurn | None = None
    calls: list[Call] = field(default_factory=list)
    results: "list[Record]" = field(default_factory=list)
    answers: Call | None = None
    task: str = ""
    is_kept: bool = False
    stays: bool = False
    is_over: bool = False
    is_elsewhere: bool = False
    differs: bool = False
    is_removed: bool = False
    is_gone: bool = False
    message: BaseMessage | None = None
    owner: "Record | None" = None
    is_named: bool = False

    def shown(self) -> Message:
        """Return the message as the client holds it."""
        assert self.content is not None  # noqa: S101  # the caller has looked
        return self.content() if callable(self.content) else self.content

    @property
    def is_of_earlier_run(self) -> bool:
        """Whether the client has it from an earlier run, and no graph is known to have it."""
        return not (self.content is None or self.turn or self.task or self.is_named)

    @property
    def graph_run(self) -> str | None:
        """The run of the graph inside that made it, in the form of a `subagentRunId`; None once the
        root graph keeps it.
        """
        return graph_run_at(self.task if self.is_kept else graph_of(self.task))

    @property
    def maker(self) -> "Record":
        """The record that knows which task has made this one: of reasoning its answer's, of a
        result that of the message with its call.
        """
        if self.answers is not None:
            return self.answers.holder
        return self.owner or self


class Unkept(NamedTuple):
    """A message that the client has, and the root graph does not keep yet, because it has paused.

    Attributes:
        message: The client's message.
        task: See `Record`.
        is_kept: See `Record`.
        source: See `Record`.
    """

    message: Message
    task: str
    is_kept: bool
    source: MessageSource = AGENT


class Conversation:
    """The records of one thread: in the client's order, by the client's ids, and by the graph's.

    Args:
        held: The messages that the client holds.

    Attributes:
        shares_ids: Whether the graph has used one id for several messages.
        has_twins: Whether a message has several calls of one id.
    """

    def __init__(self, held: Sequence[Message] = ()) -> None:
        # A plain message stands for its record until somebody asks for that.
        client = {one.id: one for one in held}
        self._records: dict[str, Record | Message] = {**client}
        # By the graph's ids where they are not the client's, the newest last: a graph may use one
        # id for several messages.
        self._of_graph: dict[str, list[Record]] = {}
        self.shares_ids = False
        self.has_twins = False
        # By the client's ids, also those that are withdrawn and that the client has not lost yet.
        self._calls: dict[str, Call] = {}
        # By the model's ids.
        self._repeated: defaultdict[str, list[Call]] = defaultdict(list)
        # The client's first messages: those without records.
        self._plain = [*takewhile(_is_plain, client.values())]
        # What the client has behind them, but results; the first one only holds those before all
        # messages.
        self._order: list[Record] = [Record("")]
        for message in islice(client.values(), len(self._plain), None):
            self._hold(message)

    @property
    def plain(self) -> Sequence[Message]:
        """The client's first messages, as far as nobody has asked for their records."""
        return self._plain

    def has_plain(self, message_id: str | None) -> bool:
        """Return whether one of the plain messages has this id."""
        known = self._records.get(message_id or "")
        return known is not None and not isinstance(known, Record)

    def make_records(self, start: int = 0) -> None:
        """Make the records of the plain messages from a place on."""
        records = [Record(message.id, message) for message in self._plain[start:]]
        del self._plain[start:]
        self._records.update((record.id, record) for record in records)
        self._order[:0] = [Record(""), *records]

    def _hold(self, message: Message) -> None:
        owner = message.subagent_run_id
        source = MessageSource(owner) if owner else AGENT
        record = self._records[message.id] = Record(message.id, message, source)
        if isinstance(message, ToolMessage):
            self._order[-1].results.append(record)
            call_id = message.tool_call_id
            if call_id not in self._calls:
                # The client does not have the call, though it has the result.
                self._calls[call_id] = Call(call_id, call_id, record)
            self._link(record, self._calls[call_id])
            return
        self._order.append(record)
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls or ():
                own_id, name = own_call_id(call.id, message.id), call.function.name
                self._add_call(Call(call.id, own_id, record, name, is_shown=True))

    # -- records ----------------------------------------------------------------------------------

    @property
    def ids(self) -> KeysView[str]:
        """The client's ids of all messages."""
        return self._records.keys()

    def get(self, message_id: str) -> Record | None:
        """Return the record with this client's id."""
        record = self._records.get(message_id)
        if record is None or isinstance(record, Record):
            return record
        self.make_records()
        return self.get(message_id)

    def of_graph(self, state_id: str | None) -> Record | None:
        """Return the record of the message that the graph knows by this id."""
        known = self._of_graph.get(state_id or "")
        return known[-1] if known else self.get(state_id or "")

    def all_of_graph(self, state_id: str | None) -> Sequence[Record]:
        """Return the records of all messages that the graph has known by this id."""
        return self._of_graph.get(state_id or "", ())

    def record_of(self, message: BaseMessage) -> Record:
        """Return the record of a message of the graph, a new one if there is none."""
        record = self.of_graph(message.id)
        if record is None:
            record = Record(message.id or "")
            self.add(record)
        return record

    def public_id(self, state_id: str | None) -> str:
        """Return the client's id of the message that the graph knows by this id."""
        record = self.of_graph(state_id)
        return record.id if record is not None else state_id or ""

    def name(self, state_id: str, record: Record, *, newest: bool = True) -> None:
        """Note that the graph knows a message by this id, now or (not `newest`) before."""
        known = self._of_graph.get(state_id)
        if known is None:
            own = self.get(state_id)
            known = self._of_graph[state_id] = [own] if own is not None else []
        if record in known:
            known.remove(record)
        for unseen in [one for one in known if newest and one.content is None]:
            self._drop_calls(unseen)
            self._forget(unseen)
        known.insert(len(known) if newest else 0, record)
        record.is_named = True
        self.shares_ids = self.shares_ids or len(known) > 1

    def add(self, record: Record) -> None:
        """Take a record that the client does not have yet."""
        unseen = self.get(record.id)
        if unseen is not None and unseen.content is None:
            self._drop_calls(unseen)
        self._records[record.id] = record

    def rename(self, record: Record, message_id: str) -> None:
        """Give a record another id. The client must not have it yet."""
        if self._records.get(record.id) is record:
            del self._records[record.id]
        record.id = message_id
        self._records[message_id] = record

    def show(self, record: Record, content: Content) -> None:
        """Append a message: the client is about to receive it. One that it has keeps its place."""
        self._records[record.id] = record
        if record.content is None:
            self._order.append(record)
        record.content = content

    def begin(self, record: Record, block: Block) -> None:
        """Give a block of a message its place: the client is about to receive it."""
        turn = record.turn
        assert turn is not None  # noqa: S101  # the messages of a run have one
        if block.kind == "reasoning":
            thought = self.get(block.id)
            thought = thought or Record(block.id, source=record.source)
            thought.owner = record
            self.show(thought, partial(turn.reasoning_message, block))
            return
        if block.kind == "server_result":
            call = self._calls[str(block.key)]
            self.answer(
                Record(block.id, source=record.source, answers=call), turn.result_message(block)
            )
            return
        self.begin_assistant(record)
        if block.kind in CALLS:
            call = self._calls.get(block.id) or self._new_call(record, block.provider_id, block.id)
            call.name, call.is_shown = block.name or "", True
            self._calls[call.id] = self._calls.pop(call.id)  # in the client's order

    def begin_assistant(self, record: Record) -> None:
        """Give an assistant message its place, even if it is empty."""
        if record.turn is not None:
            self.show(record, record.turn.assistant_message)

    def append_turn(self, record: Record) -> None:
        """Append a whole assistant message."""
        turn = record.turn
        for block in turn.blocks if turn is not None else ():
            self.begin(record, block)
        if turn is not None and turn.encrypted is not None:
            self.begin_assistant(record)
        if turn is not None and turn.media is not None:
            self.show(Record(turn.media.id, source=record.source), turn.media)

    def answer(self, record: Record, result: ToolMessage) -> None:
        """Put a result behind the message that holds its call, after the results already there."""
        call = record.answers or self._calls.get(result.tool_call_id)
        holder = call.holder if call is not None else None
        shown = holder is not None and holder.content is not None
        place = holder if holder is not None and shown else self._order[-1]
        if record.content is None:
            place.results.append(record)
        record.content = result
        self._records[record.id] = record
        self._link(record, call)

    @staticmethod
    def _link(record: Record, call: Call | None) -> None:
        record.answers = call
        if call is not None and call.result is None:
            call.result = record

    def messages(self) -> list[Message]:
        """Return the client's messages, in its order."""
        return [*self._plain, *self.later()]

    def later(self) -> list[Message]:
        """Return the client's messages behind the plain ones, in its order."""
        messages: list[Message] = []
        for first in self._order:
            if first.content is not None:
                messages.append(first.shown())
            messages += [one.shown() for one in first.results if one.content is not None]
        return messages

    def ids_of_this_run(self) -> set[str]:
        """Return the ids of the messages that this run emits, or takes from a paused step."""
        return {one.id for one in self._order if not one.is_of_earlier_run}

    def gone(self) -> set[str]:
        """Return the ids of the messages that the client is to lose."""
        records = [one for one in self._records.values() if isinstance(one, Record)]
        return {record.id for record in records if record.is_gone}

    # -- removal ----------------------------------------------------------------------------------

    def remove_results(self, call_ids: Container[str | None]) -> bool:
        """Remove the results of these calls; return whether there were any."""
        results = [
            record
            for first in self._order
            for record in first.results
            if record.answers is not None and record.answers.id in call_ids
        ]
        self._remove(results)
        return bool(results)

    def withdraw(self, record: Record) -> set[str]:
        """Remove a message with the results of its calls; return the ids by which the graph may
        bring it back.

        Reasoning stays and is empty, because no snapshot removes it (AG-UI 1.0, client apply step).
        """
        if isinstance(record.content, ReasoningMessage):
            self._empty(record)
            return set()
        for thought in [one for one in self._order if one.owner is record]:
            self._empty(thought)
        ids = {record.id, *(one for one, known in self._of_graph.items() if record in known)}
        self._remove([record, *(call.result for call in record.calls if call.result is not None)])
        for call in record.calls:
            self._withdraw_call(call)
        return ids

    def withdraw_calls(self, record: Record, calls: Sequence[Call]) -> None:
        """Remove calls of a message that this run emits, with their results; and the message, if
        it says nothing else. Its reasoning stays.
        """
        assert record.turn is not None  # noqa: S101  # the messages of a run have one
        record.turn.drop_calls({call.id for call in calls})
        self._remove([call.result for call in calls if call.result is not None])
        if record.turn.is_silent:
            self._remove([record])
        for call in calls:
            self._withdraw_call(call)
            record.calls.remove(call)

    def _withdraw_call(self, call: Call) -> None:
        call.is_shown, call.is_withdrawn = False, True
        self._repeated[call.own_id].remove(call)

    def free_withdrawn_ids(self) -> None:
        """The client has lost what was withdrawn: other calls may have its ids."""
        for call in [call for call in self._calls.values() if call.is_withdrawn]:
            del self._calls[call.id]

    def clear(self) -> None:
        """Forget everything: the run is over. Records and calls refer to each other, and would
        wait for the garbage collector.
        """
        for record in self._records.values():
            if isinstance(record, Record):
                record.calls.clear()
                record.content = record.turn = record.answers = None
        for known in (self._records, self._of_graph, self._calls, self._repeated):
            known.clear()
        self._plain.clear()
        self._order.clear()

    @staticmethod
    def _empty(thought: Record) -> None:
        thought.content = ReasoningMessage(id=thought.id, role="reasoning", content="")
        thought.owner, thought.task = None, ""

    def unkept(self) -> list[Unkept]:
        """Return the messages that the root graph does not keep yet, in the client's order."""
        return [
            Unkept(record.shown(), record.maker.task, record.maker.is_kept, record.source)
            for first in self._order
            for record in (first, *first.results)
            if record.content is not None and record.maker.task
        ]

    def restore(self, unkept: Iterable[Unkept], *, show: bool) -> list[Record]:
        """Take the messages that the root graph did not keep when it paused.

        Args:
            unkept: The messages.
            show: Whether to give them to a client that does not have them.

        Returns:
            The records of those that the client has then, but results, and reasoning whose answer
            is among them: that goes with its answer.
        """
        restored: list[Record] = []
        thoughts: defaultdict[str, list[Record]] = defaultdict(list)
        renamed: dict[str, str] = {}
        for message, task, is_kept, source in unkept:
            # Of subagents only those that have asked are shown again, by their questions.
            is_shown = show and source.subagent_run_id is None
            if is_shown and message.id not in self._records:
                self._hold(self._with_free_ids(message, renamed))
            record = self.get(message.id)
            if record is None:
                continue
            record.source = source
            if record.answers is not None:
                continue
            record.task, record.is_kept = task, is_kept
            if isinstance(message, ReasoningMessage):
                thoughts[task].append(record)
                continue
            restored.append(record)
            for thought in thoughts.pop(task, ()):
                thought.owner = record
        return [*restored, *(thought for alone in thoughts.values() for thought in alone)]

    def _with_free_ids(self, message: Message, renamed: dict[str, str]) -> Message:
        """Return a message with ids of calls that are free here: another client saw it first.

        Args:
            message: The message.
            renamed: The new ids by the old ones. Those of this message are added.
        """
        if isinstance(message, ToolMessage):
            call_id = renamed.get(message.tool_call_id, message.tool_call_id)
            return message.model_copy(update={"tool_call_id": call_id})
        calls = (message.tool_calls or ()) if isinstance(message, AssistantMessage) else ()
        taken = [call for call in calls if call.id in self._calls]
        for call in taken:
            own_id = own_call_id(call.id, message.id)
            renamed[call.id] = free_call_id(own_id, message.id, self._calls)
        if not taken:
            return message
        free = [call.model_copy(update={"id": renamed.get(call.id, call.id)}) for call in calls]
        return message.model_copy(update={"tool_calls": free})

    def _remove(self, records: Sequence[Record]) -> None:
        order, self._order = self._order, []
        for first in order:
            results = [one for one in first.results if one not in records]
            if first in records:
                self._order[-1].results.extend(results)
            else:
                first.results = results
                self._order.append(first)
        for record in records:
            self._forget(record)

    def _drop_calls(self, record: Record) -> None:
        """Forget the calls of a message that the client has not seen."""
        for call in record.calls:
            self._calls.pop(call.id, None)
            self._repeated[call.own_id].remove(call)
        record.calls.clear()

    def _forget(self, record: Record) -> None:
        if self._records.get(record.id) is record:
            del self._records[record.id]
        record.content = None
        if (call := record.answers) is not None and call.result is record:
            call.result = None
        for state_id in [one for one, known in self._of_graph.items() if record in known]:
            self._of_graph[state_id].remove(record)

    # -- calls ------------------------------------------------------------------------------------

    def call(self, call_id: str) -> Call | None:
        """Return the call with this client's id."""
        return self._calls.get(call_id)

    def shown_calls(self) -> Iterable[Call]:
        """Return the calls that the client has, in the order in which it received them."""
        return (call for call in self._calls.values() if call.is_shown)

    def new_call_id(self, record: Record, own_id: str) -> str:
        """Return the client's id for a new call of a message, from the model's id."""
        return self._new_call(record, own_id).id

    def _new_call(self, record: Record, own_id: str | None, public: str | None = None) -> Call:
        same = self._repeated.get(own_id or "")
        twin = same[-1].id if same and same[-1].holder is record else None
        call_id = public or free_call_id(own_id or "", record.id, self._calls, twin)
        call = Call(call_id, own_id or call_id, record)
        self._add_call(call)
        return call

    def _add_call(self, call: Call) -> None:
        self._calls[call.id] = call
        same = self._repeated[call.own_id]
        self.has_twins |= any(one.holder is call.holder for one in same[-1:])
        same.append(call)
        call.holder.calls.append(call)

    def find_call(
        self, own_id: str | None, subagent_run_id: str | None, graph_run: str | None = None
    ) -> Call | None:
        """Return the call of an agent that the agent's model knows by this id.

        Of several, the first open one in the newest message. For `graph_run` see `find_calls`.
        """
        calls = self.find_calls(own_id, subagent_run_id, graph_run)
        return calls[0] if calls else None

    def find_calls(
        self, own_id: str | None, subagent_run_id: str | None, graph_run: str | None = None
    ) -> list[Call]:
        """Return the open calls of this id in an agent's newest message, all if none is open.

        Args:
            own_id: The model's id of the calls.
            subagent_run_id: The agent; None for all that speak in the conversation.
            graph_run: The run of the graph that works on the call, in the form of a
                `subagentRunId`. Of agents that speak in the conversation side by side, its own
                calls are meant, if it has any.
        """
        known = self._repeated.get(own_id or "", ())
        calls = [call for call in known if call.holder.source.subagent_run_id == subagent_run_id]
        calls = [call for call in calls if call.result is None] or calls
        if graph_run is not None:
            calls = [call for call in calls if call.holder.graph_run == graph_run] or calls
        return [call for call in calls if call.holder is calls[-1].holder]

    def calls_in(self, message: BaseMessage) -> list[Call]:
        """Return the visible calls of a message of the graph, in its order."""
        own = _visible_calls(message)
        if not own:
            return []
        record = self.record_of(message)
        known, found = by_own_id(record.calls), list[Call]()
        for own_id, name in own:
            same = known[own_id]
            call = same.popleft() if same else self._named_as_ours(record, own_id)
            if call is None:
                call = self._new_call(record, own_id)
                call.name = name
            found.append(call)
        return found

    def _named_as_ours(self, record: Record, own_id: str) -> Call | None:
        """Return the call of a message that the model itself has named as we name repeated ones."""
        call = self._calls.get(own_id)
        if call is None or call.holder is not record or call.own_id == own_id:
            return None
        self._repeated[call.own_id].remove(call)
        self._repeated[own_id].append(call)
        call.own_id = own_id
        return call

    def pair(self, thread: Sequence[BaseMessage]) -> bool:
        """Find the call of each result in a thread: the last one of its id before it.

        Find messages too that the client holds under ids that the thread does not know: a run that
        was killed may have sent what it never saved, and nodes store messages under other ids.

        Returns:
            Whether the client has a result under another call of its message: tools that work on
            calls of one id at once may end in any order.
        """
        crossed = False
        ids = {message.id for message in thread}
        orphans = [call for call in self._calls.values() if call.holder is call.result]
        for orphan in orphans:
            if orphan.holder.id in ids:
                del self._calls[orphan.id]
                orphan.holder.answers = None
        waiting: dict[str, deque[Call]] = {}
        for message in thread:
            if isinstance(message, LCToolMessage):
                if calls := waiting.get(message.tool_call_id):
                    crossed |= self._take_result(message, calls.popleft(), ids)
            elif own := _visible_calls(message):
                self._find_held(message, own, ids)
                waiting.update(by_own_id(self.calls_in(message)))
        return crossed

    def _take_result(
        self, message: LCToolMessage, call: Call, thread: Container[str | None]
    ) -> bool:
        held = call.result
        if self.of_graph(message.id) is None and held is not None and held.id not in thread:
            self.name(message.id or "", held)
        record = self.record_of(message)
        crossed = record.answers is not None and record.answers.holder is call.holder
        if crossed and record.answers is not call:
            record.answers, call.result = call, record
            return record.content is not None
        if record.answers is None:
            self._link(record, call)
        return False

    def _find_held(
        self,
        message: BaseMessage,
        own: Sequence[tuple[str, str]],
        thread: Container[str | None],
    ) -> None:
        """Find the client's copy of a message with calls whose id it does not know."""
        if self.of_graph(message.id) is not None:
            return
        calls = [own_id for own_id, _ in own]
        for call in self._repeated.get(calls[0], ()):
            held = call.holder
            own_ids = [one.own_id for one in held.calls if not is_server_call(one.id)]
            is_free = held.is_of_earlier_run and held.id not in thread
            if is_free and own_ids == calls and _same_arguments(held, message):
                self.name(message.id or "", held)
                return


def _is_plain(message: Message) -> bool:
    """Return whether a client's message has to do with no call, no result and no subagent."""
    if message.role == "assistant" and message.tool_calls:
        return False
    return message.role in _PLAIN and message.subagent_run_id is None


def by_own_id(calls: Iterable[Call]) -> defaultdict[str, deque[Call]]:
    """Return calls by the model's ids, each list in order."""
    found: defaultdict[str, deque[Call]] = defaultdict(deque)
    for call in calls:
        found[call.own_id].append(call)
    return found


def _same_arguments(held: Record, message: BaseMessage) -> bool:
    """Return whether the client's calls have the arguments of a message's: ids alone repeat."""
    content = held.content
    if not isinstance(content, AssistantMessage) or not isinstance(message, AIMessage):
        return False
    made = {call["id"]: dump_json(call["args"]) for call in message.tool_calls}
    shown = zip(held.calls, content.tool_calls or (), strict=False)
    return all(
        call.own_id not in made or same_arguments(one.function.arguments, made[call.own_id])
        for call, one in shown
    )


def _visible_calls(message: BaseMessage) -> list[tuple[str, str]]:
    """Return the calls of a message that clients see, valid or not, each by its id and tool."""
    if not isinstance(message, AIMessage) or not (message.tool_calls or message.invalid_tool_calls):
        return []
    hidden = hidden_in(message)
    calls = [(call["id"], call["name"] or "") for call in message.tool_calls]
    calls += [(call["id"], call["name"] or "") for call in message.invalid_tool_calls]
    return [(own_id, name) for own_id, name in calls if own_id and not hidden.hides_call(name)]


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
    behind = [*takewhile(lambda message: message.id not in kept, reversed(held))]
    gone: set[str] = set()
    question_is_gone = False
    for message in reversed(behind) if len(behind) < len(held) else ():
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
