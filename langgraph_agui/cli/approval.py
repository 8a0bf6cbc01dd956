"""Puts questions to the person: interrupts to answer (AG-UI 1.0, interrupts), and lines to type.

In: open interrupts, and what the person types. Out: payloads for `AGUISession.resume`.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

import click
from ag_ui.core import Interrupt
from pydantic_core import from_json
from rich.console import Console, Group, RenderableType

from langgraph_agui.cli.formatting import card, json_text, printable, safe, shorten
from langgraph_agui.cli.view import View
from langgraph_agui.interrupts.decisions import schema_mismatch
from langgraph_agui.protocol.wire import JsonValue, has_expired

# Asks for a line: takes the prompt and the text to edit, and raises `EOFError` at the end of the input.
ReadLine: TypeAlias = Callable[[str, str], str]

# How long no input must come until everything that was typed has arrived.
_QUIET_SECONDS: Final = 0.02
# How many answers of an agent are offered as words, and how long ones; the others are typed as JSON.
_MAX_WORDS: Final = 20
_MAX_WORD: Final = 60


class Cancelled(Exception):  # noqa: N818  # not an error
    """The person cancels an interrupt instead of answering it."""


class Action(Enum):
    """What a word does that stands for no fixed payload. A text can follow it."""

    EDIT = "edit"
    RESPOND = "respond"
    REJECT = "reject"
    CANCEL = "cancel"


@dataclass(slots=True)
class Choices:
    """The answers that an interrupt takes besides JSON."""

    # The payload or the action of each word, in the order in which they are offered.
    words: dict[str, JsonValue | Action] = field(default_factory=dict)
    # Whether any other line is an answer as it is.
    text: bool = False
    # Whether a line that is JSON means JSON, not text.
    json: bool = True

    def __post_init__(self) -> None:
        self.words.setdefault("cancel", Action.CANCEL)  # the agent may offer a "cancel" of its own

    def prompt(self) -> str:
        """Return the line that offers the answers, such as `[a]pprove  [r]eject  or JSON: `."""
        if self.text:
            return f"{', '.join([*self.words, *(['JSON'] if self.json else [])])} or text: "
        words = [f"[{word[:1]}]{word[1:]}" if self._matching(word[:1]) == [word] else word for word in self.words]
        return printable(f"{'  '.join(words)}  or JSON: ".replace("\n", " "))

    def find(self, line: str) -> tuple[str, str] | None:
        """Return the word that `line` begins with, and the text after it; None if not exactly one word is meant.

        A word can be abbreviated. Where any text is an answer, only a whole line is one of the words.
        """
        if self.text:
            return (line.lower(), "") if line.lower() in self.words else None
        if len(meant := self._matching(line)) == 1:
            return meant[0], ""
        start, _, rest = line.partition(" ")
        takes_text = (Action.EDIT, Action.RESPOND, Action.REJECT)
        meant = [word for word in self._matching(start) if self.words[word] in takes_text]
        return (meant[0], rest.strip()) if len(meant) == 1 else None

    def _matching(self, start: str) -> list[str]:
        return [start] if start in self.words else [word for word in self.words if word.startswith(start.lower())]


def choices_of(interrupt: Interrupt) -> Choices:
    """Return what `interrupt` takes: by its schema, or without one by its reason."""
    schema = interrupt.response_schema or {}
    if not schema and interrupt.reason == "tool_call":
        return Choices({"approve": {"approved": True}, "reject": Action.REJECT})
    if not schema or schema.get("type") == "boolean":
        # An agent that asks "Really?" takes any text for a yes, so a no has to be false.
        return Choices({"yes": True, "no": False}, text=not schema and interrupt.reason == "input_required")
    if words := [word for word in _list(schema.get("enum")) if isinstance(word, str) and len(word) <= _MAX_WORD]:
        return Choices({word: word for word in words[:_MAX_WORDS]})
    if schema.get("type") == "string":
        return Choices(text=True, json=False)
    return Choices(_approval_words(schema.get("properties")))


def _approval_words(properties: object) -> dict[str, JsonValue | Action]:
    """Return the words of AG-UI's payload for approvals: `approved`, `editedArgs`, `message`."""
    if not isinstance(properties, Mapping):
        return {}
    words: dict[str, JsonValue | Action] = {}
    if "approved" in properties:
        words["approve"] = {"approved": True}
        if "editedArgs" in properties:
            words["edit"] = Action.EDIT
        words["reject"] = Action.REJECT
    decisions = properties.get("type")  # `LangGraphAgent` names the decisions that the graph takes
    if isinstance(decisions, Mapping) and (allowed := _list(decisions.get("enum"))):
        words = {word: payload for word, payload in words.items() if word in allowed}
        if "respond" in allowed:
            words["respond"] = Action.RESPOND
    return words


