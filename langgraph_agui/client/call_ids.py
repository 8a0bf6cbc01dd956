"""Unique ids for tool calls, where an agent uses one id for several.

Data enters in `CallIds.receive`: the verified events of a run, before its `Fold` applies them, so
that all code behind it knows each call by an id of its own. Data leaves in `CallIds.to_agent`: the
messages of the request, whose calls have the ids again that the agent gave them.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeVar

from ag_ui import core as agui
from ag_ui.core import Event, Message
from ag_ui.core.types import GeneratedBaseModel

_Model = TypeVar("_Model", bound=GeneratedBaseModel)

# Providers take these characters in the id of a call.
_OWN_ID: Final = re.compile(r"(.*)_(\d+)_([0-9a-f]{6})", re.DOTALL)


@dataclass(slots=True, eq=False)
class _Call:
    """A call of the thread.

    Attributes:
        agents_id: Its id at the agent.
        id: Its id here.
        message: The id of its message.
        owner: The subagent run that made it.
        turn: How many messages of the user came before it.
        is_answered: Whether it has a result.
        in_run: Whether this run has announced it.
    """

    agents_id: str
    id: str
    message: str
    owner: str | None
    turn: int = 0
    is_answered: bool = False
    in_run: bool = False


class CallIds:
    """The ids of the calls in one run: those of the agent, and those of its client.

    Some models count their calls from 0 in each answer (`functions.search:0`), and some agents pass
    these ids on. The first call of the thread keeps its id. A later one gets the id
    `<id>_<number>_<check>` here: `number` counts the calls with that id, and `check` depends on the
    thread, so that no other id looks like this one. A client that reads the thread anew gives the
    same ids, and needs no memory to find the agent's id in each.

    A call is another one if it starts after the result of the last call with its id, or in another
    message. Only a run with answers may announce a call again that an earlier run left open.

    Args:
        run_input: The run's input.

    Attributes:
        messages: Its messages. Where several of their calls share an id, only the first keeps it.
    """

    def __init__(self, run_input: agui.RunAgentInput) -> None:
        self._thread_id = run_input.thread_id
        self._has_answers = bool(run_input.resume)
        # The calls that the client holds, in their order, by the agent's id.
        self._calls: defaultdict[str, list[_Call]] = defaultdict(list)
        # The call that each of the agent's ids named in its last start event.
        self._started: dict[str, _Call] = {}
        # The ids here of all calls that this run has seen, also those that a snapshot has dropped:
        # by the agent's id, the message, and the place among the calls there with the same id.
        self._known: dict[tuple[str, str, int], str] = {}
        # The highest number of a call, by the agent's id.
        self._highest: Counter[str] = Counter()
        self._turn = 0
        self.messages = self._hold(run_input.messages, self._sent_calls(run_input.messages))

    def to_agent(self) -> list[Message]:
        """Return `messages` with the agent's ids of their calls."""
        return [self._for_agent(message) for message in self.messages]

    def receive(self, event: Event) -> Event:
        """Return the next event of the run with the ids that its calls have here."""
        match event:
            case agui.TextMessageContentEvent() | agui.ReasoningMessageContentEvent():
                return event
            case agui.ToolCallArgsEvent() | agui.ToolCallEndEvent():
                return _with(event, tool_call_id=self._started[event.tool_call_id].id)
            case agui.ToolCallStartEvent():
                return _with(event, tool_call_id=self._start(event).id)
            case agui.ToolCallResultEvent(tool_call_id=call_id):
                if (call := self._open_call(call_id, event.subagent_run_id)) is None:
                    return event
                call.is_answered = True
                return _with(event, tool_call_id=call.id)
            case agui.ReasoningEncryptedValueEvent(subtype="tool-call", entity_id=call_id):
                calls = self._calls[call_id]
                return _with(event, entity_id=calls[-1].id) if calls else event
            case agui.SubagentStartedEvent(parent_tool_call_id=str(call_id)):
                [call_id] = self._open_ids([(call_id, event.parent_subagent_run_id)])
                return _with(event, parent_tool_call_id=call_id)
            case agui.MessagesSnapshotEvent(messages=messages):
                return _with(event, messages=self._hold(messages, self._found_calls(messages)))
            case agui.RunStartedEvent():
                return self._begin_run(event)
            case agui.RunFinishedEvent():
                return self._finish_run(event)
        return event

    def _begin_run(self, event: agui.RunStartedEvent) -> Event:
        held = {agents_id: [*calls] for agents_id, calls in self._calls.items()}
        for calls in held.values():
            for call in calls:
                call.in_run = False
        if event.input is None:
            return event
        messages = event.input.messages
        messages = self._hold(messages, self._found_calls(messages))
        for agents_id, calls in held.items():  # the client drops none of them
            new = [call for call in self._calls[agents_id] if call not in calls]
            self._calls[agents_id] = [*calls, *new]
        return _with(event, input=_with(event.input, messages=messages))

    def _finish_run(self, event: agui.RunFinishedEvent) -> Event:
        match event.outcome:
            case agui.RunFinishedInterruptOutcome(interrupts=interrupts) as outcome:
                ids = iter(
                    self._open_ids(
                        (one.tool_call_id, one.subagent_run_id)
                        for one in interrupts
                        if one.tool_call_id is not None
                    )
                )
                asked = [
                    one if one.tool_call_id is None else _with(one, tool_call_id=next(ids))
                    for one in interrupts
                ]
                return _with(event, outcome=_with(outcome, interrupts=asked))
            case agui.RunFinishedSuccessOutcome(pending_tool_call_ids=[*pending]) as outcome:
                own_ids = self._open_ids((call_id, None) for call_id in pending)
                return _with(event, outcome=_with(outcome, pending_tool_call_ids=own_ids))
        return event

    # -- calls ------------------------------------------------------------------------------------

    def _start(self, event: agui.ToolCallStartEvent) -> _Call:
        agents_id, parent = event.tool_call_id, event.parent_message_id or None
        calls = self._calls[agents_id]
        if not calls or self._is_another(calls[-1], parent):
            used = {call.id for call in calls}
            if parent is None:
                own_id = self._id_without_parent(agents_id, used)
            else:
                place = sum(call.message == parent for call in calls)
                own_id = self._own_id(agents_id, parent, place, used)
            message = parent or own_id
            calls.append(_Call(agents_id, own_id, message, event.subagent_run_id, self._turn))
        call = self._started[agents_id] = calls[-1]
        call.in_run = True
        return call

    def _is_another(self, last: _Call, parent: str | None) -> bool:
        """Return whether a call that starts in the message `parent` is not `last`."""
        is_elsewhere = parent is not None and parent != last.message
        if last.in_run:
            return last.is_answered or is_elsewhere
        if last.is_answered:  # in the same message, the agent sends its history again
            return parent is None or is_elsewhere
        return is_elsewhere and not self._has_answers

    def _open_call(
        self, agents_id: str, owner: str | None, taken: Collection[_Call] = ()
    ) -> _Call | None:
        """Return the call that an event names: the first open one of this run, else of the turn.

        Without an open one besides those `taken`, this is the last call with the id.
        """
        calls = self._calls[agents_id]
        open_calls = [call for call in calls if not call.is_answered and call not in taken]
        in_run = [call for call in open_calls if call.in_run]
        return _first(in_run or open_calls, owner) or (calls[-1] if calls else None)

    def _open_ids(self, named: Iterable[tuple[str, str | None]]) -> list[str]:
        """Return the ids of open calls here, by the ids and owners that the agent names."""
        taken: dict[_Call, None] = {}
        ids: list[str] = []
        for agents_id, owner in named:
            call = self._open_call(agents_id, owner, taken)
            if call is not None and call.is_answered:  # several questions are about one call
                call = next((one for one in taken if one.agents_id == agents_id), call)
            elif call is not None:
                taken[call] = None
            ids.append(agents_id if call is None else call.id)
        return ids

    # -- messages ---------------------------------------------------------------------------------

    def _sent_calls(self, messages: Iterable[Message]) -> list[_Call]:
        """Return the calls of the input's messages, in their order."""
        held = _calls_in(messages)
        split = [self._split(call.id) for _, call in held]
        for agents_id, number in split:
            self._highest[agents_id] = max(self._highest[agents_id], number)
        used: set[str] = set()
        calls = []
        for (message, call), (agents_id, _) in zip(held, split, strict=True):
            own_id = self._next_id(agents_id) if call.id in used else call.id
            used.add(own_id)
            calls.append(_Call(agents_id, own_id, message.id, message.subagent_run_id))
        return calls

    def _found_calls(self, messages: Sequence[Message]) -> list[_Call]:
        """Return the calls of the agent's messages, in their order; known ones where they fit.

        The agent may have dropped the beginning of the thread, or given its messages other ids. So
        the calls are compared from the end, and a call whose message is gone may be that of a new
        message.
        """
        held, message_ids = _calls_in(messages), {message.id for message in messages}
        unseen = {agents_id: [*calls] for agents_id, calls in self._calls.items()}
        found: list[_Call | None] = []
        for message, call in reversed(held):
            known = unseen.get(call.id, [])
            places_back = reversed(range(len(known)))
            place = next((at for at in places_back if known[at].message == message.id), None)
            if place is not None:
                found.append(known[place])
                del known[place:]
            elif known and known[-1].message not in message_ids:
                found.append(known.pop())
            else:
                found.append(None)
        used = {one.id for one in found if one is not None}
        places: Counter[tuple[str, str]] = Counter()
        calls = []
        for (message, call), one in zip(held, reversed(found), strict=True):
            key = call.id, message.id
            if one is None:
                own_id = self._own_id(*key, places[key], used)
                used.add(own_id)
                one = _Call(call.id, own_id, message.id, message.subagent_run_id)
            one.message, one.owner = message.id, message.subagent_run_id
            places[key] += 1
            calls.append(one)
        return calls

    def _hold(self, messages: Sequence[Message], calls: Sequence[_Call]) -> list[Message]:
        """Hold `calls`, those of `messages` in their order, and return the messages with their
        ids.
        """
        self._calls, self._turn = defaultdict(list), 0
        answered_in_run = [call for call in calls if call.in_run and call.is_answered]
        results, places = _Results(), Counter[tuple[str, str]]()
        next_calls = iter(calls)
        for message in messages:
            match message:
                case agui.UserMessage():
                    self._turn += 1
                    results.end_turn()
                case agui.ToolMessage():
                    results.add_result(message)
                case agui.AssistantMessage(tool_calls=[*given]):
                    for one in given:
                        call = next(next_calls)
                        key = call.agents_id, call.message
                        self._known[*key, places[key]] = call.id
                        places[key] += 1
                        call.turn, call.is_answered = self._turn, False
                        self._calls[call.agents_id].append(call)
                        results.add_call(one.id, call)
        call_of = results.finish()
        for call in answered_in_run:  # a snapshot may not have the result yet
            call.is_answered = True
        ids = iter([call.id for call in calls])
        return [_with_ids(message, ids, call_of) for message in messages]

    def _for_agent(self, message: Message) -> Message:
        match message:
            case agui.AssistantMessage(tool_calls=[*calls]):
                agents = [_with(call, id=self._split(call.id)[0]) for call in calls]
                return _with(message, tool_calls=agents)
            case agui.ToolMessage(tool_call_id=call_id):
                return _with(message, tool_call_id=self._split(call_id)[0])
        return message

    # -- ids --------------------------------------------------------------------------------------

    def _own_id(self, agents_id: str, message: str, place: int, used: Collection[str]) -> str:
        """Return the id here of a call that the client does not hold."""
        own_id = self._known.get((agents_id, message, place))
        if own_id is None or own_id in used:
            own_id = self._next_id(agents_id)
            self._known[agents_id, message, place] = own_id
        return own_id

    def _id_without_parent(self, agents_id: str, used: Collection[str]) -> str:
        """Return the id here of a call that begins a message, which gets the same id."""
        number = 1 + max((self._split(own_id)[1] for own_id in used), default=0)
        own_id = self._numbered(agents_id, number)
        if self._known.get((agents_id, own_id, 0)) != own_id:
            own_id = self._next_id(agents_id)
            self._known[agents_id, own_id, 0] = own_id
        return own_id

    def _next_id(self, agents_id: str) -> str:
        self._highest[agents_id] += 1
        return self._numbered(agents_id, self._highest[agents_id])

    def _numbered(self, agents_id: str, number: int) -> str:
        if number == 1 and self._split(agents_id) == (agents_id, 1):
            return agents_id
        return f"{agents_id}_{number}_{self._check(agents_id, str(number))}"

    def _split(self, own_id: str) -> tuple[str, int]:
        """Return the agent's id and the number of a call."""
        found = _OWN_ID.fullmatch(own_id)
        if found is None or found[3] != self._check(found[1], found[2]):
            return own_id, 1
        return found[1], int(found[2])

    def _check(self, agents_id: str, number: str) -> str:
        text = f"{self._thread_id} {number} {agents_id}"
        return sha256(text.encode(errors="surrogatepass")).hexdigest()[:6]


