"""Interrupts as pages of other products, and of before AG-UI 1.0, know them.

Requests enter `show_to_pages`, which adds fields for such pages. The end of a run enters
`ask_by_events`, with a custom event for each LangGraph interrupt it leaves. Input of clients
enters `command_answers` (`forwardedProps.command.resume`) and `with_message`; answers of AG-UI 1.0
leave, which are checked as any other.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Interrupt, ResumeEntry, RunAgentInput

from langgraph_agui.interrupts.answers import CommandAnswers
from langgraph_agui.interrupts.pauses import VALUE, InterruptRequest, PendingInterrupts, value_of
from langgraph_agui.interrupts.used_answers import fingerprint, first_id, graph_id
from langgraph_agui.kernel.errors import ErrorCode, RunInputError
from langgraph_agui.protocol.json import clean_json, dump_json, parse_json, to_jsonable
from langgraph_agui.protocol.response_schema import InvalidAnswer
from langgraph_agui.protocol.wire import ProtocolError

ON_INTERRUPT: Final = "on_interrupt"

# Key in the value of a question that is asked again: its id.
_NEW_ID: Final = "interruptId"

# How the id of a question begins; LangGraph takes an object with such keys for answers by id too.
_ID: Final = re.compile(r"breakpoint:|[0-9a-f]{32}(?![0-9a-f])")

# Where `copilotkit_interrupt` has its question: a text, or an action with arguments.
_QUESTION: Final = "__copilotkit_interrupt_value__"


# assistant-ui's name for the message of an answer to an approval.
_REASON: Final = "reason"


def show_to_pages(requests: Iterable[InterruptRequest]) -> None:
    """Add the fields of requests that pages read.

    Pages for `ag-ui-langgraph` find the value of `interrupt()` in `metadata.langgraph.raw`, those
    for CopilotKit their question in `message`. assistant-ui finds its name for the message of an
    answer in the schema.
    """
    for request in requests:
        shown, action = request.interrupt, request.action
        metadata = shown.metadata or {}
        if VALUE in metadata:
            shown.metadata = {"langgraph": {"raw": metadata[VALUE]}, **metadata}
            shown.message = _question_in(metadata[VALUE]) or shown.message
        schema = shown.response_schema
        if action is not None and "reject" in action.allowed and schema is not None:
            text = {"type": "string", "description": "The same as `message`."}
            properties = {**schema.get("properties", {}), _REASON: text}
            shown.response_schema = {**schema, "properties": properties}


def with_message(
    answers: Sequence[ResumeEntry], requests: Iterable[InterruptRequest]
) -> list[ResumeEntry]:
    """Return answers with the messages of approvals under the name that AG-UI recommends."""
    approvals = {request.id for request in requests if request.action is not None}
    return [_renamed(answer) if answer.interrupt_id in approvals else answer for answer in answers]


def _renamed(answer: ResumeEntry) -> ResumeEntry:
    payload = answer.payload
    if not isinstance(payload, Mapping) or _REASON not in payload or "type" in payload:
        return answer
    renamed = _without(_REASON, payload)
    renamed["message"] = renamed.get("message") or payload[_REASON]
    return answer.model_copy(update={"payload": renamed})


def _question_in(value: object) -> str | None:
    """Return the question of `copilotkit_interrupt` in the value of an interrupt; None if it is not
    one.
    """
    asked = value.get(_QUESTION) if isinstance(value, Mapping) else None
    if isinstance(asked, Mapping):
        asked = asked.get("action")
    return asked if isinstance(asked, str) else None


def ask_by_events(event: BaseEvent, *, with_outcome: bool) -> list[BaseEvent]:
    """Return an event of a run; before the end of a run that waits, custom events that ask.

    Args:
        event: The event.
        with_outcome: Whether `RUN_FINISHED` has the interrupts too.
    """
    if not isinstance(event, agui.RunFinishedEvent) or not isinstance(
        event.outcome, agui.RunFinishedInterruptOutcome
    ):
        return [event]
    questions = on_interrupt_events(event.outcome.interrupts)
    if not with_outcome:
        event = event.model_copy(update={"outcome": None})
    return [*questions, event]


def on_interrupt_events(interrupts: Sequence[Interrupt]) -> list[agui.CustomEvent]:
    """Return a custom event for each LangGraph interrupt; its value is the interrupt's, as text.

    Its `raw_event` has the id of the question, as in `ag-ui-langgraph`: answers to several
    questions name them.
    """
    groups = groupby(interrupts, lambda one: graph_id(one.id))
    return [_on_interrupt_event([*asked]) for _, asked in groups]


def _on_interrupt_event(asked: Sequence[Interrupt]) -> agui.CustomEvent:
    """Return the event for the requests of one LangGraph interrupt."""
    first, value = asked[0], value_of(asked)
    if isinstance(value, Mapping) and first.id != first_id(first.id):
        # It differs so from the question that was asked before.
        value = {**value, _NEW_ID: first.id}
    return agui.CustomEvent(
        name=ON_INTERRUPT,
        value=value if isinstance(value, str) else dump_json(value),
        raw_event={"id": first.id},
        subagent_run_id=first.subagent_run_id,
    )


def command_answers(run_input: RunAgentInput, pending: PendingInterrupts) -> CommandAnswers | None:
    """Return the answers in `forwardedProps.command.resume`; None if the client does not answer so,
    or by `resume` too.

    Raises:
        RunInputError: The answer is to a question that is not open, or does not name the one of
            several that it is for.
    """
    props = run_input.forwarded_props
    command = props.get("command") if isinstance(props, Mapping) else None
    if not isinstance(command, Mapping) or command.get("resume") is None or run_input.resume:
        return None
    asked = groupby(pending.requests, _question_id)
    groups = {key: [*group] for key, group in asked}
    entries = _answers(command["resume"], command.get("interruptEvent"), groups)
    sent = ResumeEntry(
        interrupt_id=run_input.run_id,
        status="resolved",
        payload=[to_jsonable(command), [message.id for message in run_input.messages]],
    )
    return CommandAnswers(entries, fingerprint([sent]))


def _question_id(request: InterruptRequest) -> str:
    """Return the id of the question that a client of before is asked: that of LangGraph's
    interrupt, or of a breakpoint.
    """
    return first_id(request.id) if request.batch is None else request.graph_id


# The open requests by the ids of LangGraph's interrupts, as they were asked first.
_Groups: TypeAlias = Mapping[str, Sequence[InterruptRequest]]


def _answers(answer: object, event: object, groups: _Groups) -> Sequence[ResumeEntry]:
    """Return the answers to the open requests.

    A question that is asked again has another id. An answer that does not name it is for the
    question as it was asked first.

    Args:
        answer: The client's answer; or its answers to several questions, by their ids.
        event: The event or the value that the client answers; None if it does not say.
        groups: The open requests.
    """
    if not groups:
        return []
    named = dict.fromkeys(groups, "")
    if event is not None:
        named = _named_by(event, groups)
        groups = {key: groups[key] for key in named}
    by_id = _json_of(answer)
    if isinstance(by_id, Mapping) and (entries := _answers_by_id(by_id, groups)) is not None:
        return entries
    if len(groups) > 1:
        message = (
            "Several interrupts are open: answer them by `resume`, or by an object with their "
            "ids as keys."
        )
        raise RunInputError(ErrorCode.INTERRUPT_UNANSWERED, message)
    ((key, group),) = groups.items()
    return _entries(group, answer, named[key])


def _answers_by_id(by_id: Mapping[str, object], groups: _Groups) -> list[ResumeEntry] | None:
    """Return the answers in an object with ids of questions as its keys; None if it has others."""
    keys = {first_id(key) if first_id(key) in groups else graph_id(key): key for key in by_id}
    if keys.keys() == groups.keys() and len(keys) == len(by_id):
        return [
            entry
            for key, group in groups.items()
            for entry in _entries(group, by_id[keys[key]], keys[key])
        ]
    # Ids of questions that are not open are no answer to one that is.
    if len(groups) == 1 and by_id and all(map(_ID.match, by_id)):
        return [
            ResumeEntry(interrupt_id=key, status="resolved", payload=value)
            for key, value in by_id.items()
        ]
    return None


def _named_by(event: object, groups: _Groups) -> dict[str, str]:
    """Return the questions that an event of a client asks, by their keys in `groups`, each with the
    id in the event, "" if it has none.

    Raises:
        RunInputError: It asks none that is open.
    """
    ids = {key: _id_in(event, group) for key, group in groups.items()}
    named = {key: name for key, name in ids.items() if name is not None}
    if not named:
        message = "Expected the value of an open question as interruptEvent: this one is not open."
        raise RunInputError(ErrorCode.INTERRUPT_UNKNOWN, message)
    return named


def _id_in(event: object, group: Sequence[InterruptRequest]) -> str | None:
    """Return the id in a client's event that asks for these requests, "" if it has none; None if it
    is another event.

    The client sends the value, as text or parsed, or the event whole.
    """
    first = [request.interrupt.model_copy(update={"id": first_id(request.id)}) for request in group]
    shown = [_json_of(one.value) for one in on_interrupt_events(first)]
    sent = [event, event.get("value")] if isinstance(event, Mapping) else [event]
    for value in map(_json_of, sent):
        if value in shown:
            return ""
        if isinstance(value, Mapping) and _without(_NEW_ID, value) in shown:
            return str(value[_NEW_ID])
    return None


def _without(name: str, fields: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in fields.items() if key != name}


def _json_of(value: object) -> object:
    try:
        return clean_json(parse_json(value)) if isinstance(value, str) else value
    except (ProtocolError, ValueError):
        return value


def _entries(group: Sequence[InterruptRequest], answer: object, named: str) -> list[ResumeEntry]:
    """Return the answers to the requests of one LangGraph interrupt, which the client has
    `named`.
    """
    again = named.removeprefix(first_id(named))  # which asking of the question is answered
    first = group[0]
    parsed = _loaded(answer, first) if first.action is None else _parsed(answer)
    answers = first.payloads(parsed)
    if len(answers) != len(group):
        message = f"Expected {len(group)} answers, got {len(answers)}."
        raise RunInputError(ErrorCode.INTERRUPT_INVALID, message)
    return [
        ResumeEntry(interrupt_id=first_id(request.id) + again, status="resolved", payload=payload)
        for request, payload in zip(group, answers, strict=True)
    ]


def _parsed(answer: object) -> object:
    """Return an approval's answer. Pages may send an object or a list as JSON text; the text `true`
    approves nothing.
    """
    parsed = _json_of(answer)
    return parsed if isinstance(parsed, dict | list) else answer


def _loaded(answer: object, request: InterruptRequest) -> object:
    """Return the answer to a question: its text read as JSON, as in `ag-ui-langgraph`.

    Other text stays as it is, and so does text that the graph's own schema takes.
    """
    loaded = _json_of(answer)
    if loaded is None:
        return answer
    if request.question.response_schema is None:
        return loaded
    try:
        request.read(answer)
    except InvalidAnswer:
        return loaded
    return answer
