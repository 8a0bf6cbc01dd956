"""Puts questions to the person: interrupts to answer (AG-UI 1.0, interrupts), and lines to type.

In: open interrupts, and typed lines. Out: payloads for `AGUISession.resume`.
"""

import os
import select
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

import click
from ag_ui.core import Interrupt
from pydantic import JsonValue
from pydantic_core import from_json
from rich.console import Console, Group, RenderableType
from rich.table import Table

from langgraph_agui.devtools.cli.choices import (
    Choices,
    Verb,
    choices_of,
    form_fields,
    mismatch,
    read_value,
    wanted,
)
from langgraph_agui.devtools.cli.formatting import (
    card,
    json_text,
    one_line,
    printable,
    safe,
    shorten,
)
from langgraph_agui.devtools.cli.view import View
from langgraph_agui.protocol import has_expired

# Asks for a line: takes the prompt and the text to edit, and raises `EOFError` at the end of the
# input.
ReadLine: TypeAlias = Callable[[str, str], str]

# The lines that end the conversation, besides the commands.
LEAVING: Final = ("quit", "exit")
# How long no input must come until everything that was typed has arrived.
_QUIET_SECONDS: Final = 0.02
# How many arguments a table has; more are JSON.
_MAX_ARGUMENTS: Final = 50
# Keys that an interrupt of `LangGraphAgent` repeats of the graph's own value.
_REPEATED: Final = ("message", "reason", "responseSchema", "expiresAt")


class Quit(Exception):  # noqa: N818  # not an error
    """The person wants to leave."""


class Cancelled(Exception):  # noqa: N818  # not an error
    """The person cancels an interrupt instead of answering it."""


class InterruptPrompt:
    """Puts interrupts to the person: a panel for each, then a line that answers it."""

    def __init__(self, view: View, read_line: ReadLine) -> None:
        self._view, self._read_line = view, read_line

    def ask(self, interrupts: Sequence[Interrupt]) -> tuple[dict[str, JsonValue], list[str]]:
        """Return the payloads by interrupt id, and the ids of the cancelled ones: the input of
        `session.resume`.
        """
        payloads: dict[str, JsonValue] = {}
        cancelled: list[str] = []
        for number, interrupt in enumerate(interrupts, 1):
            rejection: JsonValue = {"approved": False}
            try:
                place = f" ({number} of {len(interrupts)})" if len(interrupts) > 1 else ""
                rejection = payloads[interrupt.id] = self._ask_one(interrupt, place)
            except Cancelled:
                cancelled.append(interrupt.id)
            match rejection:
                case {"type": "respond"}:
                    pass
                case {"approved": False, **rest} if interrupt.tool_call_id:
                    self._view.rejected[interrupt.tool_call_id] = str(rest.get("message", ""))
        return payloads, cancelled

    def _ask_one(self, interrupt: Interrupt, place: str) -> JsonValue:
        """Ask until there is a valid answer. Ctrl-C goes back to the question. Raises
        `Cancelled`.
        """
        if has_expired(interrupt):
            self._view.line(
                f"Too late to answer, so it is cancelled: {_question(self._view, interrupt)}"
            )
            raise Cancelled
        choices = choices_of(interrupt)
        self._show(interrupt, choices, place)
        discard_typed()  # it was typed before the person has seen the question
        while True:
            try:
                payload = self._read_answer(interrupt, choices)
                if (problem := mismatch(payload, interrupt.response_schema)) is None:
                    return payload
            except KeyboardInterrupt:
                if not is_person():
                    raise
                continue
            except ValueError as error:
                problem = str(error)
            self._view.line(problem, "failed")

    def _read_answer(self, interrupt: Interrupt, choices: Choices) -> JsonValue:
        """Read one answer. Raises `ValueError` if the line is none, `Cancelled`, and `Quit`."""
        line = self._read_line(choices.prompt(), "").strip()
        if not line and "fill" not in choices.words:
            raise ValueError("That is empty: type an answer, or cancel.")
        if (found := choices.find(line or "fill")) is None:
            try:
                return from_json(line, allow_inf_nan=False) if choices.json else line
            except ValueError:
                if choices.text:
                    return line
                if line.lower() in LEAVING:
                    raise Quit from None
                raise ValueError(choices.expected()) from None
        word, rest = found
        match choices.words[word]:
            case Verb.CANCEL:
                raise Cancelled
            case Verb.EDIT:
                return self._edited(interrupt, rest)
            case Verb.FILL:
                return self._filled(interrupt.response_schema or {})
            case Verb.REJECT:
                reason = rest or (
                    self._read_line("why (optional): ", "").strip() if is_person() else ""
                )
                return {"approved": False, **({"message": reason} if reason else {})}
            case Verb.RESPOND:
                if not (response := rest or self._read_line("result: ", "").strip()):
                    raise ValueError("There is nothing to respond with.")
                return {"approved": False, "type": "respond", "message": response}
            case payload:
                return payload

    def _filled(self, schema: Mapping[str, object]) -> JsonValue:
        """Read an object field by field. An empty line takes the default, or leaves an optional
        field out.
        """
        answer: dict[str, JsonValue] = {}
        for name, (field, optional) in form_fields(schema).items():
            about = one_line(str(field.get("description") or field.get("title") or ""), 300)
            self._view.line(f"{about} ({wanted(field)}{', optional' * optional})".lstrip())
            default = f" [{json_text(field['default'])}]" if "default" in field else ""
            prompt = one_line(f"{name}{default}", 80) + ": "
            while name not in answer:
                line = self._read_line(prompt, "").strip()
                if not line and "default" in field:
                    answer[name] = read_value(json_text(field["default"]), {})
                elif not line and optional:
                    break
                else:
                    try:
                        answer[name] = read_value(line, field)
                    except ValueError as error:
                        self._view.line(str(error), "failed")
        return answer

    def _edited(self, interrupt: Interrupt, text: str) -> JsonValue:
        """Return the approval with the arguments that the person has changed."""
        before = (interrupt.metadata or {}).get("args") or {}
        has_editor = (
            not text
            and self._view.is_live
            and bool(os.environ.get("VISUAL") or os.environ.get("EDITOR"))
        )
        try:
            if has_editor:
                previous = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the editor
                try:
                    text = (
                        click.edit(
                            json_text(before, indent=2), require_save=False, extension=".json"
                        )
                        or ""
                    )
                finally:
                    signal.signal(signal.SIGINT, previous)
            elif not text:
                text = self._read_line("arguments as JSON: ", json_text(before))
            arguments = from_json(text, allow_inf_nan=False)
        except click.ClickException as error:
            raise ValueError(error.message) from None
        except ValueError as error:
            raise ValueError(f"That is not JSON: {error}") from None
        if not isinstance(arguments, dict):
            raise ValueError("Expected a JSON object with the arguments.")
        # Whoever closes the editor without a change does not approve.
        if has_editor and arguments == before:
            raise ValueError("Nothing was changed.")
        return {"approved": True, "editedArgs": arguments}

    def _show(self, interrupt: Interrupt, choices: Choices, place: str) -> None:
        if not self._view.is_live:
            self._view.line(_question(self._view, interrupt) + place, "question")
            return
        question, name, details = _parts(interrupt)
        body: list[RenderableType] = [safe(question)]
        if name:
            body.append(safe(name, "bold"))
        if name or details:
            body.append(_arguments(details))
        if Verb.FILL in choices.words.values() or not (choices.text or len(choices.words) > 1):
            body.append(safe(f"expected: {choices.json}", "note"))
        if interrupt.expires_at:
            body.append(safe(f"until {interrupt.expires_at}", "note"))
        run = interrupt.subagent_run_id
        asker = self._view.subagents.path(run) if run else "the agent"
        self._view.show(card(f"{printable(asker)} asks{place}", Group(*body), "question"))


