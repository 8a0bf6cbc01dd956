"""Section G, parts 3 and 4: many runs at once in a server process, and the memory of those that
wait.

Each round has a server process for each way: runs without an adapter and with `stream_sse`, begun
in the server, and runs over HTTP. All wait for the model, then all speak at once, each a text of
its own.
"""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from time import perf_counter

from ag_ui.core import RunAgentInput

from .figures import spread, table
from .goals import Goal, below
from .growth_crowd import check_outcome
from .growth_graph import asking_thread
from .processes import started
from .soak.connection import Connection, ask
from .workloads import scaled

RUNS = 500
TOKENS = 40
WARMING = 20
MOST_ROUNDS = 3
RAW, OURS, HTTP = (
    "raw `astream`, in the server",
    "**`stream_sse`**, in the server",
    "**over HTTP**, one uvicorn worker",
)
GOAL = 200_000
"""Bytes of a waiting run, over HTTP too."""


@dataclass(frozen=True)
class Sample:
    """What the runs of one way took: bytes of each while it waits, then CPU seconds per token and
    seconds in all."""

    memory: float
    cpu: float
    wall: float


@dataclass
class ServerRuns:
    """The samples of each way, round by round."""

    runs: int
    tokens: int
    taken: dict[str, list[Sample]]


async def measure_server_runs(rounds: int, scale: float) -> ServerRuns:
    """All ways, one after the other, three rounds at most."""
    runs, tokens = scaled(RUNS, scale), scaled(TOKENS, scale)
    found = ServerRuns(runs, tokens, {RAW: [], OURS: [], HTTP: []})
    for _ in range(min(rounds, MOST_ROUNDS)):
        async with AsyncExitStack() as stack:
            servers = [started("benchmarks.growth_server", tokens) for _ in found.taken]
            ports = await asyncio.gather(*map(stack.enter_async_context, servers))
            for (way, samples), port in zip(found.taken.items(), ports, strict=True):
                one = _Inside(port, way == OURS) if way != HTTP else _OverHTTP(port, tokens)
                samples.append(await _take(one, port, runs, tokens))
    return found


def server_runs_markdown(found: ServerRuns) -> list[str]:
    """Parts 3 and 4 as Markdown."""
    about = (
        f"**G3** and **G4** {found.runs:,} runs at once in a server process, each on a thread of "
        f"its own. All wait for "
        f"their model, then each says {found.tokens} tokens of a text of its own. What a run adds "
        f"to the memory of the "
        "server while it waits; the server's CPU per token, and the seconds until the last run "
        "has ended. Over HTTP "
        "each client has an open connection, and what it received is compared with its own text, "
        "byte for byte:"
    )
    head = ["runs", "kB per waiting run", "CPU µs per token", "seconds"]
    rows = []
    for way, samples in found.taken.items():
        memory = [sample.memory for sample in samples]
        cpu, wall = [sample.cpu * 1e6 for sample in samples], [sample.wall for sample in samples]
        rows.append([way, spread([size / 1e3 for size in memory]), spread(cpu), spread(wall)])
    same = f"No text of the {found.runs * len(found.taken[HTTP]):,} runs over HTTP held a byte of another one."
    return [about, table(head, rows), same]


def server_runs_goals(found: ServerRuns) -> list[Goal]:
    """What a run of ours that waits may add to the memory."""
    return [
        below(
            f"G4: kB per waiting run, {way}",
            [sample.memory / 1e3 for sample in samples],
            GOAL / 1e3,
        )
        for way, samples in found.taken.items()
        if way != RAW
    ]


class _Inside:
    """Runs that the server begins itself. It checks what they say."""

    def __init__(self, port: int, adapter: bool) -> None:
        self._port, self._adapter = port, adapter

    async def begin(self, count: int) -> None:
        await ask(self._port, "POST", f"/begin/{self._adapter}/{count}")

    async def go(self) -> float:
        cpu: float = await ask(self._port, "POST", "/go")
        return cpu

    async def check(self) -> None:
        assert await ask(self._port, "POST", "/end") is None


class _OverHTTP:
    """Runs of clients."""

    def __init__(self, port: int, tokens: int) -> None:
        self._port, self._tokens = port, tokens
        self._inputs: list[RunAgentInput] = []
        self._open: list[Connection] = []
        self._received: list[list[bytes]] = []

    async def begin(self, count: int) -> None:
        self._inputs = [asking_thread() for _ in range(count)]
        self._open = await asyncio.gather(*map(self._post, self._inputs))

    async def _post(self, run_input: RunAgentInput) -> Connection:
        body = run_input.model_dump_json(by_alias=True, exclude_none=True).encode()
        return await Connection.open(self._port, "POST", "/agent", body)

    async def go(self) -> float:
        before = (await ask(self._port, "GET", "/noted"))["cpu"]
        await ask(self._port, "POST", "/go")
        self._received = await asyncio.gather(*map(_read, self._open))
        cpu: float = (await ask(self._port, "GET", "/noted"))["cpu"] - before
        return cpu

    async def check(self) -> None:
        await asyncio.gather(*(connection.leave() for connection in self._open))
        for run_input, chunks in zip(self._inputs, self._received, strict=True):
            check_outcome("G3", run_input, chunks, self._tokens)


async def _read(connection: Connection) -> list[bytes]:
    return [piece async for piece in connection.pieces()]


async def _take(way: _Inside | _OverHTTP, port: int, runs: int, tokens: int) -> Sample:
    await way.begin(WARMING)
    await way.go()
    await way.check()
    await ask(port, "POST", "/hold")
    before = await ask(port, "GET", "/memory")
    await way.begin(runs)
    while (await ask(port, "GET", "/noted"))["waiting"] < runs:
        await asyncio.sleep(0.05)
    memory = await ask(port, "GET", "/memory")
    begun = perf_counter()
    cpu = await way.go()
    wall = perf_counter() - begun
    await way.check()
    return Sample((memory - before) / runs, cpu / (runs * tokens), wall)
