"""Section G, part 2: CPU per token with more and more runs at once on one agent, in this
process."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import process_time
from typing import Any, Self

from ag_ui.core import RunAgentInput
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig

from langgraph_agui import LangGraphAgent

from . import graphs
from .figures import in_turn, over, spread, table
from .folded import check_stream, check_text, last_text
from .goals import Goal, at_most
from .growth_graph import asking_thread, echoing, said
from .subjects import RAW_MODES
from .workloads import scaled

TIMES: Mapping[int, int] = {1: 40, 10: 4, 100: 1, 500: 1}
"""How many runs at once, and how often in a sample."""
TOKENS = 60
RAW, OURS = "raw `astream`", "**`stream_sse`**"
FLAT = 1.25
"""The goal, of all but the garbage collector: CPU per token over that of one run alone."""


@dataclass(frozen=True)
class Cost:
    """CPU seconds per token, and what Python's garbage collector has of them."""

    all: float
    collector: float

    @property
    def work(self) -> float:
        """Without the collector."""
        return self.all - self.collector


@dataclass
class Crowd:
    """What each subject costs with so many runs at once, round by round."""

    crowds: Sequence[int]
    tokens: int
    taken: dict[tuple[str, int], list[Cost]]

    def per_token(self, subject: str, crowd: int, name: str) -> list[float]:
        """CPU µs per token: all, collector or work."""
        return [getattr(cost, name) * 1e6 for cost in self.taken[subject, crowd]]

    def flat(self, crowd: int) -> list[float]:
        """The work of our token over that of one run alone."""
        return over(
            self.per_token(OURS, crowd, "work"), self.per_token(OURS, self.crowds[0], "work")
        )


async def measure_crowd(rounds: int, scale: float) -> Crowd:
    """All sizes of both subjects in turn."""
    tokens = scaled(TOKENS, scale)
    crowds = [
        1,
        *(max(scaled(crowd, scale), number) for number, crowd in enumerate(list(TIMES)[1:], 2)),
    ]
    ways: dict[tuple[str, int], Callable[[], Awaitable[Cost]]] = {}
    graph = echoing(tokens)
    agent = LangGraphAgent(graph)
    for crowd, times in zip(crowds, TIMES.values(), strict=True):
        ways[RAW, crowd] = partial(_take, partial(last_values, graph), crowd, times, tokens)
        ways[OURS, crowd] = partial(_take, partial(read_stream, agent), crowd, times, tokens)
    for subject in (RAW, OURS):
        await ways[subject, 1]()
    return Crowd(crowds, tokens, await in_turn(ways, rounds, warming=0))


def crowd_markdown(found: Crowd) -> list[str]:
    """Part 2 as Markdown."""
    about = (
        f"**G2** CPU µs per token of runs of {found.tokens} tokens, each on a thread of its own, "
        f"all at once on one "
        "agent. What a run costs that is no token is in it. Python's garbage collector looks at "
        "all that lives, again "
        "and again; that grows with the runs at once, and is told apart:"
    )
    head = ["at once", RAW, "of it the collector", OURS, "of it the collector", "over raw"]
    rows = []
    for crowd in found.crowds:
        row = [f"{crowd:,}"]
        for subject in (RAW, OURS):
            row += [spread(found.per_token(subject, crowd, name)) for name in ("all", "collector")]
        row.append(
            spread(over(found.per_token(OURS, crowd, "all"), found.per_token(RAW, crowd, "all")))
        )
        if crowd != found.crowds[0]:
            row.append(spread(found.flat(crowd)))
        rows.append(row)
    return [about, table([*head, "work over one alone"], rows)]


def crowd_goals(found: Crowd) -> list[Goal]:
    """What a token may cost with more runs at once."""
    return [
        at_most(
            f"G2: work of a token with {crowd:,} runs at once, over one alone",
            found.flat(crowd),
            FLAT,
        )
        for crowd in found.crowds[1:]
    ]


async def _take(
    one: Callable[[RunAgentInput], Awaitable[object]], crowd: int, times: int, tokens: int
) -> Cost:
    """Run all at once, so often."""
    inputs = [[asking_thread() for _ in range(crowd)] for _ in range(times)]

    async def run() -> list[Any]:
        return [outcome for each in inputs for outcome in await asyncio.gather(*map(one, each))]

    gc.collect()
    with _Collector() as collector:
        begun = process_time()
        outcomes = await run()
        cpu = process_time() - begun
    asked = [run_input for each in inputs for run_input in each]
    for run_input, outcome in zip(asked, outcomes, strict=True):
        check_outcome("G2", run_input, outcome, tokens)
    count = crowd * times * tokens
    return Cost(cpu / count, collector.seconds / count)


class _Collector:
    """The CPU seconds of the garbage collector."""

    def __enter__(self) -> Self:
        self.seconds, self._begun = 0.0, 0.0
        gc.callbacks.append(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        gc.callbacks.remove(self._note)

    def _note(self, phase: str, _: object) -> None:
        if phase == "start":
            self._begun = process_time()
        else:
            self.seconds += process_time() - self._begun


def check_outcome(what: str, run_input: RunAgentInput, outcome: Any, tokens: int) -> None:
    """Raise unless the run has said its own text: in the bytes of a stream, or in the values of a
    graph."""
    text = "".join(said(run_input.thread_id, tokens))
    if isinstance(outcome, list):
        check_stream(what, outcome, run_input, text)
    else:
        check_text(what, last_text(outcome), text)


async def last_values(graph: graphs.Graph, run_input: RunAgentInput) -> object:
    """Run the graph without an adapter; drop all but the last values."""
    config = RunnableConfig(configurable={"thread_id": run_input.thread_id})
    message = HumanMessage(run_input.thread_id, id="question")
    values = None
    async for mode, data in graph.astream({"messages": [message]}, config, stream_mode=RAW_MODES):
        if mode == "values":
            values = data
    return values


async def read_stream(agent: LangGraphAgent, run_input: RunAgentInput) -> list[bytes]:
    return [chunk async for chunk in agent.stream_sse(run_input)]
