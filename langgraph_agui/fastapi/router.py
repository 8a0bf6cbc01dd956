"""An agent as FastAPI routes.

`POST path` runs it, `POST path/connect` shows a thread as it stands, `POST path/cancel` stops a
run, `GET path/capabilities` describes the agent. `GET path/health` answers while the process
serves, `GET path/ready` while the store of the threads answers too.

A request body enters, SSE leaves (AG-UI 1.0, HTTP binding). A request that is wrong is answered
with a 4xx before a stream is opened or a checkpoint is read; what fails later is a `RUN_ERROR` in
the stream.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from enum import Enum
from functools import partial
from typing import TypedDict, TypeGuard, Unpack, get_type_hints

from fastapi import APIRouter, FastAPI, HTTPException, Request, params
from fastapi.responses import JSONResponse
from langchain_core.runnables import RunnableConfig
from starlette.responses import Response

from langgraph_agui.agent import LangGraphAgent
from langgraph_agui.compat.switches import read_input_limits
from langgraph_agui.fastapi.agents import RunsInputs, check_agent, opener, published
from langgraph_agui.fastapi.body import read_input
from langgraph_agui.fastapi.openapi import CANCEL_RESPONSES, RESPONSES, cancel_body, input_body
from langgraph_agui.fastapi.response import EventStreamResponse, Reader
from langgraph_agui.kernel.aio import Maybe, awaited
from langgraph_agui.kernel.checks import check_names, check_type
from langgraph_agui.kernel.errors import ErrorCode, RunInputError, StateError
from langgraph_agui.kernel.telemetry import count_error
from langgraph_agui.protocol.input import CleanInput
from langgraph_agui.protocol.limits import InputLimits

logger = logging.getLogger(__name__)

# Seconds without an event after which a comment is sent by default: proxies close idle streams
# after 60.
KEEP_ALIVE = 15.0

# The statuses of refusals; the others are conflicts within the thread.
_STATUSES = {
    ErrorCode.RUN_UNKNOWN: 404,
    ErrorCode.TOO_MANY_RUNS: 429,
    ErrorCode.TOO_MANY_READERS: 429,
    ErrorCode.SERVER_STOPPING: 503,
    ErrorCode.WRONG_EVENT_LOOP: 500,
}


class RouteOptions(TypedDict, total=False):
    """The options of `agui_router`, which documents them."""

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


def agui_router(agent: RunsInputs, path: str = "/", **options: Unpack[RouteOptions]) -> APIRouter:
    """Return a router that serves `agent`.

    Args:
        agent: A `LangGraphAgent`, or any object with `run(input)` that yields AG-UI events. If it
            has `clone()`, each request gets a clone; `connect(input)` and `get_capabilities()` are
            served if it has them. The runs of a `LangGraphAgent` can be stopped.
        path: Where it is served.
        dependencies: FastAPI dependencies of every route, for example `[Depends(current_user)]`.
        config_factory: Makes the run's configuration from the request (`configurable`, `metadata`,
            `callbacks`, ...).
        context_factory: Makes the graph's runtime context from the request: identity goes here, not
            into the prompt.
        authorize_thread: Returns True if the request may use the thread; anything else is answered
            with 403. It may raise an `HTTPException` instead. Called before anything of the thread
            is read.
        keep_alive: Seconds without an event after which an SSE comment is sent; None turns it off.
            15 by default.
        limits: The limits of a request; a larger one is answered with 413 or 422, and the limit's
            name. A `LangGraphAgent` has `RunLimits(input=...)` for it.
        name: The name of the route that runs the agent, for FastAPI, "run" by default; so are the
            next three.
        tags: Its tags.
        operation_id: Its id in the OpenAPI schema.
        include_in_schema: Whether it is in that schema.

    Raises:
        TypeError: `agent` is not an agent, its `run` does not take the value of a factory, there is
            no such option, or one is of another type.
        ValueError: `keep_alive` is not more than 0.
    """
    return _router("agui_router", agent, path, options)


def _router(called: str, agent: RunsInputs, path: str, options: RouteOptions) -> APIRouter:
    """Return the router of an agent; errors name the called function."""
    check_agent(agent)
    check_type("path", path, str)
    check_names(called, options, RouteOptions.__annotations__)
    annotations = get_type_hints(RouteOptions)
    for name, value in options.items():
        check_type(name, value, annotations[name])
    keep_alive = options.get("keep_alive")
    if keep_alive is not None and not keep_alive > 0:
        raise ValueError(
            f"keep_alive must be more than 0, or None to turn it off, not {keep_alive}"
        )
    limits = options.get("limits")
    if isinstance(agent, LangGraphAgent):
        limits = read_input_limits(limits, agent.limits.input)
    routes = _Routes(agent, options, limits or InputLimits())
    path = f"/{path}" if path and not path.startswith("/") else path
    base = path.rstrip("/")
    router = APIRouter(
        dependencies=list(options.get("dependencies") or ()), lifespan=partial(_serving, agent)
    )
    takes_input = partial(
        router.post,
        status_code=200,
        response_class=EventStreamResponse,
        responses=RESPONSES,
        openapi_extra=input_body(),
    )
    takes_input(
        path,
        name=options.get("name") or "run",
        tags=list(options.get("tags") or ()) or None,
        operation_id=options.get("operation_id"),
        include_in_schema=options.get("include_in_schema", True),
    )(routes.run)
    if hasattr(agent, "connect"):
        takes_input(f"{base}/connect")(routes.connect)
    if isinstance(agent, LangGraphAgent):
        router.post(
            f"{base}/cancel",
            status_code=204,
            responses=CANCEL_RESPONSES,
            openapi_extra=cancel_body(),
        )(routes.cancel)
    if hasattr(agent, "get_capabilities"):
        router.get(f"{base}/capabilities")(routes.capabilities)
    router.get(f"{base}/health")(routes.health)
    router.get(f"{base}/ready")(routes.ready)
    return router


class _Routes:
    """The routes of an agent: requests enter, streams and refusals leave."""

    def __init__(self, agent: RunsInputs, options: RouteOptions, limits: InputLimits) -> None:
        self._agent = agent
        self._make_config = options.get("config_factory")
        self._make_context = options.get("context_factory")
        self._authorize = options.get("authorize_thread")
        self._limits = limits
        self._keep_alive = options.get("keep_alive", KEEP_ALIVE)
        self._begin: Callable[..., Maybe[Reader]] = opener(
            agent, "run", config=self._make_config, context=self._make_context
        )
        if _is_ours(agent, "run"):
            self._begin = agent.begin
        if hasattr(agent, "connect"):
            self._show: Callable[..., Reader] = opener(agent, "connect", config=self._make_config)
        if _is_ours(agent, "connect"):
            self._show = agent.subscribe

    async def run(self, request: Request) -> Response:
        """Run the agent."""
        clean, config, notes = await self._admit(request)
        context = (
            await awaited(self._make_context(request)) if self._make_context is not None else None
        )
        return await self._answer(
            partial(self._begin, clean, config=config, context=context), notes
        )

    async def connect(self, request: Request) -> Response:
        """Show a thread."""
        clean, config, notes = await self._admit(request)
        return await self._answer(partial(self._show, clean, config=config), notes)

    async def cancel(self, request: Request) -> Response:
        """Stop a run."""
        clean, _, _ = await self._admit(request)
        try:
            if isinstance(self._agent, LangGraphAgent) and await self._agent.cancel(
                clean.input.thread_id, clean.input.run_id
            ):
                return Response(status_code=204)
        except (RunInputError, StateError) as error:
            return _refusal(error)
        return _refusal(RunInputError(ErrorCode.RUN_UNKNOWN))

    async def capabilities(self) -> JSONResponse:
        """Return the agent's capabilities."""
        return JSONResponse(await published(self._agent))

    async def health(self) -> dict[str, object]:
        """Answer that the process serves."""
        return {
            "status": "ok",
            "agent": {"name": getattr(self._agent, "name", type(self._agent).__name__)},
        }

    async def ready(self) -> JSONResponse:
        """Answer whether the agent takes runs."""
        is_ready = not isinstance(self._agent, LangGraphAgent) or await self._agent.is_ready()
        return JSONResponse(
            {"status": "ready" if is_ready else "not ready"}, 200 if is_ready else 503
        )

    async def _admit(self, request: Request) -> tuple[CleanInput, RunnableConfig | None, list[str]]:
        """Return the input and configuration of a request that may use its thread, and what of the
        input is ignored.
        """
        clean, notes = await read_input(request, self._limits)
        if (
            self._authorize is not None
            and await awaited(self._authorize(request, clean.input.thread_id)) is not True
        ):
            raise HTTPException(403, "This thread is not yours.")
        config = (
            await awaited(self._make_config(request)) if self._make_config is not None else None
        )
        return clean, config, notes

    async def _answer(self, begin: Callable[[], Maybe[Reader]], notes: Sequence[str]) -> Response:
        try:
            return EventStreamResponse(await awaited(begin()), self._keep_alive, notes)
        except (RunInputError, StateError) as error:
            count_error(error.code, getattr(self._agent, "name", None))
            return _refusal(error)


