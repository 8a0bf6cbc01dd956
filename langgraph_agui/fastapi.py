"""An agent as FastAPI routes.

`POST path` runs it, `POST path/connect` shows a thread as it stands, `GET path/capabilities` and `GET path/health`
describe it. A request body enters, SSE leaves (AG-UI 1.0, HTTP binding). A request that is wrong is answered with a 4xx
before a stream is opened or a checkpoint is read; what fails later is a `RUN_ERROR` in the stream.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import NoReturn, TypeAlias, TypedDict, TypeVar, Unpack

from ag_ui.core import PROTOCOL_VERSION, RunAgentInput
from langchain_core.runnables import RunnableConfig

from langgraph_agui.agent import LangGraphAgent
from langgraph_agui.errors import RunInputError, StateError
from langgraph_agui.protocol.schema import parse_input
from langgraph_agui.protocol.wire import ProtocolError
from langgraph_agui.translate.event_sinks import SSESink, Subscription

try:
    from fastapi import APIRouter, FastAPI, HTTPException, Request, params
    from fastapi.responses import JSONResponse
    from starlette.requests import ClientDisconnect
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send
except ImportError as error:
    raise ImportError('FastAPI is missing: pip install "langgraph-agui[fastapi]"') from error

logger = logging.getLogger(__name__)

T = TypeVar("T")
Maybe: TypeAlias = T | Awaitable[T]

# Bytes that a request may have by default.
MAX_BODY = 10 * 1024 * 1024

# Seconds without an event after which a comment is sent by default: proxies close idle streams after 60.
KEEP_ALIVE = 15.0

_HEADERS = {
    "cache-control": "no-cache, no-transform",
    "connection": "keep-alive",
    "x-accel-buffering": "no",  # nginx would collect the stream otherwise
}
_COMMENT = b": keep-alive\n\n"


def agui_router(
    agent: LangGraphAgent,
    path: str = "/",
    *,
    dependencies: Sequence[params.Depends] = (),
    config_factory: Callable[[Request], Maybe[RunnableConfig | None]] | None = None,
    context_factory: Callable[[Request], Maybe[object]] | None = None,
    authorize_thread: Callable[[Request, str], Maybe[bool]] | None = None,
    keep_alive: float | None = KEEP_ALIVE,
    max_body: int = MAX_BODY,
) -> APIRouter:
    """Return a router that serves `agent`.

    Args:
        agent: The agent.
        path: Where it is served.
        dependencies: FastAPI dependencies of every route, for example `[Depends(current_user)]`.
        config_factory: Makes the run's configuration from the request (`configurable`, `metadata`, `callbacks`, ...).
        context_factory: Makes the graph's runtime context from the request: identity goes here, not into the prompt.
        authorize_thread: Returns True if the request may use the thread; anything else is answered with 403. It may
            raise an `HTTPException` instead. Called before anything of the thread is read.
        keep_alive: Seconds without an event after which an SSE comment is sent; None for never.
        max_body: The most bytes of a request; a larger one is answered with 413.
    """
    path = f"/{path}" if path and not path.startswith("/") else path
    base = path.rstrip("/")
    router = APIRouter(dependencies=list(dependencies))

    async def authorized(request: Request) -> tuple[RunAgentInput, RunnableConfig | None]:
        """Return the input and the configuration of a request, if it may use its thread."""
        run_input = await _read(request, max_body)
        if authorize_thread is not None and await _resolve(authorize_thread(request, run_input.thread_id)) is not True:
            raise HTTPException(403, "This thread is not yours.")
        return run_input, await _resolve(config_factory(request)) if config_factory is not None else None

    @router.post(path, response_model=None)
    async def run(request: Request) -> Response:
        run_input, config = await authorized(request)
        context = await _resolve(context_factory(request)) if context_factory is not None else None
        try:
            reader = await agent.begin(SSESink, run_input, config=config, context=context)
        except (RunInputError, StateError) as error:
            return _refusal(error)
        return _EventStream(reader, keep_alive)

    @router.post(f"{base}/connect", response_model=None)
    async def connect(request: Request) -> Response:
        run_input, config = await authorized(request)
        return _EventStream(agent.subscribe(SSESink, run_input, config=config), keep_alive)

    @router.get(f"{base}/capabilities")
    async def capabilities() -> JSONResponse:
        return JSONResponse(agent.capabilities().model_dump(by_alias=True, mode="json"))

    @router.get(f"{base}/health")
    async def health() -> dict[str, object]:
        return {"status": "ok", "agent": {"name": agent.name}}

    return router


class RouteOptions(TypedDict, total=False):
    """The options of `agui_router`."""

    dependencies: Sequence[params.Depends]
    config_factory: Callable[[Request], Maybe[RunnableConfig | None]] | None
    context_factory: Callable[[Request], Maybe[object]] | None
    authorize_thread: Callable[[Request, str], Maybe[bool]] | None
    keep_alive: float | None
    max_body: int


def add_langgraph_fastapi_endpoint(
    app: FastAPI, agent: LangGraphAgent, path: str = "/", **options: Unpack[RouteOptions]
) -> None:
    """Serve `agent` at `path` of `app`; the options are those of `agui_router`."""
    app.include_router(agui_router(agent, path, **options))


def _refusal(error: RunInputError | StateError) -> JSONResponse:
    if isinstance(error, RunInputError):
        return JSONResponse({"detail": str(error), "code": error.code.value}, 409)
    logger.error("The thread could not be opened", exc_info=error)
    return JSONResponse({"detail": error.code.message, "code": error.code.value}, 503)


async def _resolve(value: Maybe[T]) -> T:
    return await value if inspect.isawaitable(value) else value


async def _read(request: Request, max_body: int) -> RunAgentInput:
    """Return the input in the body of a request. Raises `HTTPException` if there is none."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        # Browsers ask before they send JSON to another site; other types they just send.
        raise HTTPException(415, "Send RunAgentInput as application/json.")
    try:
        value = json.loads(await _body(request, max_body), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "The body is not JSON.") from error
    if not isinstance(value, dict):
        raise HTTPException(422, "RunAgentInput is a JSON object.")
    if _other_major(value.get("protocolVersion")):
        raise HTTPException(422, f"This agent speaks AG-UI {PROTOCOL_VERSION}.")
    try:
        return parse_input(value)
    except ProtocolError as error:
        raise HTTPException(422, str(error)) from error


