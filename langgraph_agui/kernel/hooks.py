"""Functions of the application that a request or a run waits for, with a deadline.

The arguments of a call enter a `Hook`; its result leaves, or a coded error.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from inspect import isawaitable
from typing import Final, Generic, ParamSpec, TypeVar

from langgraph_agui.kernel.aio import (
    Duration,
    Maybe,
    cancel_until_done,
    ignore_error,
    keep_alive,
    seconds,
)
from langgraph_agui.kernel.errors import CodedError, ErrorCode
from langgraph_agui.kernel.telemetry import run_logger

T = TypeVar("T")
P = ParamSpec("P")

logger = run_logger(__name__)

# Seconds that a cancelled call has to end.
_CANCEL_TIMEOUT: Final = 1.0


class HookTimeoutError(CodedError):
    """A hook took too long, and was cancelled. The text names it, for the log."""

    def __init__(self, name: str, timeout: float) -> None:
        text = f"{name} took longer than {timeout:g} seconds (RunLimits.hook) and was cancelled."
        super().__init__(ErrorCode.HOOK_TIMEOUT, text)


class Hook(Generic[P, T]):
    """A function of the application, which may be async, with a deadline for each call.

    A call that is over time, or whose caller is cancelled, is cancelled. Its caller goes on even if
    the call ignores that. A synchronous function is not bounded: it blocks the event loop.

    Args:
        name: The name of the option, for the log.
        function: The function.
        timeout: Seconds, or a `timedelta`; None for no deadline.
    """

    def __init__(
        self, name: str, function: Callable[P, Maybe[T]], timeout: Duration | None
    ) -> None:
        self._name = name
        self._function = function
        self._timeout = seconds(timeout)

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function and return its result.

        Raises:
            HookTimeoutError: The result did not come in time.
            RuntimeError: The call was cancelled, and not by its caller.
        """
        value = self._function(*args, **kwargs)
        if not isawaitable(value):
            return value
        context = copy_context()
        name = f"agui-hook-{self._name}"
        task: asyncio.Task[T] = asyncio.create_task(_result_of(value), name=name, context=context)
        await self._wait(task)
        if task.cancelled():
            raise RuntimeError(f"{self._name} was cancelled by other code.")
        _adopt(context)
        return task.result()

    async def _wait(self, task: asyncio.Task[T]) -> None:
        """Wait until the task of a call is done. It is stopped if the waiting ends before."""
        try:
            await asyncio.wait({task}, timeout=self._timeout)
        finally:
            is_late = not task.done()
            if is_late:
                # to its end, also if the caller is cancelled once more
                await asyncio.shield(keep_alive(asyncio.create_task(self._stop(task))))
        if is_late and self._timeout is not None:
            raise HookTimeoutError(self._name, self._timeout)

    async def _stop(self, task: asyncio.Task[T]) -> None:
        task.add_done_callback(ignore_error)
        await cancel_until_done(task, _CANCEL_TIMEOUT)
        if not task.done():
            keep_alive(task)
            logger.error("%s was cancelled and does not end. Nothing waits for it.", self._name)


async def _result_of(value: Awaitable[T]) -> T:
    return await value


def _adopt(context: Context) -> None:
    """Set the context variables that a call has set, as if its caller had awaited it in its own
    task.
    """
    missing = object()
    for variable, value in context.items():
        if variable.get(missing) is not value:
            variable.set(value)
