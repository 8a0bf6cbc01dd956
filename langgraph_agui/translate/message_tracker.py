"""The messages of one run, each emitted once.

Model calls and whole messages enter, in order; they leave through the emitter. The same message may
arrive several times (from the model, the node and the graph's state) and under several ids.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count
from threading import Lock
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID, uuid4

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_agui.kernel.configs import namespace_of
from langgraph_agui.messages.blocks import continuation_text, read_blocks
from langgraph_agui.messages.content import SettlingResult, interrupted, not_kept
from langgraph_agui.messages.encrypted_values import AGENT, MessageSource
from langgraph_agui.messages.extract import (
    extract_messages,
    extract_other_messages,
    extract_removals,
)
from langgraph_agui.messages.hidden import NOTHING, Hidden, hidden_in
from langgraph_agui.messages.to_agui import SUMMARIZATION, agui_role
from langgraph_agui.translate.message_emitter import MessageEmitter
from langgraph_agui.translate.streaming_message import StreamingMessage
from langgraph_agui.translate.subagents import SubagentRun, SubagentTracker
from langgraph_agui.translate.thread_messages import ThreadMessages

# Messages that a node returns, each with the id of the streamed message that it repeats.
Returned: TypeAlias = Sequence[tuple[BaseMessage, str | None]]

# Finds the messages in a node's input: they are not new.
NodeInput: TypeAlias = Callable[[], Iterable[BaseMessage]]

# Whether the graph keeps a conversation.
KeepsMessages: TypeAlias = Callable[[], bool]


class NodeOutput(NamedTuple):
    """The messages that a node returns.

    Attributes:
        messages: Those for the conversation.
        others: Answers of models and results of tools for other channels of the state.
        removed: The ids of messages that the node removes from the conversation.
    """

    messages: Returned
    others: Sequence[BaseMessage]
    removed: Sequence[str] = ()

    @property
    def with_copies(self) -> Returned:
        """All of them, each with the id of the streamed message that it repeats."""
        return [*self.messages, *((message, None) for message in self.others)]


@dataclass(slots=True, eq=False)
class ModelCall:
    """One model call. Whoever reports a call makes one, and gives it to `RunEvents` with all
    that it reports.

    Attributes:
        metadata: The metadata of its start.
        subagent: The subagent that calls the model.
        nostream: Whether the graph's author has hidden the call.
        structured: Whether the answer is data for the program (`with_structured_output`).
        in_tool: Whether a tool of the same agent calls the model.
        hidden: The hidden parts of its message.
        run_id: The LangChain run.
        source: Which agent the client sees as the message's author.
        live: The message that the call streams.
        best_id: The best id of the message so far.
        may_improve: Whether a better one may still come.
    """

    metadata: Mapping[str, Any]
    subagent: SubagentRun | None
    nostream: bool = False
    structured: bool = False
    in_tool: bool = False
    hidden: Hidden = NOTHING
    run_id: UUID = field(default_factory=uuid4)
    source: MessageSource = AGENT
    live: StreamingMessage | None = None
    best_id: str | None = None
    may_improve: bool = True

    @property
    def is_hidden(self) -> bool:
        """Whether the client sees nothing of the call: it is tagged `nostream`, hidden, or sums
        up the history.
        """
        return (
            self.nostream or self.hidden.is_total or self.metadata.get("lc_source") == SUMMARIZATION
        )

    def rank(self, message_id: str | None) -> None:
        """Keep the best id seen: a provider's beats LangChain's own, as it does when LangChain adds
        up the chunks.
        """
        if message_id and self.may_improve:
            self.best_id = message_id
            self.may_improve = message_id.startswith(("lc_", "run-"))


class MessageTracker:
    """The messages of one run.

    Args:
        emitter: Emits the messages.
        state: The messages of the root graph's state.
        subagents: Decides how the client sees subagents.
        keeps_messages: Whether the graph keeps a conversation. Then the client loses a message of
            the main agent that is not returned by the node that made it.

    Attributes:
        copies: Finds messages that nodes return once more.
        keeps_messages: As given.
    """

    def __init__(
        self,
        emitter: MessageEmitter,
        state: ThreadMessages,
        subagents: SubagentTracker,
        keeps_messages: KeepsMessages,
    ) -> None:
        self._conversation = subagents.call_ids.conversation
        self.copies = RepeatedMessages(subagents)
        self._emitter = emitter
        self._state = state
        self._subagents = subagents
        self._calls: set[ModelCall] = set()
        self._known: set[str] = set()
        self._source_of: dict[str, str | None] = {}
        self._streamed: dict[str, list[tuple[BaseMessage, str]]] = {}
        self.keeps_messages = keeps_messages
        # The messages made in each task of the main agent, by the checkpoint namespace.
        self._made_in: defaultdict[str, list[StreamingMessage]] = defaultdict(list)
        # Those of them that nodes have put into other channels than the conversation, where results
        # may follow.
        self._kept_elsewhere: list[StreamingMessage] = []
        self._withdrawn = False

    # -- the thread -------------------------------------------------------------------------------

    def load_thread(self, messages: Sequence[BaseMessage]) -> None:
        """Take the thread as the checkpoint holds it: none of its messages is new."""
        self.set_initial(messages)
        self._conversation.know_calls(
            (call["id"], call["name"])
            for message in messages
            if isinstance(message, AIMessage)
            and message.tool_calls
            and agui_role(message) is not None
            for call in message.tool_calls
            if not hidden_in(message).hides_call(call["name"])
        )

    def set_initial(self, messages: Sequence[BaseMessage]) -> None:
        """Take the root graph's messages as the run finds them: none of them is new."""
        self.mark_known(messages)
        self._state.set_initial(messages)

    def update(self, messages: Sequence[BaseMessage]) -> None:
        """Take the root graph's messages after a superstep."""
        self._state.update(messages)
        self._resolve_shared_ids(messages)
        if subagent_messages := self._conversation.subagent_only:
            for message in messages:
                if (
                    message.id is not None
                    and (public := self._state.public_id(message.id)) in subagent_messages
                ):
                    self._emitter.mark_in_thread(message, public)

    def _resolve_shared_ids(self, messages: Sequence[BaseMessage]) -> None:
        """Find which message the state holds where several messages of this run have the same
        id.
        """
        if not any(len(streamed) > 1 for streamed in self._streamed.values()):
            return
        for message in messages:
            streamed = self._streamed.get(message.id or "", ())
            if len(streamed) > 1:
                same = [
                    public
                    for one, public in streamed
                    if one is message or _content(one) == _content(message)
                ]
                if same:
                    self._state.alias(message.id or "", same[-1])

    def mark_known(self, messages: Iterable[BaseMessage]) -> None:
        """Note messages that a graph or node was given: they are not new."""
        self._known.update(message.id for message in messages if message.id)

    # -- models -----------------------------------------------------------------------------------

    def start_model_call(self, call: ModelCall) -> None:
        """A model call begins whose words the client may see."""
        self.withdraw(namespace_of(call.metadata), only_failed=True)
        call.source = self._subagents.message_source(call.subagent)
        self._calls.add(call)

    def receive_chunk(self, call: ModelCall, message: BaseMessage) -> None:
        """Receive a chunk of a model call's message. The hot path."""
        if (live := call.live) is None:
            self._begin(call, message)
            return
        if call.may_improve and message.id != call.best_id:
            call.rank(message.id)
            live.turn.rename(self._public_id(call.best_id, call))
        block = live.current
        if block is None or (text := continuation_text(message, block.kind, block.key)) is None:
            live.emit_deltas(read_blocks(message))
        elif text and (visible := block.grow(text)):
            live.fragment(block, visible)

    def _begin(self, call: ModelCall, message: BaseMessage) -> None:
        if call not in self._calls:
            return
        call.rank(message.id)
        if deltas := read_blocks(message):
            provider = message.response_metadata.get("model_provider") or call.metadata.get(
                "ls_provider"
            )
            model = call.metadata.get("ls_model_name")
            public = self._public_id(call.best_id, call)
            call.live = live = self._emitter.open(
                public, provider, model, source=call.source, hidden=call.hidden
            )
            self._record_made(call, live)
            live.emit_deltas(deltas)

    def _public_id(self, message_id: str | None, call: ModelCall) -> str:
        if message_id is None or message_id in self._conversation.ids:
            return f"lc_run--{call.run_id}"
        return message_id

    def end_model_call(self, call: ModelCall, message: BaseMessage) -> None:
        """A model call has returned `message`. A hidden one stays hidden, whichever node returns
        it.
        """
        if call.is_hidden and message.id is not None:
            self._state.hidden.add(message.id)
        if call not in self._calls:
            return
        live = self._end(call)
        if call.is_hidden:
            return
        if live is not None:
            public = live.turn.message_id
            live.close()
            if isinstance(message, AIMessage):
                live.emit_values(message)
        elif self._repeats(message.id, call.source):
            return
        else:
            public = self._public_id(message.id, call)
            if (live := self._emitter.emit_whole(message, public, call.source)) is not None:
                self._record_made(call, live)
        if message.id is not None:
            self._streamed.setdefault(message.id, []).append((message, public))
            if call.source.subagent_run_id is None or message.id not in self._known:
                self._known.add(message.id)
                self._source_of[message.id] = call.source.subagent_run_id
                self._state.alias(message.id, public)

    def _repeats(self, message_id: str | None, source: MessageSource) -> bool:
        """Whether this agent has sent a message of that id before; another agent's may have the
        same id by chance.
        """
        if source.subagent_run_id is None:
            return message_id in self._known and self._source_of.get(message_id or "") is None
        return message_id is not None and self._source_of.get(message_id) == source.subagent_run_id

    def fail_model_call(self, call: ModelCall) -> list[str]:
        """A model call failed: close its message. Return the ids of its blocks."""
        if call not in self._calls:
            return []
        if (live := self._end(call)) is None:
            return []
        live.close()
        live.failed = True
        return [block.id for block in live.turn.blocks]

    def _end(self, call: ModelCall) -> StreamingMessage | None:
        """Ignore later chunks of a call. Return the message that it has streamed."""
        self._calls.remove(call)
        live, call.live = call.live, None
        return live

    # -- nodes ------------------------------------------------------------------------------------

    def end_node(
        self,
        output: NodeOutput,
        inputs: NodeInput,
        subagent: SubagentRun | None,
        namespace: str = "",
    ) -> None:
        """A node has returned messages. `namespace` is the checkpoint namespace of its task."""
        self._state.remove(output.removed)
        new: list[tuple[BaseMessage, str | None]] = []
        for message, copied in output.messages:
            turn = self._conversation.turns.get(self._state.public_id(message.id))
            if message.id not in self._known:
                new.append((message, copied))
            elif turn is not None and (
                subagent is None or turn.source.subagent_run_id == subagent.id
            ):
                self._emitter.update(turn, message)
        results = [message for message in output.others if isinstance(message, ToolMessage)]
        new += [(message, None) for message in results if message.id not in self._known]
        if new:
            self.mark_known(inputs())
        for message, copied in new:
            if copied is not None and message.id is not None and message.id not in self._known:
                self._known.add(message.id)
                self._state.alias(message.id, copied)
            self.emit_message(message, subagent)
        if subagent is None:
            self._withdraw_unkept(output, namespace)

    # -- messages that no node keeps --------------------------------------------------------------

    def _record_made(self, call: ModelCall, live: StreamingMessage) -> None:
        if call.source.subagent_run_id is None and self.keeps_messages():
            self._made_in[namespace_of(call.metadata)].append(live)

    def _withdraw_unkept(self, output: NodeOutput, namespace: str) -> None:
        kept = self._public_ids([message for message, _ in output.messages])
        elsewhere = self._public_ids(output.others) - kept
        self._kept_elsewhere = [
            live for live in self._kept_elsewhere if live.turn.message_id not in kept
        ]
        made = [live for task in self._tasks_in(namespace) for live in self._made_in[task]]
        self._kept_elsewhere += [live for live in made if live.turn.message_id in elsewhere]
        self.withdraw(namespace, kept | elsewhere)

    def _tasks_in(self, namespace: str) -> list[str]:
        """Return a task in which models made messages, and the tasks inside it; none without a
        namespace.
        """
        inside = f"{namespace}|"
        return [
            task
            for task in self._made_in
            if namespace and (task == namespace or task.startswith(inside))
        ]

    def _public_ids(self, messages: Sequence[BaseMessage]) -> set[str]:
        """Return the ids under which the client may know these messages of the state."""
        streamed = {
            public for message in messages for _, public in self._streamed.get(message.id or "", ())
        }
        return streamed | {self._state.public_id(message.id) for message in messages}

    def withdraw_kept_elsewhere(self, answer: SettlingResult = not_kept) -> None:
        """Take back messages that stand only in other channels, because the run ends; `answer`
        settles its open calls.
        """
        gone, self._kept_elsewhere = self._kept_elsewhere, []
        for live in gone:
            self._take_back(live, answer)

    def _take_back(self, live: StreamingMessage, answer: SettlingResult) -> None:
        self._withdrawn = True
        self._emitter.withdraw(live, answer)
        self._known -= self._state.forget(live.turn.message_id)

    def withdraw(
        self, namespace: str, kept: Collection[str] = (), *, only_failed: bool = False
    ) -> None:
        """Take back the messages of models in a task, and in the tasks inside it.

        Args:
            namespace: The checkpoint namespace of the task.
            kept: The public ids of messages that stay.
            only_failed: Whether only the messages of failed model calls are taken back.
        """
        for task in self._tasks_in(namespace):
            made = [live for live in self._made_in.pop(task) if live.turn.message_id not in kept]
            gone = [live for live in made if not only_failed or live.failed]
            if left := [live for live in made if live not in gone]:
                self._made_in[task] = left
            for live in gone:
                self._take_back(live, interrupted if live.failed else not_kept)

    def take_withdrawn(self) -> bool:
        """Return whether the client has to lose messages now. It has not while a message is
        open.
        """
        due = self._withdrawn and not self._emitter.is_open
        self._withdrawn = self._withdrawn and not due
        return due

    # -- whole messages ---------------------------------------------------------------------------

    def emit_message(self, message: BaseMessage, subagent: SubagentRun | None = None) -> None:
        """Emit a whole message, unless it was streamed, emitted or given before, or is hidden."""
        # A client cannot hold a message with an empty id: its calls would belong to none.
        if not message.id or message.id in self._known or message.id in self._state.hidden:
            return
        self._known.add(message.id)
        if agui_role(message) is not None and message.id not in self._conversation.ids:
            self._emitter.emit_whole(message, message.id, self._subagents.message_source(subagent))

    def emit_new(
        self, messages: Sequence[BaseMessage], subagent: SubagentRun | None = None
    ) -> None:
        """Emit those of a graph's messages that are new. Each superstep brings all messages, most
        of them known.
        """
        known = self._known
        for message in [message for message in messages if message.id not in known]:
            self.emit_message(message, subagent)

    def emit_approval_calls(self, message: AIMessage) -> None:
        """Emit a message of approval calls, without those that the client has from an earlier
        run.
        """
        known = self._conversation.call_names
        message.tool_calls = [
            call for call in message.tool_calls if (call["id"] or "") not in known
        ]
        if message.tool_calls:
            self._emitter.emit_whole(message, f"{message.tool_calls[0]['id']}:message")

    def emit_added_results(self, messages: Sequence[BaseMessage]) -> None:
        """Emit the tool results that we have added to the thread, where the client has their
        calls.
        """
        self._state.update([*self._state.now, *messages])
        for message in messages:
            if (
                isinstance(message, ToolMessage)
                and message.tool_call_id in self._conversation.holders
            ):
                self.emit_message(message)

    # -- the end ----------------------------------------------------------------------------------

    def close(self, subagent_run_id: str | None = None) -> None:
        """Close the open messages of a subagent, or (None) all. Later chunks are ignored."""
        for call in list(self._calls):
            if subagent_run_id is None or call.source.visible_id == subagent_run_id:
                self._end(call)
        self._emitter.close(subagent_run_id)


