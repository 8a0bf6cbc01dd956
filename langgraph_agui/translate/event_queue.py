"""The way out of a run: what the translation puts in, a consumer takes out in batches."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

T = TypeVar("T")

INTERVAL = 0.005
"""Seconds between two batches, at the least: a third of what a screen takes to show one."""


class EventQueue(Generic[T]):
    """A queue with one consumer. Putting never waits: a run does not stop because its reader is slow.

    The first item after a silence leaves at once, those that follow within `INTERVAL` leave together: waking a reader
    costs more than a token does.

    Attributes:
        behind: Whether the consumer has not taken all that there was, when it left; it may say so of what it took.
        unread: Whether it has left before the end.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._items: list[T] = []
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._abandoned = False
        self.behind = False
        self.unread = False

    def put(self, item: T) -> None:
        """Add an item."""
        if self._abandoned:
            return
        self._items.append(item)
        if self._waiter is not None and self._timer is None:
            self._wake()

    def close(self) -> None:
        """Say that nothing more will come."""
        self._closed = True
        self._wake()

    def abandon(self) -> None:
        """Say that nobody reads any more: what comes is dropped."""
        self._abandoned = True
        self.behind = self.behind or bool(self._items)
        self.unread = self.behind or not self._closed
        self._items.clear()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _interval_over(self) -> None:
        self._timer = None
        if self._items:
            self._wake()

    async def take(self) -> list[T]:
        """Wait for what comes and return all of it; nothing, when the outlet is closed and empty."""
        while not self._items or (self._timer is not None and not self._closed):
            if self._closed:
                return []
            self._waiter = self._loop.create_future()
            await self._waiter
            self._waiter = None
        batch, self._items = self._items, []
        self._timer = self._loop.call_later(INTERVAL, self._interval_over)
        return batch
