"""The arguments of a tool call, as an agent has streamed them.

In: their text. Out: the arguments, if the text is whole.
"""

import json


def parse_arguments(text: str) -> dict[str, object] | None:
    """Return the arguments of a call, none for a blank text; None if they are no JSON object.

    Arguments that broke off are none: LangChain's parser completes them, and a tool would run with
    half of a path or an amount.
    """
    try:
        value = json.loads(text, strict=False) if text.strip() else {}
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def broke_off(text: str) -> bool:
    """Return whether the arguments of an open call broke off, because its run did not finish."""
    return not text.strip() or parse_arguments(text) is None
