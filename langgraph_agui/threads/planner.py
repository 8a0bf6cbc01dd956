"""How a run begins: what of the client's messages, state and answers goes into the graph.

`RunAgentInput` and the thread's checkpoint enter, a `Start` leaves; whatever does not fit is refused here, before
anything runs. With a checkpointer the server owns the history and only news are taken from the client. Without one the
client does, and its whole history is the input.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ag_ui.core import Message, ResumeEntry, RunAgentInput, UserMessage
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import START
from langgraph.types import Command

from langgraph_agui.configs import merge_run_configs
from langgraph_agui.errors import ErrorCode, RunInputError
from langgraph_agui.graphs import ROOT_CHANNEL, GraphAdapter
from langgraph_agui.interrupts.approval_tool import answers_in
from langgraph_agui.interrupts.pending_reader import PendingInterruptReader, PendingInterrupts
from langgraph_agui.interrupts.resume import Resolution, fingerprint, interrupt_of, repeats, resolve
from langgraph_agui.messages.to_langchain import HistoryConverter
from langgraph_agui.state.client_state import ClientState, ClientStateCache
from langgraph_agui.state.contract import StateContract
from langgraph_agui.threads import fork
from langgraph_agui.threads.history import Fork, behind, forked, news
from langgraph_agui.threads.inputs import graph_input, written_beside
from langgraph_agui.threads.repair import appended, close_gaps, open_calls
from langgraph_agui.threads.thread import Thread, open_thread

logger = logging.getLogger(__name__)

ANSWERED = "agui_resume"
"""Key in the metadata of checkpoints: the fingerprint of the answers that the run before them brought."""


BESIDE = "agui_beside"
"""Key in the metadata of checkpoints: a JSON list of the messages that came with answers and have yet to be heard."""

GIVEN_UP = "agui_given_up"
"""Key in the metadata of a checkpoint: the pause before it was given up, and its calls are nobody's to answer."""


@dataclass(frozen=True, slots=True)
class ThreadPolicy:
    """What an agent decides about threads; see `LangGraphAgent`."""

    client_instructions: Literal["ignore", "accept"] = "ignore"
    input_while_paused: Literal["refuse", "cancel_and_continue"] = "refuse"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """How a run begins.

    Attributes:
        input: Goes to the graph.
        idle: Whether there is nothing to run.
        thread: The messages that the run starts from.
        values: What the client is told of the thread's state: all of it, where nothing is run that would tell it; of a
            superstep that goes on, what its finished tasks have written.
        config: Goes over the run's configuration: the checkpoint to begin at, marks for checkpoints.
        pause: What the thread waits for if nothing is run.
        resolution: The answers that the run goes on with.
        gives_up_at: The node at which the thread's pause is to be given up first, if it is.
        writes: What the client has changed of the state, to be written when the pause is given up.
        healed: Results that the conversation lacked.
        settles: Whether the thread is to be brought to rest first. It was killed within a superstep: what the nodes had
            written that were done is beside its state, and new input would delete it.
    """

    input: object = None
    idle: bool = False
    thread: Sequence[BaseMessage] = ()
    values: object = None
    config: RunnableConfig = field(default_factory=lambda: RunnableConfig())
    pause: PendingInterrupts = field(default_factory=PendingInterrupts)
    resolution: Resolution | None = None
    gives_up_at: str | None = None
    writes: Mapping[str, object] = field(default_factory=dict)
    healed: Sequence[BaseMessage] = ()
    settles: bool = False


