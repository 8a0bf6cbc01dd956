"""Interrupts of before AG-UI 1.0: a custom event asks, and `forwardedProps.command.resume` answers.

The end of a run enters `LegacyInterruptSink`, with a custom event for each LangGraph interrupt it
leaves. What a client sends enters `command_answers`; the answers of AG-UI 1.0 leave, so they are
checked as any other.
"""

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from ag_ui import core as agui
from ag_ui.core import BaseEvent, Interrupt, ResumeEntry, RunAgentInput

from langgraph_agui.interrupts.answers import CommandAnswers
from langgraph_agui.interrupts.pauses import InterruptRequest, PendingInterrupts, value_of
from langgraph_agui.interrupts.used_answers import fingerprint, first_id, graph_id
from langgraph_agui.kernel.errors import ErrorCode, RunInputError
from langgraph_agui.protocol.cleaning import clean_json
from langgraph_agui.protocol.limits import read_json_in_text
from langgraph_agui.protocol.response_schema import InvalidAnswer
from langgraph_agui.protocol.wire import to_jsonable
from langgraph_agui.readers.sinks import Sink

ON_INTERRUPT: Final = "on_interrupt"

# Key in the value of what is asked again: its id.
_NEW_ID: Final = "interruptId"

# How the id of a question begins; LangGraph takes an object with such keys for answers by id too.
_ID: Final = re.compile(r"breakpoint:|[0-9a-f]{32}(?![0-9a-f])")

# Where `copilotkit_interrupt` has its question: a text, or an action with arguments.
_QUESTION: Final = "__copilotkit_interrupt_value__"


def question(value: object) -> str | None:
    """Return the question of `copilotkit_interrupt` in the value of an interrupt; None if it is not
    one.
    """
    asked = value.get(_QUESTION) if isinstance(value, Mapping) else None
    if isinstance(asked, Mapping):
        asked = asked.get("action")
    return asked if isinstance(asked, str) else None


class LegacyInterruptSink:
    """Asks by custom events before the run ends.

    Args:
        sink: Receives the client's events.
        with_outcome: Whether `RUN_FINISHED` has the interrupts too.
    """

    def __init__(self, sink: Sink, *, with_outcome: bool) -> None:
        self._sink = sink
        self._with_outcome = with_outcome
        self.writer = sink.writer

    def event(self, event: BaseEvent) -> None:
        """Pass an event on; ask before the end of a run that waits."""
        if isinstance(event, agui.RunFinishedEvent) and isinstance(
            event.outcome, agui.RunFinishedInterruptOutcome
        ):
            for custom in on_interrupt_events(event.outcome.interrupts):
                self._sink.event(custom)
            if not self._with_outcome:
                event = event.model_copy(update={"outcome": None})
        self._sink.event(event)


def on_interrupt_events(interrupts: Sequence[Interrupt]) -> list[agui.CustomEvent]:
    """Return a custom event for each LangGraph interrupt; its value is the interrupt's, as text.

    Its `raw_event` has the id of the question, as in `ag-ui-langgraph`: answers to several
    questions name them.
    """
    events: list[agui.CustomEvent] = []
    for _, group in groupby(interrupts, lambda one: graph_id(one.id)):
        asked = [*group]
        value = value_of(asked)
        if isinstance(value, Mapping) and asked[0].id != first_id(asked[0].id):
            value = {
                **value,
                _NEW_ID: asked[0].id,
            }  # distinguishes it from the question that was asked before
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        raw, owner = {"id": asked[0].id}, asked[0].subagent_run_id
        events.append(
            agui.CustomEvent(name=ON_INTERRUPT, value=text, raw_event=raw, subagent_run_id=owner)
        )
    return events


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
    sent = ResumeEntry(
        interrupt_id=run_input.run_id,
        status="resolved",
        payload=[to_jsonable(command), [message.id for message in run_input.messages]],
    )
    groups = {
        key: [*group]
        for key, group in groupby(pending.requests, lambda one: one.batch or first_id(one.id))
    }
    return CommandAnswers(
        _answers(command["resume"], command.get("interruptEvent"), groups), fingerprint([sent])
    )


