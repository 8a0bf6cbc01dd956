"""What a run does: `RunAgentInput` and the thread's checkpoint enter `RunPlanner`, a `RunPlan`
leaves.

Whatever does not fit is refused here, before anything runs. With a checkpointer the server owns the
history, and only what is new is taken from the client. Without one the client does, and its whole
history is the input.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from ag_ui import core as agui
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from langgraph_agui.compat.approval_tool import approval_answers
from langgraph_agui.compat.interrupts import command_answers, with_message
from langgraph_agui.graphs import ROOT_CHANNEL, Thread
from langgraph_agui.graphs.past import PastMessages
from langgraph_agui.interrupts.answers import Resolution, resolve, unused
from langgraph_agui.interrupts.pauses import PendingInterrupts
from langgraph_agui.interrupts.used_answers import (
    ANSWERED,
    AnswerUse,
    fingerprint,
    used_since_tools,
)
from langgraph_agui.kernel.aio import Caller, run_here
from langgraph_agui.kernel.configs import as_mapping
from langgraph_agui.kernel.errors import ErrorCode, RunInputError
from langgraph_agui.messages.client_media import ClientMedia
from langgraph_agui.messages.content import interrupted, open_tool_calls, unanswered
from langgraph_agui.runs import history
from langgraph_agui.runs.context import AgentContext
from langgraph_agui.state.client_state import ClientState

# Key in the metadata of checkpoints: a JSON list of the user messages that came with answers, to
# run after them.
POSTPONED = "agui_beside"

# Key in the metadata of a checkpoint: the pause before it was abandoned. Clients cannot answer its
# calls.
ABANDONED = "agui_given_up"


@dataclass(frozen=True, slots=True)
class Execute:
    """Run the graph with an input.

    Attributes:
        input: The input; None to continue the thread as it is.
        thread: The thread that the run starts from; None if the graph keeps none.
        config: Merged into the run's configuration: the checkpoint to begin at, metadata for
            checkpoints.
        healed: Results in the input that the thread lacked, made by the server.
        settle_first: Whether to end the last superstep first, which was killed: new input would
            delete what its finished nodes have written.
    """

    input: object
    thread: Thread | None = None
    config: RunnableConfig | None = None
    healed: Sequence[BaseMessage] = ()
    settle_first: bool = False


@dataclass(frozen=True, slots=True)
class Resume:
    """Resume a paused graph with the client's answers.

    Attributes:
        resolution: What the answers mean.
        thread: The thread.
        config: Merged into the run's configuration: metadata for checkpoints.
        command: The answers, with what the client has changed of the state; None to continue from a
            breakpoint.
        superstep: What the finished tasks of the paused superstep have written.
        use: That the answers are used, to be recorded before the graph goes on.
    """

    resolution: Resolution
    thread: Thread
    config: RunnableConfig
    command: Command[str] | None
    superstep: Mapping[str, object]
    use: AnswerUse


@dataclass(frozen=True, slots=True)
class Abandon:
    """End a pause without running anything of it.

    Attributes:
        resolution: What the answers mean.
        thread: The thread.
        config: Merged into the run's configuration: metadata for checkpoints.
        node: The node that the thread is paused before.
        writes: What the client has changed of the state.
    """

    resolution: Resolution
    thread: Thread
    config: RunnableConfig
    node: str
    writes: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Show:
    """Run nothing; send the thread as it stands.

    Attributes:
        thread: The thread.
        values: Its state; None to send no state.
        pending: What it waits for.
    """

    thread: Thread
    values: object = None
    pending: PendingInterrupts = field(default_factory=PendingInterrupts)


RunPlan: TypeAlias = Execute | Resume | Abandon | Show


class Rerun(NamedTuple):
    """A client's request to run again from a message that the thread has had.

    Attributes:
        message: The message, as the client has it.
        holder: The thread when it last had the message.
        is_gone: Whether the thread has it no more.
        was_trimmed: Whether the graph has trimmed it, and not removed it.
    """

    message: agui.UserMessage
    holder: Thread
    is_gone: bool = False
    was_trimmed: bool = False

    @property
    def place(self) -> int:
        """The index of the message in the thread."""
        return next(
            place for place, one in enumerate(self.holder.messages) if one.id == self.message.id
        )

    @property
    def stored(self) -> BaseMessage:
        """The message, as the thread has it."""
        return self.holder.messages[self.place]


class RunPlanner:
    """Plans the run of one input.

    Args:
        agent: What the run shares with the agent's other runs.
        run_input: What the client sent.
        config: The run's configuration, with the thread.
        call: Calls what may take long because of the input.
        media: Judges the media of the client's messages, if `run_input` has only some of them.
    """

    def __init__(
        self,
        agent: AgentContext,
        run_input: agui.RunAgentInput,
        config: RunnableConfig,
        call: Caller = run_here,
        media: ClientMedia | None = None,
    ) -> None:
        self._agent = agent
        self._graph = agent.graph
        self._key = agent.messages_key
        self._input = run_input
        self._config = config
        self._call = call
        self._converter = agent.converter(run_input.thread_id)
        self._media = media or ClientMedia(agent.trust.media_urls, run_input.messages)
        self._client_state = ClientState(
            self._graph, run_input, config, self._key, agent.contract, call
        )

    async def plan(self) -> RunPlan:
        """Return what the run does.

        Raises:
            RunInputError: The input answers unknown interrupts, leaves open ones unanswered, or
                does not fit the graph.
            StateError: The checkpoint could not be read.
        """
        if not self._graph.has_checkpointer:
            return await self._plan_without_thread()
        thread = await self._load()
        pending = await self._agent.pending_interrupts(thread.state, self._config)
        ask_again = Show(thread, thread.state.values, pending)
        command = command_answers(self._input, pending)
        if command is not None and not pending:  # it was answered before
            return await self._plan_new_messages(thread, state=self._input.state)
        if command is not None and not self._has_seen(thread, pending):
            return ask_again
        answers = [
            *(self._input.resume or ()),
            *approval_answers(self._input.messages, pending),
            *(command.entries if command is not None else ()),
        ]
        mark = command.fingerprint if command is not None else fingerprint(answers)
        effective = unused(answers, mark, thread.metadata(ANSWERED), pending)
        if effective is None and pending:
            return ask_again
        gone = await self._load_gone(thread)
        rerun = self._find_rerun(thread, gone)
        if gone is not None and rerun is None and not self._same_content(gone.message, gone.stored):
            # the user says something new
            thread = thread._replace(past=thread.past.without(gone.message.id))
        if answers and not effective and not pending:
            unchanged = rerun is not None and self._same_content(rerun.message, rerun.stored)
            # An input with answers does not ask for the same run again.
            if effective is None or unchanged or not self._takes_messages():
                return await self._plan_new_messages(thread, state=self._input.state)
        cancels = self._cancels_pause(rerun, thread)
        if (
            pending
            and not answers
            and not cancels
            and self._agent.client_form(self._input).asks_by_events
        ):
            return ask_again
        if effective or (pending and not cancels):
            return await self._plan_resume(effective or (), mark, thread, pending)
        return (
            await self._plan_rerun(rerun, thread)
            if rerun is not None
            else await self._plan_input(thread)
        )

    async def plan_followup(self, done: Resume | Abandon) -> Execute | Show:
        """Return what to do with the new messages that came with answers, when the thread waits for
        nothing more.
        """
        return await self._plan_new_messages(await self._load(), done.thread.messages)

    # -- answers ----------------------------------------------------------------------------------

    def _has_seen(self, thread: Thread, pending: PendingInterrupts) -> bool:
        """Return whether a client that answers by a command has seen the question, or sends nothing
        of what it has.
        """
        hidden = self._agent.client_form(self._input).subagents == "hidden"
        asked = [
            one.interrupt
            for one in pending.requests
            if not (hidden and one.interrupt.subagent_run_id)
        ]
        calls = [one.tool_call_id for one in asked if one.tool_call_id]
        return history.has_seen(self._input.messages, thread.messages, calls)

    def _cancels_pause(self, rerun: Rerun | None, thread: Thread) -> bool:
        """Return whether the input brings new messages that cancel what is pending, instead of
        being refused.
        """
        if self._agent.approvals.when_paused == "refuse":
            return False
        return rerun is not None or any(
            isinstance(message, agui.UserMessage) for message in self._new_messages(thread)
        )

    async def _plan_resume(
        self,
        effective: Sequence[agui.ResumeEntry],
        mark: str,
        thread: Thread,
        pending: PendingInterrupts,
    ) -> Resume | Abandon:
        resolution = resolve(with_message(effective, pending.requests), pending)
        # If the run pauses again, the messages that came with the answers run when it waits for
        # nothing more.
        new = self._input.messages[history.start_of_new(self._input.messages, thread.messages) :]
        await self._call(self._check_media, new)
        said = [message.id for message in new if isinstance(message, agui.UserMessage)]
        postponed = {message_id: None for message_id in said if message_id not in thread.past}
        beside = json.dumps([*(_postponed(thread) | postponed)])
        metadata = {ANSWERED: mark, POSTPONED: beside, **self._remembered(thread.past)}
        values = as_mapping(thread.state.values) or {}
        results = [as_mapping(task.result) or {} for task in thread.state.tasks]
        superstep = {key: values[key] for result in results for key in result if key in values}
        writes = await self._client_state.changes(thread, superstep=superstep)
        if resolution.abandoned:
            config = RunnableConfig(metadata={**metadata, ABANDONED: True})
            return Abandon(resolution, thread, config, next(iter(thread.state.next), ""), writes)
        command: Command[str] | None = None
        if resolution.values or writes:
            command = Command(resume=resolution.values or None, update=writes or None)
        use = AnswerUse(thread.state, pending.used, effective, mark, resolution.values)
        return Resume(
            resolution, thread, RunnableConfig(metadata=metadata), command, superstep, use
        )

    # -- messages ---------------------------------------------------------------------------------

    async def _load(self) -> Thread:
        return await self._graph.load_thread(self._config, self._key)

    def _new_messages(self, thread: Thread) -> list[agui.Message]:
        # A thread that did not end its last superstep was killed: its calls are the server's, and
        # clients cannot answer them. Nor can they answer the calls of a pause that was abandoned.
        closed = thread.state.tasks or thread.metadata(ABANDONED)
        return history.new_messages(
            self._input.messages,
            thread.messages,
            () if closed else self._answerable(thread.messages, thread.state.values),
            instructions=self._agent.trust.instructions == "accept",
            past=None if thread.state.created_at is None else thread.past,
            postponed=_postponed(thread),
        )

    def _answerable(self, messages: Sequence[BaseMessage], stored: object) -> set[str | None]:
        """Return the calls that the client may answer: those at the end, and of its own tools all
        in the last turn.

        A graph may go on though the client has not answered. What the client sends now
        does not make a tool its own: the state has what it offered before.
        """
        calls = open_tool_calls(messages, at_end=True)
        offered = self._agent.filled.offered_tools(as_mapping(stored) or {})
        turn = history.last_turn(messages)
        answered = {message.tool_call_id for message in turn if isinstance(message, ToolMessage)}
        late = [
            call
            for call in history.calls_in(turn)
            if call["name"] in offered and call["id"] not in answered
        ]
        return {call["id"] for call in (*calls, *late)}

    async def _load_gone(self, thread: Thread) -> Rerun | None:
        """Return the message that the client's list ends with, if the thread has had it and has it
        no more.
        """
        last = history.last_asked(self._input.messages)
        if last is None or last.id not in thread.past or thread.has(last.id):
            return None
        found = await self._graph.load_thread_with(self._config, last.id, self._key)
        return (
            Rerun(last, found[0], is_gone=True, was_trimmed=found[1]) if found is not None else None
        )

    def _find_rerun(self, thread: Thread, gone: Rerun | None) -> Rerun | None:
        """Return the message to run again from; None if the client does not ask for that.

        Args:
            thread: The thread.
            gone: What `_load_gone` has found.
        """
        client = self._input.messages
        last = history.last_asked(client)
        if gone is not None:
            return gone if self._asks_for_gone(gone, thread) else None
        if last is None or not thread.has(last.id):
            return None
        rerun = Rerun(last, thread)
        if behind := history.visible_in(thread.messages[rerun.place + 1 :]):
            answer = behind[0]
            is_shown = any(one.id == answer.id for one in client) or history.holds(
                client[client.index(last) :], answer
            )
            return None if is_shown else rerun
        is_settled = not thread.state.next and self._same_content(last, rerun.stored)
        return None if is_settled else rerun

    def _asks_for_gone(self, gone: Rerun, thread: Thread) -> bool:
        """Return whether the thread is to run again from a message that it has no more.

        It must have been trimmed, and not removed. Of the newest turn it may also have been
        removed, if it is edited.
        """
        if not self._same_content(gone.message, gone.stored):
            return gone.was_trimmed or thread.past.was_taken(gone.message.id)
        turn = history.visible_in(history.last_turn(thread.messages))
        return gone.was_trimmed and bool(turn) and not self._shows(turn[-1], thread)

    def _shows(self, newest: agui.Message, thread: Thread) -> bool:
        """Return whether the client's list has the newest message of the thread, maybe under
        another id.
        """
        past = thread.past
        # Other messages of the thread may have the same words.
        candidates = [
            one for one in self._input.messages if one.id == newest.id or one.id not in past
        ]
        return history.holds(candidates, newest)

    def _same_content(self, message: agui.UserMessage, stored: BaseMessage) -> bool:
        if message.content == self._converter.visible_content(stored):
            return True
        forms = self._converter.to_langchain([message], None)
        with suppress(RunInputError):  # the thread may hold what is refused today
            forms += self._converted([message])
        return any(one.content == stored.content for one in forms)

    def _takes_messages(self) -> bool:
        """Return whether the graph takes messages one by one, into a channel of its own for
        them.
        """
        names = self._graph.input_names or ()
        return self._key in names or ROOT_CHANNEL in names

    async def _plan_without_thread(self) -> Execute:
        if self._input.resume or command_answers(self._input, PendingInterrupts()) is not None:
            raise RunInputError(ErrorCode.INTERRUPT_UNKNOWN)
        messages = await self._call(self._history)
        writes = await self._call(self._client_state.initial_values)
        return Execute(self._filled(self._graph_input(messages, writes)))

    def _history(self) -> list[BaseMessage]:
        """Return the client's whole history for the graph."""
        return history.close_gaps(self._converted(self._input.messages))

    def _converted(self, messages: Sequence[agui.Message]) -> list[BaseMessage]:
        """Return a client's messages that are to run, for the graph."""
        return self._converter.to_langchain(messages, self._media)

    def _check_media(self, messages: Sequence[agui.Message]) -> None:
        """Refuse media of messages that run later, before anything does."""
        for message in messages:
            if isinstance(message, agui.UserMessage | agui.ToolMessage):
                self._media.admit(message)

    async def _plan_new_messages(
        self, thread: Thread, before: Sequence[BaseMessage] = (), state: object = None
    ) -> Execute | Show:
        """Run only messages behind all others, and only if the graph takes messages.

        Args:
            thread: The thread, which waits for nothing.
            before: The messages of the thread when it was paused. The graph may have removed or
                renamed them since; they are not new.
            state: The client's state, unless the thread's is newer.
        """
        postponed, start = (
            _postponed(thread),
            history.start_of_new(self._input.messages, before, thread.messages),
        )
        new = [
            one
            for index, one in enumerate(self._input.messages)
            if index >= start or one.id in postponed
        ]
        followup = self._input.model_copy(update={"messages": new, "state": state})
        planner = RunPlanner(self._agent, followup, self._config, self._call, self._media)
        return await planner.plan_messages(thread)

    async def plan_messages(self, thread: Thread) -> Execute | Show:
        """Run the graph only if it takes messages and the input has new ones; the thread waits for
        nothing.
        """
        if not self._takes_messages() or not self._new_messages(thread):
            return Show(self._shown(thread), thread.state.values)
        return await self._plan_input(thread)

    def _remembered(self, past: PastMessages) -> dict[str, object]:
        """Return the metadata by which a thread remembers its messages, if its graph may remove
        some.
        """
        return past.metadata() if self._graph.may_remove_messages(self._key) else {}

    def _shown(self, thread: Thread) -> Thread:
        return history.shown_thread(thread, self._key, self._agent.own_tools(self._input, thread))

    async def _plan_input(self, thread: Thread) -> Execute | Show:
        """Run the graph with the client's new messages and its changes of the state."""
        stored = thread.state
        writes = await self._client_state.changes(thread)
        if self._graph.input_form != "keys" and not self._takes_messages():
            return Execute(self._graph_input(await self._call(self._history), writes))
        imported = stored.created_at is None and self._agent.trust.history == "import"
        new = self._input.messages if imported else self._new_messages(thread)
        only_results = all(message.role == "tool" for message in new)
        if only_results and len(open_tool_calls(thread.messages, at_end=True)) > len(new) > 0:
            return Show(self._shown(thread))  # the client has yet to answer the other calls
        converted = await self._call(self._converted, new)
        if (
            imported
            and converted
            and isinstance(converted[-1], AIMessage)
            and not converted[-1].tool_calls
        ):
            # The client asks for nothing: the history ends with its answer.
            return Show(thread._replace(messages=converted))
        whole = await self._call(self._without_gaps, thread, converted) if new else thread.messages
        known = {message.id for message in (*thread.messages, *converted)}
        update = history.append_update(
            thread.messages, whole, removes=self._graph.removes_messages(self._key)
        )
        graph_input = self._graph_input(update, writes)
        # A conversation with nothing new has its answer already; a graph without one runs because
        # it was asked to.
        if stored.created_at is not None and self._takes_messages() and not graph_input:
            config = RunnableConfig(metadata=self._remembered(thread.past))
            if _failed_after_tools(thread) and not await used_since_tools(
                self._graph, thread, self._key
            ):
                return Execute(None, thread, config)
            last = history.last_asked(self._input.messages)
            # The stopped run has removed its question, or replaced it. Its client asks it once
            # more.
            if last is not None and _is_stopped(thread) and thread.past.was_taken(last.id):
                return Execute(None, thread, config)
            return Show(self._shown(thread), stored.values)
        answered = thread.metadata(ANSWERED)  # kept, so that the same answers again are still known
        taken = converted if self._takes_messages() else []
        past = thread.past.before(taken)
        metadata = {**self._remembered(past), **({ANSWERED: answered} if answered else {})}
        healed = [message for message in whole if message.id not in known]
        settle_first = len(stored.next) < len(stored.tasks)
        return Execute(
            self._filled(graph_input, stored.values),
            thread._replace(past=past),
            RunnableConfig(metadata=metadata),
            healed,
            settle_first,
        )

    def _without_gaps(self, thread: Thread, new: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Return the thread with new messages; nothing was interrupted in one that had ended."""
        answer = unanswered if thread.has_ended and not thread.metadata(ABANDONED) else interrupted
        return history.close_gaps(
            [*thread.messages, *new], answer, history.results_elsewhere(thread, self._key).keys()
        )

    async def _plan_rerun(self, rerun: Rerun, thread: Thread) -> Execute:
        """Run again from before a message, with its old or its new content."""
        asked, holder = rerun.message, rerun.holder
        start = await self._graph.load_thread_before(
            self._config, asked.id, self._key, is_gone=rerun.is_gone
        )
        base, known = start.state, {message.id for message in start.messages}
        between = [message for message in holder.messages[: rerun.place] if message.id not in known]
        message = (
            [rerun.stored] if self._same_content(asked, rerun.stored) else self._converted([asked])
        )
        taken = [*between, *message]
        # Where the client has changed nothing since, the state is that of the earlier input.
        changed = await self._client_state.changes(thread, base)
        writes = {**self._client_state.input_at(base), **changed}
        point = base.config["configurable"]
        checkpoint: dict[str, object] = {
            key: point[key] for key in ("checkpoint_id", "checkpoint_ns") if key in point
        }
        graph_input = self._filled(self._graph_input(taken, writes), base.values)
        past = thread.past.before(taken)
        config = RunnableConfig(configurable=checkpoint, metadata=self._remembered(past))
        return Execute(graph_input, start._replace(past=past), config)

    def _graph_input(self, messages: Sequence[BaseMessage], writes: Mapping[str, object]) -> object:
        """Return the graph's input: messages, and writes to other channels where it takes any."""
        form, key = self._graph.input_form, self._key
        if form == "messages":
            return messages
        if form == "text":
            return next(
                (str(message.text) for message in reversed(messages) if message.type == "human"), ""
            )
        names = self._graph.input_names
        return (
            {**writes, key: messages}
            if messages and (names is None or key in names)
            else dict(writes)
        )

    def _filled(self, graph_input: object, stored: object = None) -> object:
        """Return the graph's input with what the adapter fills in."""
        values = self._agent.filled.values(self._input, as_mapping(stored) or {})
        return (
            {**graph_input, **values} if values and isinstance(graph_input, dict) else graph_input
        )


def _postponed(thread: Thread) -> dict[str, None]:
    """Return the ids of the user messages that came with earlier answers and have not run yet, in
    order.
    """
    return dict.fromkeys(json.loads(str(thread.metadata(POSTPONED) or "[]")))


def _failed_after_tools(thread: Thread) -> bool:
    """Return whether the thread's last run failed between the results of tools and the answer to
    them.

    Sending the same input again asks for that answer; the tools do not run again.
    """
    messages = thread.messages
    ends_with_results = bool(messages) and isinstance(messages[-1], ToolMessage)
    return _is_stopped(thread) and ends_with_results and not open_tool_calls(messages, at_end=True)


def _is_stopped(thread: Thread) -> bool:
    """Return whether the thread's last run has failed or was stopped between two supersteps."""
    stored = thread.state
    return bool(stored.next) and len(stored.next) == len(stored.tasks) and not stored.interrupts