async def _body(request: Request, max_body: int) -> bytearray:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_body:
                raise HTTPException(413, f"The input is larger than {max_body} bytes.")
    except ClientDisconnect as error:
        raise HTTPException(400, "The body is not complete.") from error
    return body


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _other_major(version: object) -> bool:
    """Return whether a client uses another major version of AG-UI. One that names no version is served."""
    found = re.fullmatch(r"(\d+)\.\d+", version) if isinstance(version, str) else None
    return found is not None and found[1] != PROTOCOL_VERSION.partition(".")[0]


class _EventStream(Response):
    """Sends SSE frames, and leaves the run at once when the client disconnects.

    Starlette's own streaming response notices a disconnect only when it next sends; a model may think for minutes.
    """

    media_type = "text/event-stream"

    def __init__(self, reader: Subscription[bytes], keep_alive: float | None) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._reader = reader
        self._keep_alive = keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request (ASGI)."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_disconnect(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError, OSError):
                    await task

    async def _send(self, send: Send) -> None:
        """Send what the reader gets, and a comment whenever it gets nothing for `keep_alive` seconds."""
        async with self._reader as reader:
            while True:
                try:
                    async with asyncio.timeout(self._keep_alive):
                        batch = await reader.take()
                except TimeoutError:
                    batch = [_COMMENT]
                if not batch:
                    break
                await send({"type": "http.response.body", "body": b"".join(batch), "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
