"""New messages of a client for a thread that the server owns, and conversations without gaps.

A client's messages are understood by their ids, never by counts.

The client's list and the thread's messages enter; the new messages leave, or the place to run again
from. A message with an id that the thread does not know is new if it is a user message, or
the result of a call that the thread holds open. A list that ends with a known user message, without
the answer to it, means "run again from there", with other content "edit and fork". Everything else
is known already, was removed by the graph, or is forged.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile
from typing import cast

from ag_ui import core as agui
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolCall,
    ToolMessage,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from langgraph_agui.graphs import Thread
from langgraph_agui.graphs.past import PastMessages
from langgraph_agui.kernel.errors import ErrorCode, RunInputError
from langgraph_agui.kernel.quoting import quoted, quoted_list
from langgraph_agui.kernel.telemetry import count_dropped, run_logger
from langgraph_agui.messages.content import (
    SettlingResult,
    caller_id,
    interrupted,
    is_unanswered,
    own_call_id,
    unanswered,
    unanswered_calls,
)
from langgraph_agui.messages.extract import extract_other_results
from langgraph_agui.messages.server_tools import without_server_tools
from langgraph_agui.messages.to_agui import langchain_messages_to_agui

logger = run_logger(__name__)


def last_asked(client: Sequence[agui.Message]) -> agui.UserMessage | None:
    """Return the user message at the end of a client's list; None if an answer or result follows.

    Only such a list can ask for a run from a message that the thread has had. An earlier message
    that differs was not edited by the user: the client has missed a change of the graph's (a
    redaction, a summary) or shows the message no longer. Reasoning, activities and messages of
    subagents may remain of an answer that the client has taken away.
    """
    hidden = agui.ActivityMessage | agui.ReasoningMessage
    said = (
        one
        for one in reversed(client)
        if one.subagent_run_id is None and not isinstance(one, hidden)
    )
    last = next(said, None)
    return last if isinstance(last, agui.UserMessage) else None


def visible_in(
    thread: Sequence[BaseMessage],
) -> list[agui.UserMessage | agui.AssistantMessage | agui.ToolMessage]:
    """Return the messages of a thread that clients show and graphs know: no reasoning, no empty
    answer, no tool that a provider has run.
    """
    said = [
        one
        for one in without_server_tools(langchain_messages_to_agui(thread))
        if isinstance(one, agui.UserMessage | agui.AssistantMessage | agui.ToolMessage)
    ]
    return [
        one
        for one in said
        if one.content or (isinstance(one, agui.AssistantMessage) and one.tool_calls)
    ]


def holds(client: Sequence[agui.Message], message: agui.Message) -> bool:
    """Return whether a client's list has a message of the thread, maybe under another id."""
    return any(_is_same(one, message) for one in client)


def lacks(client: Sequence[agui.Message], messages: Sequence[BaseMessage], thread: Thread) -> bool:
    """Return whether a client lacks any of these messages, by id and by words.

    False for a client without messages of the thread, or with a single message: it may send only
    what is new.

    Args:
        client: The client's messages.
        messages: Messages of the thread, now or earlier.
        thread: The thread.
    """
    said = [
        one
        for one in client
        if isinstance(one, agui.UserMessage | agui.AssistantMessage | agui.ToolMessage)
    ]
    if len(said) < 2:
        return False
    ids = {one.id for one in said}
    known = {message.id for message in thread.messages}
    # Other messages of the thread may have the same words.
    unknown = [one for one in said if one.id not in known and one.id not in thread.past]
    words = {_words(one) for one in unknown} - {None}

    def is_held(message: BaseMessage) -> bool:
        return message.id in ids or all(_words(one) in words for one in visible_in([message]))

    # The newest first: it is lacked most often.
    if all(map(is_held, reversed(messages))):
        return False
    if len(unknown) < len(said):
        return True
    return any(_words(one) in words for one in visible_in(thread.messages))


