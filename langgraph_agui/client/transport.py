"""Sends requests over HTTP and reads what comes: one code for clients that block and clients that await.

In: HTTP requests. Out: responses, and their bodies in chunks. Nothing here knows of AG-UI.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final, TypeVar

import httpx2

from langgraph_agui.client import endpoint, errors

T = TypeVar("T")

MAX_REDIRECTS: Final = 5


async def resolve(value: T | Awaitable[T]) -> T:
    """Return `value`, awaited if it comes from an async client: the same code drives both kinds of clients."""
    return await value if isinstance(value, Awaitable) else value


async def send(http: endpoint.HTTPClient, request: httpx2.Request) -> httpx2.Response:
    """Send a request; return the response, its body unread. Redirects are followed within the origin.

    Raises:
        RedirectError: A redirect leads elsewhere, or is one too many.
        httpx2.RequestError: There is no response.
    """
    for _ in range(MAX_REDIRECTS + 1):
        response = await resolve(http.send(request, stream=True, follow_redirects=False))
        if (following := response.next_request) is None:
            return response
        await close(response, blocking=isinstance(http, httpx2.Client))
        if following.url.origin != request.url.origin:
            fault = f"a redirect to {endpoint.public(following.url)}, which is another origin. Nothing was sent there."
            break
        request = following
    else:
        fault = f"redirects, more than {MAX_REDIRECTS}."
    raise errors.RedirectError(endpoint.public(request.url), response.status_code, fault)


async def close(response: httpx2.Response, *, blocking: bool) -> None:
    """Close a response, however much of it was read."""
    if blocking:
        response.close()
    else:
        await response.aclose()


@asynccontextmanager
async def body_of(response: httpx2.Response, *, blocking: bool) -> AsyncGenerator[AsyncIterator[bytes]]:
    """Give the chunks of a response's body; close the response at the end."""
    chunks = _as_async(response.iter_bytes()) if blocking else response.aiter_bytes()
    try:
        async with aclosing(chunks):
            yield chunks
    finally:
        await close(response, blocking=blocking)


async def _as_async(chunks: Iterator[bytes]) -> AsyncGenerator[bytes]:
    for chunk in chunks:
        yield chunk


async def read_body(response: httpx2.Response, limit: int, *, blocking: bool) -> bytes:
    """Return a response's body, cut after about `limit` bytes and where it breaks off, and close the response."""
    body = bytearray()
    async with body_of(response, blocking=blocking) as chunks:
        with suppress(httpx2.RequestError):
            while len(body) < limit and (chunk := await anext(chunks, None)) is not None:
                body += chunk
    return bytes(body)
