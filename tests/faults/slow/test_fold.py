"""Streams that are built to be slow to keep: the work grows as the stream does."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from langgraph_agui.protocol import parse_event
from langgraph_agui.protocol.fold import Fold
from tests.kit.run.wire_events import Wire, activity, call, result, text


def results(*names: str) -> list[Wire]:
    return [*call("c"), *text("m"), *(result("c", name) for name in names)]


STREAMS: dict[str, Callable[[int], list[Wire]]] = {
    "results of one call": lambda n: results(*(f"r{k}" for k in range(n))),
    "results of one id": lambda n: results(*["r"] * n),
    "messages that become activities": lambda n: [
        *(one for k in range(n) for one in text(f"m{k}")),
        *(activity(f"m{k}") for k in range(n)),
    ],
}


@pytest.mark.parametrize("name", STREAMS)
def test_the_work_grows_as_the_stream(name: str) -> None:
    """Eight times as many take up to twenty times as long, because lists are searched; they took
    fifty times."""

    def seconds(n: int) -> float:
        events, made = [one for wire in STREAMS[name](n) if (one := parse_event(wire))], Fold()
        began = time.process_time()
        for one in events:
            made.apply(one)
        return time.process_time() - began

    assert min(seconds(1600) for _ in range(3)) < 32 * min(seconds(200) for _ in range(9))
