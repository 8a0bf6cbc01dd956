"""Section RG: a graph on a LangGraph server, reached by `RemoteGraph`, and the same graph here.

The server is a process of its own, and its CPU does not count. To show where the distance to the
graph here comes from, the same response is also read without LangGraph (its bytes are dropped), by
the SDK alone, and, recorded once, from memory.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import process_time
from typing import Any
from uuid import uuid4

import httpx
from langchain_core.messages import AIMessage
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import StreamMode
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import StreamPart
from langgraph_sdk.sse import BytesLineDecoder, SSEDecoder

from langgraph_agui import LangGraphAgent
from langgraph_agui.messages.extract import decode_message
from langgraph_agui.translate.server.stream import MODES

from .figures import cpu_of, in_turn, over, spread, table
from .folded import asking, check_stream, check_text, last_text
from .goals import Goal, at_most
from .langgraph_server import serving
from .remote_graph import PACE, local_graph
from .remote_graph import TOKENS as TOKENS_OF_SERVER
from .subjects import RAW_MODES
from .workloads import scaled, words

KEY = "RG"
TOKENS = 300
MEMORY_TIMES = 5
RECORDED = "recorded"
"""The id of the question in the recorded response."""

LOCAL_RAW, LOCAL_OURS = "here: raw `astream`", "here: **`stream_sse`**"
BODY, SDK = (
    "server: the response read, its bytes dropped",
    "server: `langgraph_sdk` alone, its parts dropped",
)
RAW, RAW_OF_OURS = (
    "server: raw `RemoteGraph.astream`",
    "server: the same with the modes that an adapter needs",
)
OURS = "server: **`stream_sse`**"
PARSING, MESSAGES = (
    "from memory: the SDK's lines, SSE and JSON",
    "from memory: messages made of that JSON",
)
REPLAYED = "from memory: `RemoteGraph` and `stream_sse` of its parts"
GOAL = 1.5
"""Of `stream_sse` over the raw stream of the same parts."""


@dataclass(frozen=True)
class Cost:
    """CPU seconds of a run until its first token, and per token from there."""

    before: float
    token: float


@dataclass
class Remote:
    """What each way took, round by round."""

    tokens: int
    body: int
    """Bytes of the response, per token."""
    costs: dict[str, list[Cost]]

    def per_token(self, way: str) -> list[float]:
        """CPU µs per token, round by round."""
        return [cost.token * 1e6 for cost in self.costs[way]]

    def ratios(self) -> list[float]:
        """A token of `stream_sse` over one of the raw stream of the same parts."""
        return over(self.per_token(OURS), self.per_token(RAW_OF_OURS))


async def measure_remote(rounds: int, scale: float = 1.0) -> Remote:
    """All ways in turn, on threads of their own."""
    tokens = scaled(TOKENS, scale)
    async with serving(
        {"bench": "benchmarks.remote_graph:served"}, **{TOKENS_OF_SERVER: str(tokens)}
    ) as address:
        recorded = [chunk async for chunk in _body(get_client(url=address), RECORDED)]
        ways = _ways(address, tokens, recorded)
        costs = await in_turn(
            {name: partial(way, words(tokens)) for name, way in ways.items()}, rounds
        )
    return Remote(tokens, sum(map(len, recorded)) // tokens, costs)


def remote_markdown(found: Remote) -> list[str]:
    """Section RG as Markdown."""
    about = (
        f"**RG** {found.tokens:,} text tokens of a graph on a LangGraph server, by `RemoteGraph`, "
        f"and of the same "
        f"graph here, one token in {PACE * 1e3:g} ms, so that each arrives alone. The server's "
        f"CPU does not count. It "
        f"sends {found.body:,} bytes per token:"
    )
    rows = []
    for name, costs in found.costs.items():
        before = [cost.before * 1e3 for cost in costs]
        rows.append([name, spread(before) if any(before) else "", spread(found.per_token(name))])
    ours, body, sdk, raw, parsing, replayed, messages = (
        median(found.per_token(name))
        for name in (OURS, BODY, SDK, RAW_OF_OURS, PARSING, REPLAYED, MESSAGES)
    )
    why = (
        f"`stream_sse` is {spread(found.ratios())} times the raw stream of the same parts. "
        f"Of its {ours:.0f} µs per token, {body:.0f} are the event loop and `httpx`, which read a "
        f"chunk for each "
        f"token, {sdk - body:.0f} the SDK, {raw - sdk:.0f} `RemoteGraph` and {ours - raw:.0f} "
        f"this library. Work on "
        f"one token after the other costs less than work on one that comes alone: from memory, "
        f"the SDK takes "
        f"{parsing:.1f} and all behind it {replayed:.1f}, of which {messages:.1f} make LangChain "
        f"messages of the JSON."
    )
    return [
        about,
        table(["", "CPU ms until the first token", "CPU µs per token from there"], rows),
        why,
    ]


def remote_goals(found: Remote) -> list[Goal]:
    """What a token of `stream_sse` may cost."""
    return [
        at_most(f"{KEY}: `stream_sse` over the raw stream of the same parts", found.ratios(), GOAL)
    ]


# -- the ways ------------------------------------------------------------------------------------

Way = Callable[[list[str]], Awaitable[Cost]]
"""Takes the tokens that must come."""


def _ways(address: str, tokens: int, recorded: list[bytes]) -> dict[str, Way]:
    client, remote, graph = (
        get_client(url=address),
        RemoteGraph("bench", url=address),
        local_graph(tokens),
    )
    return {
        LOCAL_RAW: partial(_raw, graph, RAW_MODES, False),
        LOCAL_OURS: partial(_ours, LangGraphAgent(graph)),
        BODY: partial(_read, client),
        SDK: partial(_sdk, client),
        RAW: partial(_raw, remote, RAW_MODES, False),
        RAW_OF_OURS: partial(_raw, remote, MODES, True),
        OURS: partial(_ours, LangGraphAgent(remote)),
        PARSING: partial(_parse, recorded),
        REPLAYED: partial(_ours, LangGraphAgent(_replaying(address, recorded)), question=RECORDED),
        MESSAGES: partial(_decode, list(_parts(recorded))),
    }


def _replaying(address: str, recorded: list[bytes]) -> RemoteGraph:
    """A graph on the server whose runs are the recorded one."""
    client, parts = get_client(url=address), list(_parts(recorded))

    async def stream(*_: Any, **__: Any) -> AsyncIterator[StreamPart]:
        for part in parts:
            yield part
            await asyncio.sleep(0)

    client.runs.stream = stream  # type: ignore[assignment]
    return RemoteGraph("bench", client=client)


async def _drive(
    stream: AsyncIterator[Any], is_token: Callable[[Any], bool], tokens: int
) -> tuple[Cost, list[Any]]:
    """Read a stream to its end. What comes is kept, to be checked afterwards."""
    gc.collect()
    kept, begun = [], process_time()
    async for piece in stream:
        kept.append(piece)
        if is_token(piece):
            break
    middle = process_time()
    kept += [piece async for piece in stream]
    return Cost(middle - begun, (process_time() - middle) / tokens), kept


async def _ours(agent: LangGraphAgent, tokens: list[str], question: str | None = None) -> Cost:
    run_input = asking()
    run_input.messages[-1].id = question or run_input.messages[-1].id
    stream = agent.stream_sse(run_input)
    cost, chunks = await _drive(
        stream, lambda chunk: b'"TEXT_MESSAGE_CONTENT"' in chunk, len(tokens)
    )
    check_stream(KEY, chunks, run_input, "".join(tokens))
    return cost


async def _raw(graph: Any, modes: list[StreamMode], subgraphs: bool, tokens: list[str]) -> Cost:
    config = {"configurable": {"thread_id": str(uuid4())}}
    stream = graph.astream(_question(), config, stream_mode=modes, subgraphs=subgraphs)
    # The mode is before the data, or it is the event of a part of the SDK, which comes first.
    cost, parts = await _drive(stream, lambda part: "messages" in (part[0], part[1]), len(tokens))
    values = [part for part in parts if "values" in (part[0], part[1])][-1]
    check_text(
        KEY, last_text(next(one for one in values if isinstance(one, dict))), "".join(tokens)
    )
    return cost


async def _read(client: LangGraphClient, tokens: list[str]) -> Cost:
    cost, chunks = await _drive(
        _body(client), lambda chunk: b"event: messages" in chunk, len(tokens)
    )
    check_text(KEY, _text(_parts(chunks)), "".join(tokens))
    return cost


async def _sdk(client: LangGraphClient, tokens: list[str]) -> Cost:
    asked = {
        "input": _question(),
        "stream_mode": _server_modes(),
        "stream_subgraphs": True,
        "if_not_exists": "create",
    }
    stream: AsyncIterator[StreamPart] = client.runs.stream(str(uuid4()), "bench", **asked)  # type: ignore[call-overload]
    cost, parts = await _drive(stream, lambda part: part.event == "messages", len(tokens))
    check_text(KEY, _text(parts), "".join(tokens))
    return cost


async def _parse(recorded: list[bytes], tokens: list[str]) -> Cost:
    async def parse() -> list[StreamPart]:
        parts: list[StreamPart] = []
        for _ in range(MEMORY_TIMES):
            parts = list(_parts(recorded))
        return parts

    cpu, parts = await cpu_of(parse)
    check_text(KEY, _text(parts), "".join(tokens))
    return Cost(0, cpu / MEMORY_TIMES / len(tokens))


async def _decode(parts: list[StreamPart], tokens: list[str]) -> Cost:
    told: list[Any] = [part.data for part in parts if part.event == "messages"]

    async def decode() -> list[Any]:
        messages = []
        for _ in range(MEMORY_TIMES):
            messages = [decode_message(data[0]) for data in told]
        return messages

    cpu, messages = await cpu_of(decode)
    check_text(
        KEY, "".join(one.text for one in messages if isinstance(one, AIMessage)), "".join(tokens)
    )
    return Cost(0, cpu / MEMORY_TIMES / len(tokens))


# -- the server's response -----------------------------------------------------------------------


async def _body(client: LangGraphClient, question: str | None = None) -> AsyncIterator[bytes]:
    """The response to the request that `RemoteGraph` makes for an adapter, through the same HTTP
    client."""
    asked = {
        "assistant_id": "bench",
        "input": _question(question),
        "stream_mode": _server_modes(),
        "stream_subgraphs": True,
        "if_not_exists": "create",
    }
    http: httpx.AsyncClient = client.http.client
    async with http.stream("POST", f"/threads/{uuid4()}/runs/stream", json=asked) as response:
        async for chunk in response.aiter_bytes():
            yield chunk


def _parts(chunks: Iterable[bytes]) -> Iterable[StreamPart]:
    """The parts of a response, as `langgraph_sdk` reads them."""
    lines, events = BytesLineDecoder(), SSEDecoder()
    for chunk in chunks:
        for line in lines.decode(chunk):
            if (part := events.decode(bytes(line).rstrip(b"\n"))) is not None:
                yield part


def _text(parts: Iterable[StreamPart]) -> object:
    """The last message of the last values."""
    return last_text([part.data for part in parts if part.event == "values"][-1])


def _question(question: str | None = None) -> dict[str, Any]:
    return {"messages": [{"type": "human", "content": "Go.", "id": question or str(uuid4())}]}


def _server_modes() -> list[Any]:
    """The modes that an adapter needs, as `RemoteGraph` asks for them."""
    return ["messages-tuple" if mode == "messages" else mode for mode in MODES]
