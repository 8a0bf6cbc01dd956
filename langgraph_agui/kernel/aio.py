"""Helpers for asyncio: tasks that no code awaits, event loops, coroutines that synchronous code
runs, threads, durations.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from datetime import timedelta
from functools import partial
from math import inf
from threading import Event
from time import monotonic
from typing import Any, Final, Generic, ParamSpec, Protocol, TypeAlias, TypeVar

from langgraph_agui.kernel.errors import ErrorCode, RunInputError

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")

# A time: seconds, or a `timedelta`.
Duration: TypeAlias = float | timedelta

# A value, or an awaitable of it.
Maybe: TypeAlias = T | Awaitable[T]

# For large inputs. Tools that hang may fill the event loop's own executor.
_THREADS: Final = ThreadPoolExecutor(2, thread_name_prefix="langgraph-agui-input")

# Threads are made when none is idle.
_MAX_THREADS = 256

# Seconds after which a task that still runs is cancelled again. `asyncio.wait_for` loses a
# cancellation that meets its result (CPython before 3.12), and drivers of databases and providers'
# packages use it.
_CANCEL_INTERVAL: Final = 0.4

# The parts of a time limit. Each begins when the event loop has got to it.
_SLICES: Final = 20

# The event loop itself keeps only weak references to its tasks.
_kept: set[asyncio.Task[Any]] = set()


def seconds(duration: Duration | None) -> float | None:
    """Return a duration in seconds."""
    return duration.total_seconds() if isinstance(duration, timedelta) else duration


async def awaited(value: Maybe[T]) -> T:
    """Return `value`; if it is awaitable, its result. For functions that may be async or not."""
    return await value if inspect.isawaitable(value) else value


def keep_alive(task: asyncio.Task[T]) -> asyncio.Task[T]:
    """Keep a reference to `task` until it is done, and return it."""
    _kept.add(task)
    task.add_done_callback(_kept.discard)
    return task


async def result_of(task: asyncio.Future[T]) -> T:
    """Return the result of a task. If the caller is cancelled, the task goes on."""
    await asyncio.wait({task})
    return task.result()


async def despite_cancel(work: Awaitable[T]) -> T:
    """Return the result of `work`. If the caller is cancelled meanwhile, the work goes on, and the
    caller too.
    """
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    return task.result()


async def cancel_until_done(task: asyncio.Future[Any], limit: float = inf) -> None:
    """Cancel a task again and again until it is done, or until `limit` seconds are over."""
    deadline = monotonic() + limit
    while not task.done() and (left := deadline - monotonic()) > 0:
        task.cancel()
        await asyncio.wait({task}, timeout=min(left, _CANCEL_INTERVAL))


async def within(limit: float, work: Awaitable[T]) -> T:
    """Return the result of `work`. Unlike `asyncio.timeout`, this ends in time even if `work` does
    not end when it is cancelled: a driver whose server is silent waits for the server's answer to
    that.

    Args:
        limit: Seconds, but for those in which the event loop is busy.
        work: The work. It goes on being cancelled when the time is over, or the caller is
            cancelled.

    Raises:
        TimeoutError: The time is over.
        RuntimeError: The work was cancelled, and not by the caller.
    """
    task = asyncio.ensure_future(work)
    try:
        # In an event loop that is busy a slice takes longer: that is no silence of others.
        for _ in range(_SLICES):
            await asyncio.wait({task}, timeout=limit / _SLICES)
            if task.done():
                break
        else:
            raise TimeoutError(f"no answer within {limit} seconds")
    except BaseException:
        task.add_done_callback(ignore_error)
        keep_alive(asyncio.create_task(cancel_until_done(task)))
        raise
    if task.cancelled():
        raise RuntimeError("The work was cancelled by other code.")
    return task.result()


def ignore_error(task: asyncio.Future[Any]) -> None:
    """Take note of an error that nobody waits for."""
    if not task.cancelled():
        task.exception()


def use_own_executor() -> None:
    """Give the running event loop an executor with room for hung work, unless the application has
    set one.

    Synchronous nodes, tools and models run in the loop's executor, and so do look-ups of host
    names. asyncio's own has a few threads; each tool that hangs keeps one after its run has ended,
    until nothing runs any more.
    """
    loop = asyncio.get_running_loop()
    if getattr(loop, "_default_executor", None) is None:
        loop.set_default_executor(
            ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="langgraph-agui")
        )


class OneEventLoop:
    """Lets the first event loop in, and refuses all others: connections belong to an event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def enter(self) -> None:
        """Enter from the running event loop.

        Raises:
            RunInputError: Another event loop has entered before (`wrong_event_loop`).
        """
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if loop is not self._loop:
            raise RunInputError(ErrorCode.WRONG_EVENT_LOOP)


class HasTask(Protocol):
    """Works in a task of its own."""

    @property
    def task(self) -> asyncio.Task[None]:
        """The task."""


W = TypeVar("W", bound=HasTask)


class Going(Generic[W]):
    """Objects whose tasks are going on, in the order in which they were added.

    A task whose event loop is closed never ends: its object leaves too. Several OS threads may use
    this at once.
    """

    def __init__(self) -> None:
        self._all: dict[W, None] = {}

    def add(self, one: W) -> None:
        """Keep an object until its task is done."""
        self._all[one] = None
        one.task.add_done_callback(lambda _task: self._all.pop(one, None))

    def __iter__(self) -> Iterator[W]:
        for one in tuple(self._all):
            if one.task.get_loop().is_closed():
                self._all.pop(one, None)
            else:
                yield one

    def __len__(self) -> int:
        return sum(1 for _ in self)


async def run_in_loop_of(task: asyncio.Task[None], work: Coroutine[None, None, None]) -> None:
    """Run `work` to its end in the event loop of `task`, which may be that of another thread."""
    loop = task.get_loop()
    if loop is asyncio.get_running_loop():
        await work
    else:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


class Caller(Protocol):
    """Calls a function, here or in a thread: `run_here` and `run_in_thread`."""

    async def __call__(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function and return its result."""


async def run_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a thread of ours and return its result: the event loop serves others
    meanwhile.
    """
    call = partial(copy_context().run, function, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_THREADS, call)


class RunInLoop(Protocol):
    """Runs a coroutine in an event loop, for synchronous code in another thread."""

    def __call__(self, work: Coroutine[None, None, T]) -> T:
        """Block until the coroutine has ended; return its result."""


async def run_in_thread_with_loop(function: Callable[[RunInLoop], R]) -> R:
    """Call a synchronous function in a thread, with a function that runs coroutines in this event
    loop.

    If the caller is cancelled, so is the coroutine that runs; it and all later ones raise into the
    function.
    """
    loop = asyncio.get_running_loop()
    started: list[Future[Any]] = []
    left = Event()

    def run_in_loop(work: Coroutine[None, None, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, loop)
        started.append(future)
        if left.is_set():  # asked last: whoever sets it cancels what has started before
            future.cancel()
        return future.result()

    try:
        return await asyncio.to_thread(function, run_in_loop)
    finally:
        left.set()
        for future in started:
            future.cancel()


async def run_here(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function at once, where `run_in_thread` would cost more than the call itself."""
    return function(*args, **kwargs)


async def await_shielded(work: Coroutine[None, None, None]) -> None:
    """Wait for `work`. If the caller is cancelled, the waiting ends and `work` still runs to its
    end.
    """
    task = asyncio.create_task(work)
    keep_alive(task)
    with suppress(asyncio.CancelledError):
        await asyncio.shield(task)


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in an event loop of its own and block until it is done; in a thread, if a loop
    runs in this one.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, work).result()
