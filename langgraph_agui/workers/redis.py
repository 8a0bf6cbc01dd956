"""Live runs in Redis. The worker of a run appends to a stream, and other workers read it. Signals
are messages to the channel of the worker.

A worker is alive while it is subscribed to its channel. The subscription ends with the process.
Redis 6.2 or newer.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias, cast
from uuid import uuid4

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ResponseError

from langgraph_agui.kernel.aio import within
from langgraph_agui.workers.bounded import ANSWER
from langgraph_agui.workers.listening import ListeningStore
from langgraph_agui.workers.store import Entry

# The entries of a stream, each with its id and fields.
Entries: TypeAlias = "list[tuple[str, dict[str, str]]]"

# Milliseconds that a reader waits for an entry.
_WAIT: Final = 1000

# Seconds that the listener waits for a message, before it waits again.
_POLL: Final = 1.0

# Seconds after which Redis deletes a run that was never finished, the stream of a silent run, and
# the stream of a finished run.
_RUN, _QUIET, _FINISHED = 24 * 3600, 3600, 60

# The most connections of a worker. Each run that it follows takes one while it waits for an entry.
_CONNECTIONS: Final = 10_000

# KEYS: run, stream, beginning, names. ARGV: run, seconds. A name that another run has taken stays.
_FINISH: Final = """
redis.call('DEL', KEYS[1])
redis.call('EXPIRE', KEYS[2], ARGV[2])
redis.call('EXPIRE', KEYS[3], ARGV[2])
for place = 4, #KEYS do
    if redis.call('GET', KEYS[place]) == ARGV[1] then redis.call('DEL', KEYS[place]) end
end
"""


class RedisRunStore(ListeningStore):
    """A `RunStore` in Redis, for one event loop. As a context manager it closes its connections at
    the end.

    Args:
        url: The address, such as `redis://localhost:6379/0`; see `redis.asyncio.Redis.from_url`. No
            Redis Cluster.
        prefix: The beginning of the names of all keys and channels.
    """

    def __init__(self, url: str, prefix: str = "langgraph-agui") -> None:
        super().__init__()
        self._redis: Redis = Redis.from_url(
            url,
            protocol=2,
            decode_responses=True,
            max_connections=_CONNECTIONS,
            # The callers try again: by themselves they know how long.
            retry=Retry(NoBackoff(), 1),
        )
        self._prefix = prefix
        self._worker = f"{prefix}:worker:{uuid4().hex}"

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await super().__aexit__()
        with suppress(TimeoutError):
            await within(ANSWER, self._redis.aclose())

    def _key(self, kind: str, name: str) -> str:
        return f"{self._prefix}:{kind}:{name}"

    # -- signals ----------------------------------------------------------------------------------

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

    def _item(self, run: str, name: str) -> tuple[str, str]:
        """Return the key and the value by which Redis has a name."""
        return (self._key("name", name), run) if name else (self._key("run", run), self._worker)

    async def _enter(self, run: str, name: str) -> None:
        key, value = self._item(run, name)
        await self._redis.set(key, value, ex=_RUN)

    async def _enter_missing(self, names: Mapping[str, Iterable[str]]) -> None:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for key, value in self._items(names).items():
                pipeline.set(key, value, ex=_RUN, nx=True)
            await pipeline.execute()

    def _items(self, names: Mapping[str, Iterable[str]]) -> dict[str, str]:
        """Return the keys and values of all names. A name belongs to the run that came last."""
        return dict(self._item(run, name) for run, all_names in names.items() for name in all_names)

    async def _leave(self, run: str, names: Iterable[str]) -> None:
        kinds = "run", "stream", "beginning"
        keys = [*(self._key(kind, run) for kind in kinds)]
        keys += [self._key("name", name) for name in names if name]
        await self._redis.eval(_FINISH, len(keys), *keys, run, str(_FINISHED))

    async def _listen_once(self) -> None:
        async with self._redis.pubsub() as pubsub:
            await within(ANSWER, pubsub.subscribe(**{self._worker: self._receive_message}))
            if await pubsub.get_message(timeout=ANSWER) is None:
                raise TimeoutError(f"Redis has not subscribed this worker within {ANSWER} seconds")
            self._listens.set()
            while True:
                await pubsub.get_message(timeout=_POLL)

    def _receive_message(self, message: Mapping[str, str]) -> None:
        self._receive(message["data"])

    async def _look(self) -> bool:
        # To touch keys keeps them from being evicted first.
        keys = self._items(self._live_names())
        if not keys:  # the last run has just ended
            return True
        async with self._redis.pipeline(transaction=False) as pipeline:
            pipeline.pubsub_numsub(self._worker)
            pipeline.touch(*keys)
            counts, found = await pipeline.execute()
        if found < len(keys):
            await self._enter_again()
        return any(count for _, count in counts)

    # -- entries ----------------------------------------------------------------------------------

    async def begin_log(self, run: str, beginning: Entry, oldest: int) -> None:
        """See `RunStore`."""
        fields: dict[bytes | bytearray | memoryview[int] | str | int | float, bytes | int] = {
            "position": beginning.position,
            "data": beginning.data,
        }
        async with self._redis.pipeline(transaction=True) as pipeline:
            pipeline.hset(self._key("beginning", run), mapping=fields)
            pipeline.expire(self._key("beginning", run), _QUIET)
            pipeline.xtrim(self._key("stream", run), minid=f"{oldest + 1}-0", approximate=False)
            await pipeline.execute()

    async def append(self, run: str, entry: Entry) -> None:
        """See `RunStore`."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            pipeline.xadd(self._key("stream", run), {"data": entry.data}, f"{entry.position}-0")
            pipeline.expire(self._key("stream", run), _QUIET)
            pipeline.expire(self._key("beginning", run), _QUIET)
            written, *_ = await pipeline.execute(raise_on_error=False)
        if isinstance(written, ResponseError) and await self._has(run, entry.position):
            return  # by an earlier attempt
        if isinstance(written, Exception):
            raise written

    async def _has(self, run: str, position: int) -> bool:
        """Return whether an entry was written."""
        identity = f"{position}-0"
        return bool(await self._redis.xrange(self._key("stream", run), identity, identity))

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
