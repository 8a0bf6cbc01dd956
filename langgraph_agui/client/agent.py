"""`AGUIClient`: a remote AG-UI agent, to be run from Python."""

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
    tls,
    without_secrets,
)
from langgraph_agui.client.errors import NotAnEventStreamError
from langgraph_agui.client.remote_run import RemoteRun
from langgraph_agui.protocol.sse import MAX_FRAME


class AGUIClient:
    """Any agent that speaks AG-UI 1.0 over HTTP. It holds nothing of a conversation and may serve many at once.

    ```python
    client = AGUIClient("http://127.0.0.1:8000/agent", headers={"Authorization": f"Bearer {token}"})
    async for event in client.run(run_input):  # or `for event in ...`
        ...
    ```

    Args:
        url: The agent's address. Its user and password are sent as `Authorization`, unless `headers` has one. Errors
            show neither them nor its query, but httpx2 logs the query with each request (logger `httpx2`, INFO).
        headers: Sent with each request; a redirect to another host keeps all but `Authorization` and `Cookie`.
        timeout: Seconds, for each of connecting, sending and the silence between two bytes, or an `httpx2.Timeout`;
            None waits for ever. By default 10 to connect and 600 of silence. Goes before that of `http_client`.
        http_client: Yours to configure (proxies, certificates, pooled connections) and to close: an
            `httpx2.AsyncClient` for `async for`, an `httpx2.Client` for `for`. Without one, each run has a connection
            of its own.
        retries: How often a run is asked for again before the first byte of its stream has come: when the connection
            fails, the answer is HTTP 429, 502 or 503, or the thread is busy. Afterwards nothing is ever repeated.
        max_event: The longest event that is taken, in characters; as in the reference client, 10 Mi.

    Raises:
        ValueError: `url` is none, or HTTP cannot carry one of the `headers`.
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
        given = parsed_url(url)
        target, sent = without_secrets(given, checked_headers(headers or {}))
        self._url = str(given)
        self._endpoint = Endpoint(target, sent, httpx2.Timeout(timeout), retries, max_event)
        self._http = http_client

    @property
    def url(self) -> str:
        """The agent's address as it was given, its user and query included."""
        return self._url

    def __repr__(self) -> str:
        """Show neither headers nor credentials."""
        return f"AGUIClient({self._endpoint.shown!r})"

    def run(self, run_input: RunAgentInput) -> RemoteRun:
        """Run the agent.

        The run begins when it is iterated, and yields `ag_ui.core` events: verified (what the reference client would
        refuse ends it), chunk events as the items that they stand for; unknown events and fields are left out with a
        warning. What it raises, and how to leave it, is said at `RemoteRun`.

        Args:
            run_input: Sent as it is, but for activity messages, which are not for agents (AG-UI 1.0, client), and the
                protocol version, which is ours.
        """
        return RemoteRun(self._endpoint, "", run_input, self._http)

    def connect(self, run_input: RunAgentInput) -> RemoteRun:
        """Read a thread as it stands, from `POST <url>/connect`, as `LangGraphAgent` serves it.

        AG-UI 1.0 defines no such route: other agents answer 404.
        """
        return RemoteRun(self._endpoint, "/connect", run_input, self._http)

    async def capabilities(self) -> AgentCapabilities:
        """What the agent says that it can, from `GET <url>/capabilities`; AG-UI 1.0 defines their form but no route.

        Raises `AgentUnreachableError`, `AgentStatusError`, and `NotAnEventStreamError` if the answer is something else.
        """
        endpoint = self._endpoint
        try:
            response = await self._get(endpoint.at("/capabilities"))
        except httpx2.RequestError as error:
            raise endpoint.unreachable("/capabilities", error) from error
        if not response.is_success:
            raise endpoint.refusal(response, response.content)
        try:
            return AgentCapabilities.model_validate_json(response.content)
        except ValueError as error:
            raise NotAnEventStreamError(f"{public(response.request.url)} answered no AG-UI capabilities.") from error

    async def _get(self, target: httpx2.URL) -> httpx2.Response:
        http, headers, timeout = self._http, self._endpoint.headers, self._endpoint.timeout
        if isinstance(http, httpx2.Client):
            return await asyncio.to_thread(http.get, target, headers=headers, timeout=timeout)
        if http is not None:
            return await http.get(target, headers=headers, timeout=timeout)
        async with httpx2.AsyncClient(verify=tls(), follow_redirects=True) as own:
            return await own.get(target, headers=headers, timeout=timeout)
