"""Section SR: what a run store costs the worker that has the run, over the same runs without one.

The servers are processes of their own.
"""

import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ag_ui.core import RunAgentInput
from psycopg_pool import AsyncConnectionPool

from langgraph_agui.workers import PostgresRunStore, RedisRunStore
from tests.kit.processes.postgres import running_postgres
from tests.kit.processes.redis_server import free_port, start_redis

from .recorded import Session
from .recording import Stream
from .report import spread, table
from .subjects import Store, Subject, our_agent, ours
from .workloads import BUILDERS, Workload

RUNS = {"W1": 5, "W4": 30}

ALONE = Subject("no store", "no store", ours, base=True, ours=True)


async def measure_shared(session: Session) -> list[str]:
    """Both workloads with each store, as Markdown."""
    about = (
        "**SR** Runs that other workers can follow and stop (`run_store`): CPU of the worker that "
        "has the run, over the same runs without a store."
    )
    rows = []
    with running_redis() as redis, running_postgres() as postgres:
        addresses = {"Redis": redis, "Postgres": postgres}
        for key, runs in RUNS.items():
            workload = replace(BUILDERS[key](session.scale), key=f"SR {key}", runs=runs)
            async with AsyncExitStack() as stack:
                subjects = [ALONE]
                for kind, address in addresses.items():
                    store = await stack.enter_async_context(opened(kind, address))
                    subjects.append(Subject(kind, kind, partial(_stored, store), ours=True))
                result = await session.measure(workload, subjects)
            rows += [
                [f"{key}: {one.label}", spread(result.ratios(one, ALONE))] for one in subjects[1:]
            ]
    return [about, table(["", "over no store"], rows)]


@contextmanager
def running_redis() -> Iterator[str]:
    """A running server: its address."""
    port = free_port()
    with tempfile.TemporaryDirectory() as home:
        process = start_redis(port, Path(home))
        try:
            yield f"redis://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


@asynccontextmanager
async def opened(kind: str, address: str) -> AsyncIterator[RedisRunStore | PostgresRunStore]:
    """The store of a worker."""
    if kind == "Redis":
        async with RedisRunStore(address) as redis:
            yield redis
        return
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        address, open=False, min_size=4, kwargs={"autocommit": True}
    )
    async with pool, PostgresRunStore(pool) as postgres:
        await postgres.setup()
        yield postgres


def _stored(store: Store, workload: Workload) -> Stream:
    agent = our_agent(workload, store)

    async def stream(run_input: RunAgentInput) -> AsyncIterator[bytes]:
        async for chunk in agent.stream_sse(run_input):
            yield chunk
        assert agent._workers
        await agent._workers.drain()

    return stream
