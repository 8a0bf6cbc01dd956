"""How a run begins: what of the client's messages, state and answers goes into the graph.

`RunAgentInput` and the thread's checkpoint enter, a `Start` leaves; whatever does not fit is refused here, before
anything runs. With a checkpointer the server owns the history and only news are taken from the client. Without one the
client does, and its whole history is the input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from ag_ui.core import Message, ResumeEntry, RunAgentInput, UserMessage
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.constants import START
from langgraph.types import Command, StateSnapshot

from langgraph_agui.errors import ErrorCode, RunInputError, StateError
from langgraph_agui.graphs import ROOT, Graph, has_checkpointer, input_form, input_names, load_state, thread_messages
from langgraph_agui.interrupts.convention import answers_in
from langgraph_agui.interrupts.pause import Pause, PauseReader
from langgraph_agui.interrupts.places import raised
from langgraph_agui.interrupts.resume import Resolution, fingerprint, resolve
from langgraph_agui.threads import fork
from langgraph_agui.threads.history import News, forked, news
from langgraph_agui.threads.inputs import graph_input, refuse_hidden, replaces_messages
from langgraph_agui.threads.repair import appended, complete, open_calls

Rebuild: TypeAlias = Callable[[Sequence[Message]], list[BaseMessage]]
"""Makes LangChain messages of a client's."""

Restate: TypeAlias = Callable[[BaseMessage], object]
"""The content of a user message of the thread as its client has it."""

ANSWERED = "agui_resume"
"""Key in the metadata of checkpoints: the fingerprint of the answers that the run before them brought."""


@dataclass(frozen=True, slots=True)
class ThreadPolicy:
    """What an agent decides about threads; see `LangGraphAgent`."""

    client_instructions: Literal["ignore", "accept"] = "ignore"
    input_while_paused: Literal["refuse", "cancel_and_continue"] = "refuse"


@dataclass(frozen=True, slots=True)
class Start:
    """How a run begins.

    Attributes:
        input: Goes to the graph.
        idle: Whether there is nothing to run.
        thread: The messages that the run starts from.
        config: Goes over the run's configuration: the checkpoint to begin at, marks for checkpoints.
        pause: What the thread waits for if nothing is run.
        resolution: The answers that the run goes on with.
        abandons: Whether the thread's pause is to be given up first.
        settles: Whether the thread is to be brought to rest first. It was killed within a superstep: what the nodes had
            written that were done is beside its state, and new input would delete it.
    """

    input: object = None
    idle: bool = False
    thread: Sequence[BaseMessage] = ()
    config: RunnableConfig = field(default_factory=lambda: RunnableConfig())
    pause: Pause = field(default_factory=Pause)
    resolution: Resolution | None = None
    abandons: bool = False
    settles: bool = False


