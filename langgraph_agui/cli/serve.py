"""One small web server: the playground at `/`, the agent at `/agent`."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import webbrowser
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Final

import typer
import uvicorn
from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from langgraph_agui.cli import chat
from langgraph_agui.cli.errors import CommandError, ExitCode
from langgraph_agui.fastapi import add_langgraph_fastapi_endpoint
from langgraph_agui.playground import playground_router

if TYPE_CHECKING:
    from langgraph_agui import LangGraphAgent

AGENT_PATH: Final = "/agent"
_SHUTDOWN_SECONDS: Final = 2


@dataclass(frozen=True, slots=True)
class Site:
    """What to serve: an agent and how the playground presents it."""

    agent: LangGraphAgent
    title: str
    suggestions: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    """Origins of pages on other servers that may call the agent."""


def build_app(site: Site, host: str = "127.0.0.1") -> FastAPI:
    """Return the application that serves `site` on `host`."""
    app = FastAPI(title=site.title, docs_url=None, redoc_url=None)
    add_langgraph_fastapi_endpoint(app, site.agent, AGENT_PATH)
    app.include_router(playground_router(AGENT_PATH, title=site.title, suggestions=site.suggestions))
    if site.origins:
        app.add_middleware(CORSMiddleware, allow_origins=site.origins, allow_methods=["*"], allow_headers=["*"])
    if _is_local(host):
        # A page elsewhere could point a name of its own at this machine and so read a local agent's answers.
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1", "[::1]", host])
    return app


def run(
    site: Site, host: str, port: int, *, heading: str, open_browser: bool = False, question: str | None = None
) -> None:
    """Serve `site` until Ctrl-C, asking it `question` first. `CommandError` says why listening was not possible."""
    listener = _listen(host, port)
    url = _url(listener, host)
    config = uvicorn.Config(
        build_app(site, host),
        log_level="warning",
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    typer.echo(
        f"{heading}\n\n"
        f"  Playground  {url}/\n"
        f"  Agent       {url}{AGENT_PATH}\n"
        f'  Terminal    langgraph-agui chat {url}{AGENT_PATH} "Hello"\n\n'
        "Ctrl-C stops the server."
    )
    if open_browser:
        webbrowser.open(f"{url}/")
    if question is not None:
        # The socket takes connections already; the answer comes when the server below has started.
        Thread(target=_ask, args=(f"{url}{AGENT_PATH}", question), daemon=True).start()
    with listener, suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


def _ask(url: str, question: str) -> None:
    typer.echo(f'\n$ langgraph-agui chat {url} "{question}"')
    try:
        chat.run(url, question)
    except CommandError as error:
        typer.echo(f"Error: {error}", err=True)


def _listen(host: str, port: int) -> socket.socket:
    """Open the listening socket first, so that a URL is only ever printed when it works."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise CommandError(f"Cannot listen on {host}: {error.strerror}.", ExitCode.FAILED) from error
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere the option would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            hint = f"Port {port} is already in use. Choose another one with --port, or 0 for any free port."
            raise CommandError(hint, ExitCode.FAILED) from error
        raise CommandError(f"Cannot listen on {host}:{port}: {error.strerror}.", ExitCode.FAILED) from error
    return listener


def _url(listener: socket.socket, host: str) -> str:
    port = listener.getsockname()[1]
    if host in {"0.0.0.0", "::", ""}:  # noqa: S104  # not bound here: only shown as an address one can open
        host = "localhost"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
