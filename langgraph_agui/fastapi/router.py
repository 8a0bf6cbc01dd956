"""An agent as FastAPI routes.

`POST path` runs it, `POST path/connect` shows a thread as it stands, `POST path/cancel` stops a
run, `GET path/capabilities` describes the agent. `GET path/health` answers while the process
serves, `GET path/ready` while the store of the threads answers too.

A request body enters, SSE leaves (AG-UI 1.0, HTTP binding). A request that is wrong is answered
with a 4xx before a stream is opened or a checkpoint is read; what fails later is a `RUN_ERROR` in
the stream.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from enum import Enum
from functools import partial
from typing import ParamSpec, TypedDict, TypeGuard, TypeVar, Unpack, get_type_hints

from ag_ui.core import RunAgentInput
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
from langgraph_agui.kernel.aio import Duration, Maybe, awaited
from langgraph_agui.kernel.checks import check_names, check_type
from langgraph_agui.kernel.errors import ErrorCode, RunInputError, StateError
from langgraph_agui.kernel.hooks import Hook, HookTimeoutError
from langgraph_agui.kernel.telemetry import count_error, log_fields
from langgraph_agui.options import RunLimits
from langgraph_agui.protocol.input import CleanInput
from langgraph_agui.protocol.limits import InputLimits

T = TypeVar("T")
P = ParamSpec("P")

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
        timeout = (agent.limits if isinstance(agent, LangGraphAgent) else RunLimits()).hook
        self._authorize = _hook("authorize_thread", options.get("authorize_thread"), timeout)
        self._make_config = _hook("config_factory", options.get("config_factory"), timeout)
        self._make_context = _hook("context_factory", options.get("context_factory"), timeout)
        self._get_capabilities: Hook[[], object] | None = _hook(
            "get_capabilities", getattr(agent, "get_capabilities", None), timeout
        )
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
        clean, notes = await read_input(request, self._limits)
        return await self._answer(self._run(request, clean, notes), clean.input)

    async def connect(self, request: Request) -> Response:
        """Show a thread."""
        clean, notes = await read_input(request, self._limits)
        return await self._answer(self._connect(request, clean, notes), clean.input)

    async def cancel(self, request: Request) -> Response:
        """Stop a run."""
        clean, _ = await read_input(request, self._limits)
        return await self._answer(self._cancel(request, clean), clean.input)

    async def capabilities(self) -> Response:
        """Return the agent's capabilities."""
        return await self._answer(self._describe())

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

    async def _run(self, request: Request, clean: CleanInput, notes: Sequence[str]) -> Response:
        config = await self._admit(request, clean)
        context = await self._make_context(request) if self._make_context else None
        reader: Reader = await awaited(self._begin(clean, config=config, context=context))
        return EventStreamResponse(reader, self._keep_alive, notes)

    async def _connect(self, request: Request, clean: CleanInput, notes: Sequence[str]) -> Response:
        config = await self._admit(request, clean)
        return EventStreamResponse(self._show(clean, config=config), self._keep_alive, notes)

    async def _cancel(self, request: Request, clean: CleanInput) -> Response:
        await self._admit(request, clean)
        agent, cancelled = self._agent, clean.input
        if isinstance(agent, LangGraphAgent) and await agent.cancel(
            cancelled.thread_id, cancelled.run_id
        ):
            return Response(status_code=204)
        raise RunInputError(ErrorCode.RUN_UNKNOWN)

    async def _describe(self) -> Response:
        found = await self._get_capabilities() if self._get_capabilities else None
        return JSONResponse(published(found))

    async def _admit(self, request: Request, clean: CleanInput) -> RunnableConfig | None:
        """Check that a request may use its thread; return the configuration of its run."""
        if self._authorize and await self._authorize(request, clean.input.thread_id) is not True:
            raise HTTPException(403, "This thread is not yours.")
        return await self._make_config(request) if self._make_config else None

    async def _answer(
        self, work: Awaitable[Response], run_input: RunAgentInput | None = None
    ) -> Response:
        """Return the answer to a request, or the refusal."""
        try:
            return await work
        except (RunInputError, StateError, HookTimeoutError) as error:
            count_error(error.code, getattr(self._agent, "name", None))
            return _refusal(error, run_input)


def _hook(
    name: str, function: Callable[P, Maybe[T]] | None, timeout: Duration | None
) -> Hook[P, T] | None:
    """Return the hook of an option; None if it is not set."""
    return Hook(name, function, timeout) if function is not None else None


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


def _refusal(
    error: RunInputError | StateError | HookTimeoutError, run_input: RunAgentInput | None
) -> JSONResponse:
    code = error.code
    if isinstance(error, RunInputError):
        return JSONResponse({"detail": str(error), "code": code.value}, _STATUSES.get(code, 409))
    fields = log_fields(run_input)
    correlation_id = fields["correlation_id"]
    extra = {**fields, "code": code.value}
    logger.error("Request refused: %s [%s]", code, correlation_id, exc_info=error, extra=extra)
    return JSONResponse(
        {"detail": code.message, "code": code.value, "correlationId": correlation_id}, 503
    )
