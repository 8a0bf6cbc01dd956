"""Section G, part 1: what a history costs a run, and each token of it.

The history has reasoning with signatures. The checkpoint holds it, and the client sends it all. A
run of a long text and one of two tokens give what a token costs; the short runs give what a message
of the history costs.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from ag_ui.core import Message
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph

from langgraph_agui import LangGraphAgent, langchain_messages_to_agui

from . import graphs
from .figures import cpu_of, in_turn, minus, over, spread, table
from .folded import asking, check_stream, check_text, last_text, speaker
from .goals import Goal, at_most
from .subjects import RAW_MODES
from .workloads import scaled, words

SIZES = (20, 200, 2000)
TOKENS = 4000
FEW = 2
PER_ROUND = 2
RAW, OURS = "raw `astream`", "**`stream_sse`**"
FLAT = LINEAR = 1.25
"""Goals: CPU per token over that with the shortest history, CPU per message at the longest over the
one before."""
SMALL, TIMES = 500, 4
"""A sample of a short run on a small history is the mean of so many runs."""


@dataclass
class History:
    """CPU seconds of each way (subject, messages of history), time by time: of each token, and of a
    short run."""

    sizes: Sequence[int]
    tokens: int
    token: dict[tuple[str, int], list[float]]
    short: dict[tuple[str, int], list[float]]

    def flat(self, subject: str, size: int) -> list[float]:
        """CPU per token over that with the shortest history."""
        return over(self.token[subject, size], self.token[subject, self.sizes[0]])

    def per_message(self, subject: str, size: int) -> list[float]:
        """CPU seconds of a message of the history, beyond the shortest history."""
        least = self.sizes[0]
        return [
            each / (size - least)
            for each in minus(self.short[subject, size], self.short[subject, least])
        ]

    def linear(self, subject: str) -> list[float]:
        """CPU per message of the longest history over that of the one before."""
        return over(
            self.per_message(subject, self.sizes[-1]), self.per_message(subject, self.sizes[-2])
        )


def told(count: int) -> list[BaseMessage]:
    """A conversation of so many messages; half of them have reasoning with a signature."""
    thought, said = "".join(words(40, "thought")), "".join(words(30))
    found: list[BaseMessage] = []
    for number in range(0, count, 2):
        blocks = [
            {
                "type": "thinking",
                "thinking": f"{number} {thought}",
                "signature": "c2ln" * 60,
                "index": 0,
            },
            {"type": "text", "text": f"{number} {said}", "index": 1},
        ]
        metadata = {"model_provider": "anthropic"}
        found.append(HumanMessage(f"{number} {said}", id=f"user-{number}"))
        found.append(AIMessage(blocks, id=f"answer-{number}", response_metadata=metadata))  # type: ignore[arg-type]
    return found


async def measure_history(rounds: int, scale: float) -> History:
    """All sizes of both subjects in turn."""
    sizes = [max(scaled(size, scale) // 2 * 2, 2 * number) for number, size in enumerate(SIZES, 1)]
    tokens = max(2 * FEW, scaled(TOKENS, scale))
    ways: dict[tuple[str, int, int], Callable[[], Awaitable[float]]] = {}
    for size in sizes:
        kept = told(size)
        sent = langchain_messages_to_agui(kept)
        for count in (tokens, FEW):
            text = "".join(words(count))
            graph = graphs.one_node(speaker(words(count)))
            ways[RAW, size, count] = partial(_raw, graph, kept, text)
            ways[OURS, size, count] = partial(_ours, LangGraphAgent(graph), kept, sent, text)
        for subject in (RAW, OURS):
            ways[subject, size, FEW] = partial(_mean, ways[subject, size, FEW], size)
    taken = await in_turn(ways, PER_ROUND * rounds)
    token = {
        (subject, size): [
            each / (tokens - FEW) for each in minus(seconds, taken[subject, size, FEW])
        ]
        for (subject, size, count), seconds in taken.items()
        if count == tokens
    }
    return History(sizes, tokens, token, {way: taken[way[0], way[1], FEW] for way in token})


def history_markdown(found: History) -> list[str]:
    """Part 1 as Markdown."""
    about = (
        f"**G1** A run on a thread with a history, half of it answers with reasoning, which the "
        f"checkpoint holds and "
        f"the client sends. CPU µs per token of a text of {found.tokens:,} tokens, what a run of "
        f"{FEW} tokens costs "
        "taken off; CPU ms of that short run; and CPU µs of it per message of the history, what "
        "the shortest history "
        "costs taken off:"
    )
    head = [
        "messages",
        "subject",
        "µs per token",
        "over the shortest",
        "ms, short run",
        "µs per message",
    ]
    rows = []
    for size in found.sizes:
        for subject in (RAW, OURS):
            row = [
                f"{size:,}",
                subject,
                spread([each * 1e6 for each in found.token[subject, size]]),
            ]
            flat = found.flat(subject, size)
            row.append(spread(flat) if size != found.sizes[0] else "")
            row.append(spread([each * 1e3 for each in found.short[subject, size]]))
            each = found.per_message(subject, size) if size != found.sizes[0] else []
            rows.append([*row, spread([one * 1e6 for one in each])])
    how = (
        f"A message of {found.sizes[-1]:,} costs {spread(found.linear(OURS))} times one of "
        f"{found.sizes[-2]:,} "
        f"(raw: {spread(found.linear(RAW))})."
    )
    return [about, table(head, rows, left=2), how]


def history_goals(found: History) -> list[Goal]:
    """What a token and a message may cost with a longer history."""
    flat = [
        at_most(
            f"G1: a token with {size:,} messages, over the shortest history",
            found.flat(OURS, size),
            FLAT,
        )
        for size in found.sizes[1:]
    ]
    about = f"G1: a message of {found.sizes[-1]:,}, over one of {found.sizes[-2]:,}"
    return [*flat, at_most(about, found.linear(OURS), LINEAR)]


async def _mean(way: Callable[[], Awaitable[float]], size: int) -> float:
    times = TIMES if size < SMALL else 1
    return sum([await way() for _ in range(times)]) / times


async def _thread(graph: graphs.Graph, kept: list[BaseMessage]) -> str:
    thread = str(uuid4())
    config = RunnableConfig(configurable={"thread_id": thread})
    await graph.aupdate_state(config, {"messages": kept}, as_node="model")
    return thread


async def _raw(graph: graphs.Graph, kept: list[BaseMessage], text: str) -> float:
    config = RunnableConfig(configurable={"thread_id": await _thread(graph, kept)})
    stream = graph.astream({"messages": [HumanMessage("Go.")]}, config, stream_mode=RAW_MODES)

    async def read() -> object:
        values = None
        async for mode, data in stream:
            if mode == "values":
                values = data
        return values

    cpu, values = await cpu_of(read)
    check_text("G1, raw", last_text(values), text)
    return cpu


async def _ours(
    agent: LangGraphAgent, kept: list[BaseMessage], sent: list[Message], text: str
) -> float:
    graph = agent.graph
    assert isinstance(graph, CompiledStateGraph)
    run_input = asking(sent, await _thread(graph, kept))

    async def read() -> list[bytes]:
        return [chunk async for chunk in agent.stream_sse(run_input)]

    cpu, chunks = await cpu_of(read)
    check_stream(f"G1, {len(kept):,} messages", chunks, run_input, text)
    return cpu
