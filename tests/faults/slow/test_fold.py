"""Streams that are built to be slow to keep: the work grows as the stream does."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from langgraph_agui.protocol import parse_event
from langgraph_agui.protocol.fold import Fold
from tests.kit.run.wire_events import Wire, call, event, result, text

STREAMS: dict[str, Callable[[int], list[Wire]]] = {
    "results of one call": lambda n: [
        *call("c"),
        *text("m"),
        *(result("c", f"r{k}") for k in range(n)),
    ],
    "results of one id": lambda n: [*call("c"), *text("m"), *(result("c", "r") for _ in range(n))],
    "messages that become activities": lambda n: [
        *(one for k in range(n) for one in text(f"m{k}")),
        *(
            event("ACTIVITY_SNAPSHOT", messageId=f"m{k}", activityType="x", content={})
            for k in range(n)
        ),
    ],
}


@pytest.mark.parametrize("name", STREAMS)
def test_the_work_grows_as_the_stream(name: str) -> None:
    """Eight times as many take up to twenty times as long, because lists are searched; they took
    fifty times."""
    parsed = {
        n: [one for wire in STREAMS[name](n) if (one := parse_event(wire))] for n in (200, 1600)
    }

    def seconds(n: int) -> float:
        made, began = Fold(), time.process_time()
        for one in parsed[n]:
            made.apply(one)
        return time.process_time() - began

    assert min(seconds(1600) for _ in range(9)) < 32 * min(seconds(200) for _ in range(9))
