"""`AGUIClient`: a remote AG-UI agent, to be run from Python.

In: the agent's address, and inputs of runs. Out: a `RemoteRun` for each, and the agent's capabilities.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import httpx2
from ag_ui.core import AgentCapabilities, RunAgentInput

from langgraph_agui.client.endpoint import (
    RETRIES,
    TIMEOUT,
    Endpoint,
    HTTPClient,
    checked_headers,
    parsed_url,
    public,
    response_error,
    tls,
)
from langgraph_agui.client.errors import NotAnEventStreamError
from langgraph_agui.client.remote_run import RemoteRun
from langgraph_agui.protocol.sse import MAX_FRAME


class AGUIClient:
    """Any agent that speaks AG-UI 1.0 over HTTP. It keeps no conversation, and may serve many at once.

    ```python
    client = AGUIClient("http://127.0.0.1:8000/agent", headers={"Authorization": f"Bearer {token}"})
    async for event in client.run(run_input):  # or `for event in ...`
        ...
    ```

    Args:
        url: The agent's address. Its user and password are sent as `Authorization`, unless `headers` has one. Errors
            show neither them nor its query, but httpx2 logs the query with each request (logger `httpx2`, INFO).
        headers: Sent with each request; a redirect to another host keeps all but `Authorization` and `Cookie`.
        timeout: The limit in seconds for connecting, for sending, and for the silence between two bytes, or an
            `httpx2.Timeout`; None for no limit. By default 10 to connect and 600 of silence. It overrides that of
            `http_client`.
        http_client: Your own HTTP client, to set proxies, certificates or a connection pool: an `httpx2.AsyncClient`
            for `async for`, an `httpx2.Client` for `for`. You close it. Without one, each run opens its own connection.
        retries: How often a request is repeated before the first byte of its stream has come: when the connection
            fails, the answer is HTTP 429, 502 or 503, or the thread is busy. Later, nothing is repeated.
        max_event: The longest event that is accepted, in characters; 10 Mi by default, as in the reference client.

    Raises:
        ValueError: `url` is no HTTP address, or HTTP cannot carry one of the `headers`.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | httpx2.Timeout | None = TIMEOUT,
        http_client: HTTPClient | None = None,
        retries: int = RETRIES,
        max_event: int = MAX_FRAME,
    ) -> None:
        parsed = parsed_url(url)
        # httpx2 logs the URL of each request, so the password must not be in it.
        target = parsed.copy_with(username=None, password=None, fragment=None)
        self._url, self._http = str(parsed), http_client
        self._endpoint = Endpoint(
            target, checked_headers(headers or {}, parsed), httpx2.Timeout(timeout), retries, max_event
        )

    @property
    def url(self) -> str:
        """The agent's address as it was given, with its user and query."""
        return self._url

    def __repr__(self) -> str:
        """Show neither headers nor credentials."""
        return f"AGUIClient({public(self._endpoint.url)!r})"

    def run(self, run_input: RunAgentInput) -> RemoteRun:
        """Return a run of the agent, which starts when you iterate it.

        It yields `ag_ui.core` events, verified as the reference client does: an invalid stream raises. Chunk events
        come as the start, content and end events they stand for. Unknown events and fields are dropped with a warning.
        See `RemoteRun` for its errors, and for how to stop reading.

        Args:
            run_input: Sent as it is, except that activity messages are left out, which are not for agents (AG-UI 1.0,
                client), and that the protocol version is ours.
        """
        return RemoteRun(self._endpoint, "", run_input, self._http)

    def connect(self, run_input: RunAgentInput) -> RemoteRun:
        """Return a run that reads a thread and changes nothing, from `POST <url>/connect`.

        `LangGraphAgent` serves this route. AG-UI 1.0 does not define it: other agents answer 404.
        """
        return RemoteRun(self._endpoint, "/connect", run_input, self._http)

    async def capabilities(self) -> AgentCapabilities:
        """Return what the agent says it can do, from `GET <url>/capabilities`.

        AG-UI 1.0 defines the form of capabilities but no route for them.

        Raises:
            AgentUnreachableError: Nobody answers.
            AgentStatusError: The answer is an HTTP error.
            NotAnEventStreamError: The answer is something other than capabilities.
        """
        try:
            response = await self._get(self._endpoint.route("/capabilities"))
        except httpx2.RequestError as error:
            raise self._endpoint.unreachable("/capabilities", error) from error
        if not response.is_success:
            raise response_error(response, response.content)
        try:
            return AgentCapabilities.model_validate_json(response.content)
        except ValueError as error:
            raise NotAnEventStreamError(f"{public(response.request.url)} answered no AG-UI capabilities.") from error

    async def _get(self, url: httpx2.URL) -> httpx2.Response:
        http, headers, timeout = self._http, self._endpoint.headers, self._endpoint.timeout
        if isinstance(http, httpx2.Client):
            return await asyncio.to_thread(http.get, url, headers=headers, timeout=timeout)
        if http is not None:
            return await http.get(url, headers=headers, timeout=timeout)
        async with httpx2.AsyncClient(verify=tls(), follow_redirects=True) as own:
            return await own.get(url, headers=headers, timeout=timeout)
