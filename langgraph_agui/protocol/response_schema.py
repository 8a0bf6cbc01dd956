"""Answers to an interrupt, checked against its `responseSchema` (AG-UI 1.0, interrupts).

A payload and a JSON Schema enter; an error leaves if they do not fit. It needs the package
`jsonschema`.
"""

from collections.abc import Mapping

from langgraph_agui.kernel.telemetry import run_logger
from langgraph_agui.protocol.relaxed_schema import relax_schema

logger = run_logger(__name__)


class InvalidAnswer(Exception):  # noqa: N818  # a state of the client's data
    """A payload does not answer its interrupt. The text is safe to show to the client."""


def check_schema(payload: object, schema: Mapping[str, object] | None, subject: str) -> None:
    """Refuse a payload that a schema does not allow.

    Raises:
        InvalidAnswer: It does not fit; the text names the place and the rule, never the value.
        ImportError: There is a schema, and the package that reads it is missing.
    """
    if schema is None:
        return
    try:
        from jsonschema import Draft202012Validator, ValidationError
        from referencing import Registry
    except ImportError as error:
        raise ImportError(
            'jsonschema is missing: pip install "langgraph-agui[interrupts]"'
        ) from error
    try:
        # An empty registry fetches nothing.
        Draft202012Validator(dict(schema), registry=Registry()).validate(payload)
    except ValidationError as error:
        place = "/".join(map(str, error.absolute_path)) or "its root"
        raise InvalidAnswer(
            f"The answer to {subject!r} breaks the rule {error.validator!r} at {place}."
        ) from error


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