@dataclass(frozen=True, slots=True)
class Beginning:
    """Finds out how runs of one input begin.

    Attributes:
        graph: The graph.
        run_input: What the client sent.
        config: The run's configuration, with the thread.
        reader: Reads what the thread waits for; has the messages' key.
        rebuild: Makes LangChain messages of the client's.
        restate: Makes of a user message of the thread the content that its client holds.
        policy: What the agent decides.
    """

    graph: Graph
    run_input: RunAgentInput
    config: RunnableConfig
    reader: PauseReader
    rebuild: Rebuild
    restate: Restate
    policy: ThreadPolicy = field(default_factory=ThreadPolicy)

    async def start(self) -> Start:
        """Return how the run begins.

        Raises:
            RunInputError: The input answers what is not asked, does not answer what is, or fits no input of the graph.
            StateError: The checkpoint could not be read.
        """
        if not has_checkpointer(self.graph):
            if self.run_input.resume:
                raise RunInputError(ErrorCode.INTERRUPT_UNKNOWN)
            history = complete(self.rebuild(self.run_input.messages))
            return Start(graph_input(self.graph, self.run_input, history, self._key, {}))
        stored = await self._load()
        pause = await self.reader.of_thread(stored, self.config)
        entries = self._entries(pause)
        if entries or (pause and not self._goes_on(stored)):
            return await self._resumed(entries, stored, pause)
        if (request := self._forked(stored)) is not None and request.fork is not None:
            return await self._again(request, request.fork, stored)
        return self._append(stored)

    async def rest(self) -> Start:
        """What is left of the input when answers have brought the thread to rest: news that came with them."""
        stored = await self._load()
        if not self._news(stored).messages:
            return Start(idle=True, thread=self._thread(stored))
        # The client's state is older than what the answers have made of the thread's.
        return replace(self, run_input=self.run_input.model_copy(update={"state": {}}))._append(stored)

    # -- answers --------------------------------------------------------------------------------------------------

    def _entries(self, pause: Pause) -> Sequence[ResumeEntry]:
        return [*(self.run_input.resume or ()), *answers_in(self.run_input.messages, pause.questions)]

    def _goes_on(self, stored: StateSnapshot) -> bool:
        """Whether new input gives the pause up instead of being refused."""
        if self.policy.input_while_paused == "refuse":
            return False
        return self._forked(stored) is not None or any(
            isinstance(message, UserMessage) for message in self._news(stored).messages
        )

    async def _resumed(self, entries: Sequence[ResumeEntry], stored: StateSnapshot, pause: Pause) -> Start:
        thread = self._thread(stored)
        mark = fingerprint(entries)
        if (stored.metadata or {}).get(ANSWERED) == mark:  # sent again: it has had its effect
            return Start(idle=True, thread=thread, pause=pause)
        # A run that failed has used some of its answers: they are sent again together with those that it has not.
        used = await raised(self.graph, self.config) - {one.id for one in pause.asked}
        entries = [entry for entry in entries if entry.interrupt_id.partition(":")[0] not in used]
        if not entries and not pause:
            return Start(idle=True, thread=thread)
        resolution = resolve(entries, pause)
        config = RunnableConfig(metadata={ANSWERED: mark})
        if resolution.abandoned:
            return Start(idle=True, thread=thread, config=config, resolution=resolution, abandons=True)
        answer: Command[str] | None = Command(resume=resolution.values) if resolution.values else None
        return Start(answer, thread=thread, config=config, resolution=resolution)

    # -- messages -------------------------------------------------------------------------------------------------

    @property
    def _key(self) -> str:
        return self.reader.messages_key

    async def _load(self) -> StateSnapshot:
        try:
            return await load_state(self.graph, self.config)
        except Exception as error:
            raise StateError from error

    def _thread(self, stored: StateSnapshot) -> list[BaseMessage]:
        return thread_messages(self.graph, stored, self._key)

    def _news(self, stored: StateSnapshot) -> News:
        thread = self._thread(stored)
        # A thread that has not come to rest was killed: its calls are the server's, and get no result from outside.
        waiting = [] if stored.tasks else [call["id"] for call in open_calls(thread)]
        return news(
            self.run_input.messages,
            thread,
            waiting,
            instructions=self.policy.client_instructions == "accept",
            unheard=stored.created_at is None or START in stored.next,
        )

    def _forked(self, stored: StateSnapshot) -> News | None:
        return forked(self.run_input.messages, self._thread(stored), self._same)

    def _same(self, message: UserMessage, stored: BaseMessage) -> bool:
        rebuilt = self.rebuild([message])
        if rebuilt and isinstance(rebuilt[0], HumanMessage) and rebuilt[0].content == stored.content:
            return True
        return message.content == self.restate(stored)

    def _append(self, stored: StateSnapshot) -> Start:
        thread = self._thread(stored)
        held = refuse_hidden(self.run_input, stored, self.reader.show)
        names = input_names(self.graph) or ()
        if input_form(self.graph) != "keys" and ROOT not in names:
            history = complete(self.rebuild(self.run_input.messages))
            return Start(graph_input(self.graph, self.run_input, history, self._key, held))
        fresh = self._news(stored).messages
        users = [message for message in fresh if message.role != "tool"]
        if not users and len(open_calls(thread)) > len(fresh) > 0:
            return Start(idle=True, thread=thread)  # the client has yet to answer the rest
        whole = complete([*thread, *self.rebuild(fresh)]) if fresh else thread
        update = appended(thread, whole, replaces=replaces_messages(self.graph, self._key))
        values = graph_input(self.graph, self.run_input, update, self._key, held)
        # A conversation with nothing new has its answer already; a graph without one is run because it was asked to.
        answered = stored.created_at is not None and (self._key in names or ROOT in names)
        idle = answered and not values
        return Start(values, idle=idle, thread=thread, settles=not idle and len(stored.next) < len(stored.tasks))

    async def _again(self, request: News, message_id: str, stored: StateSnapshot) -> Start:
        """Begin again before a message of the thread, with what it said or says now."""
        base, before = await fork.before(self.graph, self.config, message_id, self._key)
        known = {message.id for message in before}
        thread = self._thread(stored)
        place = next(place for place, message in enumerate(thread) if message.id == message_id)
        between = [message for message in thread[:place] if message.id not in known]
        said = self.rebuild(request.messages) if request.messages else [thread[place]]
        # What the client has not changed since is what it was at that point.
        held = refuse_hidden(self.run_input, stored, self.reader.show)
        values = graph_input(self.graph, self.run_input, [*between, *said], self._key, held)
        point = base.config["configurable"]
        where: dict[str, object] = {key: point[key] for key in ("checkpoint_id", "checkpoint_ns") if key in point}
        return Start(values, thread=before, config=RunnableConfig(configurable=where))
