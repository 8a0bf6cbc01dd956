"""Open interrupts, put to the person: a panel for each, then a line that answers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ag_ui.core import Interrupt
from rich.console import Group, RenderableType

from langgraph_agui.cli import answers, prompt
from langgraph_agui.cli.answers import CANCEL, EDIT, REJECT, RESPOND, Choices, Payload, Typed
from langgraph_agui.cli.blocks import card, safe
from langgraph_agui.cli.view import View
from langgraph_agui.cli.words import json_text, printable, shortened
from langgraph_agui.protocol.jsonable import JsonValue
from langgraph_agui.protocol.wire import has_expired


class Reader(Protocol):
    """Reads a line that is an answer; raises `EOFError`, or what ends the asking."""

    def __call__(self, asked: str, *, filled: str = "") -> str:
        """Ask for a line, in which `filled` stands already."""


class Asking:
    """Puts interrupts to the person."""

    def __init__(self, view: View, read: Reader) -> None:
        self._view, self._read = view, read

    def ask(self, interrupts: Sequence[Interrupt]) -> tuple[dict[str, JsonValue], list[str]]:
        """Return the payloads by the interrupts' ids, and the ids of those that are cancelled: `session.resume`."""
        payloads: dict[str, JsonValue] = {}
        cancelled: list[str] = []
        for number, interrupt in enumerate(interrupts, 1):
            place = f" ({number} of {len(interrupts)})" if len(interrupts) > 1 else ""
            payload = self._one(interrupt, place)
            if payload is None:
                cancelled.append(interrupt.id)
            else:
                payloads[interrupt.id] = payload.value
        return payloads, cancelled

    def waiting(self, interrupts: Sequence[Interrupt]) -> None:
        """Say what the run waits for, where nobody can be asked."""
        for interrupt in interrupts:
            self._view.line(f"waiting: {self._question(interrupt)}", "error")

    def _one(self, interrupt: Interrupt, place: str) -> Payload | None:
        """Ask until there is an answer; None cancels."""
        if has_expired(interrupt):
            self._view.line(f"Too late to answer, so it is cancelled: {self._question(interrupt)}")
            return None
        choices = answers.choices_of(interrupt)
        self._put(interrupt, choices, place)
        prompt.forget_typed()  # only what is typed after the question was shown answers it
        while True:
            try:
                answer = self._answer(interrupt, choices)
            except ValueError as error:
                self._view.line(str(error), "failed")
                continue
            if answer is None:
                return None
            if wrong := answers.fault(answer.value, interrupt):
                self._view.line(wrong, "failed")
            else:
                return answer

    def _answer(self, interrupt: Interrupt, choices: Choices) -> Payload | None:
        """Read one answer; None cancels. Raises `ValueError` if it is none."""
        meant = answers.read(self._read(_prompt(choices)), choices)
        if isinstance(meant, Payload):
            return meant
        if meant.word in choices.words:  # before all else: the agent may offer a "cancel" of its own
            return Payload(self._rejected(choices, meant) if meant.word == REJECT else choices.words[meant.word])
        if meant.word == EDIT:
            return Payload(self._edited(interrupt, meant.rest))
        if meant.word == RESPOND:
            return Payload({"type": RESPOND, "message": self._response(meant)})
        return None

    def _edited(self, interrupt: Interrupt, given: str) -> JsonValue:
        """The payload with the arguments that the person has changed."""
        before = (interrupt.metadata or {}).get("args") or {}
        if given:
            return answers.edited_args(given)
        command = prompt.editor()
        if not command:
            return answers.edited_args(self._read("arguments as JSON: ", filled=json_text(before)))
        try:
            payload = answers.edited_args(prompt.edited(command, json_text(before, indent=2) + "\n"))
        except OSError as error:
            raise ValueError(f"The editor could not be used: {error}") from None
        if payload == {"approved": True, "editedArgs": before}:
            raise ValueError("Nothing was changed.")
        return payload

    def _rejected(self, choices: Choices, meant: Typed) -> JsonValue:
        payload = choices.words[REJECT]
        if not (choices.explains and isinstance(payload, dict)):
            if meant.rest:
                raise ValueError("The agent does not take a reason.")
            return payload
        why = meant.rest or (self._read("why (optional): ").strip() if prompt.is_person() else "")
        return {**payload, "message": why} if why else payload

    def _response(self, meant: Typed) -> str:
        said = meant.rest or self._read("result: ").strip()
        if not said:
            raise ValueError("There is nothing to respond with.")
        return said

    def _question(self, interrupt: Interrupt) -> str:
        """The question on one line, with who asks it if that is a subagent."""
        asked = interrupt.message or interrupt.reason
        name, about = _call_of(interrupt)
        if name:
            asked = f"{asked}: {name} {json_text(about)}"
        run = interrupt.subagent_run_id
        return f"{self._view.speakers.who(run)} asks: {asked}" if run else asked

    def _put(self, interrupt: Interrupt, choices: Choices, place: str) -> None:
        console = self._view.console
        if not console.is_terminal or console.is_dumb_terminal:
            self._view.line(self._question(interrupt) + place, "question")
            return
        name, about = _call_of(interrupt)
        body: list[RenderableType] = [safe(interrupt.message or interrupt.reason)]
        if name:
            body += [safe(name, "bold"), safe(shortened(json_text(about, indent=2)), "call")]
        elif _is_more(about := (interrupt.metadata or {}).get("value")):
            body.append(safe(shortened(json_text(about, indent=2)), "call"))
        if not (choices.text or choices.named[:-1]):
            body.append(safe(f"to be answered by: {shortened(json_text(interrupt.response_schema))}", "note"))
        if interrupt.expires_at:
            body.append(safe(f"until {interrupt.expires_at}", "note"))
        who = self._view.speakers.who(interrupt.subagent_run_id) if interrupt.subagent_run_id else "the agent"
        self._view.show(card(f"{printable(who)} asks{place}", Group(*body), "question"))


def _prompt(choices: Choices) -> str:
    if choices.text:
        return f"{', '.join([*choices.words, CANCEL, *(['JSON'] if choices.json else [])])} or text: "
    return printable(f"{answers.hint(choices.named)}  or JSON: ".replace("\n", " "))


def _call_of(interrupt: Interrupt) -> tuple[str, object]:
    """The name and the arguments of the call that is to be approved, if the agent tells them."""
    about = interrupt.metadata or {}
    name = about.get("name")
    return (name, about.get("args")) if isinstance(name, str) else ("", None)


def _is_more(value: object) -> bool:
    """Whether an interrupt's value says more than its message."""
    return isinstance(value, dict | list) and bool(value)
