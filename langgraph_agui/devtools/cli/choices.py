"""The choices that an interrupt offers: words, text, fields or JSON.

In: interrupts with their JSON Schema, and typed lines. Out: payloads, or the expected ones in plain
words.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from ag_ui.core import Interrupt
from jsonschema import Draft202012Validator, ValidationError
from pydantic import JsonValue
from pydantic_core import from_json
from referencing import Registry

from langgraph_agui.devtools.cli.formatting import json_text, one_line, printable
from langgraph_agui.protocol import relax_schema

# How many answers or fields of an agent are offered, and how long ones; the others are typed as
# JSON.
_MAX_WORDS: Final = 20
_MAX_WORD: Final = 60
_MAX_EXPECTED: Final = 400
_APPROVED: Final[JsonValue] = {"approved": True}
_YES_NO: Final[dict[str, JsonValue]] = {"y": True, "yes": True, "n": False, "no": False}
_TYPES: Final = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class Verb(Enum):
    """The effect of a word that stands for no fixed payload. A text can follow it."""

    EDIT = "edit"
    RESPOND = "respond"
    REJECT = "reject"
    FILL = "fill"
    CANCEL = "cancel"


@dataclass(slots=True)
class Choices:
    """The answers that an interrupt takes besides JSON."""

    # The payload or the action of each word, in the order in which they are offered.
    words: "dict[str, JsonValue | Verb]" = field(default_factory=dict)
    # Whether any other line is an answer as it is.
    text: bool = False
    # The name of the JSON to type; "" where a line that is JSON is a text too.
    json: str = "any value"

    def __post_init__(self) -> None:
        self.words.setdefault("cancel", Verb.CANCEL)  # the agent may offer a "cancel" of its own

    def prompt(self) -> str:
        """Return the line that offers the answers, such as `[a]pprove  [rej]ect  [res]pond  or
        JSON: `.
        """
        if self.text:
            words = [*self.words, "JSON"] if self.json else [*self.words]
            return f"{', '.join(words)} or text: "
        words = [self._abbreviated(word) for word in self.words]
        return printable(f"{'  '.join(words)}  or JSON: ".replace("\n", " "))

    def _abbreviated(self, word: str) -> str:
        """Return a word with the letters in brackets that are enough to mean it."""
        for size in range(1, len(word)):
            if self._matching(word[:size]) == [word]:
                return f"[{word[:size]}]{word[size:]}"
        return word

    def find(self, line: str) -> tuple[str, str] | None:
        """Return the word that `line` begins with, and the text after it; None if not exactly one
        word is meant.

        A word can be abbreviated. Where any text is an answer, only a whole line is one of the
        words.
        """
        if self.text:
            return (line.lower(), "") if line.lower() in self.words else None
        if len(meant := self._matching(line)) == 1:
            return meant[0], ""
        start, _, rest = line.partition(" ")
        takes_text = (Verb.EDIT, Verb.RESPOND, Verb.REJECT)
        meant = [word for word in self._matching(start) if self.words[word] in takes_text]
        return (meant[0], rest.strip()) if len(meant) == 1 else None

    def expected(self) -> str:
        """Return which words and which JSON are answers."""
        return f"Expected {', '.join(self.words)}, or JSON: {self.json}."

    def _matching(self, start: str) -> list[str]:
        if start in self.words:
            return [start]
        decision = {True: "approve", False: "reject"}.get(_YES_NO.get(start.lower()))  # type: ignore[call-overload]
        if self.words.get(decision) in (_APPROVED, Verb.REJECT):
            return [decision]
        return [word for word in self.words if word.startswith(start.lower())]


def choices_of(interrupt: Interrupt) -> Choices:
    """Return the choices of an interrupt: by its schema, or without one by its reason."""
    schema = interrupt.response_schema or {}
    if not schema and interrupt.reason == "tool_call":
        return Choices({"approve": _APPROVED, "reject": Verb.REJECT}, json=json_text(_APPROVED))
    if not schema or schema.get("type") == "boolean":
        # An agent that asks "Really?" takes any text for a yes, so a no has to be false.
        asks = not schema and interrupt.reason == "input_required"
        return Choices(
            {"yes": True, "no": False}, text=asks, json="true or false" if schema else "any value"
        )
    expected = wanted(schema)
    if words := [
        word
        for word in _list(schema.get("enum"))
        if isinstance(word, str) and len(word) <= _MAX_WORD
    ]:
        return Choices({word: word for word in words[:_MAX_WORDS]}, json=expected)
    if schema.get("type") == "string":
        return Choices(text=True, json="")
    if decisions := _approval_words(schema.get("properties")):
        return Choices(decisions, json=json_text({"approved": "approve" in decisions}))
    return Choices({"fill": Verb.FILL} if form_fields(schema) else {}, json=expected)


def _approval_words(properties: object) -> "dict[str, JsonValue | Verb]":
    """Return the words of AG-UI's payload for approvals: `approved`, `editedArgs`, `message`."""
    if not isinstance(properties, Mapping):
        return {}
    words: dict[str, JsonValue | Verb] = {}
    if "approved" in properties:
        words["approve"] = _APPROVED
        if "editedArgs" in properties:
            words["edit"] = Verb.EDIT
        words["reject"] = Verb.REJECT
    decisions = properties.get("type")  # `LangGraphAgent` names the decisions that the graph takes
    if isinstance(decisions, Mapping) and (allowed := _list(decisions.get("enum"))):
        words = {word: payload for word, payload in words.items() if word in allowed}
        if "respond" in allowed:
            words["respond"] = Verb.RESPOND
    return words


