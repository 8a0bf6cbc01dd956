"""A small web server: the playground at `/`, the agent at `/agent`, or several at `/agents/NAME`.

In: a site, which is graphs and how to serve them. Out: a FastAPI application, served until Ctrl-C.
"""

import asyncio
import re
import signal
import socket
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from secrets import compare_digest
from threading import Thread
from typing import Any, Final
from urllib.parse import quote, unquote

import typer
import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.pregel import Pregel
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from uvicorn.supervisors import ChangeReload

from langgraph_agui import LangGraphAgent, agui_router
from langgraph_agui.devtools.cli import chat, loading
from langgraph_agui.devtools.cli.formatting import CommandError, ExitCode, printable
from langgraph_agui.devtools.playground import playground_router

AGENT_PATH: Final = "/agent"
_ORIGIN: Final = re.compile(r"\*|[a-z][a-z0-9+.-]*://[^/\s]+/?")
_COOKIE: Final = "langgraph-agui-key"
# Where threads are kept unless the user names another place.
_FOLDER: Final = Path(".langgraph-agui")
# Seconds that runs have to end when the server is stopped.
_SHUTDOWN_SECONDS: Final = 2


@dataclass(frozen=True)
class Site:
    """The server: its agents, its clients, its storage.

    Attributes:
        load: Returns graphs or agents by name; see `load_targets`.
        spec: The name that the user gave, for errors.
        heading: Printed above the URLs.
        host: The address to listen on.
        port: The port; 0 picks a free one.
        open_browser: Whether to open the page.
        origins: Web sites whose pages may call the agents.
        api_key: The key that each request has to bring; None for none.
        checkpointer: A file, `memory` or `none`; None keeps a graph's own.
        expose_errors: Whether clients see texts of exceptions; None shows them on this machine
            only.
        reload: Whether to begin again when a file changes.
        title: The title of the page; by default it names the agent.
        suggestions: First messages that the page offers.
        question: Sent to the agent once, and its answer printed; None for none.
    """

    load: Callable[[], Mapping[str, object]]
    spec: str
    heading: str
    host: str = "127.0.0.1"
    port: int = 8000
    open_browser: bool = False
    origins: Sequence[str] = ()
    api_key: str | None = None
    checkpointer: str | None = None
    expose_errors: bool | None = None
    reload: bool = False
    title: str = ""
    suggestions: Sequence[str] = ()
    question: str | None = None


def run(site: Site) -> None:
    """Serve `site` until Ctrl-C. Raises `CommandError` if it cannot be loaded, or other machines
    could just use it.
    """
    if not (chat.is_local(site.host) or site.api_key):
        raise CommandError(
            f"{site.host} lets other machines in. Guard the agent: --api-key KEY", ExitCode.USAGE
        )
    # Outside of the event loop, because modules may run one of their own. The reloader loads them
    # in its own process.
    targets = {} if site.reload else site.load()
    with _listen(site.host, site.port) as listener:
        if site.open_browser:
            webbrowser.open(_page(site, listener))
        if site.reload:
            config = uvicorn.Config("", reload=True, log_level="warning")
            ChangeReload(config, partial(_run_again, site), [listener]).run()
        else:
            asyncio.run(_serve(site, targets, listener))


def _run_again(site: Site, sockets: Sequence[socket.socket]) -> None:
    """Serve in a process of the reloader, which starts the next one when a file has changed."""
    try:
        asyncio.run(_serve(site, site.load(), sockets[0]))
    except CommandError as error:
        typer.echo(printable(f"Error: {error}\nWaiting for a change."), err=True)


