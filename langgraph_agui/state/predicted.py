"""What the arguments of a tool call say of the state, also while they are not all there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic_core import from_json

from langgraph_agui.state.options import PredictState


def predicted(predict: Iterable[PredictState], arguments: str) -> dict[str, object]:
    """The values that `predict` makes of a call's arguments, by key of the state.

    Args:
        predict: What is predicted from the call's tool.
        arguments: JSON, or the beginning of it; no keys come of what is neither.
    """
    try:
        read = from_json(arguments, allow_partial="trailing-strings")
    except ValueError:
        return {}
    if not isinstance(read, Mapping):
        return {}
    return {
        one.key: read if one.argument is None else read[one.argument]
        for one in predict
        if one.argument is None or one.argument in read
    }


def begins(value: object, whole: object) -> bool:
    """Whether `value` is what `whole` may have been while it was being written; nothing empty is."""
    return bool(value) and _begins(value, whole)


def _begins(value: object, whole: object) -> bool:
    if isinstance(value, str) and isinstance(whole, str):
        return whole.startswith(value)
    if isinstance(value, Mapping) and isinstance(whole, Mapping):
        return all(key in whole and _begins(inner, whole[key]) for key, inner in value.items())
    if isinstance(value, list) and isinstance(whole, list):
        return len(value) <= len(whole) and all(map(_begins, value, whole))
    return type(value) is type(whole) and value == whole
