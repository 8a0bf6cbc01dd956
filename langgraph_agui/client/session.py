"""`AGUISession`: one conversation with a remote agent.

In: what the user says, answers and changes. Out: the events of the runs; beside them the messages, the state and the
open interrupts, which are what the next run is sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, ClassVar, Final, Generic, Literal, Self, TypeVar
from uuid import uuid4

from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    ContentPart,
    Context,
    DeveloperMessage,
    Event,
    Interrupt,
    Message,
    ReasoningMessage,
    ResumeEntry,
    RunAgentInput,
    RunFinishedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from langgraph_agui.client.agent import AGUIClient
from langgraph_agui.client.errors import ResumeError
from langgraph_agui.client.remote_run import RemoteRun
from langgraph_agui.client.resuming import resume_entries
from langgraph_agui.client.tools import LocalTool, LocalTools, interrupted
from langgraph_agui.client.turn import Turn
from langgraph_agui.client.typed_state import StateT, TypedState
from langgraph_agui.protocol.jsonable import to_jsonable

_MESSAGES: Final = (
    DeveloperMessage | SystemMessage | UserMessage | AssistantMessage | ToolMessage | ReasoningMessage | ActivityMessage
)


class _Saved(BaseModel):
    """A conversation as `to_json` writes it."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True)

    version: Literal[1] = 1
    thread_id: str
    messages: list[Message]
    state: Any
    typed_state: Any = None
    """What the state is read as, if `state` does not tell."""
    interrupts: list[Interrupt]
    open_tool_call_ids: list[str]


