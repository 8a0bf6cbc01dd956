"""The limits of a remote run at its client.

In: options. Out: `RunLimitError` for a run that goes beyond one of them.
"""

import asyncio
import math
import time
from collections.abc import Awaitable
from dataclasses import dataclass, fields
from typing import Final, TypeVar

import httpx2

from langgraph_agui.client.errors import RunLimitError
from langgraph_agui.kernel.aio import Duration, seconds
from langgraph_agui.kernel.checks import check_fields
from langgraph_agui.protocol.patch import MAX_WEIGHT
from langgraph_agui.protocol.sse import MAX_FRAME

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLimits:
    """The limits of a remote run. A run that goes beyond one ends with a `RunLimitError`.

    Attributes:
        max_event: The longest event, in characters; 10 Mi by default, as in the reference client. A
            longer one is an `EventTooLargeError`.
        max_bytes: The longest stream of one run, in bytes after unpacking; 256 MiB by default.
        max_weight: How large patches may make the state or one activity, and how much one run may
            copy by patches, in bytes of JSON; 32 MiB by default.
        max_tool_rounds: How often an agent may call local tools in one turn; 50 by default.
        run_timeout: How long one run may take, from its request to its end, in seconds or as a
            `timedelta`, whatever the server sends meanwhile; None, the default, sets no limit. With
            a blocking `http_client` of your own, headers that never end are not noticed.

    Raises:
        TypeError: A limit is of another type.
        ValueError: A limit is not above zero.
    """

    max_event: int = MAX_FRAME
    max_bytes: int = 256 * 1024 * 1024
    max_weight: int = MAX_WEIGHT
    max_tool_rounds: int = 50
    run_timeout: Duration | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        check_fields(self)
        for field in fields(self):
            value = getattr(self, field.name)
            if (limit := seconds(value)) is not None and limit <= 0:
                raise ValueError(
                    f"ClientLimits({field.name}=...) must be above zero, not {value!r}."
                )

    def check_bytes(self, received: int) -> None:
        """Raise `RunLimitError` if a run has sent too many bytes."""
        if received > self.max_bytes:
            raise RunLimitError("max_bytes", f"The run sent more than {self.max_bytes:,} bytes.")

    def check_tool_rounds(self, rounds: int) -> None:
        """Raise `RunLimitError` if the agent called local tools in too many runs of one turn."""
        if rounds >= self.max_tool_rounds:
            raise RunLimitError(
                "max_tool_rounds", f"The agent called local tools in {rounds} runs of one turn."
            )


DEFAULT_LIMITS: Final = ClientLimits()


class Deadline:
    """The moment at which a run that begins now has to be over.

    Args:
        limit: For how long it may take; None for ever.
        blocking: Whether there is no event loop.
    """

    def __init__(self, limit: Duration | None, *, blocking: bool) -> None:
        self._seconds = seconds(limit)
        self._end = math.inf if self._seconds is None else time.monotonic() + self._seconds
        self.blocking = blocking

    def left(self) -> float:
        """Return the seconds left, `inf` without a limit. Raises `RunLimitError` if none are."""
        if (left := self._end - time.monotonic()) <= 0:
            raise RunLimitError("run_timeout", f"The run took longer than {self._seconds:g} s.")
        return left

    def cap(self, timeout: httpx2.Timeout) -> httpx2.Timeout:
        """Return the timeouts of a request, none longer than the time that is left."""
        if (left := self.left()) == math.inf:
            return timeout
        values = timeout.as_dict().items()
        return httpx2.Timeout(
            **{name: left if value is None else min(value, left) for name, value in values}
        )

    async def wait(self, work: Awaitable[T]) -> T:
        """Return the result of `work`. Raises `RunLimitError` if it does not come in time."""
        if (left := self.left()) == math.inf or self.blocking:
            return await work  # a timer ends a read that blocks
        try:
            async with asyncio.timeout(left):
                return await work
        except TimeoutError:
            self.left()
            raise
