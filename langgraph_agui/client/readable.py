"""What is read once, by `async for` or by `for`, and may be left in the middle."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Self
from weakref import ref

if TYPE_CHECKING:
    from types import TracebackType

    from ag_ui.core import Event


class Readable(ABC):
    """A stream of events that begins when it is iterated, or awaited: then it is read to its end.

    Leave it by cancelling the task that reads it, by the end of `async with` (`with`), or by `aclose` (`close`) in that
    task (thread). A bare `break` leaves it too: `for` at once, `async for` some turns of the event loop later, when
    Python's clean-up of generators that nobody holds has come to it.
    """

    def __init__(self) -> None:
        self._begun = False
        self._entered: AsyncGenerator[Event] | None = None
        """What `async with` is to close."""
        self._asynchronous: Callable[[], AsyncGenerator[Event] | None] = lambda: None
        self._synchronous: Callable[[], Generator[Event] | None] = lambda: None
        """Otherwise only the loop holds what it reads, so that leaving the loop ends it."""

    @property
    def abandoned(self) -> bool:
        """Whether nobody can read on: it has ended or was left, though it may not be cleaned up yet, or never begun."""
        return self._asynchronous() is None and self._synchronous() is None

    @abstractmethod
    def _aread(self) -> AsyncGenerator[Event]:
        """Read the stream."""

    @abstractmethod
    def _read(self) -> Generator[Event]:
        """Read the stream, blocking in between."""

    def __aiter__(self) -> AsyncIterator[Event]:
        """Begin; yields events as they come. Raises `RuntimeError` the second time."""
        self._once()
        events = self._entered or self._aread()
        self._asynchronous = ref(events)
        return events

    def __iter__(self) -> Iterator[Event]:
        """Begin; yields events as they come, and blocks in between. Raises `RuntimeError` the second time."""
        self._once()
        events = self._read()
        self._synchronous = ref(events)
        return events

    def __await__(self) -> Generator[Any, None, Self]:
        """Read it to its end; returns what was read."""
        return self._to_the_end().__await__()

    async def _to_the_end(self) -> Self:
        async for _ in self:
            pass
        return self

    def wait(self) -> Self:
        """Read it to its end; returns what was read. Blocks."""
        for _ in self:
            pass
        return self

    async def aclose(self) -> None:
        """Leave; nothing happens if it has ended."""
        if (events := self._asynchronous()) is not None:
            await events.aclose()

    def close(self) -> None:
        """Leave what `for` reads; nothing happens if it has ended."""
        if (events := self._synchronous()) is not None:
            events.close()

    async def __aenter__(self) -> Self:
        """Leave it at the end of the block."""
        self._entered = self._aread()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave it."""
        await self.aclose()

    def __enter__(self) -> Self:
        """Leave it at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave it."""
        self.close()

    def _once(self) -> None:
        if self._begun:
            raise RuntimeError(f"A {type(self).__name__} can be read once; start another one.")
        self._begun = True
