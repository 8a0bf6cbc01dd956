"""Requests to an agent over HTTP (AG-UI 1.0, HTTP transport), for clients that block or await.

In: an address and headers; the bodies of requests. Out: the bodies of responses, in chunks, and
errors. `retry_delay` decides when a request is repeated.
"""

import asyncio
import base64
import json
import math
import random
import re
import socket
import ssl
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager, suppress
from functools import cache
from typing import Any, Final, TypeAlias

import httpx2

from langgraph_agui.client import errors
from langgraph_agui.client.event_stream import run_at_once
from langgraph_agui.client.limits import Deadline
from langgraph_agui.kernel.aio import awaited

HTTPClient: TypeAlias = httpx2.AsyncClient | httpx2.Client

# Ten seconds to connect; a run may be silent for ten minutes.
TIMEOUT: Final = httpx2.Timeout(10, read=600)
RETRIES: Final = 2
# Seconds that a server has to end its stream after the end of the run.
LINGER: Final = 0.5
# How many bytes of an HTTP error's body are kept.
MAX_BODY: Final = 64 * 1024

_MAX_REDIRECTS: Final = 5
_MAX_WAIT: Final = 30.0
# The run has not started. 504 is not among them: the run may be going on behind the gateway.
_RETRY_STATUSES: Final = frozenset({429, 502, 503})
_RETRY_ERRORS: Final = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.ReadError,
    httpx2.WriteError,
)

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")


