"""`AGUISession`: one conversation with a remote agent, and its `Turn`.

In: the user's messages, answers and changes. Out: the events of the runs, and the messages, state
and open interrupts for the next run.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import cache, partial
from typing import Any, ClassVar, Final, Generic, Literal, Self, TypeVar, cast, get_args
from uuid import uuid4

from ag_ui import core as agui
from ag_ui.core import ContentPart, Message
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from langgraph_agui.client.agent import AGUIClient, Outcome, RemoteRun
from langgraph_agui.client.errors import AgentError, ResumeError
from langgraph_agui.client.event_stream import EventStream
from langgraph_agui.client.resume import resume_entries
from langgraph_agui.client.tools import LocalTool, LocalTools, interrupted_result
from langgraph_agui.client.typed_state import StateT, TypedState
from langgraph_agui.kernel.checks import check_type
from langgraph_agui.protocol.json import dump_json
from langgraph_agui.protocol.message_store import joined, open_tool_calls

_MESSAGE_TYPES: Final = get_args(get_args(Message)[0])


class Turn(EventStream):
    """One turn of a conversation: a run, and another one each time local tools answer all calls.

    ```python
    async for event in session.send("Hello"):  # or `for event in ...`
        ...
    turn = await session.send("Hello")  # without the events; or `session.send("Hello").wait()`
    print(turn.text)
    ```

    It raises the errors of its runs (`langgraph_agui.client.errors`). When you stop reading, the
    connection closes, and the session keeps all that it has received.
    """

    def __init__(self, run_all: Callable[[Turn, bool], AsyncGenerator[agui.Event]]) -> None:
        super().__init__()
        self._run_all = run_all
        # The runs that have begun.
        self.runs: list[RemoteRun] = []
        # The text of each message, in pieces, and the ids of those of subagents.
        self._texts: dict[str, list[str]] = {}
        self._foreign: set[str] = set()

    @property
    def outcome(self) -> Outcome | None:
        """How the last run has ended; None while it is active, or if its stream broke off."""
        return self.runs[-1].outcome if self.runs else None

    @property
    def interrupts(self) -> list[agui.Interrupt]:
        """The interrupts that the agent waits for."""
        return self.runs[-1].interrupts if self.runs else []

    @property
    def result(self) -> object:
        """The return value of the last run, if it was a success."""
        return self.runs[-1].result if self.runs else None

    @property
    def usage(self) -> list[agui.TokenUsage]:
        """The tokens of all its runs, one entry for each provider and model."""
        return agui.aggregate_token_usage([entry for run in self.runs for entry in run.usage])

    @property
    def text(self) -> str:
        """The agent's text so far, a blank line between messages: without that of subagents, and
        without messages that the agent has taken back.
        """
        own = [joined(pieces) for name, pieces in self._texts.items() if name not in self._foreign]
        return "\n\n".join(filter(None, own))

    def read(self, blocking: bool) -> AsyncGenerator[agui.Event]:
        """See `EventStream`."""
        return self._run_all(self, blocking)

    def receive(self, event: agui.Event) -> None:
        """Take the text of an event of the last run."""
        if isinstance(event, agui.TextMessageStartEvent):
            if event.role in (None, "assistant"):
                self._texts.setdefault(event.message_id, [])
                if event.subagent_run_id is not None:
                    self._foreign.add(event.message_id)
        elif isinstance(event, agui.TextMessageContentEvent) and event.message_id in self._texts:
            self._texts[event.message_id].append(event.delta)
        elif isinstance(event, agui.MessagesSnapshotEvent):
            owners = {message.id: message.subagent_run_id for message in event.messages}
            self._texts = {name: text for name, text in self._texts.items() if name in owners}
            self._foreign = {name for name in self._texts if owners[name] is not None}


class _SavedSession(BaseModel):
    """A conversation as `to_json` writes it."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    version: Literal[1] = 1
    thread_id: str
    messages: list[Message]
    state: Any
    typed_state: Any = None  # if `state` parses to another value
    interrupts: list[agui.Interrupt]
    open_tool_call_ids: list[str]


