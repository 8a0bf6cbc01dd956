"""Waiting in tests: for a condition, never for a time.

`PATIENCE` is how long a test waits for what must happen. It is far longer than anything takes, so
that it ends a test that hangs, and never one that is slow because the machine is busy.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

PATIENCE = 50.0
"""Seconds; less than pytest allows a test, and than what hangs in one, so that the error says what
did not happen."""


def wait_for(met: Callable[[], object], what: str, timeout: float = PATIENCE) -> None:
    """Wait until `met()` is true, but no longer than `timeout` seconds."""
    end = time.monotonic() + timeout
    while not met():
        assert time.monotonic() < end, f"not within {timeout} s: {what}"
        time.sleep(0.005)


async def eventually(met: Callable[[], object], what: str, timeout: float = PATIENCE) -> None:
    """Like `wait_for`, in the event loop, which goes on meanwhile."""
    end = time.monotonic() + timeout
    while not met():
        assert time.monotonic() < end, f"not within {timeout} s: {what}"
        await asyncio.sleep(0.005)
