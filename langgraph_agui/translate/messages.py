"""The messages of one run, each emitted once.

Model calls, the output of nodes and whole messages enter, in order; events leave through the sink.
The same message may arrive several times (from the model, the node and the graph's state) and under
several ids: the `Conversation` has one record of it.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, cast

from ag_ui import core as agui
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langgraph_agui.kernel.configs import graph_of, graph_run_at, namespace_of
from langgraph_agui.messages.assistant_turn import AssistantTurn
from langgraph_agui.messages.blocks import continuation_text, read_blocks, read_tool_outputs
from langgraph_agui.messages.content import (
    SettlingResult,
    interrupted,
    not_kept,
    text_of,
    unanswered,
    unfinished,
)
from langgraph_agui.messages.conversation import Call, Conversation, Record, Unkept
from langgraph_agui.messages.encrypted_values import AGENT, EncryptedValueCodec, MessageSource
from langgraph_agui.messages.hidden import NOTHING, Hidden, hidden_in
from langgraph_agui.messages.to_agui import agui_role, tool_message, user_message
from langgraph_agui.messages.transformers import RunTransformers, Transformers
from langgraph_agui.protocol.json import are_whole
from langgraph_agui.readers.sinks import Sink
from langgraph_agui.translate.model_call import ModelCall
from langgraph_agui.translate.repeated_messages import NodeOutput, RepeatedMessages
from langgraph_agui.translate.streaming_message import StreamingMessage, emit_value
from langgraph_agui.translate.subagents import SubagentRun, SubagentTracker, subagent_sink
from langgraph_agui.translate.thread_messages import ThreadMessages

# Finds the messages in a node's input: they are not new.
NodeInput: TypeAlias = Callable[[], Iterable[BaseMessage]]

# Whether the graph keeps a conversation.
KeepsMessages: TypeAlias = Callable[[], bool]


class RunMessages:
    """The messages of one run.

    Args:
        conversation: Their records.
        sink: Receives the events.
        codec: Encodes the encrypted values.
        state: The messages of the root graph's state.
        subagents: Decides how the client sees subagents.
        keeps_messages: Whether the graph keeps a conversation. Then the client loses a message that
            is not returned by the node that made it.
        transformers: The stream transformers of all graphs.

    Attributes:
        copies: Finds messages that nodes return once more.
        keeps_messages: As given.
        open_tasks: The checkpoint namespaces of the tasks that have begun and not ended.
        unseen: The ids of messages of models that were not streamed. They are emitted as their
            nodes return them, in any channel.
    """

    def __init__(
        self,
        conversation: Conversation,
        sink: Sink,
        codec: EncryptedValueCodec,
        state: ThreadMessages,
        subagents: SubagentTracker,
        keeps_messages: KeepsMessages,
        transformers: RunTransformers,
    ) -> None:
        self._conversation = conversation
        self._sink = sink
        self._codec = codec
        self._state = state
        self._subagents = subagents
        self.keeps_messages = keeps_messages
        self._transformers = transformers
        self.copies = RepeatedMessages(subagents)
        self._calls: set[ModelCall] = set()
        # The assistant messages of this run by their agents, in the order in which they began.
        self._live: defaultdict[str | None, dict[StreamingMessage, None]] = defaultdict(dict)
        # The graph's ids of messages that are not new.
        self._known: set[str] = set()
        # The messages made in each task that has not ended, by its checkpoint namespace, and by
        # that of the root graph's task around it.
        self._made: defaultdict[str, defaultdict[str, list[Record]]] = defaultdict(
            partial(defaultdict, list)
        )
        self.open_tasks: set[str] = set()
        self.unseen: set[str | None] = set()
        self._has_subagents = False
        self._is_due = False

    # -- the thread -------------------------------------------------------------------------------

    def load_thread(self, messages: Sequence[BaseMessage]) -> None:
        """Take the thread as the checkpoint holds it: none of its messages is new."""
        self.set_initial(messages)
        thread = self._state.later()
        self._conversation.pair([one for one in thread if agui_role(one) is not None])

    def load_unkept(self, unkept: Iterable[Unkept], *, show: bool) -> None:
        """Take the messages that the root graph did not keep when it paused; see
        `Conversation.restore`.
        """
        for record in self._conversation.restore(unkept, show=show):
            self._made_in(record.task).append(record)

    def set_initial(self, messages: Sequence[BaseMessage]) -> None:
        """Take the root graph's messages as the run finds them: none of them is new."""
        self.mark_known(messages)
        self._state.set_initial(messages)

    def update(self, messages: Sequence[BaseMessage]) -> None:
        """Take the root graph's messages after a superstep."""
        self._state.update(messages)
        if self._conversation.has_twins:
            self._is_due |= self._conversation.pair(messages)
        if self._conversation.shares_ids:
            for message in messages:
                self._resolve_shared_id(message)
        if self._has_subagents:
            for message in messages:
                self._claim(message)

    def _resolve_shared_id(self, message: BaseMessage) -> None:
        """Find which message the state holds where several messages of this run have the same
        id.
        """
        records = self._conversation.all_of_graph(message.id)
        if len(records) < 2:
            return
        same = [
            record
            for record in records
            if record.message is message
            or (record.message is not None and _content(record.message) == _content(message))
        ]
        if same:
            self._conversation.name(message.id or "", same[-1])

    def _claim(self, message: BaseMessage) -> None:
        """Take a message of a subagent for the conversation's own: the root graph holds it too."""
        record = self._conversation.of_graph(message.id)
        if record is None or record.source.subagent_run_id is None or record.content is None:
            return
        self._is_due = True
        if isinstance(record, StreamingMessage):
            self._forget(record)
            record.turn.source = AGENT
            record.turn.encrypted = None  # it may have said that the message is a subagent's
            self._live[None][record] = None
        record.source = AGENT
        if isinstance(message, ToolMessage):
            record.content = self._result(message, record)
        elif not isinstance(message, AIMessage):
            record.content = user_message(message, record.id, self._codec)
        elif isinstance(record, StreamingMessage):
            record.finish(message)

    def mark_known(self, messages: Iterable[BaseMessage]) -> None:
        """Note messages that a graph or node was given: they are not new."""
        self._known.update(message.id for message in messages if message.id)

    # -- models -----------------------------------------------------------------------------------

    def start_model_call(self, call: ModelCall) -> None:
        """A model call begins whose words the client may see."""
        self._withdraw_failed(namespace_of(call.metadata))
        call.source = self._subagents.message_source(call.subagent)
        self._calls.add(call)

    def receive_chunk(self, call: ModelCall, message: BaseMessage) -> None:
        """Receive a chunk of a model call's message. The hot path."""
        if (live := call.live) is None:
            self._begin(call, message)
            return
        if call.may_improve and message.id != call.best_id:
            call.rank(message.id)
            live.rename(self._public_id(call.best_id, call))
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
            call.live = live = self._open(
                public, provider, model, source=call.source, hidden=call.hidden
            )
            live.turn.transformers = call.transformers
            live.turn.transformed = call.transformed
            self._track(live, namespace_of(call.metadata))
            live.emit_deltas(deltas)

    def _public_id(self, message_id: str | None, call: ModelCall) -> str:
        if message_id is None:
            return f"lc_run--{call.run_id}"
        known = self._conversation.get(message_id)
        return message_id if known in (None, call.live) else f"lc_run--{call.run_id}"

    def end_model_call(self, call: ModelCall, message: BaseMessage) -> None:
        """A model call has returned `message`. A hidden one stays hidden, whichever node returns
        it.
        """
        if call.is_hidden and message.id is not None:
            self._state.hidden.add(message.id)
        if call not in self._calls:
            return
        record: Record | None = self._end(call)
        if call.is_hidden:
            return
        if isinstance(record, StreamingMessage):
            record.emit_deltas(read_tool_outputs(message))
            self._close(record, message)
            if isinstance(message, AIMessage):
                record.finish(message)
        elif self._repeats(message.id, call.source):
            return
        else:
            public = self._public_id(message.id, call)
            record = self._emit_whole(message, public, call.source, call.transformers)
            self._track(record, namespace_of(call.metadata))
        if message.id is not None:
            is_own = call.source.subagent_run_id is None or message.id not in self._known
            if is_own:
                self._known.add(message.id)
            if record is not None:
                record.message = message
                self._conversation.name(message.id, record, newest=is_own)

    def _repeats(self, message_id: str | None, source: MessageSource) -> bool:
        """Whether this agent has sent a message of that id before; another agent's may have the
        same id by chance.
        """
        record = self._conversation.of_graph(message_id)
        sender = record.source.subagent_run_id if record is not None else None
        if source.subagent_run_id is None:
            return message_id in self._known and sender is None
        return sender == source.subagent_run_id

    def fail_model_call(self, call: ModelCall) -> list[str]:
        """A model call failed: close its message. Return the ids of its blocks."""
        if call not in self._calls:
            return []
        if (live := self._end(call)) is None:
            return []
        self._close(live)
        live.emit_results()
        return [block.id for block in live.turn.blocks]

    def _end(self, call: ModelCall) -> StreamingMessage | None:
        """Ignore later chunks of a call. Return the message that it has streamed."""
        self._calls.remove(call)
        live, call.live = call.live, None
        return live

    # -- nodes ------------------------------------------------------------------------------------

    def start_node(self, namespace: str) -> None:
        """A node begins, maybe once more: then what it has said before does not count.

        Args:
            namespace: The checkpoint namespace of its task.
        """
        self.open_tasks.add(namespace)
        drafts = [record for record in self._inside(namespace) if not record.is_kept]
        for record in drafts:
            self._take_back(record, _answer_for(record))

    def begin_graph(self, namespace: str, task: str) -> None:
        """A graph inside a task begins, by a task of its own. If it has not begun that task before,
        it begins anew: what it has kept does not count.

        Args:
            namespace: Its checkpoint namespace.
            task: That of its task.
        """
        made = self._made_in(namespace) if task not in self.open_tasks else ()
        kept = [record for record in made if record.is_kept]
        for record in kept:
            self._take_back(record, _answer_for(record))

    def end_node(
        self,
        output: NodeOutput,
        inputs: NodeInput,
        subagent: SubagentRun | None,
        namespace: str = "",
    ) -> None:
        """A node has returned messages. `namespace` is the checkpoint namespace of its task."""
        self.open_tasks.discard(namespace)
        self._state.remove(output.removed)
        new: list[tuple[BaseMessage, str | None]] = []
        for message, copied in output.messages:
            record = self._conversation.of_graph(message.id)
            if message.id not in self._known:
                new.append((message, copied))
            elif (
                isinstance(record, StreamingMessage)
                and isinstance(message, AIMessage)
                and (subagent is None or record.source.subagent_run_id == subagent.id)
            ):
                record.update(message)
        new += [
            (message, None)
            for message in output.others
            if (isinstance(message, ToolMessage) or message.id in self.unseen)
            and message.id not in self._known
        ]
        if new:
            self.mark_known(inputs())
            self._conversation.pair(
                [message for message, _ in output.messages if self._has(message)]
            )
        for message, copied in new:
            original = self._conversation.of_graph(copied) if copied is not None else None
            if original is not None and message.id and message.id not in self._known:
                self._known.add(message.id)
                self._conversation.name(message.id, original)
            self.emit_message(message, subagent, namespace)
        self._sort_out(output, namespace, subagent)

    def _has(self, message: BaseMessage) -> bool:
        """Return whether the client has a message, or it is a result. A server's results have no
        ids yet: they come with the state.
        """
        record = self._conversation.of_graph(message.id)
        is_shown = record is not None and record.content is not None
        return is_shown or (bool(message.id) and isinstance(message, ToolMessage))

    def _sort_out(self, output: NodeOutput, namespace: str, subagent: SubagentRun | None) -> None:
        """Sort the messages made in a task that has ended: what it returns, the graph around it
        keeps; what it does not return, no graph keeps.
        """
        kept = self._records_of([message for message, _ in output.messages])
        elsewhere = self._records_of(output.others) - kept
        for record in kept:
            record.is_elsewhere = False
        outer = graph_of(namespace)
        for record in self._inside(namespace):
            record.is_over = record.is_kept  # by the graph that the task has run
            is_own = record.source.subagent_run_id == (subagent.id if subagent else None)
            may_go = is_own and subagent is None and self.keeps_messages() and not record.stays
            if record in kept or not may_go:
                self._track(record, outer, is_kept=True)
            elif record in elsewhere:
                self._untrack(record)
                record.is_elsewhere = True
            else:
                self._take_back(record, _answer_for(record))

    def _records_of(self, messages: Sequence[BaseMessage]) -> set[Record]:
        """Return the records that these messages of the state may have."""
        found: set[Record] = set()
        for message in messages:
            found.update(self._conversation.all_of_graph(message.id))
            if (record := self._conversation.of_graph(message.id)) is not None:
                found.add(record)
        return found

    # -- messages that no graph keeps -------------------------------------------------------------

    def _track(self, record: Record | None, namespace: str, *, is_kept: bool = False) -> None:
        """Note the task that has made a message, or whose graph keeps it (none: the root's).

        Results go with the message that holds their call.
        """
        if record is None or record.answers is not None:
            return
        self._untrack(record)
        record.task, record.is_kept = namespace, is_kept
        if namespace:
            self._made_in(namespace).append(record)

    def _untrack(self, record: Record) -> None:
        if record.task and record in (made := self._made_in(record.task)):
            made.remove(record)
        record.task = ""

    def _made_in(self, namespace: str) -> list[Record]:
        return self._made[namespace.partition("|")[0]][namespace]

    def _inside(self, namespace: str) -> list[Record]:
        """Return the messages made in a task and in the tasks inside it; none without a
        namespace.
        """
        inside = f"{namespace}|"
        tasks: Mapping[str, list[Record]] = self._made.get(namespace.partition("|")[0], {})
        return [
            record
            for task, made in tasks.items()
            if task == namespace or task.startswith(inside)
            for record in made
        ]

    def _withdraw_failed(self, namespace: str) -> None:
        """Take back the messages of failed model calls in a task: a model is called again."""
        for record in self._inside(namespace):
            if isinstance(record, StreamingMessage) and record.failed:
                self._take_back(record, unfinished)

    def withdraw_elsewhere(self, answer: SettlingResult = not_kept) -> None:
        """Take back messages that stand only in other channels, because the run ends; `answer`
        settles their open calls.
        """
        for live in self._all_live():
            if live.is_elsewhere:
                self._take_back(live, answer)

    def withdraw_drafts(self) -> None:
        """Take back the messages of tasks that have paused in an earlier run and have not run
        again: the thread has gone on without them.
        """
        tasks = [made for tasks in self._made.values() for made in tasks.values()]
        for record in [record for made in tasks for record in made]:
            if not isinstance(record, StreamingMessage) and not record.stays:
                self._take_back(record, not_kept)

    def _take_back(self, record: Record, answer: SettlingResult) -> None:
        """Take a message back. Its open calls get a result first: clients count calls, not
        messages.
        """
        self._is_due = True
        self._untrack(record)
        if isinstance(record, StreamingMessage):
            self._close(record)
            self._forget(record)
            record.withdraw_media()
        self._settle(record, answer)
        self._known -= self._conversation.withdraw(record)

    def take_due(self) -> bool:
        """Return whether a snapshot is due, because the client has to lose messages, or their
        owners. It is not while a message is open.
        """
        due = self._is_due and not any(live.is_open for live in self._all_live())
        self._is_due = self._is_due and not due
        return due

    # -- whole messages ---------------------------------------------------------------------------

    def emit_message(
        self,
        message: BaseMessage,
        subagent: SubagentRun | None = None,
        namespace: str = "",
        *,
        stays: bool = False,
    ) -> None:
        """Emit a whole message, unless it was streamed, emitted or given before, or is hidden.

        Args:
            message: The message.
            subagent: The subagent that it is from.
            namespace: The checkpoint namespace of the task that it is from.
            stays: Whether it stays though no graph keeps it.
        """
        record = self._emit_once(message, subagent, graph_of(namespace))
        if record is not None:
            record.stays = stays
            self._track(record, namespace)

    def emit_new(
        self,
        messages: Sequence[BaseMessage],
        subagent: SubagentRun | None = None,
        graph: str = "",
    ) -> None:
        """Emit those of the messages of the graph at a namespace that are new."""
        for message in self.find_new(messages):
            self._emit_once(message, subagent, graph)

    def find_new(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return those of a graph's messages that are new. Each superstep brings all messages, most
        of them known.
        """
        known = self._known
        return [message for message in messages if message.id not in known]

    def _emit_once(
        self, message: BaseMessage, subagent: SubagentRun | None, graph: str
    ) -> Record | None:
        """Emit a whole message of the graph at a namespace; see `emit_message`. Return its record,
        if it was emitted.
        """
        # A client cannot hold a message with an empty id: its calls would belong to none.
        if not message.id or message.id in self._known or message.id in self._state.hidden:
            return None
        self._known.add(message.id)
        known = self._conversation.of_graph(message.id)
        if agui_role(message) is None or (known is not None and known.content is not None):
            return None
        source = self._subagents.message_source(subagent)
        transformers = self._transformers.of_graph(graph, subagent.name if subagent else None)
        return self._emit_whole(message, message.id, source, transformers, graph)

    def emit_approval_calls(self, message: AIMessage) -> None:
        """Emit a message of approval calls, without those that the client has from an earlier
        run.
        """
        message.tool_calls = [
            call for call in message.tool_calls if self._conversation.call(call["id"] or "") is None
        ]
        if message.tool_calls:
            self._emit_whole(message, f"{message.tool_calls[0]['id']}:message")

    def emit_added_results(self, messages: Sequence[BaseMessage]) -> None:
        """Emit the tool results that we have added to the thread, where the client has their
        calls.
        """
        self._state.update([*self._state.now, *messages])
        for message in messages:
            self.emit_message(message)

    def _open(
        self,
        message_id: str,
        provider: str | None = None,
        model: str | None = None,
        *,
        source: MessageSource = AGENT,
        streamed: bool = True,
        hidden: Hidden = NOTHING,
    ) -> StreamingMessage:
        """Open an assistant message. `message_id` must be new to the conversation."""
        conversation = self._conversation
        live = StreamingMessage(message_id, source, conversation, self._sink, streamed=streamed)
        live.turn = AssistantTurn(
            message_id,
            conversation.ids,
            self._codec,
            source,
            partial(conversation.new_call_id, live),
            provider=provider,
            model=model,
            hidden=hidden,
        )
        conversation.add(live)
        self._live[source.subagent_run_id][live] = None
        self._has_subagents = self._has_subagents or source is not AGENT
        return live

    def _emit_whole(
        self,
        message: BaseMessage,
        message_id: str,
        source: MessageSource = AGENT,
        transformers: Transformers | None = None,
        graph: str = "",
    ) -> Record | None:
        """Emit a message of the graph at a namespace that arrives in one piece; return its record
        if the client sees it.
        """
        match agui_role(message):
            case "assistant":
                metadata = message.response_metadata
                provider, model = metadata.get("model_provider"), metadata.get("model_name")
                hidden = hidden_in(message)
                live = self._open(
                    message_id, provider, model, source=source, streamed=False, hidden=hidden
                )
                live.turn.transformers = transformers or live.turn.transformers
                live.emit_deltas(live.turn.read(message))
                live.close(message)
                if isinstance(message, AIMessage):
                    live.finish(message)
                return live
            case "tool":
                result = cast("ToolMessage", message)
                # The codec lets it pass through those of the root graph.
                if transformers is not None and transformers is not self._transformers.root:
                    result = transformers.result(result)
                return self._emit_result(result, message_id, source, graph)
            case "user":
                return self._emit_user(message, message_id, source)
        return None

    def _emit_user(self, message: BaseMessage, message_id: str, source: MessageSource) -> Record:
        user = user_message(message, message_id, self._codec, source)
        sink = subagent_sink(self._sink, source.visible_id)
        sink.event(agui.TextMessageStartEvent(message_id=message_id, role="user", name=user.name))
        if text := text_of(user.content):
            sink.event(agui.TextMessageContentEvent(message_id=message_id, delta=text))
        sink.event(agui.TextMessageEndEvent(message_id=message_id))
        record = Record(message_id, source=source)
        self._conversation.show(record, user)
        self._has_subagents = self._has_subagents or source is not AGENT
        emit_value(message_id, user.encrypted_value, sink)
        return record

    def _emit_result(
        self, message: ToolMessage, message_id: str, source: MessageSource, graph: str
    ) -> Record | None:
        known = self._conversation.of_graph(message_id)
        call = known.answers if known is not None else None
        call = call or self._conversation.find_call(
            message.tool_call_id, source.subagent_run_id, graph_run_at(graph)
        )
        # The client has a result, or the call is hidden; a call that the client lacks comes with
        # its result.
        if call is None or not call.is_shown or call.result not in (None, known):
            return None
        return self._answer(call, message, message_id, known)

    def _answer(
        self, call: Call, message: ToolMessage, message_id: str, known: Record | None = None
    ) -> Record:
        source = call.holder.source
        record = known or Record(message_id)
        record.source, record.answers = source, call
        result = self._result(message, record)
        self._conversation.answer(record, result)
        event = agui.ToolCallResultEvent(
            message_id=result.id,
            tool_call_id=call.id,
            content=result.content,
            role="tool",
            metadata=result.metadata,
            subagent_run_id=result.subagent_run_id,
        )
        self._sink.event(event)
        emit_value(result.id, result.encrypted_value, subagent_sink(self._sink, source.visible_id))
        return record

    def _result(self, message: ToolMessage, record: Record) -> agui.ToolMessage:
        call = record.answers
        name, call_id = (call.name, call.id) if call is not None else (None, None)
        return tool_message(message, record.id, self._codec, name, record.source, call_id)

    # -- the end ----------------------------------------------------------------------------------

    def settle_calls(self, tools: Collection[str], client_tools: Collection[str]) -> None:
        """Answer the open calls of these tools, which nobody will answer, and those whose arguments
        are no JSON object, unless the client runs their tools.
        """

        def may_answer(call: Call) -> bool:
            return call.name in tools or (call.name not in client_tools and _is_broken(call))

        for live in self._all_live():
            if not live.is_open:
                self._settle(live, unanswered, may_answer)

    def settle_passed_calls(self) -> None:
        """Answer the open calls of messages after which the agent has said something else."""
        last = next(reversed(self._live[None]), None)
        for live in list(self._live[None]):
            if live is not last and not live.is_open:
                self._settle(live, unanswered)

    def settle_ended(self, ended: Collection[str], client_tools: Collection[str]) -> None:
        """Answer calls that nobody will answer: of models that have failed, and of agents that have
        ended.

        Args:
            ended: The subagents that have ended, or have handed over.
            client_tools: The client's tools; it answers their calls itself.
        """
        for live in self._all_live():
            if live.failed:
                self._settle(live, unfinished)
            elif live.is_over or live.source.subagent_run_id in ended:
                self._settle(live, unanswered, lambda call: call.name not in client_tools)

    def abandon(self, subagent_run_id: str) -> None:
        """Close the messages of a subagent that has failed, and answer its open calls as
        interrupted.
        """
        for live in list(self._live[subagent_run_id]):
            self._close(live)
            self._settle(live, unfinished if live.failed else interrupted)

    def break_off(self, client_tools: Collection[str]) -> None:
        """Take back the open calls of messages that no graph keeps: the run ends early, and nobody
        will answer them.

        Where nothing is withdrawn they get a result, but for those of the client's tools.
        """
        withdraws, kept = self.keeps_messages(), self._records_of(self._state.now)
        for live in self._all_live():
            if live in kept:
                # The node has ended, and nothing has told of that. The snapshot has the rest.
                self._is_due |= live.failed
                continue
            if not (live.failed or (live.task and not live.is_kept)) or live.stays:
                continue
            calls = [call for call in live.calls if call.is_shown and call.result is None]
            self._settle(live, unfinished, lambda call: withdraws or call.name not in client_tools)
            if calls and withdraws:
                self._is_due = True
                self._conversation.withdraw_calls(live, calls)

    def _settle(
        self,
        record: Record,
        answer: SettlingResult,
        may_answer: Callable[[Call], bool] = lambda _: True,
    ) -> None:
        """Answer the open calls of a message by `answer`, if `may_answer` is true of them."""
        for call in record.calls:
            if call.is_shown and call.result is None and may_answer(call):
                result = answer(call.own_id, call.name, record.id)
                self._answer(call, result, str(result.id))

    def close(self, subagent_run_id: str | None = None) -> None:
        """Close the open messages of a subagent, or (None) all. Later chunks are ignored."""
        for call in list(self._calls):
            if subagent_run_id is None or call.source.visible_id == subagent_run_id:
                self._end(call)
        spoken = self._live[subagent_run_id] if subagent_run_id else self._all_live()
        for live in spoken:
            self._close(live)
            live.emit_results()

    def _all_live(self) -> list[StreamingMessage]:
        return [live for spoken in self._live.values() for live in spoken]

    def _forget(self, live: StreamingMessage) -> None:
        self._live[live.source.subagent_run_id].pop(live, None)

    @staticmethod
    def _close(live: StreamingMessage, message: BaseMessage | None = None) -> None:
        if live.is_open:
            live.close(message)

    def pending_calls(self) -> list[str]:
        """Return the calls of this run without a result, in order (AG-UI 1.0,
        `pendingToolCallIds`).
        """
        return [
            call.id
            for call in self._conversation.shown_calls()
            if call.result is None
            and isinstance(call.holder, StreamingMessage)
            and not call.holder.is_gone
        ]


def _answer_for(record: Record) -> SettlingResult:
    """Return the maker of the results of a message that goes."""
    failed = isinstance(record, StreamingMessage) and record.failed
    return unfinished if failed else not_kept


def _is_broken(call: Call) -> bool:
    """Return whether the arguments of a call are no JSON object."""
    turn = call.holder.turn
    blocks = turn.of_kind("call") if turn is not None else ()
    texts = [block.text for block in blocks if block.id == call.id]
    return not all(map(are_whole, texts))


def _content(message: BaseMessage) -> tuple[object, ...]:
    """Return the words and calls that distinguish two messages with the same id."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return message.text, [(call["id"], call["name"], call["args"]) for call in calls]
