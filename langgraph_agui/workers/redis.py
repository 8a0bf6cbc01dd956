"""Live runs in Redis. The worker of a run appends to a stream, and other workers read it. Signals
are messages to the channel of the worker.

A worker is alive while it is subscribed to its channel. The subscription ends with the process.
Redis 6.2 or newer.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Self, TypeAlias, cast
from uuid import uuid4

from redis.asyncio import Redis
from redis.asyncio.client import PubSub

from langgraph_agui.workers.store import Entry

logger = logging.getLogger(__name__)

# The entries of a stream, each with its id and fields.
Entries: TypeAlias = "list[tuple[str, dict[str, str]]]"

# Milliseconds that a reader waits for an entry.
_WAIT: Final = 1000

# Seconds after which Redis deletes a run that was never finished, the stream of a silent run, and
# the stream of a finished run.
_RUN, _SILENCE, _FINISHED = 24 * 3600, 3600, 60

# The most connections of a worker. Each run that it follows takes one while it waits for an entry.
_CONNECTIONS: Final = 10_000

# Seconds between two attempts to connect again.
_RETRY: Final = 0.5

# KEYS: run, stream, beginning, names. ARGV: run, seconds. A name that another run has taken stays.
_FINISH: Final = """
redis.call('DEL', KEYS[1])
redis.call('EXPIRE', KEYS[2], ARGV[2])
redis.call('EXPIRE', KEYS[3], ARGV[2])
for place = 4, #KEYS do
    if redis.call('GET', KEYS[place]) == ARGV[1] then redis.call('DEL', KEYS[place]) end
end
"""


class RedisRunStore:
    """A `RunStore` in Redis, for one event loop. As a context manager it closes its connections at
    the end.

    Args:
        url: The address, such as `redis://localhost:6379/0`; see `redis.asyncio.Redis.from_url`. No
            Redis Cluster.
        prefix: The beginning of the names of all keys and channels.
    """

    def __init__(self, url: str, prefix: str = "langgraph-agui") -> None:
        self._redis: Redis = Redis.from_url(
            url, protocol=2, decode_responses=True, max_connections=_CONNECTIONS
        )
        self._prefix = prefix
        self._worker = f"{prefix}:worker:{uuid4().hex}"
        self._receivers: dict[str, Callable[[str], object]] = {}
        self._names: dict[str, list[str]] = {}
        self._listener: asyncio.Task[None] | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait({self._listener})
        await self._redis.aclose()

    def _key(self, kind: str, name: str) -> str:
        return f"{self._prefix}:{kind}:{name}"

    # -- signals ----------------------------------------------------------------------------------

    async def begin(self, run: str, receive: Callable[[str], object]) -> None:
        """See `RunStore`."""
        await self._listen()
        self._receivers[run], self._names[run] = receive, []
        await self._redis.set(self._key("run", run), self._worker, ex=_RUN)

    async def enter(self, name: str, run: str) -> None:
        """See `RunStore`."""
        self._names[run].append(name)
        await self._redis.set(self._key("name", name), run, ex=_RUN)

    async def find(self, name: str) -> str | None:
        """See `RunStore`."""
        run = await self._redis.get(self._key("name", name))
        worker = await self._redis.get(self._key("run", str(run))) if run else None
        counts = await self._redis.pubsub_numsub(worker) if worker else []
        return str(run) if any(count for _, count in counts) else None

    async def signal(self, run: str, text: str) -> bool:
        """See `RunStore`."""
        worker = await self._redis.get(self._key("run", run))
        return worker is not None and await self._redis.publish(worker, f"{run} {text}") > 0

    async def finish(self, run: str) -> None:
        """See `RunStore`."""
        self._receivers.pop(run, None)
        names = [self._key("name", name) for name in self._names.pop(run, ())]
        kinds = "run", "stream", "beginning"
        keys = [*(self._key(kind, run) for kind in kinds), *names]
        await self._redis.eval(_FINISH, len(keys), *keys, run, str(_FINISHED))

    async def _listen(self) -> None:
        async with self._opening:
            if self._listener is None:
                pubsub = self._redis.pubsub(ignore_subscribe_messages=True)
                await pubsub.subscribe(**{self._worker: self._receive})
                self._listener = asyncio.create_task(
                    pubsub.run(exception_handler=_wait_and_retry), name="agui-run-store"
                )

    def _receive(self, message: Mapping[str, str]) -> None:
        run, _, text = message["data"].partition(" ")
        if receive := self._receivers.get(run):
            receive(text)

    # -- entries ----------------------------------------------------------------------------------

    async def begin_log(self, run: str, beginning: Entry, oldest: int) -> None:
        """See `RunStore`."""
        fields: dict[bytes | bytearray | memoryview[int] | str | int | float, bytes | int] = {
            "position": beginning.position,
            "data": beginning.data,
        }
        async with self._redis.pipeline(transaction=True) as pipeline:
            pipeline.hset(self._key("beginning", run), mapping=fields)
            pipeline.expire(self._key("beginning", run), _SILENCE)
            pipeline.xtrim(self._key("stream", run), minid=f"{oldest + 1}-0", approximate=False)
            await pipeline.execute()

    async def append(self, run: str, entry: Entry) -> None:
        """See `RunStore`."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            pipeline.xadd(self._key("stream", run), {"data": entry.data}, f"{entry.position}-0")
            pipeline.expire(self._key("stream", run), _SILENCE)
            pipeline.expire(self._key("beginning", run), _SILENCE)
            await pipeline.execute()

    async def read(self, run: str, position: int) -> Sequence[Entry]:
        """See `RunStore`."""
        if position:
            return await self._read_behind(run, position)
        if beginning := await self._beginning(run):
            rest = await self._read_behind(run, beginning.position, wait=False)
            return [beginning, *rest]
        # it comes before the first entry
        await self._read_behind(run, 0)
        beginning = await self._beginning(run)
        return [beginning] if beginning is not None else ()

    async def _beginning(self, run: str) -> Entry | None:
        fields = await self._redis.hgetall(self._key("beginning", run))
        return Entry(int(fields["position"]), str(fields["data"]).encode()) if fields else None

    async def _read_behind(self, run: str, position: int, *, wait: bool = True) -> list[Entry]:
        found = await self._redis.xread(
            {self._key("stream", run): f"{position}-0"}, block=_WAIT if wait else None
        )
        return [
            Entry(int(number.partition("-")[0]), fields["data"].encode())
            for _, stream in cast("list[tuple[str, Entries]]", found)
            for number, fields in stream
        ]


async def _wait_and_retry(e: BaseException, pubsub: PubSub) -> None:
    """Wait before the listener goes on. While its connection is lost, other workers do not find
    the runs of this one.
    """
    logger.warning("The connection that listens for signals to runs was lost.", exc_info=e)
    await asyncio.sleep(_RETRY)
