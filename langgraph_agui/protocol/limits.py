"""How much a client may send at once.

All work on an input is bounded by its bytes, its JSON values and the lengths of its lists. Depth is
bounded because stores and models refuse what is nested too deeply, some only after a tool has run.
"""

from dataclasses import dataclass

from langgraph_agui.kernel.checks import check_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class InputLimits:
    """The limits of one request of a client.

    Attributes:
        max_bytes: Bytes of the body.
        max_depth: Levels of JSON, in the body and in the arguments of each tool call.
        max_items: Messages, tools, context items, resume entries, and parts and tool calls of one
            message.
        max_values: JSON values in all, including those in the arguments of tool calls.

    Raises:
        TypeError: A limit is of another type.
        ValueError: A limit is not more than 0.
    """

    max_bytes: int = 10 * 1024 * 1024
    max_depth: int = 100
    max_items: int = 10_000
    max_values: int = 250_000

    def __post_init__(self) -> None:
        check_fields(self)
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise ValueError(
                    f"InputLimits.{name} must be more than 0, not {getattr(self, name)!r}"
                )
