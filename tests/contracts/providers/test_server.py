"""The scripted server itself: streaming, failures, and clients that leave."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.deep import deep
from tests.kit.models.provider_models import PROVIDERS, make_model
from tests.kit.models.server import ProviderServer, Reply
from tests.kit.models.turns import Reasoning, Text, turn
from tests.kit.waiting import PATIENCE, eventually

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_LONG = turn(Reasoning("thinking " * 20), Text("word " * 60))
# Waiting for a client that boto runs in a thread would leave the thread behind.
_ASYNC = [provider for provider in PROVIDERS if provider != "bedrock"]


async def _drain(model: BaseChatModel, into: list[Any] | None = None) -> None:
    async for chunk in model.astream("hi"):
        if into is not None:
            into.append(chunk)


async def _cancel(task: asyncio.Task[None]) -> None:
    """Cancel until it is heard: before Python 3.12 `wait_for`, in langchain-openai, can swallow a
    cancel."""
    async with asyncio.timeout(PATIENCE):
        while not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=0.02)
    assert task.cancelled()


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_frames_arrive_as_they_are_sent(
    provider: str, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, Reply(_LONG, hold_after=20))
    chunks: list[Any] = []
    reading = asyncio.create_task(_drain(make_model(provider, provider_server), chunks))
    await eventually(lambda: len(chunks) >= 6, "six chunks have come")
    before = len(chunks)
    [held] = provider_server.requests
    assert not held.finished.is_set()
    held.release()
    await reading
    await provider_server.settled(1)
    assert len(chunks) > before
    assert not held.disconnected


@pytest.mark.parametrize(
    "provider", [*_ASYNC[:4], *(pytest.param(one, marks=deep) for one in _ASYNC[4:])]
)
async def test_client_that_leaves_is_noticed(
    provider: str, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, Reply(_LONG, hold_after=20))
    reading = asyncio.create_task(_drain(make_model(provider, provider_server)))
    request = await provider_server.arrived(1)
    await eventually(request.held.is_set, "the answer is held")
    await _cancel(reading)
    del reading

    def is_closed() -> bool:
        # some packages leave it to this to close the connection, one generator after the other
        gc.collect()
        return request.finished.is_set()

    await eventually(is_closed, "the connection is closed")
    assert request.disconnected
    assert request.frames_written == 20
    assert provider_server.disconnects == 1


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("streamed", [True, False])
async def test_http_errors_are_raised(
    provider: str, streamed: bool, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, Reply(status=400, error="no such thing"))
    model = make_model(provider, provider_server)
    with pytest.raises(Exception, match="no such thing"):
        await (_drain(model) if streamed else model.ainvoke("hi"))
    assert len(provider_server.requests) == 1


# langchain-mistralai skips a frame without choices, so an error inside its stream looks like an
# early end.
@pytest.mark.parametrize("provider", [provider for provider in PROVIDERS if provider != "mistral"])
async def test_errors_inside_a_stream_are_raised(
    provider: str, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, Reply(_LONG, error_after=12, error="broke halfway"))
    chunks: list[Any] = []
    with pytest.raises(Exception, match="broke halfway"):
        await _drain(make_model(provider, provider_server), chunks)
    assert len(chunks) > 3
    assert provider_server.requests[0].failure == "error in stream"


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_dropped_connections_are_raised(
    provider: str, provider_server: ProviderServer
) -> None:
    provider_server.script(provider, Reply(_LONG, drop_after=12))
    with pytest.raises(Exception):  # noqa: B017, PT011 - every client has an error of its own
        await _drain(make_model(provider, provider_server))
    assert provider_server.requests[0].failure == "dropped"
    assert provider_server.requests[0].frames_written == 12