class AGUISession(Generic[StateT]):
    """Keeps a conversation and sends it with each run, as in AG-UI 1.0 (client).

    ```python
    session = AGUISession[Recipe]("http://127.0.0.1:8000/agent")
    async for event in session.send("A tomato soup, please."):  # or `for event in ...`
        ...
    session.state.servings = 6  # sent with the next run
    ```

    Reasoning and encrypted values are kept and returned untouched. The session keeps all that a
    failed run has delivered, and the interrupts stay open. A run that the agent never started
    leaves the session as it was. One run at a time.

    `AGUISession[Recipe]` reads the state as `Recipe`, or as any other type that pydantic validates;
    without a type it is JSON data. A state that the agent sends replaces changes that you make
    during a run.

    Args:
        agent: The agent, or its URL.
        thread_id: The agent's id of the conversation; a new one by default.
        messages: The messages to start with.
        state: The state to start with.
        tools: Tools that run here. The agent may call them; a turn runs on until none of their
            calls is open.
        context: Context for the agent, sent with each run.
        forwarded_props: Sent with each run as they are; application and agent agree on their
            meaning.
        on_invalid_state: Called with the error if the agent sends a state that does not fit the
            type; the keys that do not fit keep their values. Without it, the error is logged.
            States are read when you look at `state`, and at the end of each run; one that was
            replaced before is not reported.

    Raises:
        TypeError: `agent` or `context` is of another type.
    """

    _state_type: ClassVar[Any] = None

    def __class_getitem__(cls, kind: Any) -> Any:
        """Return the class whose sessions read their state as `kind`."""
        if isinstance(kind, TypeVar):  # of a class that inherits from this one
            return super().__class_getitem__(kind)  # type: ignore[misc]
        return _typed_class(cls, kind)  # type: ignore[arg-type]  # mypy does not see that classes are hashable

    def __init__(
        self,
        agent: AGUIClient | str,
        *,
        thread_id: str | None = None,
        messages: Iterable[Message] = (),
        state: StateT | None = None,
        tools: Iterable[LocalTool] = (),
        context: Sequence[agui.Context] = (),
        forwarded_props: Mapping[str, object] | None = None,
        on_invalid_state: Callable[[ValidationError], None] | None = None,
    ) -> None:
        check_type("agent", agent, AGUIClient | str)
        check_type("context", context, Sequence[agui.Context])
        self.client = AGUIClient(agent) if isinstance(agent, str) else agent
        self.thread_id = thread_id or str(uuid4())
        # The thread waits for them: nothing else can be sent before they are answered.
        self.interrupts: list[agui.Interrupt] = []
        self.context = list(context)
        self.forwarded_props = dict(forwarded_props or {})
        self.tools = LocalTools(tools)
        self._messages: list[Message] = list(messages)
        self._state: TypedState[StateT] = TypedState(self._state_type, on_invalid_state)
        if state is not None:
            self._state.set(state)
        self._open_calls: list[str] = []
        # The turn that is going on, or was abandoned and is not finalized yet.
        self._turn: Turn | None = None
        self._run: RemoteRun | None = None

    @property
    def messages(self) -> list[Message]:
        """The conversation so far, activities included. Between runs you may add to the list."""
        return self._run.messages if self._run is not None and self._run.begun else self._messages

    @property
    def state(self) -> StateT:
        """The shared state. Change it, or assign another one: it is sent with the next run.

        Raises `pydantic.ValidationError` as long as no state that fits the type has been set or
        received.
        """
        return self._state.value

    @state.setter
    def state(self, value: StateT) -> None:
        self._state.set(value)

    @property
    def pending_tool_calls(self) -> list[agui.ToolCall]:
        """The calls that the agent left to its client, without a result or an interrupt."""
        offered = {tool.name for tool in self.tools.offered}
        waiting = set(self._open_calls).difference(
            interrupt.tool_call_id for interrupt in self.interrupts
        )
        calls = open_tool_calls(self.messages).values()
        return [call for call in calls if call.id in waiting and call.function.name in offered]

    def send(self, *items: str | Message | Sequence[ContentPart]) -> Turn:
        """Send messages, and run the agent when you read the turn.

        If a local tool was stopped, its call is answered with an error first: every call must have
        its result before the thread continues (AG-UI 1.0, tools).

        Args:
            items: Texts and lists of content parts, each a user message; other messages as they
                are. Without any, the agent runs on the conversation as it is.

        Raises:
            ResumeError: The thread waits for an answer: see `resume`.
            RuntimeError: A run is active.
            TypeError: An item is something else, such as a LangChain message.
            pydantic.ValidationError: Raised when you read the turn: your changes to the state do
                not fit its type. Nothing was sent.
        """
        return self._new_turn([_message(item) for item in items], {}, ())

    def resume(self, answers: Mapping[str, object], *, cancel: Collection[str] = ()) -> Turn:
        """Answer every open interrupt, and run the agent when you read the turn.

        Args:
            answers: A payload for each, by its id, as its `response_schema` asks for it.
            cancel: The ids of those that are not answered. Expired ones can only be cancelled.

        Raises:
            ResumeError: Nothing is open, an open interrupt is left out, an answer is for none, or
                comes too late. Nothing was sent.
            RuntimeError: A run is active.
            pydantic.ValidationError: As in `send`.
        """
        self._require_idle()
        if not self.interrupts:
            raise ResumeError("interrupt_unknown", sorted({*answers, *cancel}), "Nothing is open.")
        return self._new_turn([], answers, cancel)

    def answer(
        self, call_id: str, content: str | list[ContentPart], *, error: str | None = None
    ) -> None:
        """Add the result of one of `pending_tool_calls`; it is sent with the next run.

        `error` is why the tool failed, if it did. Raises `ValueError` if the call is not pending,
        and `RuntimeError` during a run.
        """
        self._require_idle()
        if call_id not in {call.id for call in self.pending_tool_calls}:
            raise ValueError(f"No call {call_id!r} waits for a result.")
        self.messages.append(
            agui.ToolMessage(id=str(uuid4()), tool_call_id=call_id, content=content, error=error)
        )

    def connect(self) -> Turn:
        """Read the thread as the agent has it, from `POST <url>/connect`.

        A `LangGraphAgent` serves this route. No local tool runs: `pending_tool_calls` lists the
        open calls afterwards.
        """
        return Turn(partial(self._run_all, self._start_connect, run_tools=False))

    def clear(self) -> None:
        """Forget the conversation and start another one; tools, context and properties stay."""
        self._require_idle()
        self.thread_id = str(uuid4())
        self._messages, self.interrupts, self._open_calls = [], [], []
        self._state.restore({})

    def to_json(self) -> str:
        """Return thread, messages, state, and open interrupts and calls as JSON for `from_json`."""
        saved = _SavedSession(
            thread_id=self.thread_id,
            messages=self.messages,
            state=self._state.to_json(),
            typed_state=self._state.saved_value(),
            interrupts=self.interrupts,
            open_tool_call_ids=self._open_calls,
        )
        return dump_json(saved)

    @classmethod
    def from_json(cls, text: str, agent: AGUIClient | str, **options: Any) -> Self:
        """Return the conversation that `to_json` saved; `options` are for the constructor.

        Raises `ValueError` if `text` is not a saved conversation.
        """
        saved = _SavedSession.model_validate(json.loads(text))
        session = cls(agent, thread_id=saved.thread_id, messages=saved.messages, **options)
        session.interrupts = saved.interrupts
        session._open_calls = saved.open_tool_call_ids
        session._state.restore(saved.state, saved.typed_state)
        return session

    def _new_turn(
        self, messages: list[Message], answers: Mapping[str, object], cancel: Collection[str]
    ) -> Turn:
        self._require_idle()
        resume_entries(self.interrupts, answers, cancel)

        def start() -> RemoteRun:
            # Check again: an answer may have expired, or another turn may have paused.
            return self._start_run(messages, resume_entries(self.interrupts, answers, cancel))

        return Turn(partial(self._run_all, start))

    async def _run_all(
        self,
        start: Callable[[], RemoteRun],
        turn: Turn,
        blocking: bool,
        *,
        run_tools: bool = True,
    ) -> AsyncGenerator[agui.Event]:
        """Run a turn: yield the events of its runs, and run local tools between them.

        Args:
            start: Makes the first run.
            turn: The turn. It gets the runs and their events.
            blocking: Whether there is no event loop.
            run_tools: Whether local tools run, and further runs follow.
        """
        self._require_idle()
        self._turn = turn
        # The calls that have run here: they do not run again, even if a snapshot lacks their
        # results.
        answered: set[str] = set()
        try:
            run = start()
            while True:
                turn.runs.append(run)
                self._run = run
                try:
                    async with aclosing(run.read(blocking)) as events:
                        async for event in events:
                            self._receive(run, event)
                            turn.receive(event)
                            yield event
                finally:
                    self._keep(run)
                calls = self._local_calls(answered) if run_tools else []
                for call in calls:
                    result = await self.tools.run(call, blocking=blocking)
                    answered.add(call.id)
                    self.messages.append(result)  # before the next tool, which may be stopped
                if not calls or self.interrupts or self.pending_tool_calls:
                    return
                try:
                    self.client.limits.check_tool_rounds(len(turn.runs))
                except AgentError as error:
                    error.messages, error.state = self.messages, run.state
                    raise
                run = self._start_run()
        finally:
            if self._turn is turn:  # else it was abandoned, and another turn has started
                self._turn = None

    def _start_run(
        self, messages: Sequence[Message] = (), resume: Sequence[agui.ResumeEntry] = ()
    ) -> RemoteRun:
        """Return the next run. New messages come after errors for the calls of stopped tools."""
        answered = {
            message.tool_call_id for message in messages if isinstance(message, agui.ToolMessage)
        }
        stopped = (
            [interrupted_result(call) for call in self._local_calls(answered)] if messages else []
        )
        return self.client.run(self._input([*stopped, *messages], resume))

    def _start_connect(self) -> RemoteRun:
        return self.client.connect(self._input((), ()))

    def _local_calls(self, answered: Collection[str]) -> list[agui.ToolCall]:
        pending = [call for call in self.pending_tool_calls if call.id not in answered]
        return [call for call in pending if call.function.name in self.tools.names]

    def _input(
        self, messages: Sequence[Message], resume: Sequence[agui.ResumeEntry]
    ) -> agui.RunAgentInput:
        return agui.RunAgentInput(
            thread_id=self.thread_id,
            run_id=str(uuid4()),
            messages=[*self.messages, *messages],
            state=self._state.commit(),
            tools=self.tools.offered,
            context=self.context,
            forwarded_props=self.forwarded_props,
            resume=list(resume) or None,
        )

    def _receive(self, run: RemoteRun, event: agui.Event) -> None:
        """Take the state, interrupts and open calls from an event of `run`."""
        if isinstance(event, agui.StateSnapshotEvent | agui.StateDeltaEvent):
            self._state.receive(run.state)
        elif isinstance(event, agui.RunFinishedEvent):
            self.interrupts = run.interrupts
            self._open_calls = run.open_call_ids

    def _require_idle(self) -> None:
        """Raise `RuntimeError` if a turn is going on. An abandoned one is over."""
        if self._turn is None:
            return
        if not self._turn.abandoned:
            raise RuntimeError("A turn of this session is still running; finish or leave it first.")
        self._turn = None
        if self._run is not None:
            self._keep(self._run)

    def _keep(self, run: RemoteRun) -> None:
        """Keep the messages and state of a run that is over, unless that is done."""
        if self._run is run:
            self._run = None
            if run.begun:
                self._messages = run.whole_messages
            self._state.read()


@cache
def _typed_class(cls: type[AGUISession[Any]], kind: Any) -> type[AGUISession[Any]]:
    fields = {"_state_type": None if kind is Any else kind, "__doc__": cls.__doc__}
    return type(f"{cls.__name__}[{getattr(kind, '__name__', kind)}]", (cls,), fields)


def _message(item: str | Message | Sequence[ContentPart]) -> Message:
    if isinstance(item, _MESSAGE_TYPES):
        return cast("Message", item)
    try:
        return agui.UserMessage(id=str(uuid4()), content=item if isinstance(item, str) else [*item])
    except (TypeError, ValidationError) as error:
        wanted = "texts, lists of content parts and messages of `ag_ui.core`"
        raise TypeError(f"`send` takes {wanted}; this is a {type(item).__name__}.") from error