async def _serve(site: Site, targets: Mapping[str, object], listener: socket.socket) -> None:
    async with AsyncExitStack() as stack:
        agents = await _make_agents(site, targets, stack)
        title = (
            site.title
            or f"{next(iter(agents)) if len(agents) == 1 else site.spec} · AG-UI playground"
        )
        app = build_app(agents, title, site.host, site.suggestions, site.origins, site.api_key)
        page = _page(site, listener)
        header = " -H 'Authorization: Bearer KEY'" if site.api_key else ""
        urls = [page.partition("/?")[0].rstrip("/") + path for path in _paths(agents).values()]
        lines = [f"  Playground  {page}", *(f"  Agent       {url}" for url in urls)]
        terminal = f'  Terminal    langgraph-agui chat {urls[0]} "Hello"{header}'
        typer.echo("\n".join([site.heading, "", *lines, terminal, "", "Ctrl-C stops the server."]))
        if site.question is not None:
            # The socket accepts connections already; the answer comes once the server below has
            # started.
            Thread(target=_ask, args=(urls[0], site.question, site.api_key), daemon=True).start()
        config = uvicorn.Config(
            app, log_level="warning", timeout_graceful_shutdown=_SHUTDOWN_SECONDS
        )
        # uvicorn raises these again at its end, while the stack is open.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        await uvicorn.Server(config).serve(sockets=[listener])


async def _make_agents(
    site: Site, targets: Mapping[str, object], stack: AsyncExitStack
) -> dict[str, LangGraphAgent]:
    """Return the agents of a site. A graph without a checkpointer gets one, unless it was compiled
    with False.
    """
    exposes = chat.is_local(site.host) if site.expose_errors is None else site.expose_errors
    savers: list[BaseCheckpointSaver[Any] | None] = []
    agents: dict[str, LangGraphAgent] = {}
    for name, target in targets.items():
        graph = await loading.finish(target, site.spec, stack)
        if isinstance(graph, LangGraphAgent):
            _warn_of_unused(site, name)
        # True is for subgraphs; a graph that is served has no parent.
        has_own = isinstance(graph, Pregel) and isinstance(graph.checkpointer, BaseCheckpointSaver)
        if (
            isinstance(graph, Pregel)
            and graph.checkpointer is not False
            and (site.checkpointer or not has_own)
        ):
            savers = savers or [await open_checkpointer(site.checkpointer, stack)]
            # it may be a part of another one as well
            graph = graph.copy({"checkpointer": savers[0]})
        agents[name] = loading.make_agent(
            graph, name, site.spec, expose_errors=exposes, on_disconnect="continue"
        )
    return agents


def _warn_of_unused(site: Site, name: str) -> None:
    """Say which options of the command do not reach an agent: it has its own."""
    given = {"--checkpointer": site.checkpointer, "--expose-errors": site.expose_errors}
    if unused := [option for option, value in given.items() if value is not None]:
        text = f"{name} is a LangGraphAgent, served as you made it: without {', '.join(unused)}"
        typer.echo(printable(text), err=True)


async def open_checkpointer(
    place: str | None, stack: AsyncExitStack
) -> BaseCheckpointSaver[Any] | None:
    """Return the checkpointer at `place`, which `stack` closes; None for `none`. `place` is None
    for our own file.

    Raises:
        CommandError: It cannot be opened.
    """
    if place in ("none", "memory"):
        return InMemorySaver() if place == "memory" else None
    if place and "://" in place:
        raise CommandError(
            "--checkpointer takes a SQLite file, memory or none. Compile the graph with any "
            "other one."
        )
    path = Path(place) if place else _FOLDER / "threads.sqlite"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if place is None:
            (_FOLDER / ".gitignore").write_text("*\n")
        saver = await stack.enter_async_context(AsyncSqliteSaver.from_conn_string(str(path)))
        await saver.setup()
    except Exception as error:  # of the file system or of the database's own
        raise CommandError(
            f"The threads cannot be kept in {path}: {error}", ExitCode.FAILED
        ) from error
    return saver


