"""The plan of a run: `RunAgentInput` and the thread's checkpoint enter, a plan of `plan.py` leaves.

An input that does not fit is refused here, before anything runs. With a checkpointer the server
owns the history, and only new messages are taken from the client. Without one the client owns it,
and its whole history is the input.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from ag_ui import core as agui
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Overwrite

from langgraph_agui.compat.approval_tool import approval_answers
from langgraph_agui.compat.interrupts import command_answers, with_message
from langgraph_agui.graphs import Thread
from langgraph_agui.graphs.past import PastMessages
from langgraph_agui.interrupts.answers import CommandAnswers, resolve, unused
from langgraph_agui.interrupts.pauses import PendingInterrupts
from langgraph_agui.interrupts.used_answers import (
    ANSWERED,
    AnswerUse,
    fingerprint,
    used_since_tools,
)
from langgraph_agui.kernel.aio import Caller
from langgraph_agui.kernel.configs import as_mapping
from langgraph_agui.kernel.errors import ErrorCode, RunInputError
from langgraph_agui.kernel.quoting import quoted, quoted_list
from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.messages.client_media import ClientMedia
from langgraph_agui.messages.content import (
    interrupted,
    is_unfinished,
    unanswered,
    unanswered_calls,
    without_calls,
)
from langgraph_agui.messages.server_tools import without_server_tools
from langgraph_agui.messages.to_agui import agui_role
from langgraph_agui.protocol.json import same
from langgraph_agui.runs import history
from langgraph_agui.runs.context import AgentContext
from langgraph_agui.runs.paused import unkept_ids
from langgraph_agui.runs.plan import Abandon, Execute, Resume, RunPlan, Show
from langgraph_agui.state.client_state import ClientState

# Key in the metadata of checkpoints: a JSON list of the user messages that came with answers, to
# run after them.
POSTPONED = "agui_beside"

# Key in the metadata of a checkpoint: the pause before it was abandoned. Clients cannot answer its
# calls.
ABANDONED = "agui_given_up"

logger = run_logger(__name__)


class Rerun(NamedTuple):
    """A client's request to run again from a message that the thread has had.

    Attributes:
        message: The message, as the client has it.
        holder: The thread when it last had the message.
        is_gone: Whether the thread has lost it.
        was_trimmed: Whether the graph has trimmed it, and not removed it.
    """

    message: agui.UserMessage
    holder: Thread
    is_gone: bool = False
    was_trimmed: bool = False

    @property
    def place(self) -> int:
        """The index of the message in the thread."""
        return [one.id for one in self.holder.messages].index(self.message.id)

    @property
    def stored(self) -> BaseMessage:
        """The message, as the thread has it."""
        return self.holder.messages[self.place]

    def check(self) -> None:
        """Refuse a message that has the id of an answer, a result or an instruction: it would take
        its place. Raises `RunInputError`.
        """
        if isinstance(self.stored, HumanMessage) or agui_role(self.stored) == "user":
            return
        raise RunInputError(
            ErrorCode.INVALID_INPUT,
            f"The user message {quoted(self.message.id)} has the id of another message of the "
            "thread. Give it an id of its own.",
        )


class _Answers(NamedTuple):
    """The answers in an input.

    Attributes:
        given: All answers.
        effective: Those that had no effect yet; None if all had it before.
        mark: Identifies the input.
    """

    given: Sequence[agui.ResumeEntry]
    effective: Sequence[agui.ResumeEntry] | None
    mark: str


class RunPlanner:
    """Plans the run of one input.

    Args:
        agent: The context that all runs of the agent share.
        run_input: The client's input.
        config: The run's configuration, with the thread.
        call: Calls a function whose time grows with the input: in a thread, if the input is large.
        media: Judges the media of the client's messages, if `run_input` has only some of them.

    Attributes:
        pending: The interrupts that the thread waits for, once the run is planned.
    """

    def __init__(
        self,
        agent: AgentContext,
        run_input: agui.RunAgentInput,
        config: RunnableConfig,
        call: Caller,
        media: ClientMedia | None = None,
    ) -> None:
        self._agent = agent
        self._graph = agent.graph
        self._key = agent.messages_key
        messages = without_server_tools(run_input.messages)
        self._input = run_input = run_input.model_copy(update={"messages": messages})
        self._config = config
        self._call = call
        self._converter = agent.converter(run_input.thread_id)
        self._media = media or ClientMedia(agent.trust.media_urls, run_input.messages)
        self.pending = PendingInterrupts()
        self._client_state = ClientState(
            self._graph,
            run_input,
            config,
            self._key,
            agent.contract,
            partial(history.lacks, run_input.messages),
            call,
        )

    async def plan(self) -> RunPlan:
        """Return the plan of the run.

        Raises:
            RunInputError: The input answers unknown interrupts, leaves open ones unanswered, has
                the id of one message for another, or does not fit the graph.
            StateError: The checkpoint could not be read.
        """
        if not self._graph.has_checkpointer:
            return await self._plan_without_thread()
        thread = await self._graph.load_thread(self._config, self._key)
        self.pending = await self._agent.pending_interrupts(thread.state, self._config)
        pending = self.pending
        command = command_answers(self._input, pending)
        if pending:
            return await self._plan_paused(thread, pending, command)
        if command is not None:  # it was answered before
            return await self._plan_new_messages(thread, state=self._input.state)
        return await self._plan_unpaused(thread, pending)

    async def plan_followup(self, done: Resume | Abandon) -> Execute | Show:
        """Return the plan for new messages that came with answers; the thread waits for nothing."""
        thread = await self._graph.load_thread(self._config, self._key)
        plan = await self._plan_new_messages(thread, done.thread.messages)
        # The run has shown the thread's messages itself: calls without a result are pending.
        return Show(thread, plan.values) if isinstance(plan, Show) else plan

    # -- answers ----------------------------------------------------------------------------------

    async def _plan_paused(
        self, thread: Thread, pending: PendingInterrupts, command: CommandAnswers | None
    ) -> RunPlan:
        """Return the plan for a thread that waits for answers. The order of the cases counts."""
        ask_again = Show(thread, thread.state.values, pending)
        if command is not None and not self._has_seen(thread, pending):
            return ask_again
        answers = self._read_answers(thread, pending, command)
        if answers.effective is None:
            return ask_again
        rerun, thread = await self._find_rerun(thread)
        if answers.effective:
            return await self._plan_resume(answers, thread, pending)
        if self._cancels_pause(rerun, thread):
            return await self._plan_messages(rerun, thread)
        if not answers.given and self._agent.client_form(self._input).asks_by_events:
            return ask_again
        return await self._plan_resume(answers, thread, pending)  # refused: open ones lack answers

    async def _plan_unpaused(self, thread: Thread, pending: PendingInterrupts) -> RunPlan:
        """Return the plan for a thread that waits for nothing. The order of the cases counts."""
        answers = self._read_answers(thread, pending)
        rerun, thread = await self._find_rerun(thread)
        if answers.effective:
            return await self._plan_resume(answers, thread, pending)  # refused: none is open
        unchanged = rerun is not None and self._same_content(rerun.message, rerun.stored)
        # An input with answers does not ask for the same run again.
        if answers.given and (answers.effective is None or unchanged or not self._takes_messages()):
            return await self._plan_new_messages(thread, state=self._input.state)
        return await self._plan_messages(rerun, thread)

    def _read_answers(
        self, thread: Thread, pending: PendingInterrupts, command: CommandAnswers | None = None
    ) -> _Answers:
        given = [*(self._input.resume or ()), *approval_answers(self._input.messages, pending)]
        given += command.entries if command is not None else ()
        mark = command.fingerprint if command is not None else fingerprint(given)
        return _Answers(given, unused(given, mark, thread.metadata(ANSWERED), pending), mark)

    def _has_seen(self, thread: Thread, pending: PendingInterrupts) -> bool:
        """Return whether a client that answers by a command has seen the question.

        True if the client sends none of the agent's messages.
        """
        hidden = self._agent.client_form(self._input).subagents == "hidden"
        asked = [request.interrupt for request in pending.requests]
        if hidden:
            asked = [one for one in asked if not one.subagent_run_id]
        calls = [one.tool_call_id for one in asked if one.tool_call_id]
        return history.has_seen(self._input.messages, thread.messages, calls)

    def _cancels_pause(self, rerun: Rerun | None, thread: Thread) -> bool:
        """Return whether new messages of the client cancel the pause, instead of being refused."""
        if self._agent.approvals.when_paused == "refuse":
            return False
        new = self._new_messages(thread)
        return rerun is not None or any(isinstance(message, agui.UserMessage) for message in new)

    async def _plan_resume(
        self, answers: _Answers, thread: Thread, pending: PendingInterrupts
    ) -> Resume | Abandon:
        effective = answers.effective or ()
        resolution = resolve(with_message(effective, pending.requests), pending)
        # Messages that came with the answers wait until the thread waits for nothing more.
        new = self._input.messages[history.start_of_new(self._input.messages, thread.messages) :]
        await self._call(self._check_media, new)
        said = [message.id for message in new if isinstance(message, agui.UserMessage)]
        postponed = {message_id: None for message_id in said if message_id not in thread.past}
        taken = {*_postponed(thread), *(message.id for message in new)}
        metadata = {
            ANSWERED: answers.mark,
            POSTPONED: json.dumps([*(_postponed(thread) | postponed)]),
            **self._remembered(thread.past.having(unkept_ids(pending))),
        }
        values = as_mapping(thread.state.values) or {}
        results = [as_mapping(task.result) or {} for task in thread.state.tasks]
        superstep = {key: values[key] for result in results for key in result if key in values}
        writes = await self._client_state.changes(thread, superstep=superstep)
        if resolution.abandoned:
            config = RunnableConfig(metadata={**metadata, ABANDONED: True})
            node = next(iter(thread.state.next), "")
            return Abandon(resolution, thread, config, node, writes, taken)
        command = await self._command(thread, writes, resolution.values)
        use = AnswerUse(thread.state, pending.used, effective, answers.mark, resolution.values)
        config = RunnableConfig(metadata=metadata)
        return Resume(resolution, thread, config, command, superstep, use, taken)

    # -- messages ---------------------------------------------------------------------------------

    def _new_messages(self, thread: Thread) -> list[agui.Message]:
        # Clients cannot answer the calls of a thread that was killed in its last superstep, nor
        # those of an abandoned pause.
        closed = thread.state.tasks or thread.metadata(ABANDONED)
        return history.new_messages(
            self._input.messages,
            thread.messages,
            () if closed else self._answerable(thread),
            instructions=self._agent.trust.instructions == "accept",
            past=None if thread.state.created_at is None else thread.past,
            postponed=_postponed(thread),
        )

    def _answerable(self, thread: Thread) -> set[str | None]:
        """Return the calls that the client may answer.

        These are the calls at the end, and in the last turn all calls of tools that the client
        offered earlier, by the state: a graph may go on though the client has not answered.
        """
        calls = unanswered_calls(thread.messages, at_end=True)
        offered = self._agent.filled.offered_tools(as_mapping(thread.state.values) or {})
        turn = history.last_turn(thread.messages)
        answered = {message.tool_call_id for message in turn if isinstance(message, ToolMessage)}
        late = [call for call in history.calls_in(turn) if call["name"] in offered]
        return {call["id"] for call in calls} | {call["id"] for call in late} - answered

    async def _load_gone(self, thread: Thread) -> Rerun | None:
        """Return the last message of the client's list, if the thread has lost it."""
        last = history.last_asked(self._input.messages)
        if last is None or last.id not in thread.past or thread.has(last.id):
            return None
        found = await self._graph.load_thread_with(self._config, last.id, self._key)
        if found is None:
            return None
        holder, was_trimmed = found
        rerun = Rerun(last, holder, is_gone=True, was_trimmed=was_trimmed)
        rerun.check()
        return rerun

    async def _find_rerun(self, thread: Thread) -> tuple[Rerun | None, Thread]:
        """Return the message to run again from, None if the client does not ask for that.

        Returned with the thread. A lost message with new content, from which nothing runs again, is
        a new message: the thread's past has it no more.
        """
        gone = await self._load_gone(thread)
        if gone is None:
            return self._find_rerun_of_known(thread), thread
        if self._asks_for_gone(gone, thread):
            return gone, thread
        if self._same_content(gone.message, gone.stored):
            return None, thread
        return None, thread._replace(past=thread.past.without(gone.message.id))

    def _find_rerun_of_known(self, thread: Thread) -> Rerun | None:
        """Return the message of the thread to run again from, if the client asks for that."""
        client = self._input.messages
        last = history.last_asked(client)
        if last is None or not thread.has(last.id):
            return None
        rerun = Rerun(last, thread)
        rerun.check()
        if behind := history.visible_in(thread.messages[rerun.place + 1 :]):
            answer = behind[0]
            if any(one.id == answer.id for one in client):
                return None
            return None if history.holds(client[client.index(last) :], answer) else rerun
        is_settled = not thread.state.next and self._same_content(last, rerun.stored)
        return None if is_settled else rerun

    def _asks_for_gone(self, gone: Rerun, thread: Thread) -> bool:
        """Return whether the thread is to run again from a message that it has lost.

        The graph must have trimmed the message. If the client has edited it, and it is of the
        newest turn, the graph may also have removed it.
        """
        if not self._same_content(gone.message, gone.stored):
            return gone.was_trimmed or thread.past.was_taken(gone.message.id)
        turn = history.visible_in(history.last_turn(thread.messages))
        return gone.was_trimmed and bool(turn) and not self._shows(turn[-1], thread)

    def _shows(self, newest: agui.Message, thread: Thread) -> bool:
        """Return whether the client has the thread's newest message, maybe under another id."""
        past = thread.past
        # Other messages of the thread may have the same words.
        candidates = [
            one for one in self._input.messages if one.id == newest.id or one.id not in past
        ]
        return history.holds(candidates, newest)

    def _same_content(self, message: agui.UserMessage, stored: BaseMessage) -> bool:
        visible = self._converter.visible_content(stored)
        if message.content == visible:
            return True
        forms = self._converter.to_langchain([message], None)
        with suppress(RunInputError):  # the thread may hold media that are refused today
            forms += self._converted([message])
        return any(self._converter.visible_content(one) == visible for one in forms)

    def _takes_messages(self) -> bool:
        return self._graph.takes_messages(self._key)

    def _takes_whole_list(self) -> bool:
        """Return whether the graph is a function over the client's whole list of messages."""
        return self._graph.input_form != "keys" and not self._takes_messages()

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
        return self._converter.to_langchain(without_calls(messages, is_unfinished), self._media)

    def _check_media(self, messages: Sequence[agui.Message]) -> None:
        """Refuse media of messages that run later, before anything does."""
        for message in messages:
            if isinstance(message, agui.UserMessage | agui.ToolMessage):
                self._media.admit(message)

    async def _plan_new_messages(
        self, thread: Thread, before: Sequence[BaseMessage] = (), state: object = None
    ) -> Execute | Show:
        """Return a plan for messages behind all others, if the graph takes messages.

        Args:
            thread: The thread, which waits for nothing.
            before: The messages of the thread when it was paused: not new, though the graph may
                have removed or renamed them since.
            state: The client's state, unless the thread's is newer.
        """
        sent, postponed = self._input.messages, _postponed(thread)
        start = history.start_of_new(sent, before, thread.messages)
        new = [one for one in sent[:start] if one.id in postponed] + sent[start:]
        followup = self._input.model_copy(update={"messages": new, "state": state})
        planner = RunPlanner(self._agent, followup, self._config, self._call, self._media)
        return await planner.plan_if_new(thread)

    async def plan_if_new(self, thread: Thread) -> Execute | Show:
        """Return a plan that runs the graph only if it takes messages and the input has new ones.

        Args:
            thread: The thread, which waits for nothing.
        """
        if not self._takes_messages() or not self._new_messages(thread):
            return Show(self._shown(thread), thread.state.values)
        return await self._plan_input(thread)

    def _remembered(self, past: PastMessages) -> dict[str, object]:
        """Return the metadata by which a thread remembers messages that its graph may remove."""
        return past.metadata() if self._graph.may_remove_messages(self._key) else {}

    def _shown(self, thread: Thread) -> Thread:
        own_tools = self._agent.own_tools(self._input, thread)
        return history.shown_thread(thread, self._key, own_tools, self._client_tools)

    @property
    def _client_tools(self) -> set[str]:
        """The names of the tools that the client runs."""
        return {tool.name for tool in self._input.tools or ()}

    async def _plan_messages(self, rerun: Rerun | None, thread: Thread) -> Execute | Show:
        if rerun is not None:
            return await self._plan_rerun(rerun, thread)
        return await self._plan_input(thread)

    async def _plan_input(self, thread: Thread) -> Execute | Show:
        """Run the graph with the client's new messages and its changes of the state."""
        stored = thread.state
        writes = await self._client_state.changes(thread)
        if self._takes_whole_list():
            whole_list = await self._call(self._history)
            return Execute(self._graph_input(whole_list, writes), thread)
        imported = stored.created_at is None and self._agent.trust.history == "import"
        new = self._input.messages if imported else self._new_messages(thread)
        if self._waits_for_results(thread, new):
            return Show(self._shown(thread))
        converted = await self._call(self._converted, new)
        if imported and _ends_with_answer(converted):
            return Show(thread._replace(messages=converted))  # the client asks for nothing
        update, healed = await self._call(self._appended, thread, converted) if new else ([], [])
        graph_input = self._graph_input(update, writes)
        # A graph without a conversation runs because it was asked to.
        if stored.created_at is not None and self._takes_messages() and not graph_input:
            return await self._plan_nothing_new(thread)
        answered = thread.metadata(ANSWERED)  # kept, so that the same answers again are still known
        taken = converted if self._takes_messages() else []
        past = thread.past.before(taken)
        metadata = {**self._remembered(past), **({ANSWERED: answered} if answered else {})}
        settle_first = len(stored.next) < len(stored.tasks)
        return Execute(
            self._filled(graph_input, stored.values),
            thread._replace(past=past),
            RunnableConfig(metadata=metadata),
            healed,
            settle_first,
            {message.id for message in new},
        )

    def _waits_for_results(self, thread: Thread, new: Sequence[agui.Message]) -> bool:
        """Return whether the client has yet to answer calls before its new messages run: it has
        answered some, or has to run its tools before messages that came with earlier answers.
        """
        results = {message.id for message in new if message.role == "tool"}
        may_wait = results | _postponed(thread).keys()
        calls = unanswered_calls(thread.messages, at_end=True)
        if not new or len(results) >= len(calls):
            return False
        if not all(message.id in may_wait for message in new):
            return False
        if results:
            return True
        return not thread.metadata(ABANDONED) and any(
            call["name"] in self._client_tools for call in calls
        )

    async def _plan_nothing_new(self, thread: Thread) -> Execute | Show:
        """Continue a run that stopped before its answer, else show the thread."""
        config = RunnableConfig(metadata=self._remembered(thread.past))
        if _failed_after_tools(thread) and not await used_since_tools(
            self._graph, thread, self._key
        ):
            return Execute(await self._command(thread, {}), thread, config)
        last = history.last_asked(self._input.messages)
        # The stopped run has removed its question, or replaced it. Its client asks it once more.
        if last is not None and thread.ended_early and thread.past.was_taken(last.id):
            return Execute(await self._command(thread, {}), thread, config)
        return Show(self._shown(thread), thread.state.values)

    def _appended(
        self, thread: Thread, new: Sequence[BaseMessage]
    ) -> tuple[list[BaseMessage], list[BaseMessage]]:
        """Return the update that adds new messages to a thread and closes its gaps, and the results
        that it adds for that. Nothing was interrupted in a thread that had ended.
        """
        answer = unanswered if thread.has_ended and not thread.metadata(ABANDONED) else interrupted
        answered = history.results_elsewhere(thread, self._key).keys()
        whole = history.close_gaps([*thread.messages, *new], answer, answered)
        known = {message.id for message in (*thread.messages, *new)}
        removes = self._graph.removes_messages(self._key)
        update = history.append_update(thread.messages, whole, removes=removes)
        return update, [message for message in whole if message.id not in known]

    async def _plan_rerun(self, rerun: Rerun, thread: Thread) -> Execute:
        """Run again from before a message, with its old or its new content."""
        asked, holder = rerun.message, rerun.holder
        start = await self._graph.load_thread_before(
            self._config, asked.id, self._key, is_gone=rerun.is_gone
        )
        base, known = start.state, {message.id for message in start.messages}
        between = [message for message in holder.messages[: rerun.place] if message.id not in known]
        is_same = self._same_content(asked, rerun.stored)
        taken = [*between, *([rerun.stored] if is_same else self._converted([asked]))]
        if self._takes_whole_list():
            taken = update = await self._call(self._history)
            healed = list[BaseMessage]()
        else:
            update, healed = await self._call(self._appended, start, taken)
        # Where the client has changed nothing since, the state is that of the earlier input.
        changed = await self._client_state.changes(thread, base)
        writes = {**self._client_state.input_at(base), **changed}
        point = base.config["configurable"]
        checkpoint: dict[str, object] = {
            key: point[key] for key in ("checkpoint_id", "checkpoint_ns") if key in point
        }
        graph_input = self._filled(self._graph_input(update, writes), base.values)
        past = thread.past.before(taken)
        config = RunnableConfig(configurable=checkpoint, metadata=self._remembered(past))
        ids = {message.id for message in taken if message.id}
        return Execute(graph_input, start._replace(past=past), config, healed, taken=ids)

    def _graph_input(self, messages: Sequence[BaseMessage], writes: Mapping[str, object]) -> object:
        """Return the graph's input: messages, and writes to other channels where it takes any."""
        form, key = self._graph.input_form, self._key
        if form == "messages":
            return messages
        if form == "text":
            said = (str(message.text) for message in reversed(messages) if message.type == "human")
            return next(said, "")
        names = self._graph.input_names
        takes_messages = names is None or key in names
        return {**writes, key: messages} if messages and takes_messages else dict(writes)

    def _filled(self, graph_input: object, stored: object = None) -> object:
        """Return the graph's input with the client's tools and context in the keys for them."""
        values = self._for_graph(stored)
        if values and isinstance(graph_input, dict):
            return {**graph_input, **values}
        return graph_input

    def _for_graph(self, stored: object) -> dict[str, object]:
        """Return the client's tools and context, by the keys of the graph's state for them."""
        return self._agent.filled.values(self._input, as_mapping(stored) or {})

    async def _command(
        self,
        thread: Thread,
        writes: Mapping[str, object],
        resume: Mapping[str, object] | None = None,
    ) -> Command[str] | None:
        """Return the input by which a thread goes on where it stands; None if nothing is new.

        Args:
            thread: The thread.
            writes: The client's changes of the state.
            resume: The answers.
        """
        known = as_mapping(thread.state.values) or {}
        update = {**writes, **self._for_graph(known)}
        new = {key: value for key, value in update.items() if not _holds(known, key, value)}
        if new:
            written = await self._graph.updated_keys(thread.state)
            if late := sorted(new.keys() & written):
                logger.warning(
                    "Left out of a step that goes on, because an earlier input has changed it in "
                    "the same step: %s.",
                    quoted_list(late),
                )
            new = {key: value for key, value in new.items() if key not in written}
        if not (resume or new):
            return None
        return Command(resume=dict(resume) if resume else None, update=new or None)


def _holds(values: Mapping[str, object], key: str, value: object) -> bool:
    """Return whether a state has this value already."""
    new = value.value if isinstance(value, Overwrite) else value
    return key in values and same(new, values[key])


def _postponed(thread: Thread) -> dict[str, None]:
    """Return the ids of messages that came with earlier answers and have not run yet, in order."""
    return dict.fromkeys(json.loads(str(thread.metadata(POSTPONED) or "[]")))


def _ends_with_answer(messages: Sequence[BaseMessage]) -> bool:
    last = messages[-1] if messages else None
    return isinstance(last, AIMessage) and not last.tool_calls


def _failed_after_tools(thread: Thread) -> bool:
    """Return whether the thread's last run failed between results of tools and their answer.

    Sending the same input again asks for that answer; the tools do not run again.
    """
    messages = thread.messages
    ends_with_results = bool(messages) and isinstance(messages[-1], ToolMessage)
    return thread.ended_early and ends_with_results and not unanswered_calls(messages, at_end=True)
