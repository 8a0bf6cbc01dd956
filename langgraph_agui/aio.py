"""Helpers for asyncio: tasks that nobody awaits, and coroutines that synchronous code runs, an executor."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar

T = TypeVar("T")

# Threads are made when none is idle.
_MAX_THREADS = 256

# The event loop itself keeps only weak references to its tasks.
_kept: set[asyncio.Task[None]] = set()


def keep_alive(task: asyncio.Task[None]) -> None:
    """Keep a reference to `task` until it is done."""
    _kept.add(task)
    task.add_done_callback(_kept.discard)


def use_own_executor() -> None:
    """Give the running event loop an executor with room for hung work, unless the application has set one.

    Synchronous nodes, tools and models run in the loop's executor, and so do look-ups of host names. asyncio's own has
    a few threads; each tool that hangs keeps one after its run has ended, until nothing runs any more.
    """
    loop = asyncio.get_running_loop()
    if getattr(loop, "_default_executor", None) is None:
        loop.set_default_executor(ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="langgraph-agui"))


async def await_shielded(work: Coroutine[None, None, None]) -> None:
    """Wait for `work`. If the caller is cancelled, the waiting ends and `work` still runs to its end."""
    task = asyncio.create_task(work)
    keep_alive(task)
    with suppress(asyncio.CancelledError):
        await asyncio.shield(task)


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in an event loop of its own and block until it is done; in a thread, if a loop runs in this one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, work).result()
