"""Answers to an interrupt, checked against its `responseSchema` (AG-UI 1.0, interrupts).

A payload and a JSON Schema enter; an error leaves if they do not fit. It needs the package
`jsonschema`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.protocol.relaxed_schema import relax_schema

if TYPE_CHECKING:
    from jsonschema import ValidationError

logger = run_logger(__name__)

# The rules whose value the error tells too. A constant or a pattern may be a secret.
_SHOWN_RULES: Final = (
    *("type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("minLength", "maxLength", "minItems", "maxItems"),
)


class InvalidAnswer(Exception):  # noqa: N818  # a state of the client's data
    """A payload does not answer its interrupt. The text is safe to show to the client."""


def check_schema(payload: object, schema: Mapping[str, object] | None, subject: str) -> None:
    """Refuse a payload that a schema does not allow.

    Raises:
        InvalidAnswer: It does not fit; the text names the place and the rule, never the value. If
            the schema has a branch for each kind of answer, they are those of the payload's kind.
            Of a malformed schema, the rules that can be applied count, and the log says so.
        ImportError: There is a schema, and the package that reads it is missing.
    """
    if schema is None:
        return
    try:
        from jsonschema import Draft202012Validator
        from referencing import Registry
    except ImportError as error:
        raise ImportError(
            'jsonschema is missing: pip install "langgraph-agui[interrupts]"'
        ) from error

    def find_error(rules: Mapping[str, object]) -> "ValidationError | None":
        # An empty registry fetches nothing.
        validator = Draft202012Validator(dict(rules), registry=Registry())
        return next(validator.iter_errors(payload), None)

    try:
        broken = find_error(schema)
    except Exception as error:  # each malformed rule raises in its own way
        logger.warning("The response schema of %r has a malformed rule: %r", subject, error)
        broken = find_error(relax_schema(schema))
    if broken is not None:
        raise InvalidAnswer(f"The answer to {subject!r} breaks {_rule(broken)}.") from broken


def _rule(error: "ValidationError") -> str:
    """Return the name of a broken rule, and its place."""
    error = _meant(error)
    place = [*map(str, error.absolute_path)]
    rule = error.validator
    match error.validator_value:
        case str() | int() | float() as value if rule in _SHOWN_RULES:
            rule = f"{rule}: {value}"
        case list(names) if rule == "required" and isinstance(error.instance, Mapping):
            place += [name for name in names if name not in error.instance][:1]
    return f"the rule {rule!r} at {'/'.join(place) or 'its root'}"


def _meant(error: "ValidationError") -> "ValidationError":
    """Return the error of the only branch of `oneOf` or `anyOf` whose constants the payload has:
    it is of that kind. If not exactly one has them, return the error as it is.
    """
    branches: dict[object, list[ValidationError]] = {}
    for one in error.context or ():
        branches.setdefault(one.relative_schema_path[0], []).append(one)
    meant = [
        errors
        for errors in branches.values()
        if not any(
            one.validator in ("const", "enum") and len(one.relative_path) == 1 for one in errors
        )
    ]
    return _meant(meant[0][0]) if len(meant) == 1 else error


def schema_mismatch(
    payload: object, schema: Mapping[str, object] | None, subject: str
) -> str | None:
    """Return why `check_schema` refuses a payload that is about to be sent; None if it does not, or
    if unknown.

    Another agent wrote the schema, so it is relaxed, and `jsonschema` may be missing: what is not
    checked here, that agent checks.
    """
    try:
        check_schema(payload, schema and relax_schema(schema), subject)
    except InvalidAnswer as error:
        return str(error)
    except Exception as error:
        logger.debug("The schema of %r was not applied: %r", subject, error)
    return None
