"""How to reach an agent over HTTP (AG-UI 1.0, HTTP transport): one code for clients that block and
that await.

In: an address, headers, answers to interrupts, requests. Out: what to send, when to repeat it,
responses and their bodies in chunks, and errors.
"""

import base64
import json
import random
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from functools import cache
from typing import Final, TypeAlias

import httpx2
from ag_ui.core import Interrupt, ResumeEntry

from langgraph_agui.client import errors
from langgraph_agui.kernel.aio import awaited
from langgraph_agui.protocol.wire import has_expired

HTTPClient: TypeAlias = httpx2.AsyncClient | httpx2.Client

# Ten seconds to connect; a run may be silent for ten minutes.
TIMEOUT: Final = httpx2.Timeout(10, read=600)
RETRIES: Final = 2
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

HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")


async def send(http: HTTPClient, request: httpx2.Request) -> httpx2.Response:
    """Send a request; return the response, its body unread. Redirects are followed within the
    origin.

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
            fault = (
                f"a redirect to {public(following.url)}, which is another origin. Nothing was "
                "sent there."
            )
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


async def _as_async(chunks: Iterator[bytes]) -> AsyncGenerator[bytes]:
    for chunk in chunks:
        yield chunk


async def read_body(response: httpx2.Response, limit: int, *, blocking: bool) -> bytes:
    """Return a response's body, cut after about `limit` bytes and where it breaks off, and close
    the response.
    """
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
        may_retry = error.status in _RETRY_STATUSES or (error.status, error.code) == (
            409,
            "thread_busy",
        )
    else:
        no_response = isinstance(
            error, httpx2.RemoteProtocolError
        ) and "without sending a response" in str(error)
        may_retry = no_response or isinstance(error, _RETRY_ERRORS)
    if may_retry and retry_after.isdecimal():
        return min(float(retry_after), _MAX_WAIT)
    # Chance only spreads the clients.
    return 2.0**attempt * random.uniform(0.125, 0.25) if may_retry else None  # noqa: S311


def connection_error(url: httpx2.URL, error: Exception) -> errors.AgentError:
    """Return the error for a request without a response."""
    reason = (str(error) or type(error).__name__).rstrip(".")
    if isinstance(error, httpx2.LocalProtocolError):  # its text quotes the header
        reason = "the request breaks the rules of HTTP"
    return errors.AgentUnreachableError(f"Nobody answers at {public(url)}: {reason}.")


def response_error(response: httpx2.Response, body: bytes) -> errors.AgentError:
    """Return the error for a response that is no event stream; `body` is as much of its body as was
    read.
    """
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
    """Return the headers to send to `url`, with its user and password as `Authorization` unless
    they have one.

    Raises:
        ValueError: HTTP cannot carry a header. The error names the header and does not show its
            value.
    """
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ValueError(
                f"HTTP cannot carry the header {name!r}: look for line ends and characters beyond "
                f"ASCII."
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


def resume_entries(
    interrupts: Sequence[Interrupt], answers: Mapping[str, object], cancel: Collection[str] = ()
) -> list[ResumeEntry]:
    """Return the `resume` of a run's input, in the order of `interrupts` (AG-UI 1.0, interrupts).

    Args:
        interrupts: The open interrupts.
        answers: The payload for each interrupt, by its id. A denial is a payload too, such as
            `{"approved": False}`.
        cancel: The ids of the interrupts to cancel.

    Raises:
        ResumeError: An open interrupt has no answer, an answer has no open interrupt, an interrupt
            is both answered and cancelled, or an answered one has expired.
    """
    open_ids = [interrupt.id for interrupt in interrupts]
    if unknown := sorted({*answers, *cancel}.difference(open_ids)):
        raise errors.ResumeError(
            "interrupt_unknown", unknown, f"No open interrupt has the id {_listed(unknown)}."
        )
    if twice := sorted({*answers}.intersection(cancel)):
        raise errors.ResumeError(
            "interrupt_duplicate", twice, f"Either answer or cancel {_listed(twice)}, not both."
        )
    if missing := [name for name in open_ids if name not in answers and name not in cancel]:
        raise errors.ResumeError(
            "interrupt_unanswered", missing, f"Open and not answered: {_listed(missing)}."
        )
    if late := [
        interrupt.id
        for interrupt in interrupts
        if interrupt.id in answers and has_expired(interrupt)
    ]:
        raise errors.ResumeError(
            "interrupt_expired", late, f"Expired, so they can only be cancelled: {_listed(late)}."
        )
    return [
        ResumeEntry(interrupt_id=name, status="resolved", payload=answers[name])
        if name in answers
        else ResumeEntry(interrupt_id=name, status="cancelled")
        for name in open_ids
    ]


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(map(repr, ids))