def _list(value: object) -> list[JsonValue]:
    return value if isinstance(value, list) else []


class InterruptPrompt:
    """Puts interrupts to the person: a panel for each, then a line that answers it."""

    def __init__(self, view: View, read_line: ReadLine) -> None:
        self._view, self._read_line = view, read_line

    def ask(self, interrupts: Sequence[Interrupt]) -> tuple[dict[str, JsonValue], list[str]]:
        """Return the payloads by interrupt id, and the ids of the cancelled ones: the input of `session.resume`."""
        payloads: dict[str, JsonValue] = {}
        cancelled: list[str] = []
        for number, interrupt in enumerate(interrupts, 1):
            try:
                place = f" ({number} of {len(interrupts)})" if len(interrupts) > 1 else ""
                payloads[interrupt.id] = self._ask_one(interrupt, place)
            except Cancelled:
                cancelled.append(interrupt.id)
        return payloads, cancelled

    def show_waiting(self, interrupts: Sequence[Interrupt]) -> None:
        """Print what the run waits for, where no person can answer."""
        for interrupt in interrupts:
            self._view.line(f"waiting: {self._question(interrupt)}", "error")

    def _ask_one(self, interrupt: Interrupt, place: str) -> JsonValue:
        """Ask until there is a valid answer. Raises `Cancelled`."""
        if has_expired(interrupt):
            self._view.line(f"Too late to answer, so it is cancelled: {self._question(interrupt)}")
            raise Cancelled
        choices = choices_of(interrupt)
        self._show(interrupt, choices, place)
        discard_typed()  # only what the person types after seeing the question answers it
        while True:
            try:
                payload = self._read_answer(interrupt, choices)
                subject = shorten(interrupt.message or interrupt.reason)
                problem = schema_mismatch(payload, interrupt.response_schema, subject)
                if problem is None:
                    return payload
            except ValueError as error:
                problem = str(error)
            self._view.line(problem, "failed")

    def _read_answer(self, interrupt: Interrupt, choices: Choices) -> JsonValue:
        """Read one answer. Raises `ValueError` if the line is none, and `Cancelled`."""
        line = self._read_line(choices.prompt(), "").strip()
        if not line:
            raise ValueError("That is empty: type an answer, or cancel.")
        if (found := choices.find(line)) is None:
            try:
                return from_json(line, allow_inf_nan=False) if choices.json else line
            except ValueError as error:
                if choices.text:
                    return line
                raise ValueError(f"That is neither one of the answers nor JSON: {error}") from None
        word, rest = found
        match choices.words[word]:
            case Action.CANCEL:
                raise Cancelled
            case Action.EDIT:
                return self._edited(interrupt, rest)
            case Action.REJECT:
                reason = rest or (self._read_line("why (optional): ", "").strip() if is_person() else "")
                return {"approved": False, **({"message": reason} if reason else {})}
            case Action.RESPOND:
                if not (response := rest or self._read_line("result: ", "").strip()):
                    raise ValueError("There is nothing to respond with.")
                return {"approved": False, "type": "respond", "message": response}
            case payload:
                return payload

    def _edited(self, interrupt: Interrupt, text: str) -> JsonValue:
        """Return the approval with the arguments that the person has changed."""
        before = (interrupt.metadata or {}).get("args") or {}
        is_screen = is_person() and sys.stdout.isatty()
        has_editor = not text and is_screen and bool(os.environ.get("VISUAL") or os.environ.get("EDITOR"))
        try:
            if has_editor:
                text = click.edit(json_text(before, indent=2), require_save=False, extension=".json") or ""
            elif not text:
                text = self._read_line("arguments as JSON: ", json_text(before))
            arguments = from_json(text, allow_inf_nan=False)
        except click.ClickException as error:
            raise ValueError(error.message) from None
        except ValueError as error:
            raise ValueError(f"That is not JSON: {error}") from None
        if not isinstance(arguments, dict):
            raise ValueError("Arguments must be a JSON object.")
        if has_editor and arguments == before:  # whoever closes the editor without a change does not approve
            raise ValueError("Nothing was changed.")
        return {"approved": True, "editedArgs": arguments}

    def _question(self, interrupt: Interrupt) -> str:
        """Return the question on one line, with the subagent that asks it."""
        question = shorten(interrupt.message or interrupt.reason)
        name, arguments = _details(interrupt)
        if name:
            question = f"{question}: {name} {json_text(arguments)}"
        run = interrupt.subagent_run_id
        return f"{self._view.subagents.path(run)} asks: {question}" if run else question

    def _show(self, interrupt: Interrupt, choices: Choices, place: str) -> None:
        console = self._view.console
        if not console.is_terminal or console.is_dumb_terminal:
            self._view.line(self._question(interrupt) + place, "question")
            return
        body: list[RenderableType] = [safe(shorten(interrupt.message or interrupt.reason))]
        name, details = _details(interrupt)
        if name:
            body.append(safe(name, "bold"))
        if name or details:
            body.append(safe(shorten(json_text(details, indent=2)), "call"))
        if not (choices.text or len(choices.words) > 1):
            body.append(safe(f"to be answered by: {shorten(json_text(interrupt.response_schema))}", "note"))
        if interrupt.expires_at:
            body.append(safe(f"until {interrupt.expires_at}", "note"))
        run = interrupt.subagent_run_id
        asker = self._view.subagents.path(run) if run else "the agent"
        self._view.show(card(f"{printable(asker)} asks{place}", Group(*body), "question"))


