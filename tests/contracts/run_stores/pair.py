"""Two workers of one agent in one event loop, on two stores: the run is in the first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

from ag_ui.core import RunAgentInput
from langgraph.checkpoint.memory import InMemorySaver
from psycopg_pool import AsyncConnectionPool

from langgraph_agui.protocol.sse import encode
from langgraph_agui.readers.subscription import Subscription
from langgraph_agui.translate.lifecycle import run_started
from langgraph_agui.workers import Entry, PostgresRunStore, RedisRunStore, RunStore
from langgraph_agui.workers.signals import Signal, mark_event
from tests.kit.models.scripted import Scripted, calling, part, text_chunk, thinking
from tests.kit.run.agents import RecordedRun, run_input, user
from tests.kit.run.joining import agent_of, read
from tests.kit.waiting import PATIENCE, eventually

Server: TypeAlias = "Callable[[], AbstractAsyncContextManager[RunStore]]"
"""Makes the store of one more worker."""


def postgres(dsn: str) -> Server:
    @asynccontextmanager
    async def open_store() -> AsyncIterator[RunStore]:
        async with (
            AsyncConnectionPool(dsn, open=False, min_size=1, max_size=4) as pool,
            PostgresRunStore(pool) as store,
        ):
            await store.setup()
            yield store

    return open_store


SERVERS: dict[str, Callable[[str], Server]] = {
    "redis": lambda url: lambda: RedisRunStore(url),
    "postgres": postgres,
}

# A turn with everything, and where it stops: in the middle of reasoning, of text, of a call's
# arguments.
LOOK = [part("look", "", "c1", 2), part(None, '{"place":', None, 2), part(None, ' "a"}', None, 2)]
TURN: list[Any] = [
    *(thinking("Hm", 0), thinking(", well.", 0), thinking(index=0, signature="s1")),
    *(text_chunk("Look", 1), text_chunk("ing.", 1), *map(calling, LOOK)),
]
STOPS = {"reasoning": 1, "text": 4, "arguments": 7}
WORDS = [text_chunk(f"word{number} ", 1) for number in range(20)]


class Gated(Scripted):
    """Takes a step for each chunk, and one at the end of each turn."""

    steps: Any = None

    async def step(self) -> None:
        if self.steps.locked():
            self.hung.set()
        await self.steps.acquire()

    async def _astream(self, *args: Any, **kwargs: Any) -> Any:
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk
            await self.step()

    def go(self, steps: int = 10_000) -> None:
        for _ in range(steps):
            self.steps.release()


def gated(stop: int = 4, *turns: Any) -> Gated:
    """A model that stops behind the `stop`th chunk."""
    turns = turns or (TURN, [text_chunk("All done.", 1)])
    return Gated(*turns, steps=asyncio.Semaphore(stop - 1))


async def lost(*_: object) -> Any:
    """A call of a store that fails."""
    raise OSError("lost")


def ending(run: RecordedRun) -> str:
    """The code of an error, or the type of the outcome."""
    return str(getattr(run.last, "code", None) or run.last.outcome.type)


class Follower:
    """A client of a worker that follows a run."""

    def __init__(self, agent: Any, own: RunAgentInput) -> None:
        self.own, self.first = own, list[Any]()
        self.reader: Subscription = agent.subscribe(own)

    async def join(self) -> Follower:
        """Wait for what it gets first."""
        async with asyncio.timeout(PATIENCE):
            self.first = await self.reader.take()
        return self

    async def rest(self) -> RecordedRun:
        async with asyncio.timeout(PATIENCE):
            return RecordedRun([*self.first, *await read(self.reader)], self.own)


class Pair:
    def __init__(
        self,
        stores: list[Any],
        model: Scripted,
        saver: Any = True,
        make: Any = None,
        **options: Any,
    ) -> None:
        saver = InMemorySaver() if saver is True else saver
        options = {"on_disconnect": "continue", **options}
        self.stores, self.has_threads = stores, saver is not None
        made = [(make or agent_of)(saver, model, run_store=store, **options) for store in stores]
        self.one, self.two = made
        self.given = run_input(user("go", "u1"), thread="t", run="live")

    def key(self, *ids: str) -> str:
        """The name of a thread, or of a run, in the stores."""
        return str(self.two._workers._key(*ids))

    async def begin(self, given: RunAgentInput | None = None) -> Subscription:
        """A run of the first worker, which the other one can find."""
        given = given or self.given
        own, thread = self.key(given.thread_id, given.run_id), self.key(given.thread_id)
        names = [own, thread] if self.has_threads else [own]
        # the store may still have a run that has ended
        before = {await self.stores[1].find(name) for name in names}
        reader: Subscription = await self.one.begin(given)
        await self.until_found(*names, before=before)
        return reader

    async def until_found(self, *names: str, before: Collection[str | None] = ()) -> None:
        """Wait until the second worker finds runs by these names, other runs than `before`."""
        async with asyncio.timeout(PATIENCE):
            for name in names:
                while (await self.stores[1].find(name)) in (None, *before):
                    await asyncio.sleep(0.001)

    def follow(self, *messages: Any, **fields: Any) -> Follower:
        """A client of the second worker."""
        return Follower(self.two, run_input(*messages, thread="t", **fields))

    async def truth(self, live: Subscription) -> RecordedRun:
        """What the run's own client gets."""
        return RecordedRun(await read(live), self.given)

    async def end(self) -> None:
        await asyncio.gather(self.one.drain(), self.two.drain())


@asynccontextmanager
async def pair_on(server: Server, model: Scripted, **options: Any) -> AsyncIterator[Pair]:
    async with server() as one, server() as two:
        pair = Pair([one, two], model, **options)
        yield pair
        await pair.end()


@asynccontextmanager
async def hung(server: Server, model: Gated | None = None, **options: Any) -> AsyncIterator[Any]:
    """A pair, and a run that has stopped."""
    model = model or gated()
    async with pair_on(server, model, **options) as pair:
        live = await pair.begin()
        await model.hung.wait()
        yield pair, live


@asynccontextmanager
async def followed(server: Server, model: Any = None, **options: Any) -> AsyncIterator[Any]:
    """A pair, a run that has stopped, and a client of the other worker."""
    async with hung(server, model, **options) as (pair, live):
        yield pair, live, await pair.follow().join()


class MadeRun:
    """A run in the first store that a test writes itself."""

    def __init__(self, pair: Pair, key: str) -> None:
        self.store, self.key, self.signals = pair.stores[0], key, list[str]()
        self.beginning = encode(run_started(pair.given))

    async def begin(self, *names: str) -> MadeRun:
        await self.store.begin(self.key, self.signals.append)
        for name in names:
            await self.store.enter(name, self.key)
        return self

    async def mark(self) -> bytes:
        """The answer to the first client that has asked for the run."""
        await eventually(lambda: self.signals, "a client asks for the run")
        return encode(mark_event(Signal.from_text(self.signals[0]).mark))

    async def write(self, position: int, data: bytes | None = None) -> None:
        """Add an entry; without data, the beginning."""
        if data is None:
            await self.store.begin_log(self.key, Entry(position, self.beginning), position)
        else:
            await self.store.append(self.key, Entry(position, data))
