"""One run of a remote agent, read with `async for` or `for`.

In: where the agent is, and the run's input. Out: verified events, while they come. The two drivers are alike but for
`await`; all that they decide is in `endpoint.py` and `reading.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, ExitStack, aclosing, closing, suppress

import httpx2
from ag_ui.core import Event, RunAgentInput

from langgraph_agui.client.endpoint import MAX_BODY, Endpoint, HTTPClient, is_stream, tls
from langgraph_agui.client.errors import StreamTruncatedError
from langgraph_agui.client.readable import Readable
from langgraph_agui.client.reading import RunReader


class RemoteRun(Readable, RunReader):
    """A run that begins when it is iterated, once, by `async for` or by `for`.

    What it has come to is in `messages`, `state`, `outcome`, `interrupts`, `pending_tool_call_ids`, `usage` and
    `result`: so far, while it is going on. It raises the errors of :mod:`langgraph_agui.client.errors`, each after the
    events that came before it; `RUN_ERROR` is among those.

    Leaving it closes the connection, which is how an agent is told to stop;
    :class:`~langgraph_agui.client.readable.Readable` says how.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        path: str,
        run_input: RunAgentInput,
        http_client: HTTPClient | None = None,
    ) -> None:
        Readable.__init__(self)
        RunReader.__init__(self, run_input, endpoint.max_event)
        self.input = run_input
        """What is sent."""
        self._endpoint, self._path, self._http = endpoint, path, http_client

    async def _aread(self) -> AsyncGenerator[Event]:
        async with AsyncExitStack() as stack:
            client = self._http
            if client is None:
                client = await stack.enter_async_context(httpx2.AsyncClient(verify=tls(), follow_redirects=True))
            if not isinstance(client, httpx2.AsyncClient):
                raise TypeError("`async for` needs an http_client that is an httpx2.AsyncClient.")
            response = await self._aopen(client)
            stack.push_async_callback(response.aclose)
            try:
                async with aclosing(response.aiter_bytes()) as chunks:
                    async for chunk in chunks:
                        for event in self.feed(chunk):
                            yield event
            except httpx2.RequestError as error:
                self._cut_off(error)
            for event in self.finish():
                yield event

    def _read(self) -> Generator[Event]:
        with ExitStack() as stack:
            client = self._http
            if client is None:
                client = stack.enter_context(httpx2.Client(verify=tls(), follow_redirects=True))
            if not isinstance(client, httpx2.Client):
                raise TypeError("`for` needs an http_client that is an httpx2.Client.")
            response = self._open(client)
            stack.callback(response.close)
            try:
                for chunk in response.iter_bytes():
                    yield from self.feed(chunk)
            except httpx2.RequestError as error:
                self._cut_off(error)
            yield from self.finish()

    async def _aopen(self, client: httpx2.AsyncClient) -> httpx2.Response:
        attempt = 0
        while True:
            try:
                response = await client.send(self._request(client), stream=True)
            except httpx2.RequestError as error:
                wait = self._failed(attempt, error)
            else:
                if is_stream(response):
                    return response
                wait = self._refused(attempt, response, await _abody(response))
            await asyncio.sleep(wait)
            attempt += 1

    def _open(self, client: httpx2.Client) -> httpx2.Response:
        attempt = 0
        while True:
            try:
                response = client.send(self._request(client), stream=True)
            except httpx2.RequestError as error:
                wait = self._failed(attempt, error)
            else:
                if is_stream(response):
                    return response
                wait = self._refused(attempt, response, _body(response))
            time.sleep(wait)
            attempt += 1

    def _request(self, client: HTTPClient) -> httpx2.Request:
        return self._endpoint.request(client, self._path, self.input)

    def _failed(self, attempt: int, error: httpx2.RequestError) -> float:
        """How long to wait after `error`; raises where there is to be no other attempt."""
        wait = self._endpoint.pause(attempt, error)
        if wait is None:
            raise self.broken(self._endpoint.unreachable(self._path, error)) from error
        return wait

    def _refused(self, attempt: int, response: httpx2.Response, body: bytes) -> float:
        """How long to wait after `response`, which is no event stream; raises where there is to be no other attempt."""
        error = self._endpoint.refusal(response, body)
        wait = self._endpoint.pause(attempt, error, response.headers.get("retry-after", ""))
        if wait is None:
            raise self.broken(error)
        return wait

    def _cut_off(self, error: httpx2.RequestError) -> None:
        """A connection that breaks after the run's end breaks nothing."""
        if self.outcome is None:
            why = "fell silent" if isinstance(error, httpx2.ReadTimeout) else "broke off"
            raise self.broken(StreamTruncatedError(f"The stream {why} before its run had ended.")) from error


async def _abody(response: httpx2.Response) -> bytes:
    """What an HTTP error says, as far as it comes; of an answer that is none, nothing is of interest."""
    body = bytearray()
    async with aclosing(response):
        if not response.is_success:
            with suppress(httpx2.RequestError):
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_BODY:
                        break
    return bytes(body)


def _body(response: httpx2.Response) -> bytes:
    body = bytearray()
    with closing(response):
        if not response.is_success:
            with suppress(httpx2.RequestError):
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > MAX_BODY:
                        break
    return bytes(body)
