"""States as large as one event may be, and larger: what the client holds in the end, read from the
bytes."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from langgraph_agui import LangGraphAgent, StateOptions
from langgraph_agui.protocol import Fold
from langgraph_agui.protocol.sse import MAX_FRAME, SSEDecoder, encode
from tests.kit.deep import each_value
from tests.kit.graphs.small import chain_of
from tests.kit.run.agents import record_run, run_input


class Large(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    a: Any
    b: Any
    c: Any
    small: str


def units(frame: bytes) -> int:
    """How long a frame is for a client that counts as JavaScript does."""
    return len(frame.decode().encode("utf-16-le")) // 2


def held_after(body: bytes) -> tuple[Any, list[str]]:
    """What a client holds that reads these bytes, and the types of what it was told."""
    assert all(units(frame) <= MAX_FRAME for frame in body.split(b"\n\n"))
    decoder, fold, types = SSEDecoder(), Fold(), []
    events: list[Any] = []
    for begin in range(0, len(body), 1 << 20):  # a frame counts while it is unfinished
        events += decoder.feed(body[begin : begin + (1 << 20)])
    for event in [*events, *decoder.finish()]:
        types.append(event["type"])
        fold.feed(event)
    assert fold.warnings == []
    return fold.state, types


VALUES = {
    "two bytes each": {"a": "é" * 6_000_000},
    "three bytes each": {"a": "字" * 3_600_000},
    "two units each": {"a": "😀" * 3_000_000},
    "escaped": {"a": "\x01" * 1_500_000},
    "escaped, too large": {"a": "\x01" * 2_000_000},
    "two units each, too large": {"a": "😀" * 6_000_000},
    "several of booleans": dict.fromkeys("abc", [False] * 1_200_000),
    "several": {"a": "x" * 4_000_000, "b": "y" * 4_000_000, "c": "z" * 4_000_000},
}


@pytest.mark.parametrize("send", ["patches", "snapshots"])
@pytest.mark.parametrize("name", VALUES)
@each_value()
async def test_a_client_holds_what_fits_and_goes_on_with_that(
    name: str, send: Any, caplog: pytest.LogCaptureFixture
) -> None:
    values = {key: {"text": text, "n": 1} for key, text in VALUES[name].items()}
    later = {key: {"text": value["text"], "n": 2} for key, value in values.items()}

    async def first(state: Large) -> dict[str, Any]:
        return values

    async def second(state: Large) -> dict[str, Any]:
        return {"small": "small", **later}

    graph = chain_of(first, second, state=Large, checkpointer=InMemorySaver())
    agent = LangGraphAgent(graph, state=StateOptions(send=send))
    left_out = {"a"} if name.endswith("too large") else set()
    shown = {
        "small": "small",
        **{key: value for key, value in later.items() if key not in left_out},
    }

    state, types = held_after(
        b"".join([piece async for piece in agent.stream_sse(run_input("hi", thread="t"))])
    )
    assert types[-1] == "RUN_FINISHED"
    assert "STATE_DELTA" in types or send == "snapshots" or left_out
    assert state == shown
    for key in left_out:
        assert f"The state {key!r} is too large for a client and is not shown" in caplog.text

    connected = [encode(event) async for event in agent.connect(run_input(thread="t"))]
    assert held_after(b"".join(connected))[0] == shown


async def test_what_has_become_too_large_is_not_replaced_by_what_the_client_held_before() -> None:
    saw: list[int] = []
    values = iter(["small", "\x01" * 2_000_000, None])

    async def node(state: Large) -> dict[str, Any]:
        saw.append(len(state.get("a") or ""))
        value = next(values)
        return {"messages": [AIMessage("done")], **({"a": value} if value else {})}

    agent = LangGraphAgent(chain_of(node, state=Large, checkpointer=InMemorySaver()))
    messages: list[Any] = []
    state: Any = {}
    for text in ("one", "two", "three"):
        recorded = await record_run(agent, run_input(*messages, text, thread="t", state=state))
        messages, state = recorded.messages, recorded.state
    assert saw == [0, 5, 2_000_000]


async def test_one_of_two_large_values_is_sent_as_a_change() -> None:
    """Both sides of "what is smaller" are measured alike, whatever is in the values."""

    async def first(state: Large) -> dict[str, Any]:
        return {
            "a": [number / 7 for number in range(1000)],
            "b": [number / 9 for number in range(1000)],
        }

    async def second(state: Large) -> dict[str, Any]:
        return {"b": [number / 11 for number in range(1000)]}

    recorded = await record_run(
        LangGraphAgent(chain_of(first, second, state=Large)), run_input("hi")
    )

    assert recorded.types.count("STATE_SNAPSHOT") == 1
    assert recorded.types.count("STATE_DELTA") == 1
