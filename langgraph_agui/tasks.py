"""Tasks that end though nobody waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress

_kept: set[asyncio.Task[None]] = set()
"""The event loop itself keeps only weak references to its tasks."""


def keep(task: asyncio.Task[None]) -> None:
    """Let `task` live until it is done."""
    _kept.add(task)
    task.add_done_callback(_kept.discard)


async def see_through(work: Coroutine[None, None, None]) -> None:
    """Wait for `work`, which comes to its end also if the caller is cancelled: that ends only the waiting."""
    task = asyncio.create_task(work)
    keep(task)
    with suppress(asyncio.CancelledError):
        await asyncio.shield(task)
