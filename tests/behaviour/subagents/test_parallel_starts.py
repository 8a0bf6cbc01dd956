"""A graph whose first nodes begin at once, each in a thread of its own, is one subagent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.graph import START, StateGraph

from tests.kit.deep import example_count
from tests.kit.graphs.small import chain_of
from tests.kit.graphs.subagents import Notes, Topic
from tests.kit.run.handlers import ReceivedEvents


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hurried")
def test_it_begins_once() -> None:
    inner: Any = StateGraph(Notes)
    for name in "pqrstuvw":
        inner.add_node(name, lambda _state: {})
        inner.add_edge(START, name)
    graph = chain_of(inner.compile(name="inner"), state=Topic)
    for _ in range(example_count(25, 38)):
        received = ReceivedEvents()
        graph.invoke({"messages": [("user", "hi")]}, received.config)
        assert len(received.of("SUBAGENT_STARTED", "SUBAGENT_FINISHED")) == 2