class Endpoint:
    """An agent's address, and how requests are sent there.

    See `AGUIClient` for the arguments.

    Attributes:
        url: The address as it was given.
        public_url: The address without its user, password and query.
        is_blocking: Whether `http_client` is one that blocks.

    Raises:
        ValueError: `url` is not an HTTP address, or HTTP cannot carry one of the `headers`.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | httpx2.Timeout | None = TIMEOUT,
        http_client: HTTPClient | None = None,
        retries: int = RETRIES,
    ) -> None:
        parsed = parsed_url(url)
        self.url, self.public_url = str(parsed), public(parsed)
        self.is_blocking = isinstance(http_client, httpx2.Client)
        # httpx2 logs the URL of each request, so the password must not be in it.
        self._target = parsed.copy_with(username=None, password=None, fragment=None)
        self._headers = checked_headers(headers or {}, parsed)
        self._timeout = httpx2.Timeout(timeout)
        self._http = http_client
        self._retries = retries

    @asynccontextmanager
    async def stream(
        self, path: str, content: bytes, deadline: Deadline
    ) -> AsyncGenerator["StreamBody"]:
        """Ask for an event stream and give its body.

        Args:
            path: The agent's route: `""` for runs, or a path such as `/connect`.
            content: The body of the request, as JSON.
            deadline: When the stream has to be over.

        Raises:
            AgentError: There is no event stream.
            StreamTruncatedError: The stream breaks off.
            RunLimitError: The deadline has passed.
            TypeError: The `http_client` is of the other kind.
        """
        async with AsyncExitStack() as stack:
            http, cutter = await self._connect(stack, deadline.blocking), Cutter()
            if deadline.blocking:
                stack.enter_context(cutter.after(deadline.left()))
            response = await deadline.wait(self._open(http, path, content, deadline, cutter))
            cutter.follow(response)
            body = body_of(response, blocking=deadline.blocking)
            chunks = await stack.enter_async_context(body)
            try:
                yield StreamBody(chunks, deadline, cutter)
            except httpx2.RequestError as error:
                deadline.left()
                raise stream_error(error) from error

    async def ask(
        self, method: str, path: str, content: object, deadline: Deadline, limit: int
    ) -> tuple[str, bytes]:
        """Ask one of the agent's routes.

        Returns:
            The public URL that has answered, and the answer's body, cut after `limit` bytes.

        Raises:
            AgentUnreachableError: Nothing answers.
            AgentStatusError: The answer is an HTTP error.
            RunLimitError: The deadline has passed.
        """
        answer = self._answer(method, path, content, limit)
        if self.is_blocking:
            answer = asyncio.to_thread(run_at_once, answer)
        try:
            return await deadline.wait(answer)
        except httpx2.RequestError as error:
            raise connection_error(self._route(path), error) from error

    def _route(self, path: str) -> httpx2.URL:
        own, mark, query = self._target.raw_path.partition(b"?")
        if path:
            own = own.rstrip(b"/") + path.encode()
        return self._target.copy_with(raw_path=own + mark + query)

    async def _connect(self, stack: AsyncExitStack, blocking: bool) -> HTTPClient:
        """Return the HTTP client of this kind: the application's, or one that `stack` closes."""
        http = self._http
        if http is None and blocking:
            return stack.enter_context(httpx2.Client(verify=tls()))
        if http is None:
            return await stack.enter_async_context(httpx2.AsyncClient(verify=tls()))
        wanted, loop = (httpx2.Client, "for") if blocking else (httpx2.AsyncClient, "async for")
        if not isinstance(http, wanted):
            raise TypeError(f"`{loop}` needs an http_client that is an httpx2.{wanted.__name__}.")
        return http

    async def _open(
        self, http: HTTPClient, path: str, content: bytes, deadline: Deadline, cutter: "Cutter"
    ) -> httpx2.Response:
        """Return the response that is an event stream; repeat the request where that is allowed."""
        blocking, url = deadline.blocking, self._route(path)
        # An application's own client may have a connection for several requests.
        extensions = {"trace": cutter.trace} if blocking and self._http is None else None
        sleep: Callable[[float], Awaitable[None] | None] = time.sleep if blocking else asyncio.sleep
        headers = self._headers.copy()
        headers.update({"Accept": "text/event-stream", "Content-Type": "application/json"})
        attempt = 0
        while True:
            timeout = deadline.cap(self._timeout)
            request = http.build_request(
                "POST",
                url,
                content=content,
                headers=headers,
                timeout=timeout,
                extensions=extensions,
            )
            cause: httpx2.RequestError | None = None
            retry_after = ""
            try:
                response = await send(http, request)
            except httpx2.RequestError as error:
                deadline.left()
                cause, fault = error, connection_error(request.url, error)
            else:
                if is_event_stream(response):
                    return response
                limit = 0 if response.is_success else MAX_BODY
                body = await read_body(response, limit, blocking=blocking)
                fault = response_error(response, body)
                retry_after = response.headers.get("retry-after", "")
            delay = retry_delay(attempt, cause or fault, retry_after)
            if delay is None or attempt >= self._retries:
                raise fault from cause
            await awaited(sleep(min(delay, deadline.left())))
            attempt += 1

    async def _answer(
        self, method: str, path: str, content: object, limit: int
    ) -> tuple[str, bytes]:
        async with AsyncExitStack() as stack:
            http = await self._connect(stack, self.is_blocking)
            request = http.build_request(
                method,
                self._route(path),
                headers=self._headers,
                json=content,
                timeout=self._timeout,
            )
            response = await send(http, request)
            body = await read_body(response, limit, blocking=self.is_blocking)
        if not response.is_success:
            raise response_error(response, body)
        return public(response.request.url), body


async def send(http: HTTPClient, request: httpx2.Request) -> httpx2.Response:
    """Send a request, following redirects within its origin; return the response, body unread.

    Raises:
        RedirectError: A redirect leads elsewhere, or is one too many.
        httpx2.RequestError: There is no response.
    """
    for _ in range(_MAX_REDIRECTS + 1):
        response = await awaited(http.send(request, stream=True, follow_redirects=False))
        if (following := response.next_request) is None:
            return response
        await close(response, blocking=isinstance(http, httpx2.Client))
        if following.url.origin != request.url.origin:
            target = public(following.url)
            fault = f"a redirect to {target}, which is another origin. Nothing was sent there."
            break
        request = following
    else:
        fault = f"redirects, more than {_MAX_REDIRECTS}."
    raise errors.RedirectError(public(request.url), response.status_code, fault)


async def close(response: httpx2.Response, *, blocking: bool) -> None:
    """Close a response, however much of it was read."""
    if blocking:
        response.close()
    else:
        await response.aclose()


