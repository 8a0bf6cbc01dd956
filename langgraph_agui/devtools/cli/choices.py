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
# The decisions that these mean where they are offered; `r` never means `respond` beside `reject`.
_DECISIONS: Final = {
    "y": "approve",
    "yes": "approve",
    "n": "reject",
    "no": "reject",
    "r": "reject",
    "s": "respond",
}
_TYPES: Final = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
# The rules about the size of a text or a list, and what is counted: one, and several.
_SIZES: Final = {
    "string": ("minLength", "maxLength", "character", "characters"),
    "array": ("minItems", "maxItems", "entry", "entries"),
}
# The rules that `wanted` has words for: all, and those of a schema with a type.
_IN_WORDS: Final = ("type", "enum", "const", "anyOf")
_LIMITS: Final = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "minItems", "maxItems"),
)


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
        """Return the line that offers the answers, such as `[a]pprove  [r]eject  re[s]pond  or
        JSON: `.
        """
        if self.text:
            words = [*self.words, "JSON"] if self.json else [*self.words]
            return f"{', '.join(words)} or text: "
        words = [self._abbreviated(word) for word in self.words]
        return printable(f"{'  '.join(words)}  or JSON: ".replace("\n", " "))

    def _abbreviated(self, word: str) -> str:
        """Return a word with the letters in brackets that are enough to mean it."""
        starts = (word[:size] for size in range(2, len(word)))
        for enough in (*word, *starts):
            if enough != word and self._matching(enough) == [word]:
                before, _, after = word.partition(enough)
                return f"{before}[{enough}]{after}"
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
        decision = _DECISIONS.get(start.lower(), "")
        if self.words.get(decision) in (_APPROVED, Verb.REJECT, Verb.RESPOND):
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
    types = [words for one in (*branches, schema) if (words := _type_in_words(one))]
    text = " or ".join(types or ["a value"])
    if whole and (fields := form_fields(schema)):
        named = [f"{name} ({_about(field)})" for name, field in fields.items()]
        text = f"{text} with {', '.join(named)}"
    return one_line(text, _MAX_EXPECTED)


def _type_in_words(schema: Mapping[str, object]) -> str:
    """Return the type of a schema with its limits, such as `a whole number from 1 to 30`; "" if it
    has none.
    """
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        return ""
    words = [_TYPES[kind]]
    if kind in _SIZES:
        least, most, one, several = _SIZES[kind]
        low, high = _limit(schema, least), _limit(schema, most)
        if sizes := _range(low, high, "of"):
            count = low if high is None else high
            words += [sizes, one if count == 1 else several]
    elif kind in ("integer", "number"):
        limits = [_range(_limit(schema, "minimum"), _limit(schema, "maximum"), "from")]
        for rule, than in (("exclusiveMinimum", "greater"), ("exclusiveMaximum", "less")):
            if (limit := _limit(schema, rule)) is not None:
                limits.append(f"{than} than {limit}")
        words.append(" and ".join(filter(None, limits)))
    return " ".join(filter(None, words))


def _limit(schema: Mapping[str, object], rule: str) -> float | None:
    limit = schema.get(rule)
    return limit if isinstance(limit, int | float) else None


def _range(low: float | None, high: float | None, start: str) -> str:
    """Return a range in words, which begins with `start` if it has two ends; "" if it has none."""
    if low is None:
        return "" if high is None else f"of at most {high}"
    if high is None:
        return f"of at least {low}"
    return f"of exactly {low}" if low == high else f"{start} {low} to {high}"


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
    if isinstance(error.schema, dict) and (
        error.validator in _IN_WORDS
        or (error.validator in _LIMITS and _type_in_words(error.schema))
    ):
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
