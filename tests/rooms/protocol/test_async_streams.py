"""`verify`, `fold` and `decode` take the streams that an agent gives."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest
from ag_ui.core import Event

from langgraph_agui.protocol import ProtocolError, decode, fold, verify
from tests.kit.graphs.small import scripted_agent
from tests.kit.run.agents import run_input

AGENT = scripted_agent(["Hel", "lo"])


async def test_the_events_of_a_run() -> None:
    given = run_input("hi")
    events = await verify(AGENT.run(given), strict=True, input=given)
    assert events[-1].type == "RUN_FINISHED"
    folded = await fold(AGENT.run(given), given.messages)
    assert [message.content for message in folded.messages] == ["hi", "Hello"]
    assert folded.messages[-1].content == fold(events, given.messages).messages[-1].content


async def test_the_bytes_of_a_run() -> None:
    given = run_input("hi")
    events = await verify(decode(AGENT.stream_sse(given)), strict=True, input=given)
    assert [event.type.value for event in events] == [
        event.type.value for event in await verify(AGENT.run(given))
    ]


async def test_a_fault_raises() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b'data: {"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}\n\ndata: 1\n\n'

    events: list[Event] = []
    with pytest.raises(ProtocolError, match="not a JSON object"):  # noqa: PT012
        async for event in decode(broken()):
            events.append(event)  # noqa: PERF401  # also before the fault
    assert [event.type.value for event in events] == ["RUN_STARTED"]

    async def none() -> AsyncIterator[Event]:
        for event in events:
            yield event

    with pytest.raises(ProtocolError, match="ends within a run"):
        await verify(none(), strict=True)


def test_a_body_of_both_kinds_is_read_as_before() -> None:
    body = httpx2.ByteStream(b'data: {"type":"RUN_ERROR","message":"No"}\n\n')
    assert [event.type.value for event in decode(body)] == ["RUN_ERROR"]