@asynccontextmanager
async def body_of(
    response: httpx2.Response, *, blocking: bool
) -> AsyncGenerator[AsyncIterator[bytes]]:
    """Give the chunks of a response's body; close the response at the end."""
    chunks = _as_async(response.iter_bytes()) if blocking else response.aiter_bytes()
    try:
        async with aclosing(chunks):
            yield chunks
    finally:
        await close(response, blocking=blocking)


class StreamBody:
    """The body of an event stream, in chunks.

    Args:
        chunks: The chunks of the response's body.
        deadline: When the run has to be over.
        cutter: What ends a read that blocks.
    """

    def __init__(self, chunks: AsyncIterator[bytes], deadline: Deadline, cutter: "Cutter") -> None:
        self._chunks, self._deadline, self._cutter = chunks, deadline, cutter
        # When to leave, once the run has ended.
        self._leave_at = math.inf

    async def take(self, *, ended: bool) -> bytes | None:
        """Return the next chunk; None at the end.

        Once the run has ended, the server has `LINGER` seconds to end the stream: some store the
        thread meanwhile, and a connection that is read to its end can be used again. Others keep it
        open for ever.

        Args:
            ended: Whether the last event ended the run.

        Raises:
            httpx2.RequestError: The stream broke off before.
            RunLimitError: The deadline passed before.
        """
        if not ended:
            self._leave_at = math.inf
            chunk = await self._deadline.wait(anext(self._chunks, None))
            if chunk is None:  # perhaps because the connection was cut
                self._deadline.left()
            return chunk
        self._leave_at = min(self._leave_at, time.monotonic() + LINGER)
        if (left := self._leave_at - time.monotonic()) <= 0:
            return None
        with suppress(TimeoutError, httpx2.RequestError):
            if not self._deadline.blocking:
                async with asyncio.timeout(left):
                    return await anext(self._chunks, None)
            if self._cutter.can_cut:
                with self._cutter.after(left):
                    return await anext(self._chunks, None)
        return None


