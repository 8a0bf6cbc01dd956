"""The wire form of SDK models."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import NoReturn

from ag_ui.core import Event, Interrupt
from ag_ui.core.types import GeneratedBaseModel

from langgraph_agui.kernel.quoting import printable


class ProtocolError(Exception):
    """An AG-UI stream broke a rule that ends the run.

    Attributes:
        code: A short, stable kebab-case name of the broken rule.
        event: The offending event in its wire form; `None` if the fault is in the stream as a
            whole.

    `str(error)` is a sentence for people.
    """

    def __init__(self, code: str, message: str, event: Mapping[str, object] | None = None) -> None:
        super().__init__(printable(message, 1000))
        self.code = code
        self.event = event

    def __reduce__(
        self,
    ) -> tuple[type[ProtocolError], tuple[str, str, Mapping[str, object] | None]]:
        """Support pickling, which by default calls the constructor with the message alone."""
        return type(self), (self.code, str(self), self.event)


def wire_fields(model: GeneratedBaseModel) -> dict[str, object]:
    """Return the fields of `model` by their wire names, without pydantic's serializer.

    The keys are exactly those that the SDK would serialize: optional fields without a value are
    left out, required nulls and unknown extra fields stay. Nested models are not converted.
    """
    values = model.__dict__
    fields = {
        alias: value
        for name, alias, omittable in wire_layout(type(model))
        if (value := values.get(name)) is not None or not omittable
    }
    if model.model_extra:
        fields.update(model.model_extra)
    return fields


def refuse(code: str, event: Event, reason: str) -> NoReturn:
    """Raise the `ProtocolError` for an event that breaks a rule."""
    raise ProtocolError(code, f"Unexpected {event.type.value}: {reason}.", wire_fields(event))


@cache
def wire_layout(kind: type[GeneratedBaseModel]) -> tuple[tuple[str, str, bool], ...]:
    """Return for each field of a model its name, its name on the wire, and whether it is left out
    when empty.
    """
    return tuple(
        (name, field.serialization_alias or name, not field.is_required() and field.default is None)
        for name, field in kind.model_fields.items()
    )


def has_expired(interrupt: Interrupt, now: datetime | None = None) -> bool:
    """Return whether `expires_at` has passed; such an interrupt can only be cancelled (AG-UI 1.0,
    interrupts).

    A time without a zone is UTC. An `expires_at` that is not an ISO 8601 date is ignored.

    Args:
        interrupt: The open interrupt.
        now: The moment to compare with, with a zone; the current time by default.
    """
    try:
        end = datetime.fromisoformat(interrupt.expires_at or "")
    except ValueError:
        return False
    # Compare without converting: near the ends of the calendar, a conversion would overflow.
    return (end if end.tzinfo is not None else end.replace(tzinfo=UTC)) <= (
        now or datetime.now(UTC)
    )
