"""The input of a run: what of the client's messages, state and answers goes into the graph.

`RunAgentInput` and the thread's checkpoint enter, the graph's input leaves; whatever does not fit is refused here,
before anything runs. With a checkpointer the server owns the history: only new user messages and results of open
calls are taken from the client. Without one the client does, and its whole history is the input.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ag_ui.core import Message, ResumeEntry, RunAgentInput, ToolMessage, UserMessage
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Overwrite, StateSnapshot

from langgraph_agui.errors import ErrorCode, RunInputError, StateError
from langgraph_agui.graphs import Graph, has_checkpointer, input_form, input_names, reduces
from langgraph_agui.messages.calls import interrupted
from langgraph_agui.messages.found import as_mapping, messages_in
from langgraph_agui.protocol.jsonable import to_jsonable
from langgraph_agui.translate.interrupts import BREAKPOINT_ID

logger = logging.getLogger(__name__)

Rebuild: TypeAlias = Callable[[Sequence[Message]], list[BaseMessage]]
"""Makes LangChain messages of a client's."""

Show: TypeAlias = Callable[[object], object]
"""Makes of a channel's value what a client may see of it, as JSON data."""


class Start(NamedTuple):
    """How a run begins.

    `input` goes to the graph; `idle` says that there is nothing to run. `thread` are the messages of the checkpoint.
    """

    input: object
    idle: bool = False
    thread: Sequence[BaseMessage] = ()


async def prepare(
    graph: Graph,
    run_input: RunAgentInput,
    config: RunnableConfig,
    messages_key: str,
    rebuild: Rebuild,
    show: Show = to_jsonable,
) -> Start:
    """Return how the run begins.

    Raises:
        RunInputError: The input answers what is not asked, does not answer what is, or fits no input of the graph.
        StateError: The checkpoint could not be read.
    """
    if not has_checkpointer(graph):
        if run_input.resume:
            raise RunInputError(ErrorCode.INTERRUPT_UNKNOWN)
        return Start(_input(graph, run_input, _complete(rebuild(run_input.messages)), messages_key, {}))
    try:
        stored = await graph.aget_state(config)
    except Exception as error:
        raise StateError from error
    return _from_thread(graph, run_input, stored, messages_key, rebuild, show)


def _from_thread(
    graph: Graph, run_input: RunAgentInput, stored: StateSnapshot, messages_key: str, rebuild: Rebuild, show: Show
) -> Start:
    values = as_mapping(stored.values) or {}
    thread = messages_in(values, messages_key)
    if (answer := _resume(run_input.resume or (), stored)) is not None:
        return Start(answer if answer.resume else None, thread=thread)
    state = run_input.state if isinstance(run_input.state, Mapping) else {}
    held = {key: show(values[key]) for key in values if key in state}
    for key, shown in held.items():
        if shown != state[key] and shown != to_jsonable(values[key]):
            # The client has only ever seen it without its reasoning: what it writes would delete that.
            raise RunInputError(ErrorCode.INVALID_INPUT, f"The state {key!r} holds hidden reasoning; it is read-only.")
    if input_form(graph) != "keys":
        return Start(_input(graph, run_input, _complete(rebuild(run_input.messages)), messages_key, held))
    fresh = rebuild(_new(run_input.messages, thread))
    graph_input = _input(graph, run_input, fresh, messages_key, held)
    # A conversation with nothing new has its answer already; a graph without one is run because it was asked to.
    answered = stored.created_at is not None and messages_key in (input_names(graph) or ())
    return Start(graph_input, idle=answered and not graph_input, thread=thread)


def _resume(entries: Sequence[ResumeEntry], stored: StateSnapshot) -> Command[str] | None:
    """The answers to the open interrupts, keyed by id; None if nothing is open. Empty for a breakpoint."""
    asked = {interrupt.id for interrupt in stored.interrupts}
    if not asked and stored.next and any(entry.interrupt_id == BREAKPOINT_ID for entry in entries):
        asked = {BREAKPOINT_ID}
    given = [entry.interrupt_id for entry in entries]
    if unknown := set(given) - asked:
        raise RunInputError(ErrorCode.INTERRUPT_UNKNOWN, f"No open interrupt has the id {min(unknown)!r}.")
    if missing := asked - set(given):
        raise RunInputError(ErrorCode.INTERRUPT_UNANSWERED, f"The interrupt {min(missing)!r} is not answered.")
    if len(given) != len(asked):
        raise RunInputError(ErrorCode.INVALID_INPUT, "An interrupt is answered more than once.")
    if any(entry.status == "cancelled" for entry in entries):
        raise RunInputError(ErrorCode.INVALID_INPUT, "This agent cannot cancel an interrupt; answer it.")
    if not asked:
        return None
    return Command(resume={entry.interrupt_id: entry.payload for entry in entries if asked != {BREAKPOINT_ID}})


def _new(messages: Sequence[Message], thread: Sequence[BaseMessage]) -> list[Message]:
    """The client's messages that the thread has yet to hear: user messages, and results of its open calls.

    A user message is new behind the last one that the thread knows; what the graph has removed before that stays so.
    Of a client that shares no message with the thread, the last user messages are new.
    """
    known = {message.id for message in thread}
    calls = {call["id"] for message in thread if isinstance(message, AIMessage) for call in message.tool_calls}
    calls -= {message.tool_call_id for message in thread if isinstance(message, LCToolMessage)}
    settled = [place for place, message in enumerate(messages) if message.id in known]
    settled = settled or [place for place, message in enumerate(messages) if not isinstance(message, UserMessage)]
    last = max(settled, default=-1)
    return [
        message
        for place, message in enumerate(messages)
        if message.id not in known
        and (
            (isinstance(message, UserMessage) and place > last)
            or (isinstance(message, ToolMessage) and message.tool_call_id in calls)
        )
    ]


def _complete(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Answer the calls that nobody has answered though the conversation has gone on, and leave out results of no call.

    Providers refuse such a history. A run that was stopped, or has failed, leaves the former, a client that forgets the
    latter. The calls at the end may still be answered by the graph.
    """
    results = {message.tool_call_id for message in messages if isinstance(message, LCToolMessage)}
    complete: list[BaseMessage] = []
    called: set[str | None] = set()
    waiting: list[ToolCall] = []
    for message in messages:
        if isinstance(message, LCToolMessage):
            if message.tool_call_id not in called:
                logger.warning("The result of an unknown call was left out: %r.", message.tool_call_id)
                continue
        else:
            complete += [interrupted(call["id"] or "", call["name"]) for call in waiting]
            calls = message.tool_calls if isinstance(message, AIMessage) else ()
            called.update(call["id"] for call in calls)
            waiting = [call for call in calls if call["id"] not in results]
        complete.append(message)
    return complete


def _input(
    graph: Graph,
    run_input: RunAgentInput,
    messages: Sequence[BaseMessage],
    messages_key: str,
    held: Mapping[str, object],
) -> object:
    """The graph's input; `held` is what the thread's channels look like to the client that sent its state."""
    form = input_form(graph)
    if form == "messages":
        return messages
    if form == "text":
        return next((str(message.text) for message in reversed(messages) if message.type == "human"), "")
    names = input_names(graph)
    state = run_input.state if isinstance(run_input.state, Mapping) else {}
    values: dict[str, object] = {}
    for key, value in state.items():
        if key == messages_key or (names is not None and key not in names):
            continue
        if key not in held:
            values[key] = value
        elif held[key] != value:
            values[key] = Overwrite(value) if reduces(graph, key) else value
    if messages and (names is None or messages_key in names):
        values[messages_key] = messages
    return values