def _details(interrupt: Interrupt) -> tuple[str, object]:
    """Return the name and the arguments of the call to approve; without a call, the data of the interrupt."""
    about = interrupt.metadata or {}
    name, value = about.get("name"), about.get("value")
    if isinstance(name, str):
        return name, about.get("args")
    return "", value if isinstance(value, dict | list) else None


def is_person() -> bool:
    """Return whether a person types, not a file or a pipe."""
    return sys.stdin.isatty()


def discard_typed() -> None:
    """Discard what a person has typed so far: it was not meant for the next question.

    `input` and `readline` read only one line from the terminal, so no input is buffered in this process. Input from a
    file or a pipe stays.
    """
    try:
        import termios
    except ImportError:  # on Windows
        return
    if not is_person():
        return
    stdin = sys.stdin.fileno()
    with suppress(termios.error):  # the terminal is gone; the next read reports it
        termios.tcflush(stdin, termios.TCIFLUSH)
        while select.select([stdin], [], [], _QUIET_SECONDS)[0]:  # more than the terminal can buffer comes in pieces
            termios.tcflush(stdin, termios.TCIFLUSH)


def read_line(console: Console, prompt: str, initial: str = "") -> str:
    """Ask for a line. Raises `EOFError` if there is no further line.

    Args:
        console: Where the prompt is printed.
        prompt: It must contain no agent text.
        initial: Text to edit, where the terminal can edit lines.
    """
    if not is_person() or not console.is_terminal or console.stderr:
        console.print(prompt, end="", markup=False, soft_wrap=True)
        console.file.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")
    try:
        import readline
    except ImportError:  # on Windows
        return input(prompt)
    readline.set_startup_hook(lambda: readline.insert_text(initial))
    try:
        return input(prompt)  # readline has to know the prompt, or it deletes it
    finally:
        readline.set_startup_hook()
