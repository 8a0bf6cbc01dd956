"""Section H: what `AGUICallbackHandler` adds to the model stream that it rides on.

Each model is streamed alone, with a handler whose hooks do nothing (what LangChain takes for
calling any handler at all), and with ours. The models of provider packages read the scripted server
of `providers` over 127.0.0.1.
"""

import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter, process_time
from typing import Any

from ag_ui.core import Event
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk

from langgraph_agui import AGUICallbackHandler
from langgraph_agui.protocol import Verifier, fold

from .figures import spread, table
from .goals import Goal, at_most
from .model import ScriptedModel, finish, plain
from .providers import WORD, said, serve
from .workloads import scaled

KEY = "H"
TOKENS = 5000
GOAL, GOAL_MODEL = 0.10, "`ChatAnthropic`"
PER_ROUND = 3
ALONE, DEAF, OURS = "the model alone", "a handler that does nothing", "**`AGUICallbackHandler`**"


class _Deaf(BaseCallbackHandler):
    """Is called inline, as ours is, and does nothing."""

    run_inline = True


@dataclass(frozen=True)
class Cost:
    """The time of one stream, in seconds."""

    cpu: float
    wall: float


@dataclass
class Ride:
    """One model, and what its stream cost in each way, time by time."""

    label: str
    model: BaseChatModel
    tokens: int
    costs: dict[str, list[Cost]] = field(default_factory=lambda: {ALONE: [], DEAF: [], OURS: []})

    def shares(self, way: str, name: str, less: str = ALONE) -> list[float]:
        """What ``way`` adds to the ``name`` (cpu, wall) of another way, as a share of that, time by
        time."""
        pairs = zip(self.costs[way], self.costs[less], strict=True)
        return [getattr(mine, name) / getattr(base, name) - 1 for mine, base in pairs]

    def median(self, way: str, name: str) -> float:
        """The median of one figure."""
        return median(getattr(cost, name) for cost in self.costs[way])


async def measure_handler(rounds: int, scale: float = 1.0) -> list[Ride]:
    """All models, each way `PER_ROUND` times a round, in an order that is rotated by one each time.

    The first time is not counted.
    """
    tokens = scaled(TOKENS, scale)
    async with serve(tokens) as url:
        rides = [Ride(label, model, tokens) for label, model in _models(url, tokens).items()]
        for ride in rides:
            await _fill(ride, rounds)
    return rides


def _models(url: str, tokens: int) -> dict[str, BaseChatModel]:
    from langchain_anthropic import ChatAnthropic
    from langchain_openai import ChatOpenAI

    shared: dict[str, Any] = {"api_key": "none", "max_retries": 0}
    openai: dict[str, Any] = {
        "model": "gpt-5.1",
        "base_url": f"{url}/openai-chat/v1",
        "use_responses_api": False,
        "stream_usage": True,
    }
    return {
        "`ChatOpenAI`": ChatOpenAI(**shared, **openai),
        GOAL_MODEL: ChatAnthropic(**shared, model="claude-sonnet-4-5", base_url=f"{url}/anthropic"),
        "in memory": ScriptedModel(script=_script(tokens)),
    }


def _script(tokens: int) -> Callable[[object], Iterable[AIMessageChunk]]:
    text = said(tokens)
    words = [text[at : at + WORD] for at in range(0, len(text), WORD)]

    def script(_: object) -> Iterable[AIMessageChunk]:
        yield from map(plain, words)
        yield finish(tokens)

    return script


async def _fill(ride: Ride, rounds: int) -> None:
    gc.collect()
    gc.freeze()
    try:
        for number in range(PER_ROUND * rounds + 1):
            turn = number % len(ride.costs)
            ways = list(ride.costs)
            for way in [*ways[turn:], *ways[:turn]]:
                cost = await _take(ride, way)
                ride.costs[way] += [cost] if number else []
    finally:
        gc.unfreeze()


async def _take(ride: Ride, way: str) -> Cost:
    """Stream once. What our handler tells is checked, outside the timed part."""
    events: list[Event] = []
    handlers: dict[str, list[BaseCallbackHandler]] = {
        ALONE: [],
        DEAF: [_Deaf()],
        OURS: [AGUICallbackHandler(events.append)],
    }
    gc.collect()
    wall, cpu = perf_counter(), process_time()
    async for _ in ride.model.astream("Go.", {"callbacks": handlers[way]}):
        pass
    cost = Cost(process_time() - cpu, perf_counter() - wall)
    if way == OURS:
        check_ride(ride, events)
    return cost


def check_ride(ride: Ride, events: list[Event]) -> None:
    """Raise unless the events are one whole run that says what the model said."""
    verifier = Verifier(strict=True)
    for event in events:
        verifier.feed(event)
    verifier.finish()
    text = "".join(str(message.content) for message in fold(events, [], {}).messages)
    wanted = said(ride.tokens)
    if text != wanted:
        raise AssertionError(
            f"{KEY}, {ride.label}: {len(text):,} characters of {len(wanted):,}, or others"
        )


def handler_markdown(rides: Sequence[Ride]) -> list[str]:
    """Section H: what a handler adds to the model's own stream, and ours to one that does
    nothing."""
    about = (
        f"**H** `AGUICallbackHandler` on `astream` of a model, {rides[0].tokens:,} text tokens: "
        f"what a handler adds to "
        "what the stream costs alone, and ours to one that does nothing, which is LangChain's "
        "share:"
    )
    added = ("CPU added", "wall added", "CPU over doing nothing")
    head = ["model", "", "CPU ms", "wall ms", *added, "CPU µs per token"]
    rows = []
    for ride in rides:
        alone = ride.median(ALONE, "cpu")
        for way in ride.costs:
            row = [
                ride.label,
                way,
                *(f"{ride.median(way, name) * 1e3:.1f}" for name in ("cpu", "wall")),
            ]
            if way != ALONE:
                row += [spread(ride.shares(way, name), "{:.0%}".format) for name in ("cpu", "wall")]
                row.append(
                    spread(ride.shares(OURS, "cpu", DEAF), "{:.0%}".format) if way == OURS else ""
                )
                row.append(f"{(ride.median(way, 'cpu') - alone) / ride.tokens * 1e6:.1f}")
            rows.append(row)
    return [about, table(head, rows, left=2)]


def handler_goals(rides: Sequence[Ride]) -> list[Goal]:
    """What our handler may cost over one that does nothing."""
    return [
        at_most(
            f"{KEY}: CPU over doing nothing, {ride.label}",
            ride.shares(OURS, "cpu", DEAF),
            GOAL,
            "{:.0%}".format,
        )
        for ride in rides
        if ride.label == GOAL_MODEL
    ]