class AGUISession(Generic[StateT]):
    """Keeps a conversation as the reference client does, and sends all of it with each run (AG-UI 1.0, client).

    ```python
    session = AGUISession[Recipe]("http://127.0.0.1:8000/agent")
    async for event in session.send("A tomato soup, please."):  # or `for event in ...`
        ...
    session.state.servings = 6  # sent with the next run
    ```

    Reasoning and encrypted values are kept and returned untouched. A run that failed keeps what it had delivered, and
    leaves the interrupts open; one that the agent never began leaves all as it was. One run at a time.

    `AGUISession[Recipe]` reads the state as `Recipe`, or whatever else pydantic validates; without a type it is JSON
    data. What the agent sends goes before what is changed in the state while a run is going on.

    Args:
        agent: The agent, or its URL.
        thread_id: The conversation's name at the agent; a new one by default.
        messages: What has been said.
        state: The state to begin with.
        tools: Tools that run here. The agent may call them; a turn goes on until none of their calls is open.
        context: What the application tells of itself with each run.
        forwarded_props: What else is sent with each run; its meaning is between application and agent.
        on_invalid_state: Is given what is wrong with a state that the agent sent and that does not fit the type: keys
            that do not fit stay as they were. Without it, that is logged. States are read when you look at `state`, and
            at the end of each run: nothing is told of one that was replaced before.
    """

    _state_type: ClassVar[Any] = None

    def __class_getitem__(cls, kind: Any) -> Any:
        """Return the class whose sessions read their state as `kind`."""
        if isinstance(kind, TypeVar):  # of a class that inherits from this one
            return super().__class_getitem__(kind)  # type: ignore[misc]
        return _typed(cls, kind)  # type: ignore[arg-type]  # mypy does not take generic classes for hashable

    def __init__(
        self,
        agent: AGUIClient | str,
        *,
        thread_id: str | None = None,
        messages: Iterable[Message] = (),
        state: StateT | None = None,
        tools: Iterable[LocalTool] = (),
        context: Sequence[Context] = (),
        forwarded_props: Mapping[str, object] | None = None,
        on_invalid_state: Callable[[ValidationError], None] | None = None,
    ) -> None:
        self.client = AGUIClient(agent) if isinstance(agent, str) else agent
        self.thread_id = thread_id or str(uuid4())
        self.interrupts: list[Interrupt] = []
        """What the thread waits for: nothing else can be sent before it is answered."""
        self.context = list(context)
        self.forwarded_props = dict(forwarded_props or {})
        self.tools = LocalTools(tools)
        self._messages: list[Message] = list(messages)
        self._state: TypedState[StateT] = TypedState(self._state_type, on_invalid_state)
        if state is not None:
            self._state.set(state)
        self._open_calls: list[str] = []
        self._reader: Turn | None = None
        """The turn that is going on, or was left and is not cleaned up yet."""
        self._run: RemoteRun | None = None

    @property
    def messages(self) -> list[Message]:
        """The conversation, activities included; while a run is going on, as far as it has come.

        Between runs the list is yours to add to.
        """
        return self._run.messages if self._run is not None and self._run.begun else self._messages

    @property
    def state(self) -> StateT:
        """The shared state. What you change in it, or put in its place, is sent with the next run.

        Raises `pydantic.ValidationError` as long as no state has been set or sent that fits the type.
        """
        return self._state.value

    @state.setter
    def state(self, value: StateT) -> None:
        self._state.set(value)

    @property
    def pending_tool_calls(self) -> list[ToolCall]:
        """The calls that the agent has left to its client, that nobody has answered yet and no interrupt asks about."""
        messages, offered = self.messages, {tool.name for tool in self.tools.offered}
        settled = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
        settled |= {interrupt.tool_call_id for interrupt in self.interrupts if interrupt.tool_call_id}
        return [
            call
            for message in messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls or ()
            if call.id in self._open_calls and call.id not in settled and call.function.name in offered
        ]

    def send(self, *said: str | Message | Sequence[ContentPart]) -> Turn:
        """Say something, and let the agent run.

        Calls of tools that run here and were stopped are answered before it, with an error: every call must have its
        result before the thread goes on (AG-UI 1.0, tools).

        Args:
            said: Texts and lists of content parts, each a user message; other messages as they are. Nothing: the agent
                runs on what there is.

        Raises:
            ResumeError: The thread waits for an answer: see `resume`.
            RuntimeError: A run is going on.
            TypeError: Something else is said, such as a LangChain message.
            pydantic.ValidationError: When the turn is read: what was changed in the state does not fit its type.
                Nothing was sent.
        """
        return self._turn([_message(one) for one in said], {}, ())

    def resume(self, answers: Mapping[str, object], *, cancel: Collection[str] = ()) -> Turn:
        """Answer every open interrupt, and let the agent go on.

        Args:
            answers: A payload for each, by its id, as its `response_schema` asks for it.
            cancel: The ids of those that are not answered. Expired ones can only be cancelled.

        Raises:
            ResumeError: Nothing is open, an open interrupt is left out, an answer is for none, or comes too late.
                Nothing was sent.
            RuntimeError: A run is going on.
            pydantic.ValidationError: As of `send`.
        """
        turn = self._turn([], answers, cancel)
        if not self.interrupts:
            raise ResumeError("interrupt_unknown", [], "Nothing is open.")
        return turn

    def answer(self, call_id: str, content: str | list[ContentPart], *, error: str | None = None) -> None:
        """Add the result of one of `pending_tool_calls`; it is sent with the next run.

        Raises `ValueError` if nobody waits for it, `RuntimeError` while a run is going on. `error` says that the tool
        has failed, and why.
        """
        self._idle()
        if call_id not in {call.id for call in self.pending_tool_calls}:
            raise ValueError(f"No call {call_id!r} waits for a result.")
        self.messages.append(ToolMessage(id=str(uuid4()), tool_call_id=call_id, content=content, error=error))

    def connect(self) -> Turn:
        """Read the thread as the agent has it, where it can tell: a `LangGraphAgent` can (`POST <url>/connect`).

        No local tool runs: calls that are open are in `pending_tool_calls` afterwards.
        """
        return Turn(self, lambda: self.client.connect(self._input((), ())), LocalTools())

    def clear(self) -> None:
        """Forget the conversation and begin another one; tools, context and properties stay."""
        self._idle()
        self.thread_id = str(uuid4())
        self._messages, self.interrupts, self._open_calls = [], [], []
        self._state.clear()

    def to_json(self) -> str:
        """The conversation as JSON, for `from_json`: thread, messages, state and what is open, and nothing else."""
        saved = _Saved(
            thread_id=self.thread_id,
            messages=self.messages,
            state=self._state.sent(),
            typed_state=self._state.kept(),
            interrupts=self.interrupts,
            open_tool_call_ids=self._open_calls,
        )
        return json.dumps(to_jsonable(saved), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, agent: AGUIClient | str, **options: Any) -> Self:
        """Return a conversation that `to_json` has kept; `options` are those of the class.

        Raises `ValueError` if `text` is none.
        """
        saved = _Saved.model_validate(json.loads(text))
        session = cls(agent, thread_id=saved.thread_id, messages=saved.messages, **options)
        session.interrupts = saved.interrupts
        session._open_calls = saved.open_tool_call_ids
        session._state.restore(saved.state, saved.typed_state)
        return session

    def _turn(self, said: list[Message], answers: Mapping[str, object], cancel: Collection[str]) -> Turn:
        self._idle()
        resume_entries(self.interrupts, answers, cancel)
        # Once more when the turn begins: an answer may have expired by then, a turn before it may have paused.
        return Turn(self, lambda: self.begin(said, resume_entries(self.interrupts, answers, cancel)), self.tools)

    def begin(self, said: Sequence[Message] = (), resume: Sequence[ResumeEntry] = ()) -> RemoteRun:
        """The next run on what there is; used by `Turn`, which tells what comes of it."""
        return self.client.run(self._input([*self._given_up(said), *said], resume))

    @contextmanager
    def taken(self, turn: Turn) -> Iterator[None]:
        """Hold the session: nothing else can be sent; used by `Turn`."""
        self._idle()
        self._reader = turn
        try:
            yield
        finally:
            if self._reader is turn:  # else it was left, and another one has begun
                self._reader = None

    @contextmanager
    def reading(self, run: RemoteRun) -> Iterator[None]:
        """Tell of `run` while it is read, then keep what it has delivered; used by `Turn`."""
        self._run = run
        try:
            yield
        finally:
            if self._run is run:
                self._keep(run)

    def take(self, run: RemoteRun, event: Event) -> None:
        """Keep what an event of `run` changes beside the messages; used by `Turn`."""
        if isinstance(event, StateSnapshotEvent | StateDeltaEvent):
            self._state.hear(run.state)
        elif isinstance(event, RunFinishedEvent):
            self.interrupts = run.interrupts
            self._open_calls = [] if run.outcome == "cancelled" else _open_calls(run)

    def _input(self, said: Sequence[Message], resume: Sequence[ResumeEntry]) -> RunAgentInput:
        return RunAgentInput(
            thread_id=self.thread_id,
            run_id=str(uuid4()),
            messages=[*self.messages, *said],
            state=self._state.send(),
            tools=self.tools.offered,
            context=self.context,
            forwarded_props=self.forwarded_props,
            resume=list(resume) or None,
        )

    def _given_up(self, said: Sequence[Message]) -> list[ToolMessage]:
        """Results for the calls of local tools that were stopped, if something is said and does not answer them."""
        told = {one.tool_call_id for one in said if isinstance(one, ToolMessage)}
        calls = self.tools.mine(self.pending_tool_calls) if said else []
        return [interrupted(call) for call in calls if call.id not in told]

    def _idle(self) -> None:
        """Refuse to go on beside a turn; one that nobody can read on is over, though Python may not have closed it."""
        if self._reader is None:
            return
        if not self._reader.abandoned:
            raise RuntimeError("A turn of this session is going on; finish or leave it first.")
        self._reader = None
        if self._run is not None:
            self._keep(self._run)

    def _keep(self, run: RemoteRun) -> None:
        """Keep what a run that is over has delivered."""
        self._run = None
        if run.begun:
            self._messages = run.messages
        self._state.read()