def show_waiting(view: View, interrupts: Sequence[Interrupt]) -> None:
    """Print the questions of a run, where no person can answer."""
    for interrupt in interrupts:
        view.line(f"waiting: {_question(view, interrupt)}", "error")


def _question(view: View, interrupt: Interrupt) -> str:
    """Return the question on one line, with the subagent that asks it."""
    question, name, details = _parts(interrupt)
    if name:
        question = f"{question}: {name} {json_text(details)}"
    run = interrupt.subagent_run_id
    return f"{view.subagents.path(run)} asks: {question}" if run else question


def _parts(interrupt: Interrupt) -> tuple[str, str, object]:
    """Return the question, the name and the arguments of the call to approve; without a call, the
    interrupt's data.
    """
    question, about = interrupt.message or interrupt.reason, interrupt.metadata or {}
    if isinstance(name := about.get("name"), str):
        # `HumanInTheLoopMiddleware` repeats the call in its question.
        return shorten(question.partition(f"\n\nTool: {name}\n")[0]), name, about.get("args")
    value = about.get("value")
    if isinstance(value, dict):
        value = {key: one for key, one in value.items() if key not in _REPEATED}
    return shorten(question), "", value if isinstance(value, dict | list) else None


def _arguments(details: object) -> RenderableType:
    """Return arguments as a table: texts as they are, in a column of their own, so that none looks
    like two.
    """
    if not isinstance(details, dict) or len(details) > _MAX_ARGUMENTS:
        return safe(shorten(json_text(details, indent=2)), "call")
    table = Table.grid(padding=(0, 2))
    for name, value in details.items():
        text = value if isinstance(value, str) else json_text(value, indent=2)
        table.add_row(safe(shorten(name), "note"), safe(shorten(text), "call"))
    return table


def is_person() -> bool:
    """Return whether a person types, not a file or a pipe."""
    return sys.stdin.isatty()


def discard_typed() -> None:
    """Discard typed characters: it was not meant for the next question.

    `input` and `readline` read only one line from the terminal, so no input is buffered in this
    process. Input from a file or a pipe stays.
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
        # More than the terminal can buffer comes in pieces.
        while select.select([stdin], [], [], _QUIET_SECONDS)[0]:
            termios.tcflush(stdin, termios.TCIFLUSH)


def read_line(console: Console, prompt: str, initial: str = "") -> str:
    """Ask for a line. Raises `EOFError` if there is no further line.

    Ctrl-C at an empty line prints how to leave.

    Args:
        console: Where the prompt is printed.
        prompt: It must contain no control characters.
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
    except KeyboardInterrupt:
        console.print(
            "" if readline.get_line_buffer() else "\n:q leaves, as Ctrl-D does.", style="dim"
        )
        raise
    finally:
        readline.set_startup_hook()
