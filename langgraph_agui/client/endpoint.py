"""How to reach an agent over HTTP, without the socket (AG-UI 1.0, HTTP transport).

In: an address, headers and a run's input. Out: requests, and errors made of failed responses. `remote_run.py` sends the
requests with an async or a sync HTTP client.
"""

from __future__ import annotations

import base64
import json
import random
import re
import ssl
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Final, TypeAlias

from ag_ui.core import PROTOCOL_VERSION, ActivityMessage, Interrupt, ResumeEntry, RunAgentInput

from langgraph_agui.client.errors import (
    AgentError,
    AgentStatusError,
    AgentUnreachableError,
    NotAnEventStreamError,
    ResumeError,
)
from langgraph_agui.protocol.jsonable import to_jsonable
from langgraph_agui.protocol.wire import has_expired

try:
    import httpx2
except ModuleNotFoundError as missing:
    if missing.name != "httpx2":
        raise
    raise ModuleNotFoundError(
        "The AG-UI client needs httpx2. Try: pip install 'langgraph-agui[client]'", name="httpx2"
    ) from missing

HTTPClient: TypeAlias = httpx2.AsyncClient | httpx2.Client

TIMEOUT: Final = httpx2.Timeout(10, read=600)
"""Ten seconds to connect; a run may be silent for ten minutes."""

RETRIES: Final = 2
MAX_BODY: Final = 64 * 1024
"""How many bytes of an HTTP error's body are kept."""

_MAX_WAIT: Final = 30.0
_RETRY_STATUSES: Final = frozenset({429, 502, 503})
"""The run has not started. 504 is not among them: the run may be going on behind the gateway."""

_RETRY_ERRORS: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ReadError, httpx2.WriteError)

HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")


@dataclass(frozen=True)
class Endpoint:
    """The address of an agent, and the settings of the requests to it."""

    url: httpx2.URL = field(repr=False)
    headers: httpx2.Headers = field(repr=False)
    timeout: httpx2.Timeout
    retries: int
    max_event: int

    def route(self, path: str) -> httpx2.URL:
        """Return the URL of one of the agent's routes: `""` for runs, or a path such as `/connect`."""
        own, mark, query = self.url.raw_path.partition(b"?")
        return self.url.copy_with(raw_path=own.rstrip(b"/") + path.encode() + mark + query) if path else self.url

    def request(self, client: HTTPClient, path: str, run_input: RunAgentInput) -> httpx2.Request:
        """Return the request for a run.

        It names our protocol version and leaves out activity messages, which are not for agents (AG-UI 1.0, client).
        """
        messages = [message for message in run_input.messages if not isinstance(message, ActivityMessage)]
        sent = run_input.model_copy(update={"messages": messages, "protocol_version": PROTOCOL_VERSION})
        content = json.dumps(to_jsonable(sent), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        headers = self.headers.copy()
        headers.update({"Accept": "text/event-stream", "Content-Type": "application/json"})
        return client.build_request("POST", self.route(path), content=content, headers=headers, timeout=self.timeout)

    def retry_delay(self, attempt: int, error: Exception, retry_after: str = "") -> float | None:
        """Return the seconds to wait before the next attempt, or None if there is none.

        A request is repeated only if the run cannot have started: the connection failed, a server or proxy is too
        busy, or the thread is, as it is for a moment after a run was cancelled.

        Args:
            attempt: The number of attempts before the one that failed.
            error: Why it failed.
            retry_after: The `Retry-After` header of the response.
        """
        if isinstance(error, AgentStatusError):
            may_retry = error.status in _RETRY_STATUSES or (error.status, error.code) == (409, "thread_busy")
        else:
            no_response = isinstance(error, httpx2.RemoteProtocolError) and "without sending a response" in str(error)
            may_retry = no_response or isinstance(error, _RETRY_ERRORS)
        if attempt >= self.retries or not may_retry:
            return None
        if retry_after.isdecimal():
            return min(float(retry_after), _MAX_WAIT)
        return 2.0**attempt * random.uniform(0.125, 0.25)  # noqa: S311  # only spreads the clients

    def unreachable(self, path: str, error: Exception) -> AgentError:
        """Return the error for a request without a response."""
        reason = (str(error) or type(error).__name__).rstrip(".")
        if isinstance(error, httpx2.LocalProtocolError):  # its text quotes the header
            reason = "the request breaks the rules of HTTP"
        return AgentUnreachableError(f"Nobody answers at {public(self.route(path))}: {reason}.")


def response_error(response: httpx2.Response, body: bytes) -> AgentError:
    """Return the error for a response that is no event stream; `body` is as much of its body as was read."""
    where, content_type = public(response.request.url), response.headers.get("content-type", "")
    if response.is_success:
        return NotAnEventStreamError(
            f"{where} answered {content_type or 'no content type'}, not an AG-UI event stream."
        )
    text, payload = body[:MAX_BODY].decode("utf-8", "replace"), None
    if content_type.partition(";")[0].strip() == "application/json":
        with suppress(ValueError):
            payload = json.loads(text)
    return AgentStatusError(where, response.status_code, text, payload)


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
        raise ValueError(f"{shown} is not the URL of an agent, such as http://127.0.0.1:8000/agent.")
    return parsed


def checked_headers(headers: Mapping[str, str], url: httpx2.URL) -> httpx2.Headers:
    """Return the headers to send to `url`, with its user and password as `Authorization` unless they have one.

    Raises:
        ValueError: HTTP cannot carry a header. The error names the header and does not show its value.
    """
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"HTTP cannot carry the header {name!r}: look for line ends and characters beyond ASCII.")
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
        answers: The payload for each interrupt, by its id. A denial is a payload too, such as `{"approved": False}`.
        cancel: The ids of the interrupts to cancel.

    Raises:
        ResumeError: An open interrupt has no answer, an answer has no open interrupt, an interrupt is both answered
            and cancelled, or an answered one has expired.
    """
    open_ids = [interrupt.id for interrupt in interrupts]
    if unknown := sorted({*answers, *cancel}.difference(open_ids)):
        raise ResumeError("interrupt_unknown", unknown, f"No open interrupt has the id {_listed(unknown)}.")
    if twice := sorted({*answers}.intersection(cancel)):
        raise ResumeError("interrupt_duplicate", twice, f"Either answer or cancel {_listed(twice)}, not both.")
    if missing := [name for name in open_ids if name not in answers and name not in cancel]:
        raise ResumeError("interrupt_unanswered", missing, f"The thread waits for answers to {_listed(missing)}.")
    if late := [interrupt.id for interrupt in interrupts if interrupt.id in answers and has_expired(interrupt)]:
        raise ResumeError("interrupt_expired", late, f"Expired, so cancel instead of answering: {_listed(late)}.")
    return [
        ResumeEntry(interrupt_id=name, status="resolved", payload=answers[name])
        if name in answers
        else ResumeEntry(interrupt_id=name, status="cancelled")
        for name in open_ids
    ]


def _listed(ids: Sequence[str]) -> str:
    return ", ".join(map(repr, ids))
