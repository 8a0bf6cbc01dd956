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
