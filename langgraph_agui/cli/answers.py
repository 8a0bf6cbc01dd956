"""What an interrupt can be answered with, and what is meant by a line that a person types (AG-UI 1.0, interrupts).

In: the interrupt, and the line. Out: a payload, or that the interrupt is cancelled. No terminal here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn, TypeAlias

from ag_ui.core import Interrupt

from langgraph_agui.interrupts.schema import misfit
from langgraph_agui.protocol.jsonable import JsonValue

Schema: TypeAlias = Mapping[str, object]

CANCEL: Final = "cancel"
APPROVE: Final = "approve"
EDIT: Final = "edit"
REJECT: Final = "reject"
RESPOND: Final = "respond"


@dataclass(frozen=True, slots=True)
class Choices:
    """What an interrupt takes beside JSON."""

    words: Mapping[str, JsonValue] = field(default_factory=dict)
    """Payloads by the word that stands for them."""
    edits: bool = False
    """Whether the call can run with other arguments."""
    explains: bool = False
    """Whether a rejection may say why."""
    responds: bool = False
    """Whether a text can take the place of the call's result."""
    text: bool = False
    """Whether any other line is the answer itself."""
    json: bool = True
    """Whether JSON is what it says, and no text."""

    @property
    def named(self) -> list[str]:
        """All words, in the order in which they are offered."""
        more = [word for word, there in ((EDIT, self.edits), (RESPOND, self.responds)) if there]
        known = list(self.words)
        at = known.index(APPROVE) + 1 if APPROVE in known else 0
        return list(dict.fromkeys([*known[:at], *more, *known[at:], CANCEL]))


@dataclass(frozen=True, slots=True)
class Typed:
    """A line that begins with one of the words: `word`, and what follows."""

    word: str
    rest: str


@dataclass(frozen=True, slots=True)
class Payload:
    """An answer."""

    value: JsonValue


def choices_of(interrupt: Interrupt) -> Choices:
    """Return what `interrupt` takes, as far as its schema tells; without one, by its reason."""
    schema: Schema = interrupt.response_schema or {}
    if not schema:
        yes_no: dict[str, JsonValue] = {"yes": True, "no": False}
        approval: dict[str, JsonValue] = {APPROVE: {"approved": True}, REJECT: {"approved": False}}
        if interrupt.reason == "tool_call":
            return Choices(approval)
        # Whoever asks "Really?" takes any text for yes: no has to be false.
        return Choices(yes_no, text=interrupt.reason == "input_required")
    if schema.get("type") == "boolean":
        return Choices({"yes": True, "no": False})
    if words := [word for word in _list(schema.get("enum")) if isinstance(word, str)]:
        return Choices({word: word for word in words})
    if schema.get("type") == "string":
        return Choices(text=True, json=False)
    return _approval(schema) or Choices(_typed(schema))


def _approval(schema: Schema) -> Choices | None:
    """The words for AG-UI's payload of an approval: `approved`, `editedArgs`, `message`."""
    properties = _mapping(schema.get("properties"))
    approved = _mapping(properties.get("approved"))
    allowed = _list(_mapping(properties.get("type")).get("enum"))
    responds = RESPOND in allowed and "message" in properties
    if approved.get("type") != "boolean" or not set(_list(schema.get("required"))) <= {"approved"}:
        return Choices(responds=True) if responds else None
    words: dict[str, JsonValue] = {}
    for word, value in ((APPROVE, True), (REJECT, False)):
        if approved.get("const", value) == value and (not allowed or word in allowed):
            words[word] = {"approved": value}
    edits = "editedArgs" in properties and approved.get("const") is not False and (not allowed or EDIT in allowed)
    return Choices(words, edits=edits, explains=REJECT in words and "message" in properties, responds=responds)


def _typed(schema: Schema) -> dict[str, JsonValue]:
    """The words for a choice of objects that only need their `type`, as LangChain's decisions."""
    definitions = _mapping(schema.get("$defs"))
    found: dict[str, JsonValue] = {}
    for option in _list(schema.get("oneOf")) or _list(schema.get("anyOf")) or [schema]:
        plain = _mapping(option)
        plain = _mapping(definitions.get(str(plain.get("$ref", "")).rpartition("/")[2], plain))
        kind = _mapping(_mapping(plain.get("properties")).get("type"))
        word = kind.get("const") or next(iter(_list(kind.get("enum"))), None)
        if isinstance(word, str) and set(_list(plain.get("required"))) <= {"type"}:
            found[word] = {"type": word}
    return found


def read(line: str, choices: Choices) -> Typed | Payload:
    """Return what is meant by `line`: one of the words, as far as it is clear, or a payload.

    Where any text is an answer, only a whole word is one of the words. Raises `ValueError` if it is neither.
    """
    said = line.strip()
    if not said:
        raise ValueError("That is empty: type an answer, or cancel.")
    if (typed := _word(said, choices)) is not None:
        return typed
    try:
        return Payload(_parsed(said) if choices.json else said)
    except ValueError as error:
        if choices.text:
            return Payload(said)
        raise ValueError(f"That is neither one of the answers nor JSON: {error}") from None


def _word(said: str, choices: Choices) -> Typed | None:
    """The word that `said` is, or begins with where something may follow."""
    named = choices.named
    if said in named:
        return Typed(said, "")
    if choices.text:
        return Typed(said.lower(), "") if said.lower() in named else None
    if len(meant := _begun(said, named)) == 1:
        return Typed(meant[0], "")
    word, _, rest = said.partition(" ")
    followed = [one for one in _begun(word, named) if one == REJECT or one not in choices.words]
    return Typed(followed[0], rest.strip()) if len(followed) == 1 and followed != [CANCEL] else None


def _begun(text: str, words: Iterable[str]) -> list[str]:
    """The words that begin with `text`."""
    return [word for word in words if word.startswith(text.lower())]


def _parsed(text: str) -> JsonValue:
    """Return the JSON in `text`; `ValueError` if it is none, or what only Python takes for JSON."""
    try:
        parsed: JsonValue = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return parsed


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


def edited_args(text: str) -> JsonValue:
    """Return the payload that approves a call with the arguments in `text`; `ValueError` if they are none."""
    try:
        arguments = _parsed(text)
    except ValueError as error:
        raise ValueError(f"That is no JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise ValueError("Arguments are a JSON object.")
    return {"approved": True, "editedArgs": arguments}


def fault(payload: JsonValue, interrupt: Interrupt) -> str | None:
    """Say what the interrupt's schema has against `payload`, if anything."""
    return misfit(payload, interrupt.response_schema, interrupt.message or interrupt.reason)


def hint(words: Iterable[str]) -> str:
    """The words with the letters that are enough in brackets: `[a]pprove  [r]eject`."""
    known = list(words)
    return "  ".join(_bracketed(word, known) for word in known)


def _bracketed(word: str, known: list[str]) -> str:
    for length in range(1, len(word)):
        if _begun(word[:length], known) == [word]:
            return f"[{word[:length]}]{word[length:]}"
    return word


def _mapping(value: object) -> Schema:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