@dataclass(frozen=True, slots=True)
class RunPlanner:
    """Finds out how runs of one input begin.

    Attributes:
        graph: The graph.
        run_input: What the client sent.
        config: The run's configuration, with the thread.
        reader: Reads what the thread waits for; has the messages' key.
        contract: Says what the client may change of the state.
        shown: What the thread's clients were shown before.
        history: Converts messages between the client and the graph.
        policy: What the agent decides.
    """

    graph: GraphAdapter
    run_input: RunAgentInput
    config: RunnableConfig
    reader: PendingInterruptReader
    contract: StateContract
    shown: ClientStateCache
    history: HistoryConverter
    policy: ThreadPolicy = field(default_factory=ThreadPolicy)

    async def start(self) -> RunPlan:
        """Return how the run begins.

        Raises:
            RunInputError: The input answers what is not asked, does not answer what is, or fits no input of the graph.
            StateError: The checkpoint could not be read.
        """
        if not self.graph.has_checkpointer:
            if self.run_input.resume:
                raise RunInputError(ErrorCode.INTERRUPT_UNKNOWN)
            history = close_gaps(self.history.to_langchain(self.run_input.messages))
            return RunPlan(graph_input(self.graph, history, self._key, self._state.initial_values()))
        thread = await self._load()
        pause = await self.reader.of_thread(thread.state, self.config)
        given = self._entries(pause)
        entries = await self._unspent(given, thread, pause)
        if entries is None and pause:
            return RunPlan(idle=True, thread=thread.messages, values=thread.state.values, pause=pause)
        request = forked(self.run_input.messages, thread.messages, self._same)
        if given and not entries and not pause:
            again = request is not None and request.edited is None
            # Nobody who answers asks for the same once more.
            if entries is None or again or not self._converses():
                return await self._beside(thread, state=self.run_input.state)
        if entries or (pause and not self._goes_on(request, thread)):
            return await self._resumed(entries or (), given, thread, pause)
        return await self._again(request, thread) if request is not None else await self._append(thread)

    async def rest(self, start: RunPlan) -> RunPlan:
        """What is left of the input when the answers of `start` have brought the thread to rest: news beside them."""
        return await self._beside(await self._load(), start.thread)

    # -- answers --------------------------------------------------------------------------------------------------

    def _entries(self, pause: PendingInterrupts) -> Sequence[ResumeEntry]:
        return [*(self.run_input.resume or ()), *answers_in(self.run_input.messages, pause.questions)]

    async def _unspent(
        self, given: Sequence[ResumeEntry], thread: Thread, pause: PendingInterrupts
    ) -> list[ResumeEntry] | None:
        """The answers that have not had their effect yet; None if these are answers that have had it.

        A client answers all that it knows of, also what is not open any more: after a failed run it has no other way
        (AG-UI 1.0, resume). The same answers again, and cancelling what is closed, change nothing.
        """
        if thread.mark(ANSWERED) == fingerprint(given):
            return None
        open_ = {question.id for question in pause.questions}
        unspent: list[ResumeEntry] = []
        repeated = False
        for entry in given:
            if entry.interrupt_id not in open_:
                if entry.status == "cancelled":
                    logger.warning("A cancelled interrupt is not open and was ignored: %r.", entry.interrupt_id)
                    continue
                if repeats(entry, await self.graph.given_answers(self.config, interrupt_of(entry.interrupt_id))):
                    repeated = True
                    continue
            unspent.append(entry)
        return None if repeated and not unspent else unspent

    def _goes_on(self, request: Fork | None, thread: Thread) -> bool:
        """Whether new input gives the pause up instead of being refused."""
        if self.policy.input_while_paused == "refuse":
            return False
        return request is not None or any(isinstance(message, UserMessage) for message in self._news(thread))

    async def _resumed(
        self, entries: Sequence[ResumeEntry], given: Sequence[ResumeEntry], thread: Thread, pause: PendingInterrupts
    ) -> RunPlan:
        resolution = resolve(entries, pause)
        # If the run pauses again, what came beside the answers is heard when it comes to rest.
        late = self.run_input.messages[self._late(thread.messages, ()) :]
        waiting = json.dumps([*_waiting(thread), *(message.id for message in late if isinstance(message, UserMessage))])
        config = RunnableConfig(metadata={ANSWERED: fingerprint(given), BESIDE: waiting})
        beside = written_beside(thread.state)
        writes = await self._state.changes_while_paused(*thread, beside)
        if resolution.abandoned:
            config = merge_run_configs(config, RunnableConfig(metadata={GIVEN_UP: True}))
            node = next(iter(thread.state.next), "")
            return RunPlan(
                idle=True,
                thread=thread.messages,
                config=config,
                resolution=resolution,
                gives_up_at=node,
                writes=writes,
            )
        answer: Command[str] | None = None
        if resolution.values or writes:
            answer = Command(resume=resolution.values or None, update=writes or None)
        return RunPlan(answer, thread=thread.messages, values=beside, config=config, resolution=resolution)

    # -- messages -------------------------------------------------------------------------------------------------

    @property
    def _key(self) -> str:
        return self.reader.messages_key

    @property
    def _state(self) -> ClientState:
        return ClientState(self.graph, self.run_input, self.config, self._key, self.contract, self.shown)

    async def _load(self) -> Thread:
        return await open_thread(self.graph, self.config, self._key)

    def _news(self, thread: Thread) -> list[Message]:
        # A thread that has not come to rest was killed: its calls are the server's, and get no result from outside.
        # Nor do those of a pause that was given up.
        closed = thread.state.tasks or thread.mark(GIVEN_UP)
        return news(
            self.run_input.messages,
            thread.messages,
            [] if closed else [call["id"] for call in open_calls(thread.messages)],
            instructions=self.policy.client_instructions == "accept",
            unheard=thread.state.created_at is None or START in thread.state.next,
            waiting=_waiting(thread),
        )

    def _same(self, message: UserMessage, stored: BaseMessage) -> bool:
        rebuilt = self.history.to_langchain([message])
        if rebuilt and isinstance(rebuilt[0], HumanMessage) and rebuilt[0].content == stored.content:
            return True
        return message.content == self.history.visible_content(stored)

    async def _beside(self, thread: Thread, before: Sequence[BaseMessage] = (), state: object = None) -> RunPlan:
        """Go on with what came beside answers: only messages behind all others, and only where there is a conversation.

        Args:
            thread: The thread, at rest.
            before: What a paused run was given is not new to the thread, also if the graph keeps it under another name
                or has removed it since: what the thread held then.
            state: The client's state, unless it is older than what the answers have made of the thread's.
        """
        waiting, begin = _waiting(thread), self._late(before, thread.messages)
        late = [
            message for place, message in enumerate(self.run_input.messages) if place >= begin or message.id in waiting
        ]
        rest = replace(self, run_input=self.run_input.model_copy(update={"messages": late, "state": state}))
        if not self._converses() or not rest._news(thread):
            return RunPlan(idle=True, thread=thread.messages, values=thread.state.values)
        return await rest._append(thread)

    def _late(self, before: Sequence[BaseMessage], thread: Sequence[BaseMessage]) -> int:
        """Where what came beside answers begins in the client's list."""
        place = behind(self.run_input.messages, [*before, *thread])
        # Of a client that sends only what is new, all is; but not if the graph may have removed what it was paused at.
        return place if place is not None else 0 if before else len(self.run_input.messages)

    def _converses(self) -> bool:
        """Whether the graph takes messages one by one, into a channel of its own for them."""
        names = self.graph.input_names or ()
        return self._key in names or ROOT_CHANNEL in names

    async def _append(self, thread: Thread) -> RunPlan:
        stored = thread.state
        writes = await self._state.changes(*thread)
        if self.graph.input_form != "keys" and not self._converses():
            history = close_gaps(self.history.to_langchain(self.run_input.messages))
            return RunPlan(graph_input(self.graph, history, self._key, writes))
        fresh = self._news(thread)
        users = [message for message in fresh if message.role != "tool"]
        if not users and len(open_calls(thread.messages)) > len(fresh) > 0:
            return RunPlan(idle=True, thread=thread.messages)  # the client has yet to answer the rest
        rebuilt = self.history.to_langchain(fresh)
        whole = close_gaps([*thread.messages, *rebuilt]) if fresh else thread.messages
        known = {message.id for message in (*thread.messages, *rebuilt)}
        healed = [message for message in whole if message.id not in known]
        update = appended(thread.messages, whole, replaces=self.graph.removes_messages(self._key))
        values = graph_input(self.graph, update, self._key, writes)
        # A conversation with nothing new has its answer already; a graph without one is run because it was asked to.
        idle = stored.created_at is not None and self._converses() and not values
        if idle and _failed_behind_tools(thread):
            return RunPlan(None, thread=thread.messages)
        unsettled = len(stored.next) < len(stored.tasks)
        # The last answers stay known until others come.
        mark = thread.mark(ANSWERED)
        config = RunnableConfig(metadata={ANSWERED: mark}) if mark else RunnableConfig()
        if idle:
            return RunPlan(idle=True, thread=thread.messages, values=stored.values, config=config, healed=healed)
        return RunPlan(values, thread=thread.messages, config=config, healed=healed, settles=unsettled)

    async def _again(self, request: Fork, thread: Thread) -> RunPlan:
        """Begin again before a message of the thread, with what it said or says now."""
        base, before = await fork.before(self.graph, self.config, request.message_id, self._key)
        known = {message.id for message in before}
        place = next(place for place, message in enumerate(thread.messages) if message.id == request.message_id)
        between = [message for message in thread.messages[:place] if message.id not in known]
        said = self.history.to_langchain([request.edited]) if request.edited is not None else [thread.messages[place]]
        # What the client has not changed since is what it was at that point.
        writes = {**self._state.input_at(base), **await self._state.changes(*thread, base)}
        values = graph_input(self.graph, [*between, *said], self._key, writes)
        point = base.config["configurable"]
        where: dict[str, object] = {key: point[key] for key in ("checkpoint_id", "checkpoint_ns") if key in point}
        return RunPlan(values, thread=before, config=RunnableConfig(configurable=where))


def _waiting(thread: Thread) -> list[str]:
    """The messages that came with earlier answers and have yet to be heard."""
    noted: list[str] = json.loads(str(thread.mark(BESIDE) or "[]"))
    return noted


def _failed_behind_tools(thread: Thread) -> bool:
    """Whether the thread's last run ended between the results of tools and the answer to them.

    Whoever sends the same once more asks for that answer; the tools are done.
    """
    stored, messages = thread
    stopped = stored.next and len(stored.next) == len(stored.tasks) and not stored.interrupts
    return bool(stopped and messages and isinstance(messages[-1], LCToolMessage) and not open_calls(messages))