@cache
def _typed(cls: type[AGUISession[Any]], kind: Any) -> type[AGUISession[Any]]:
    fields = {"_state_type": None if kind is Any else kind, "__doc__": cls.__doc__}
    return type(f"{cls.__name__}[{getattr(kind, '__name__', kind)}]", (cls,), fields)


def _open_calls(run: RemoteRun) -> list[str]:
    """The calls that a run has left open, and those at the end of the conversation, which it may have inherited.

    A run that goes on after an approval, or that only reads the thread, does not name calls that it did not start.
    """
    last = next((one for one in reversed(run.messages) if isinstance(one, AssistantMessage | UserMessage)), None)
    at_end = [call.id for call in last.tool_calls or ()] if isinstance(last, AssistantMessage) else []
    return list(dict.fromkeys([*run.pending_tool_call_ids, *at_end]))


def _message(said: str | Message | Sequence[ContentPart]) -> Message:
    if isinstance(said, str):
        return UserMessage(id=str(uuid4()), content=said)
    if isinstance(said, _MESSAGES):
        return said
    try:
        return UserMessage(id=str(uuid4()), content=[*said])
    except (TypeError, ValidationError) as error:
        wanted = "texts, lists of content parts and messages of `ag_ui.core`"
        raise TypeError(f"`send` takes {wanted}; this is a {type(said).__name__}.") from error