class Cutter:
    """Shuts the connection of one request down: nothing else ends a read that blocks."""

    def __init__(self) -> None:
        self._connection: socket.socket | None = None
        self._response: httpx2.Response | None = None

    def trace(self, name: str, info: Mapping[str, Any]) -> None:
        """Take the connection that is made for the request (httpx2's extension `trace`)."""
        if name.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._connection = info["return_value"].get_extra_info("socket")

    def follow(self, response: httpx2.Response) -> None:
        """Take the connection of the response, unless others share it (HTTP/2)."""
        self._response, self._connection = response, None
        stream = response.extensions.get("network_stream")
        if stream is not None and response.http_version != "HTTP/2":
            self._connection = stream.get_extra_info("socket")

    @property
    def can_cut(self) -> bool:
        """Whether the request has a connection of its own."""
        return self._connection is not None

    @contextmanager
    def after(self, delay: float) -> Iterator[None]:
        """Cut the connection after `delay` seconds, unless the block has ended before."""
        if delay == math.inf:
            yield
            return
        timer = threading.Timer(delay, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _cut(self) -> None:
        # A response that is closed has given its connection back.
        if self._connection is None or (self._response is not None and self._response.is_closed):
            return
        with suppress(OSError):
            socket.socket.shutdown(self._connection, socket.SHUT_RDWR)


async def _as_async(chunks: Iterator[bytes]) -> AsyncGenerator[bytes]:
    for chunk in chunks:
        yield chunk


async def read_body(response: httpx2.Response, limit: int, *, blocking: bool) -> bytes:
    """Close a response; return its body, cut after about `limit` bytes or where it breaks off."""
    body = bytearray()
    async with body_of(response, blocking=blocking) as chunks:
        with suppress(httpx2.RequestError):
            while len(body) < limit and (chunk := await anext(chunks, None)) is not None:
                body += chunk
    return bytes(body)


def retry_delay(attempt: int, error: Exception, retry_after: str = "") -> float | None:
    """Return the seconds to wait before a request is repeated, or None if it must not be repeated.

    It is repeated only if the run cannot have started: the connection failed, a server or proxy is
    too busy, or the thread is, as it is for a moment after a run was cancelled.

    Args:
        attempt: The number of attempts before the one that failed.
        error: Why it failed.
        retry_after: The `Retry-After` header of the response.
    """
    if isinstance(error, errors.AgentStatusError):
        is_thread_busy = (error.status, error.code) == (409, "thread_busy")
        may_retry = is_thread_busy or error.status in _RETRY_STATUSES
    elif isinstance(error, httpx2.RemoteProtocolError):
        may_retry = "without sending a response" in str(error)
    else:
        may_retry = isinstance(error, _RETRY_ERRORS)
    if may_retry and retry_after.isdecimal():
        return min(float(retry_after), _MAX_WAIT)
    # Chance only spreads the clients.
    return 2.0**attempt * random.uniform(0.125, 0.25) if may_retry else None  # noqa: S311


def connection_error(url: httpx2.URL, error: Exception) -> errors.AgentError:
    """Return the error for a request without a response."""
    reason = (str(error) or type(error).__name__).rstrip(".")
    if isinstance(error, httpx2.LocalProtocolError):  # its text quotes the header
        reason = "the request breaks the rules of HTTP"
    return errors.AgentUnreachableError(f"Nothing answers at {public(url)}: {reason}.")


def stream_error(error: httpx2.RequestError) -> errors.StreamTruncatedError:
    """Return the error for a stream that stops before its run has ended."""
    if isinstance(error, httpx2.DecodingError):
        return errors.StreamTruncatedError(
            "The stream cannot be unpacked: its bytes are not what Content-Encoding says."
        )
    end = "fell silent" if isinstance(error, httpx2.ReadTimeout) else "broke off"
    return errors.StreamTruncatedError(f"The stream {end} before its run had ended.")


def response_error(response: httpx2.Response, body: bytes) -> errors.AgentError:
    """Return the error for a response that is no event stream; `body` may be cut."""
    where, content_type = public(response.request.url), response.headers.get("content-type", "")
    if response.is_success:
        return errors.NotAnEventStreamError(
            f"{where} answered {content_type or 'no content type'}, not an AG-UI event stream."
        )
    text, payload = body[:MAX_BODY].decode("utf-8", "replace"), None
    if content_type.partition(";")[0].strip() == "application/json":
        with suppress(ValueError):
            payload = json.loads(text)
    return errors.AgentStatusError(where, response.status_code, text, payload)


def is_event_stream(response: httpx2.Response) -> bool:
    """Return whether a response is the event stream of a run."""
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return response.is_success and content_type == "text/event-stream"


def public(url: httpx2.URL) -> str:
    """Return a URL without its user, password and query."""
    return str(url.copy_with(username=None, password=None, query=None, fragment=None))


def parsed_url(url: str) -> httpx2.URL:
    """Return `url` parsed; raises `ValueError` if no agent can have this address."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:  # its text may contain a part of a password
        parsed = httpx2.URL()
    if parsed.scheme not in ("http", "https") or not parsed.host:
        shown = repr(url.partition("?")[0]) if "@" not in url and url.count(":") < 2 else "That"
        raise ValueError(
            f"{shown} is not the URL of an agent, such as http://127.0.0.1:8000/agent."
        )
    return parsed


def checked_headers(headers: Mapping[str, str], url: httpx2.URL) -> httpx2.Headers:
    """Return the headers for `url`, its user and password as `Authorization` unless they have one.

    Raises:
        ValueError: HTTP cannot carry a header. The error names the header and does not show its
            value.
    """
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ValueError(
                f"HTTP cannot carry the header {name!r}: look for line ends and characters beyond "
                "ASCII."
            )
    checked = httpx2.Headers(dict(headers))
    if url.userinfo and "Authorization" not in checked:
        user = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
        checked["Authorization"] = f"Basic {user}"
    return checked


@cache
def tls() -> ssl.SSLContext:
    """Return a TLS context that all clients share: to create one is slow."""
    return httpx2.create_ssl_context()
