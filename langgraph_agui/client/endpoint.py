"""One exchange with an agent over HTTP, without the socket: what to send, what to make of the answer (AG-UI 1.0, HTTP).

In: where the agent is, and a run's input. Out: the request, and judgement of a response or of a failure to get one.
`remote_run.py` drives it with an async or a sync client.
"""

from __future__ import annotations

import base64
import json
import random
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from ag_ui.core import PROTOCOL_VERSION, ActivityMessage

from langgraph_agui.client.errors import AgentError, AgentStatusError, AgentUnreachableError, NotAnEventStreamError
from langgraph_agui.protocol.jsonable import to_jsonable

if TYPE_CHECKING:
    from ag_ui.core import RunAgentInput

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
"""Ten seconds to connect; a run may think for ten minutes without a byte."""

RETRIES: Final = 2
MAX_BODY: Final = 64 * 1024
_MAX_WAIT: Final = 30.0
_AGAIN: Final = frozenset({429, 502, 503})
"""Answers of those who have not let the run begin. 504 is none: behind that gateway it may be going on."""

_LOST: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ReadError, httpx2.WriteError)

HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")


@dataclass(frozen=True)
class Endpoint:
    """Where an agent is and how it is spoken to."""

    url: httpx2.URL = field(repr=False)
    headers: httpx2.Headers = field(repr=False)
    timeout: httpx2.Timeout
    retries: int
    max_event: int

    def at(self, path: str) -> httpx2.URL:
        """The URL of one of the agent's other routes, such as `/connect`."""
        own, mark, query = self.url.raw_path.partition(b"?")
        return self.url.copy_with(raw_path=own.rstrip(b"/") + path.encode() + mark + query) if path else self.url

    def request(self, client: HTTPClient, path: str, run_input: RunAgentInput) -> httpx2.Request:
        """The request that runs the agent; its last two headers are the protocol's and not to be overridden."""
        headers = self.headers.copy()
        headers.update({"Accept": "text/event-stream", "Content-Type": "application/json"})
        content = body_of(run_input)
        return client.build_request("POST", self.at(path), content=content, headers=headers, timeout=self.timeout)

    def pause(self, attempt: int, error: Exception, asked: str = "") -> float | None:
        """Seconds to wait before the next attempt; None if there is to be none.

        A run is asked for again only if no byte of its stream has come: the connection failed, somebody on the way
        answered that it is too busy, or the thread is, as it is for a moment after a run that was left.

        Args:
            attempt: How many there have been before this one.
            error: What has come of it.
            asked: The answer's `Retry-After`.
        """
        if attempt >= self.retries or not _may_pass(error):
            return None
        wait = 0.25 * 2**attempt * random.uniform(0.5, 1.0)  # noqa: S311  # to spread clients, not to hide anything
        return min(float(asked), _MAX_WAIT) if asked.isdecimal() else wait

    def unreachable(self, path: str, error: Exception) -> AgentError:
        """The error of a request that got no answer."""
        return AgentUnreachableError(f"Nobody answers at {public(self.at(path))}: {_reason(error)}.")

    def refusal(self, response: httpx2.Response, body: bytes) -> AgentError:
        """The error that a response is which is no event stream; `body` is what was read of it, cut here."""
        where, content_type = public(response.request.url), response.headers.get("content-type", "")
        if response.is_success:
            return NotAnEventStreamError(
                f"{where} answered {content_type or 'no content type'}, not an AG-UI event stream."
            )
        text = body[:MAX_BODY].decode("utf-8", "replace")
        payload = _parsed(text) if content_type.partition(";")[0].strip() == "application/json" else None
        return AgentStatusError(where, response.status_code, text, payload)

    @property
    def shown(self) -> str:
        """The URL as it may be shown."""
        return public(self.url)


def _may_pass(error: Exception) -> bool:
    """Whether another attempt may fare better, and the run cannot have said anything yet."""
    if isinstance(error, AgentStatusError):
        return error.status in _AGAIN or (error.status, error.code) == (409, "thread_busy")
    no_answer = isinstance(error, httpx2.RemoteProtocolError) and "without sending a response" in str(error)
    return isinstance(error, _LOST) or no_answer


def is_stream(response: httpx2.Response) -> bool:
    """Whether a response is the event stream of a run."""
    content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return response.is_success and content_type == "text/event-stream"


def body_of(run_input: RunAgentInput) -> bytes:
    """A run's input as a client sends it: with its protocol version, without activities (AG-UI 1.0, client)."""
    messages = [one for one in run_input.messages if not isinstance(one, ActivityMessage)]
    told = run_input.model_copy(update={"messages": messages, "protocol_version": PROTOCOL_VERSION})
    return json.dumps(to_jsonable(told), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def public(url: httpx2.URL) -> str:
    """A URL as it may be shown: without user, password and query."""
    return str(url.copy_with(username=None, password=None, query=None, fragment=None))


def parsed_url(url: str) -> httpx2.URL:
    """`url` as the address of an agent; `ValueError` if it can be none."""
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:  # whose text may hold a part of a password
        parsed = httpx2.URL()
    if parsed.scheme not in ("http", "https") or not parsed.host:
        shown = repr(url.partition("?")[0]) if "@" not in url and url.count(":") < 2 else "That"
        raise ValueError(f"{shown} is not the URL of an agent, such as http://127.0.0.1:8000/agent.")
    return parsed


def without_secrets(url: httpx2.URL, headers: httpx2.Headers) -> tuple[httpx2.URL, httpx2.Headers]:
    """`url` as it is requested, which httpx2 logs, and the headers that say what it does not: who asks."""
    if url.userinfo and "Authorization" not in headers:
        user = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
        headers = httpx2.Headers({**headers, "Authorization": f"Basic {user}"})
    return url.copy_with(username=None, password=None, fragment=None), headers


def checked_headers(headers: Mapping[str, str]) -> httpx2.Headers:
    """`headers` as they are sent; `ValueError` names one that HTTP cannot carry, and keeps its value to itself."""
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"HTTP cannot carry the header {name!r}: look for line ends and characters beyond ASCII.")
    return httpx2.Headers(dict(headers))


@cache
def tls() -> ssl.SSLContext:
    """One TLS context for all: making one costs more than all else of a client."""
    return httpx2.create_ssl_context()


def _reason(error: Exception) -> str:
    if isinstance(error, httpx2.LocalProtocolError):  # its text quotes the header that it is about
        return "the request breaks the rules of HTTP"
    return (str(error) or type(error).__name__).rstrip(".")


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
