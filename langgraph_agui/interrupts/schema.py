"""A payload against a JSON Schema. The one place that needs the `jsonschema` package, which the extras bring."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from langgraph_agui.interrupts.decisions import InvalidAnswer

logger = logging.getLogger(__name__)


def check(payload: object, schema: Mapping[str, object] | None, subject: str) -> None:
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
        raise ImportError('jsonschema is missing: pip install "langgraph-agui[interrupts]"') from error
    try:
        Draft202012Validator(dict(schema), registry=Registry()).validate(payload)  # an empty one fetches nothing
    except ValidationError as error:
        place = "/".join(map(str, error.absolute_path)) or "its root"
        raise InvalidAnswer(f"The answer to {subject!r} breaks the rule {error.validator!r} at {place}.") from error


def misfit(payload: object, schema: Mapping[str, object] | None, subject: str) -> str | None:
    """What `check` has against a payload, for one who is about to send it; None if nothing, or if it cannot tell.

    The schema is another's and may be anything, and the package that reads it may be missing: then the other judges.
    """
    try:
        check(payload, schema, subject)
    except InvalidAnswer as error:
        return str(error)
    except Exception as error:
        logger.debug("The schema of %r was not applied: %r", subject, error)
    return None