class RepeatedMessages:
    """Finds the streamed message that a node returns once more under another id.

    `return {"messages": [AIMessage(reply.content)]}` is common, and the client has these words
    already. Nodes may call from several threads at once.
    """

    def __init__(self, subagents: SubagentTracker) -> None:
        self._visible_id = subagents.visible_id
        # By the namespaces of a message's task and of the tasks around it, with a number for each
        # message.
        self._streamed: defaultdict[str, dict[int, tuple[str, str | None, AIMessage]]] = (
            defaultdict(dict)
        )
        self._numbers = count()
        self._lock = Lock()

    def add(self, namespace: str, message: BaseMessage, subagent: SubagentRun | None) -> None:
        """Note a message that a model of this subagent generated in the task with this checkpoint
        namespace.
        """
        if isinstance(message, AIMessage) and message.id is not None:
            number, entry = next(self._numbers), (namespace, self._visible_id(subagent), message)
            with self._lock:
                for around in _around(namespace):
                    self._streamed[around][number] = entry

    def read_output(
        self, value: object, key: str, namespace: str, subagent: SubagentRun | None
    ) -> NodeOutput:
        """Return the messages in the output of a task.

        Args:
            value: The output.
            key: The channel of the conversation.
            namespace: The checkpoint namespace of the task.
            subagent: The subagent that the task belongs to.
        """
        messages = self.find_all(namespace, extract_messages(value, key), subagent)
        return NodeOutput(
            messages, extract_other_messages(value, key), extract_removals(value, key)
        )

    def find_all(
        self, namespace: str, messages: Sequence[BaseMessage], subagent: SubagentRun | None = None
    ) -> Returned:
        """Return the messages of a task with the ids of those that they repeat: of the same agent,
        in the same task.

        Each is found once, because a node may return the same words several times. Not one that is
        returned itself.
        """
        returned, source = {message.id for message in messages}, self._visible_id(subagent)
        return [(message, self._find(namespace, message, returned, source)) for message in messages]

    def _find(
        self,
        namespace: str,
        message: BaseMessage,
        returned: Collection[str | None],
        subagent_run_id: str | None,
    ) -> str | None:
        if not isinstance(message, AIMessage) or not (message.text or message.tool_calls):
            return None
        with self._lock:
            for number, (task, source, streamed) in self._streamed[namespace].items():
                if (
                    streamed.id not in returned
                    and source == subagent_run_id
                    and streamed.text == message.text
                    and [call["id"] for call in streamed.tool_calls]
                    == [call["id"] for call in message.tool_calls]
                ):
                    for around in _around(task):
                        del self._streamed[around][number]
                    return streamed.id
        return None


def _around(namespace: str) -> Iterable[str]:
    """Return the namespace of a task and those of the tasks around it."""
    return accumulate(namespace.split("|"), lambda outer, task: f"{outer}|{task}")


def _content(message: BaseMessage) -> tuple[object, ...]:
    """Return the words and calls that distinguish two messages with the same id."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return message.text, [(call["id"], call["name"], call["args"]) for call in calls]
