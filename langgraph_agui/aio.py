"""Tasks that end though nobody waits for them, and coroutines that are run from code that is none."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")

_kept: set[asyncio.Task[None]] = set()
"""The event loop itself keeps only weak references to its tasks."""


def keep_alive(task: asyncio.Task[None]) -> None:
    """Let `task` live until it is done."""
    _kept.add(task)
    task.add_done_callback(_kept.discard)


async def await_shielded(work: Coroutine[None, None, None]) -> None:
    """Wait for `work`, which comes to its end also if the caller is cancelled: that ends only the waiting."""
    task = asyncio.create_task(work)
    keep_alive(task)
    with suppress(asyncio.CancelledError):
        await asyncio.shield(task)


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in an event loop of its own; in a thread too, where a loop is running in this one. Blocks."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, work).result()