def has_seen(
    client: Sequence[agui.Message], thread: Sequence[BaseMessage], calls: Collection[str]
) -> bool:
    """Return whether a client's messages reach up to the thread's last one, and show these calls.

    If not, it may have sent the answer to an earlier question again. True if the client sends none
    of the agent's messages.

    Args:
        client: The client's messages.
        thread: The thread's messages.
        calls: The ids of calls that wait for an approval, the main agent's or a subagent's.
    """
    held = [one for one in client if isinstance(one, agui.AssistantMessage | agui.ToolMessage)]
    if not held:
        return True
    turn = last_turn(thread)
    seen = visible_in(turn)
    visible = {call for message in seen for call in _call_ids(message)}
    hidden = {call["id"] for call in calls_in(turn)} - visible
    answers = [one for one in seen if isinstance(one, agui.AssistantMessage)]
    results = [
        one for one in seen if isinstance(one, agui.ToolMessage) and one.tool_call_id not in hidden
    ]
    newest: list[agui.Message] = [*answers[-1:], *results[-1:]]
    if not all(holds(held, one) for one in newest):
        return False
    known = {call for message in held for call in _call_ids(message)}
    return known.issuperset(set(calls) - hidden)


def _is_same(one: agui.Message, other: agui.Message) -> bool:
    """Return whether a client's message is this one of the thread, maybe under another id.

    Nodes may return a message under another id than the one that was shown.
    """
    if one.id == other.id:
        return True
    if type(one) is not type(other):
        return False
    words = _words(one)
    return words is not None and words == _words(other)


def _words(message: agui.Message) -> object:
    """Return a key by which a message is the same under another id; None if only ids count."""
    if isinstance(message, agui.ToolMessage):
        return message.tool_call_id
    if isinstance(message, agui.AssistantMessage):
        return (message.content or "", *_call_ids(message))
    return None


def _call_ids(message: agui.Message) -> list[str]:
    """Return the model's ids of the calls of a client's message."""
    calls = message.tool_calls if isinstance(message, agui.AssistantMessage) else None
    return [own_call_id(call.id, message.id) for call in calls or ()]