def build_app(
    agents: LangGraphAgent | Mapping[str, LangGraphAgent],
    title: str,
    host: str = "127.0.0.1",
    suggestions: Sequence[str] = (),
    origins: Sequence[str] = (),
    api_key: str | None = None,
) -> FastAPI:
    """Return the application that serves an agent, or several by name, with their playground on
    `host`.

    The playground shows `title` and offers `suggestions` as first messages. Pages of the web sites
    `origins` may call the agents too. With an `api_key` each request has to bring it. Raises
    `CommandError` if a graph has to pause and cannot, or an origin is none.
    """
    agents = {"agent": agents} if isinstance(agents, LangGraphAgent) else agents
    paths = _paths(agents)
    guards = [Depends(partial(_check_key, api_key))] if api_key else []
    app = FastAPI(title=title, openapi_url=None, dependencies=guards)
    for name, agent in agents.items():
        try:
            agent.check_checkpointer()
        except ValueError as error:
            raise CommandError(str(error)) from error
        app.include_router(agui_router(agent, unquote(paths[name])))
    app.include_router(
        playground_router(
            AGENT_PATH if len(paths) == 1 else paths, title=title, suggestions=suggestions
        )
    )
    if wrong := [one for one in origins if not _ORIGIN.fullmatch(one)]:
        raise CommandError(
            f"--cors {wrong[0]} must look like http://localhost:3000, or be * for every page."
        )
    if origins:
        # Without credentials, so that no page of another site can use the cookie of an API key.
        allowed = [one.rstrip("/") for one in origins]
        app.add_middleware(
            CORSMiddleware, allow_origins=allowed, allow_methods=["*"], allow_headers=["*"]
        )
    if chat.is_local(host):
        # A page elsewhere could point a host name of its own at this machine, and so read a local
        # agent's answers.
        app.add_middleware(
            TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1", "[::1]", host]
        )
    return app


def _paths(agents: Mapping[str, LangGraphAgent]) -> dict[str, str]:
    """Return the path of each agent, as it stands in URLs."""
    return {
        name: AGENT_PATH if len(agents) == 1 else f"/agents/{quote(name, safe='')}"
        for name in agents
    }


def _page(site: Site, listener: socket.socket) -> str:
    """Return the URL of the playground."""
    any_address = site.host in {"0.0.0.0", "::"}  # noqa: S104  # a browser cannot open it
    name = f"[{site.host}]" if ":" in site.host else site.host
    if any_address:
        name = "localhost"
    query = f"?key={quote(site.api_key, safe='')}" if site.api_key else ""
    return f"http://{name}:{listener.getsockname()[1]}/{query}"


def _check_key(api_key: str, request: Request) -> None:
    """Let a request pass that brings the key: as a bearer token, or as the cookie that a page
    opened with it gets.
    """
    expected = quote(api_key, safe="")
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    bearer = quote(token, safe="") if scheme.lower() == "bearer" else ""
    if any(
        compare_digest(one.encode(), expected.encode())
        for one in (bearer, request.cookies.get(_COOKIE, ""))
    ):
        return
    if compare_digest(quote(request.query_params.get("key", ""), safe=""), expected):
        cookie = f"{_COOKIE}={expected}; HttpOnly; SameSite=Strict; Path=/"
        raise HTTPException(303, headers={"location": request.url.path, "set-cookie": cookie})
    hint = (
        "Send 'Authorization: Bearer KEY' with the key of this server, or open its page with "
        "?key=KEY once."
    )
    raise HTTPException(401, hint, {"www-authenticate": "Bearer"})


def _ask(url: str, question: str, api_key: str | None) -> None:
    typer.echo(f'\n$ langgraph-agui chat {url} "{question}"')
    try:
        chat.run(url, question, [f"Authorization: Bearer {api_key}"] if api_key else [])
    except CommandError as error:
        typer.echo(printable(f"Error: {error}"), err=True)


def _listen(host: str, port: int) -> socket.socket:
    """Open the listening socket before the server starts, so that a printed URL always works."""
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        hint = "Choose another port with --port, or 0 for any free port."
        raise CommandError(
            f"Cannot listen on {host}:{port}: {error.strerror}. {hint}", ExitCode.FAILED
        ) from error