def _answers(
    answer: object, event: object, groups: Mapping[str, Sequence[InterruptRequest]]
) -> Sequence[ResumeEntry]:
    """Return the answers to the open requests, which are grouped by the ids of LangGraph's
    interrupts.

    What is asked again has another id. An answer that does not name it is for the question as it
    was asked first.
    """
    if not groups:
        return []
    named = dict.fromkeys(groups, "")
    if event is not None:
        named = {
            key: name
            for key, group in groups.items()
            if (name := _named_by(event, group)) is not None
        }
        groups = {key: groups[key] for key in named}
        if not groups:
            message = (
                "Expected the value of an open question as interruptEvent: this one is not open."
            )
            raise RunInputError(ErrorCode.INTERRUPT_UNKNOWN, message)
    by_id = _json_of(answer)
    if isinstance(by_id, Mapping):
        keys = {first_id(key) if first_id(key) in groups else graph_id(key): key for key in by_id}
        if keys.keys() == groups.keys() and len(keys) == len(by_id):
            return [
                entry
                for key, group in groups.items()
                for entry in _entries(group, by_id[keys[key]], keys[key])
            ]
        if (
            len(groups) == 1 and by_id and all(map(_ID.match, by_id))
        ):  # ids of what is not open are no answer
            return [
                ResumeEntry(interrupt_id=key, status="resolved", payload=value)
                for key, value in by_id.items()
            ]
    if len(groups) > 1:
        message = (
            "Several interrupts are open: answer them by `resume`, or by an object with their "
            "ids as keys."
        )
        raise RunInputError(ErrorCode.INTERRUPT_UNANSWERED, message)
    return [entry for key, group in groups.items() for entry in _entries(group, answer, named[key])]


def _named_by(event: object, group: Sequence[InterruptRequest]) -> str | None:
    """Return the id in a client's event that asks for these requests, "" if it has none; None if it
    is another event.

    The client sends the value, as text or parsed, or the event whole.
    """
    first = [request.interrupt.model_copy(update={"id": first_id(request.id)}) for request in group]
    shown = [_json_of(one.value) for one in on_interrupt_events(first)]
    for value in map(
        _json_of, [event, event.get("value")] if isinstance(event, Mapping) else [event]
    ):
        if value in shown:
            return ""
        if (
            isinstance(value, Mapping)
            and {key: value[key] for key in value if key != _NEW_ID} in shown
        ):
            return str(value[_NEW_ID])
    return None


def _json_of(value: object) -> object:
    try:
        return clean_json(read_json_in_text(value)) if isinstance(value, str) else value
    except ValueError:
        return value


def _entries(group: Sequence[InterruptRequest], answer: object, named: str) -> list[ResumeEntry]:
    """Return the answers to the requests of one LangGraph interrupt, which the client has
    `named`.
    """
    again = named.removeprefix(first_id(named))  # which asking of the question is answered
    parsed = _parsed(answer) if group[0].action is not None else _loaded(answer, group[0])
    answers: list[object] = [parsed]
    if group[0].batch is not None:
        decisions = parsed.get("decisions") if isinstance(parsed, Mapping) else None
        answers = decisions if isinstance(decisions, list) else answers
        if len(answers) != len(group):
            message = f"Expected {len(group)} decisions, got {len(answers)}."
            raise RunInputError(ErrorCode.INTERRUPT_INVALID, message)
    return [
        ResumeEntry(interrupt_id=first_id(request.id) + again, status="resolved", payload=payload)
        for request, payload in zip(group, answers, strict=True)
    ]


def _parsed(answer: object) -> object:
    """Return an approval's answer. Pages may send an object as JSON text; the text `true` approves
    nothing.
    """
    parsed = _json_of(answer)
    return parsed if isinstance(parsed, dict) else answer


def _loaded(answer: object, request: InterruptRequest) -> object:
    """Return the answer to a question: its text read as JSON, as in `ag-ui-langgraph`.

    Other text stays as it is, and so does text that the graph's own schema takes.
    """
    loaded = _json_of(answer)
    if loaded is None:
        return answer
    try:
        return answer if request.schema is not None and request.read(answer) else loaded
    except InvalidAnswer:
        return loaded
