"""States as large as one event may be, and larger: what the client holds in the end, read from the bytes."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent, StateOptions
from langgraph_agui.protocol import Fold
from langgraph_agui.protocol.sse import SSEDecoder
from tests.adapter.graphs import chain_of
from tests.adapter.streams import run_input


class Large(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    a: Any
    b: Any
    c: Any
    small: str


async def held_by_the_client(graph: Any, emit: Any) -> tuple[Any, list[str]]:
    """What a client holds that reads the bytes, and the types of what it was told."""
    agent = LangGraphAgent(graph, state=StateOptions(emit=emit))
    given = run_input("hi", thread="t")
    decoder, fold, types = SSEDecoder(), Fold(given.messages, given.state), []

    def take(events: list[Any]) -> None:
        for event in events:
            types.append(event["type"])
            fold.feed(event)

    async for piece in agent.stream_sse(given):
        take(decoder.feed(piece))
    take(decoder.finish())
    assert fold.warnings == []
    return fold.state, types


VALUES = {
    "two bytes each": {"a": "é" * 6_000_000},
    "three bytes each": {"a": "字" * 3_600_000},
    "two units each": {"a": "😀" * 3_000_000},
    "escaped": {"a": "\x01" * 1_500_000},
    "escaped, too large": {"a": "\x01" * 2_000_000},
    "two units each, too large": {"a": "😀" * 6_000_000},
    "several": {"a": "x" * 4_000_000, "b": "y" * 4_000_000, "c": "z" * 4_000_000},
}


@pytest.mark.parametrize("emit", ["delta", "snapshot"])
@pytest.mark.parametrize("name", VALUES)
async def test_the_client_holds_what_fits_and_goes_on_with_that(
    name: str, emit: Any, caplog: pytest.LogCaptureFixture
) -> None:
    values = {key: {"text": text, "n": 1} for key, text in VALUES[name].items()}
    later = {key: {"text": value["text"], "n": 2} for key, value in values.items()}

    async def first(state: Large) -> dict[str, Any]:
        return values

    async def second(state: Large) -> dict[str, Any]:
        return {"small": "small", **later}

    state, types = await held_by_the_client(chain_of(first, second, state=Large), emit)
    assert types[-1] == "RUN_FINISHED"
    left_out = {"a"} if name.endswith("too large") else set()
    for key in left_out:
        assert f"The state {key!r} is too large for a client and is not shown" in caplog.text
    assert state == {"small": "small", **{key: value for key, value in later.items() if key not in left_out}}
