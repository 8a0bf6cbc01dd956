"""`EventStream`: a stream of events that is read with `async for` or `for`.

In: an async generator of events. Out: the events, for either loop; the ways to wait for their end
and to stop early.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any, Self, TypeVar
from weakref import ref

from ag_ui import core as agui

T = TypeVar("T")


class EventStream(ABC):
    """A stream of events that starts when you iterate it, or await it: then it is read to its end.

    To stop reading, cancel the task that reads it, leave its `async with` (`with`) block, or call
    `aclose` (`close`) in that task (thread). A bare `break` stops it too: `for` at once, `async
    for` a few turns of the event loop later, when Python finalizes the abandoned generator.
    """

    def __init__(self) -> None:
        self._started = False
        # The generator that `async with` closes.
        self._entered: AsyncGenerator[agui.Event] | None = None
        # A weak reference: only the loop holds the generator, so leaving the loop ends it.
        self._reading: Callable[[], AsyncGenerator[agui.Event] | Generator[agui.Event] | None] = (
            lambda: None
        )

    @property
    def abandoned(self) -> bool:
        """Whether nobody can read on: it never started, has ended or was left."""
        return self._reading() is None

    @abstractmethod
    def read(self, blocking: bool) -> AsyncGenerator[agui.Event]:
        """Yield the events, for one of the loops below or for another stream.

        If `blocking`, there is no event loop: block instead of awaiting.
        """

    def __aiter__(self) -> AsyncIterator[agui.Event]:
        """Start; yields events as they come. Raises `RuntimeError` the second time."""
        self._start()
        events = self._entered or self.read(blocking=False)
        self._reading = ref(events)
        return events

    def __iter__(self) -> Iterator[agui.Event]:
        """Start; blocks until each event comes. Raises `RuntimeError` the second time."""
        self._start()
        events = _iterate(self.read(blocking=True))
        self._reading = ref(events)
        return events

    def _start(self) -> None:
        if self._started:
            raise RuntimeError(f"A {type(self).__name__} can be read once; start another one.")
        self._started = True

    def __await__(self) -> Generator[Any, None, Self]:
        """Read it to its end; returns the stream itself."""
        return self._await_end().__await__()

    async def _await_end(self) -> Self:
        async for _ in self:
            pass
        return self

    def wait(self) -> Self:
        """Read it to its end; returns the stream itself. Blocks."""
        for _ in self:
            pass
        return self

    async def aclose(self) -> None:
        """Stop an `async for` over the stream; nothing happens if it has ended."""
        if isinstance(events := self._reading(), AsyncGenerator):
            await events.aclose()

    def close(self) -> None:
        """Stop a `for` over the stream; nothing happens if it has ended."""
        if isinstance(events := self._reading(), Generator):
            events.close()

    async def __aenter__(self) -> Self:
        """Stop reading at the end of the block."""
        self._entered = self.read(blocking=False)
        return self

    async def __aexit__(self, *error: object) -> None:
        """Stop reading."""
        await self.aclose()

    def __enter__(self) -> Self:
        """Stop reading at the end of the block."""
        return self

    def __exit__(self, *error: object) -> None:
        """Stop reading."""
        self.close()


def _iterate(events: AsyncGenerator[agui.Event]) -> Generator[agui.Event]:
    """Yield events that are read with `blocking`, so that none of them waits for an event loop."""
    try:
        while True:
            yield run_at_once(anext(events))
    except StopAsyncIteration:
        pass
    finally:
        run_at_once(events.aclose())


def run_at_once(work: Awaitable[T]) -> T:
    """Run work that never suspends."""
    try:
        next(iter(work.__await__()))
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("A blocking read must not wait for an event loop.")
