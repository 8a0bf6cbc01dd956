"""The wire form of the SDK's models, read without pydantic's serializer."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ag_ui.core.types import GeneratedBaseModel


def wire_fields(model: GeneratedBaseModel) -> dict[str, object]:
    """Return the fields of ``model`` under their wire names, values as they are.

    Exactly the keys that the SDK would serialize: optional fields without a value are left out, required
    nulls and unknown extra fields stay. Nested models are not converted.
    """
    values = model.__dict__
    fields = {
        alias: value
        for name, alias, omittable in _layout(type(model))
        if (value := values.get(name)) is not None or not omittable
    }
    if model.model_extra:
        fields.update(model.model_extra)
    return fields


@cache
def _layout(kind: type[GeneratedBaseModel]) -> tuple[tuple[str, str, bool], ...]:
    return tuple(
        (name, field.serialization_alias or name, not field.is_required() and field.default is None)
        for name, field in kind.model_fields.items()
    )