def _first(calls: Sequence[_Call], owner: str | None) -> _Call | None:
    """Return the first of the open `calls` in the last turn, preferably one of `owner`."""
    last = [call for call in calls if call.turn == calls[-1].turn]
    owned = [call for call in last if call.owner == owner]
    return next(iter(owned or last), None)


def _calls_in(messages: Iterable[Message]) -> list[tuple[agui.AssistantMessage, agui.ToolCall]]:
    return [
        (message, call)
        for message in messages
        if isinstance(message, agui.AssistantMessage)
        for call in message.tool_calls or ()
    ]


class _Results:
    """Finds the call of each result in a list of messages, where calls may share an id.

    A result belongs to the first open call before it in the turn. Where messages were given other
    ids, results may also come before their calls.
    """

    def __init__(self) -> None:
        # By the id that the messages give them: all calls, and those without a result.
        self._calls: defaultdict[str, list[_Call]] = defaultdict(list)
        self._open: defaultdict[str, list[_Call]] = defaultdict(list)
        # The results of this turn that came before their calls, by the ids of these.
        self._early: defaultdict[str, list[agui.ToolMessage]] = defaultdict(list)
        self._left: list[agui.ToolMessage] = []
        self._call_of: dict[int, _Call] = {}

    def add_call(self, given_id: str, call: _Call) -> None:
        self._calls[given_id].append(call)
        self._open[given_id].append(call)
        if early := self._early[given_id]:
            self._answer(early.pop(0), call)

    def add_result(self, result: agui.ToolMessage) -> None:
        call = _first(self._open[result.tool_call_id], result.subagent_run_id)
        if call is None:
            self._early[result.tool_call_id].append(result)
        else:
            self._answer(result, call)

    def end_turn(self) -> None:
        for results in self._early.values():
            for result in results:
                if known := self._calls[result.tool_call_id]:  # it has two results
                    self._call_of[id(result)] = known[-1]
                else:
                    self._left.append(result)
        self._early.clear()

    def finish(self) -> dict[int, _Call]:
        """Return the call of each result, by the identity of its message."""
        self.end_turn()
        for result in self._left:
            if calls := self._open[result.tool_call_id] or self._calls[result.tool_call_id]:
                self._answer(result, calls[0])
        return self._call_of

    def _answer(self, result: agui.ToolMessage, call: _Call) -> None:
        self._call_of[id(result)] = call
        call.is_answered = True
        if call in (open_calls := self._open[result.tool_call_id]):
            open_calls.remove(call)


def _with_ids(message: Message, call_ids: Iterator[str], call_of: Mapping[int, _Call]) -> Message:
    """Return a message with these ids of its calls, the next of `call_ids`; see `_Results`."""
    match message:
        case agui.AssistantMessage(tool_calls=[*calls]):
            renamed = [_with(call, id=next(call_ids)) for call in calls]
            return _with(message, tool_calls=renamed)
        case agui.ToolMessage() if id(message) in call_of:
            return _with(message, tool_call_id=call_of[id(message)].id)
    return message


def _with(model: _Model, **fields: object) -> _Model:
    """Return `model` with these values; itself, if it has them."""
    if all(_is_same(getattr(model, name), value) for name, value in fields.items()):
        return model
    return model.model_copy(update=fields)


def _is_same(old: object, new: object) -> bool:
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(
            one is other for one, other in zip(old, new, strict=True)
        )
    return old is new or (isinstance(old, str) and old == new)