# The schema of a field, and whether it may be left out.
Field: TypeAlias = tuple[dict[str, object], bool]


def form_fields(schema: Mapping[str, object]) -> dict[str, Field]:
    """Return the fields of an object by name; none if it has no fields that a form can show."""
    plain = relax_schema(schema)  # without references
    found, needed = plain.get("properties"), _list(plain.get("required"))
    if not isinstance(found, dict) or len(found) > _MAX_WORDS:
        return {}
    if not all(isinstance(one, dict) for one in found.values()):
        return {}
    return {name: (one, name not in needed) for name, one in found.items()}


def wanted(schema: Mapping[str, object], *, whole: bool = True) -> str:
    """Return in words which values a schema takes; if `whole`, with the fields of an object."""
    options: list[object] = [*_list(schema.get("enum"))[:_MAX_WORDS]]
    if "const" in schema:
        options = [schema["const"]]
    if options:
        return one_line(" or ".join(json_text(one) for one in options), _MAX_EXPECTED)
    branches = [one for one in _list(schema.get("anyOf")) if isinstance(one, dict)]
    kinds = [one.get("type") for one in (*branches, schema)]
    types = [_TYPES[one] for one in kinds if isinstance(one, str) and one in _TYPES]
    text = " or ".join(types or ["a value"])
    if whole and (fields := form_fields(schema)):
        named = [f"{name} ({_about(field)})" for name, field in fields.items()]
        text = f"{text} with {', '.join(named)}"
    return one_line(text, _MAX_EXPECTED)


def _about(field: Field) -> str:
    schema, is_optional = field
    text = wanted(schema, whole=False)
    return f"{text}, optional" if is_optional else text


def mismatch(payload: JsonValue, schema: Mapping[str, object] | None) -> str | None:
    """Return in words why a schema refuses a payload; None if it does not, or if that is not
    known: then the agent checks it.
    """
    if schema is None:
        return None
    try:
        # An empty registry fetches nothing.
        Draft202012Validator(relax_schema(schema), registry=Registry()).validate(payload)
    except ValidationError as error:
        return _words_of(error)
    except Exception:  # the agent's schema may be anything
        return None
    return None


def _words_of(error: ValidationError) -> str:
    path = one_line("/".join(map(str, error.absolute_path)), _MAX_WORD)
    place = f" for `{path}`" if error.path else ""
    if error.validator in ("type", "enum", "const", "anyOf") and isinstance(error.schema, dict):
        return f"Expected {wanted(error.schema)}{place}."
    return f"That does not fit{place}: {one_line(error.message, _MAX_EXPECTED)}."


def read_value(line: str, schema: Mapping[str, object]) -> JsonValue:
    """Return the value that a line means where a schema asks for one. Raises `ValueError` with the
    expected values in words.
    """
    values: list[JsonValue] = [line, _YES_NO.get(line.lower(), line)]
    if schema.get("type") != "string":
        with suppress(ValueError):
            values.insert(0, from_json(line, allow_inf_nan=False))
    for value in values:
        if (problem := mismatch(value, schema)) is None:
            return value
    raise ValueError(problem)


def _list(value: object) -> list[JsonValue]:
    return value if isinstance(value, list) else []