def last_turn(thread: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """Return the messages of a thread from its last user message on; all, if it has none."""
    behind = [*takewhile(lambda message: message.type != "human", reversed(thread))]
    return thread[max(0, len(thread) - len(behind) - 1) :]


def calls_in(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """Return the tool calls of messages, in order."""
    return [
        call
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]


def start_of_new(
    client: Sequence[agui.Message],
    before: Sequence[BaseMessage],
    thread: Sequence[BaseMessage] = (),
) -> int:
    """Return the index in a client's list of the first message that came with its answers.

    Args:
        client: The client's messages.
        before: The messages of the thread when it was paused.
        thread: Its messages now.
    """
    known = {message.id for message in (*before, *thread)}
    settled = [
        index
        for index, message in enumerate(client)
        if message.id in known
        or message.subagent_run_id is not None
        or not isinstance(message, agui.UserMessage | agui.ToolMessage)
    ]
    if settled:
        return settled[-1] + 1
    # The client sends only new messages, or the graph has removed all that the client has.
    return 0 if before else len(client)


def new_messages(
    client: Sequence[agui.Message],
    thread: Sequence[BaseMessage],
    open_calls: Collection[str | None],
    *,
    instructions: bool,
    past: PastMessages | None,
    postponed: Collection[str] = (),
) -> list[agui.Message]:
    """Return the messages to append to the thread, in the client's order.

    A user message is new if no run of the thread has taken it, nothing behind it answers it, and
    the thread knows no message behind it. So a message that the graph has removed stays removed,
    whether or not its client knows that.

    Args:
        client: The client's messages.
        thread: The thread's.
        open_calls: The model's ids of the calls that the client may answer.
        instructions: Whether system and developer messages are accepted.
        past: The messages that the thread has had; None if the server does not know the thread:
            then all user messages are new.
        postponed: Ids of messages that came with answers and have not run yet: they are new
            wherever they stand.

    Raises:
        RunInputError: Two new messages have one id (`invalid_input`).
    """
    known = {message.id for message in thread}
    accepted = ("user", "system", "developer") if instructions else ("user",)

    def is_open(one: agui.Message) -> bool:
        return one.id not in known and one.role not in ("assistant", "reasoning")

    start = len(client) - len([*takewhile(is_open, reversed(client))])

    def is_new(index: int, message_id: str) -> bool:
        if past is None or message_id in postponed or past.is_unread(message_id):
            return True
        return index >= start and message_id not in past

    shown = _shown_calls(client) if open_calls else {}
    waiting: dict[str, str] = {}
    for own_id in filter(None, open_calls):
        # A client may send only what is new.
        made = f"{caller_id(thread, own_id)}:{own_id}"
        waiting.update(dict.fromkeys(shown.get(own_id) or [own_id, made], own_id))
    new: list[agui.Message] = []
    unknown = [(index, one) for index, one in enumerate(client) if one.id not in known]
    for index, message in unknown:
        # Messages of subagents are not the thread's.
        if message.subagent_run_id is not None:
            continue
        if message.role in accepted and is_new(index, message.id):
            new.append(message)
        elif (
            isinstance(message, agui.ToolMessage)
            and message.tool_call_id in waiting
            and not is_unanswered(message)
        ):
            own_id = waiting.pop(message.tool_call_id)
            new.append(message.model_copy(update={"tool_call_id": own_id}))
    return _each_once(new)


def _each_once(messages: Sequence[agui.Message]) -> list[agui.Message]:
    """Return each message once. Raise `RunInputError` if two have one id: one of them would be
    lost.
    """
    by_id: dict[str, agui.Message] = {}
    for message in messages:
        if by_id.setdefault(message.id, message) != message:
            raise RunInputError(
                ErrorCode.INVALID_INPUT,
                f"Two new messages have the id {quoted(message.id)}. Give each an id of its own.",
            )
    return [*by_id.values()]


def _shown_calls(client: Sequence[agui.Message]) -> dict[str, list[str]]:
    """Return the client's ids of calls, by the model's: of one id, those of the last message."""
    shown: dict[str, list[str]] = {}
    for message in client:
        if isinstance(message, agui.AssistantMessage) and message.subagent_run_id is None:
            of_message: defaultdict[str, list[str]] = defaultdict(list)
            for call in message.tool_calls or ():
                of_message[own_call_id(call.id, message.id)].append(call.id)
            shown.update(of_message)
    return shown


# -- gaps ----------------------------------------------------------------------------------------
#
# A run that was killed, stopped or has failed leaves calls without results, a client that forgets
# leaves results without calls. Providers refuse both, and the thread could never run again.


def close_gaps(
    messages: Sequence[BaseMessage],
    answer: SettlingResult = interrupted,
    answered: Collection[str | None] = (),
) -> list[BaseMessage]:
    """Return a conversation with its gaps closed.

    A call that is unanswered though the conversation has gone on gets a result; a result that came
    too late goes behind its call; a result without an open call is left out. The calls at the end
    may still be answered.

    Args:
        messages: The conversation.
        answer: Makes the missing results.
        answered: Calls whose results the graph keeps elsewhere.
    """
    if not any(map(_has_gaps, messages)):
        return list(messages)
    found = _find_results(messages)
    used = {place for places in found.values() for place in places}
    result: list[BaseMessage] = []
    left_out: list[str] = []
    last = max(
        (index for index, message in enumerate(messages) if not isinstance(message, ToolMessage)),
        default=-1,
    )
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if index not in used:
                left_out.append(message.tool_call_id)
            continue
        result.append(message)
        if not isinstance(message, AIMessage):
            continue
        result += [messages[place] for place in found[index]]
        if index < last:
            for call in _without_result(message, messages, found[index]):
                if call["id"] not in answered:
                    result.append(answer(call["id"] or "", call["name"], message.id or ""))
    if left_out:
        logger.warning("Results that answer no open call were left out: %s.", quoted_list(left_out))
        count_dropped("tool_result", len(left_out))
    return result


def _has_gaps(message: BaseMessage) -> bool:
    """Return whether a message has calls, or is a result."""
    if type(message) is HumanMessage:  # a look at other classes is slow
        return False
    if isinstance(message, AIMessage):
        return bool(message.tool_calls)
    return isinstance(message, ToolMessage)


def results_elsewhere(thread: Thread, key: str) -> dict[str, ToolMessage]:
    """Return results in other channels of a thread than that of its messages, by call id."""
    others = extract_other_results(thread.state.values, key)
    return {message.tool_call_id: message for message in others}


def shown_thread(
    thread: Thread, key: str, own_tools: Collection[str], client_tools: Collection[str]
) -> Thread:
    """Return a thread with the messages that its runs have shown.

    If the thread has ended, each call has a result, but those at the end that are for the client.

    Args:
        thread: The thread.
        key: The channel of its messages.
        own_tools: The tools that no client runs.
        client_tools: Those that the client runs: it also answers calls whose arguments are no JSON.
    """
    messages = thread.messages
    answers = [message for message in messages if isinstance(message, AIMessage)]
    if not thread.has_ended or not any(
        message.tool_calls or message.invalid_tool_calls for message in answers
    ):
        return thread
    found = _find_results(messages)
    left = {call["id"] for call in unanswered_calls(messages, at_end=True)}
    results = results_elsewhere(thread, key)
    shown: list[BaseMessage] = []
    waiting: list[BaseMessage] = []
    for index, message in enumerate(messages):
        if not isinstance(message, ToolMessage):
            shown += waiting
            waiting = []
        shown.append(message)
        if not isinstance(message, AIMessage):
            continue
        for call in _without_result(message, messages, found[index]):
            call_id, name = call["id"] or "", call["name"]
            if call_id in results:
                waiting.append(results[call_id])
            elif call_id not in left or name in own_tools:
                waiting.append(unanswered(call_id, name, message.id or ""))
        answered = {cast("ToolMessage", messages[place]).tool_call_id for place in found[index]}
        for invalid in message.invalid_tool_calls:
            call_id, name = invalid["id"] or "", invalid["name"] or ""
            if call_id not in answered and name not in client_tools:
                waiting.append(unanswered(call_id, name, message.id or ""))
    return thread._replace(messages=[*shown, *waiting])


def _without_result(
    message: AIMessage, messages: Sequence[BaseMessage], results: Iterable[int]
) -> list[ToolCall]:
    """Return the calls of a message without a result at these places; of one id, the first."""
    answered = {cast("ToolMessage", messages[place]).tool_call_id for place in results}
    first: dict[str | None, ToolCall] = {}
    for call in message.tool_calls:
        first.setdefault(call["id"], call)
    return [call for call_id, call in first.items() if call_id not in answered]


def _find_results(messages: Sequence[BaseMessage]) -> dict[int, list[int]]:
    """Return the places of the results of each assistant message's calls, by its place.

    A result is for the last call of its id before it. Of several results for one call the first
    counts.
    """
    found: dict[int, list[int]] = {}
    # By id, the assistant messages whose calls of that id still have no result, since the last such
    # call.
    waiting: dict[str | None, deque[int]] = {}
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            if places := waiting.get(message.tool_call_id):
                found[places.popleft()].append(index)
        elif isinstance(message, AIMessage):
            found[index] = []
            calls = Counter(call["id"] for call in message.tool_calls)
            waiting.update((call_id, deque([index] * times)) for call_id, times in calls.items())
            for call in message.invalid_tool_calls:
                if call["id"] not in calls:
                    waiting.setdefault(call["id"], deque()).append(index)
    return found


def append_update(
    thread: Sequence[BaseMessage], whole: Sequence[BaseMessage], *, removes: bool
) -> list[BaseMessage]:
    """Return the update that turns a stored thread into the conversation `whole`.

    Args:
        thread: The stored messages.
        whole: The messages afterwards.
        removes: Whether the channel can remove messages; if not, a gap inside the thread stays.
    """
    if list(whole[: len(thread)]) == list(thread):
        return list(whole[len(thread) :])
    if removes:
        return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *whole]
    known = {id(message) for message in thread}
    return [message for message in whole if id(message) not in known]
