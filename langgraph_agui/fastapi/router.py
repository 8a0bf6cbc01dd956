"""An agent as FastAPI routes.

`POST path` runs it, `POST path/connect` shows a thread as it stands, `GET path/capabilities` describes it. `GET
path/health` says that the process serves, `GET path/ready` that the store of the threads answers too.

A request body enters, SSE leaves (AG-UI 1.0, HTTP binding). A request that is wrong is answered with a 4xx before a
stream is opened or a checkpoint is read; what fails later is a `RUN_ERROR` in the stream.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from enum import Enum
from functools import partial
from typing import TypeAlias, TypedDict, TypeGuard, TypeVar, Unpack

from ag_ui.core import RunAgentInput
from fastapi import APIRouter, FastAPI, HTTPException, Request, params
from fastapi.responses import JSONResponse
from langchain_core.runnables import RunnableConfig
from starlette.responses import Response

from langgraph_agui.agent import LangGraphAgent
from langgraph_agui.conventions.agents import RunsInputs, check_agent, opener, published
from langgraph_agui.errors import ErrorCode, RunInputError, StateError
from langgraph_agui.fastapi.body import read_input
from langgraph_agui.fastapi.event_stream import EventStream, Reader
from langgraph_agui.fastapi.openapi import RESPONSES, input_body
from langgraph_agui.protocol.limits import InputLimits
from langgraph_agui.translate.event_sinks import SSESink

logger = logging.getLogger(__name__)

T = TypeVar("T")
Maybe: TypeAlias = T | Awaitable[T]

# Seconds without an event after which a comment is sent by default: proxies close idle streams after 60.
KEEP_ALIVE = 15.0

# The statuses of refusals; the others are conflicts with what goes on in the thread.
_STATUSES = {ErrorCode.TOO_MANY_RUNS: 429, ErrorCode.TOO_MANY_READERS: 429, ErrorCode.SERVER_STOPPING: 503}


def agui_router(
    agent: RunsInputs,
    path: str = "/",
    *,
    dependencies: Sequence[params.Depends] | None = None,
    config_factory: Callable[[Request], Maybe[RunnableConfig | None]] | None = None,
    context_factory: Callable[[Request], Maybe[object]] | None = None,
    authorize_thread: Callable[[Request, str], Maybe[bool]] | None = None,
    keep_alive: float | None = KEEP_ALIVE,
    limits: InputLimits | None = None,
    name: str | None = None,
    tags: Sequence[str | Enum] | None = None,
    operation_id: str | None = None,
    include_in_schema: bool = True,
) -> APIRouter:
    """Return a router that serves `agent`.

    Args:
        agent: A `LangGraphAgent`, or any object with `run(input)` that yields AG-UI events. If it has `clone()`, each
            request gets a clone; `connect(input)` and `get_capabilities()` are served if it has them.
        path: Where it is served.
        dependencies: FastAPI dependencies of every route, for example `[Depends(current_user)]`.
        config_factory: Makes the run's configuration from the request (`configurable`, `metadata`, `callbacks`, ...).
        context_factory: Makes the graph's runtime context from the request: identity goes here, not into the prompt.
        authorize_thread: Returns True if the request may use the thread; anything else is answered with 403. It may
            raise an `HTTPException` instead. Called before anything of the thread is read.
        keep_alive: Seconds without an event after which an SSE comment is sent; None for never.
        limits: The most that a request may hold; what is more is answered with 413 or 422, and the limit's name.
        name: The name of the route that runs the agent, for FastAPI; so are the next three.
        tags: Its tags.
        operation_id: Its id in the OpenAPI schema.
        include_in_schema: Whether it is in that schema.

    Raises:
        TypeError: `agent` is no agent, or its `run` does not take what a factory makes.
    """
    check_agent(agent)
    begin, show = _run_of(agent, config_factory, context_factory), _connect_of(agent, config_factory)
    path = f"/{path}" if path and not path.startswith("/") else path
    base = path.rstrip("/")
    router = APIRouter(dependencies=list(dependencies or ()), lifespan=partial(_serving, agent))

    async def authorized(request: Request) -> tuple[RunAgentInput, RunnableConfig | None]:
        """Return the input and the configuration of a request, if it may use its thread."""
        run_input = await read_input(request, limits or InputLimits())
        if authorize_thread is not None and await _resolve(authorize_thread(request, run_input.thread_id)) is not True:
            raise HTTPException(403, "This thread is not yours.")
        return run_input, await _resolve(config_factory(request)) if config_factory is not None else None

    @router.post(
        path,
        response_model=None,
        response_class=EventStream,
        status_code=200,
        responses=RESPONSES,
        openapi_extra=input_body(),
        name=name or "run",
        tags=list(tags or ()) or None,
        operation_id=operation_id,
        include_in_schema=include_in_schema,
    )
    async def run(request: Request) -> Response:
        run_input, config = await authorized(request)
        context = await _resolve(context_factory(request)) if context_factory is not None else None
        try:
            return EventStream(await _resolve(begin(run_input, config=config, context=context)), keep_alive)
        except (RunInputError, StateError) as error:
            return _refusal(error)

    if show is not None:

        @router.post(
            f"{base}/connect",
            response_model=None,
            response_class=EventStream,
            status_code=200,
            responses=RESPONSES,
            openapi_extra=input_body(),
        )
        async def connect(request: Request) -> Response:
            run_input, config = await authorized(request)
            try:
                return EventStream(show(run_input, config=config), keep_alive)
            except RunInputError as error:
                return _refusal(error)

    if hasattr(agent, "get_capabilities"):

        @router.get(f"{base}/capabilities")
        async def capabilities() -> JSONResponse:
            return JSONResponse(await published(agent))

    @router.get(f"{base}/health")
    async def health() -> dict[str, object]:
        return {"status": "ok", "agent": {"name": getattr(agent, "name", type(agent).__name__)}}

    @router.get(f"{base}/ready")
    async def ready() -> JSONResponse:
        is_ready = not isinstance(agent, LangGraphAgent) or await agent.is_ready()
        return JSONResponse({"status": "ready" if is_ready else "not ready"}, 200 if is_ready else 503)

    return router


def _serving(agent: RunsInputs, _app: object) -> AbstractAsyncContextManager[None]:
    """Return the time in which the application serves the agent."""
    return agent.serving() if isinstance(agent, LangGraphAgent) else nullcontext()


def _is_ours(agent: object, method: str) -> TypeGuard[LangGraphAgent]:
    """Return whether a method of the agent is ours, so that its bytes need no events."""
    return isinstance(agent, LangGraphAgent) and getattr(type(agent), method) is getattr(LangGraphAgent, method)


def _run_of(agent: RunsInputs, config: object, context: object) -> Callable[..., Maybe[Reader]]:
    """Return what begins a run; the factories of its configuration and context are None if there are none."""
    if _is_ours(agent, "run"):
        return partial(agent.begin, SSESink)
    return opener(agent, "run", config=config, context=context)


def _connect_of(agent: RunsInputs, config: object) -> Callable[..., Reader] | None:
    """Return what shows a thread; None if the agent cannot."""
    if _is_ours(agent, "connect"):
        return partial(agent.subscribe, SSESink)
    return opener(agent, "connect", config=config) if hasattr(agent, "connect") else None


class RouteOptions(TypedDict, total=False):
    """The options of `agui_router`."""

    dependencies: Sequence[params.Depends] | None
    config_factory: Callable[[Request], Maybe[RunnableConfig | None]] | None
    context_factory: Callable[[Request], Maybe[object]] | None
    authorize_thread: Callable[[Request, str], Maybe[bool]] | None
    keep_alive: float | None
    limits: InputLimits | None
    name: str | None
    tags: Sequence[str | Enum] | None
    operation_id: str | None
    include_in_schema: bool


def add_langgraph_fastapi_endpoint(
    app: FastAPI | APIRouter, agent: RunsInputs, path: str = "/", **options: Unpack[RouteOptions]
) -> None:
    """Serve `agent` at `path` of `app`; the options are those of `agui_router`."""
    app.include_router(agui_router(agent, path, **options))


def _refusal(error: RunInputError | StateError) -> JSONResponse:
    if isinstance(error, RunInputError):
        return JSONResponse({"detail": str(error), "code": error.code.value}, _STATUSES.get(error.code, 409))
    logger.error("The thread could not be opened", exc_info=error)
    return JSONResponse({"detail": error.code.message, "code": error.code.value}, 503)


async def _resolve(value: Maybe[T]) -> T:
    return await value if inspect.isawaitable(value) else value