def _serving(agent: RunsInputs, _app: object) -> AbstractAsyncContextManager[None]:
    """Return the time in which the application serves the agent."""
    return agent.serving() if isinstance(agent, LangGraphAgent) else nullcontext()


def _is_ours(agent: object, method: str) -> TypeGuard[LangGraphAgent]:
    """Return whether a method of the agent is ours, so that it takes a `CleanInput`."""
    return isinstance(agent, LangGraphAgent) and getattr(type(agent), method) is getattr(
        LangGraphAgent, method
    )


def add_langgraph_fastapi_endpoint(
    app: FastAPI | APIRouter, agent: RunsInputs, path: str = "/", **options: Unpack[RouteOptions]
) -> None:
    """Serve `agent` at `path` of `app`; the options are those of `agui_router`."""
    check_type("app", app, FastAPI | APIRouter)
    app.include_router(_router("add_langgraph_fastapi_endpoint", agent, path, options))


def _refusal(error: RunInputError | StateError) -> JSONResponse:
    if isinstance(error, RunInputError):
        return JSONResponse(
            {"detail": str(error), "code": error.code.value}, _STATUSES.get(error.code, 409)
        )
    logger.error("The thread could not be opened", exc_info=error)
    return JSONResponse({"detail": error.code.message, "code": error.code.value}, 503)
