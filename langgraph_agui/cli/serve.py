"""A small web server: the playground at `/`, the agent at `/agent`.

In: an agent, and where to listen. Out: a FastAPI application, served until Ctrl-C.
"""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from ipaddress import ip_address
from secrets import compare_digest
from threading import Thread
from typing import Final
from urllib.parse import quote

import typer
import uvicorn
from fastapi import Depends, FastAPI, HTTPException, Request
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from langgraph_agui import LangGraphAgent
from langgraph_agui.cli import chat
from langgraph_agui.cli.formatting import CommandError, ExitCode, printable
from langgraph_agui.fastapi import add_langgraph_fastapi_endpoint
from langgraph_agui.playground import playground_router

AGENT_PATH: Final = "/agent"
_COOKIE: Final = "langgraph-agui-key"
# Seconds that runs have to end when the server is stopped.
_SHUTDOWN_SECONDS: Final = 2


def build_app(
    agent: LangGraphAgent,
    title: str,
    host: str = "127.0.0.1",
    suggestions: Sequence[str] = (),
    origins: Sequence[str] = (),
    api_key: str | None = None,
) -> FastAPI:
    """Return the application that serves `agent` with its playground on `host`.

    The playground shows `title` and offers `suggestions` as first messages. Pages of the web sites `origins` may call
    the agent too. With an `api_key` each request has to bring it. Raises `CommandError` if other machines could reach
    an agent that no key guards.
    """
    is_local = host == "localhost" or _is_loopback(host)
    if not is_local and not api_key:
        raise CommandError(f"{host} lets other machines in. Guard the agent: --api-key KEY", ExitCode.USAGE)
    guards = [Depends(partial(_check_key, api_key))] if api_key else []
    app = FastAPI(title=title, openapi_url=None, dependencies=guards)
    add_langgraph_fastapi_endpoint(app, agent, AGENT_PATH)
    app.include_router(playground_router(AGENT_PATH, title=title, suggestions=suggestions))
    if origins:
        app.add_middleware(CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"])
    if is_local:
        # A page elsewhere could point a host name of its own at this machine, and so read a local agent's answers.
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["localhost", "127.0.0.1", "[::1]", host])
    return app


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _check_key(api_key: str, request: Request) -> None:
    """Let a request pass that brings the key: as a bearer token, or as the cookie that a page opened with it gets."""
    expected = quote(api_key, safe="")
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    bearer = quote(token, safe="") if scheme.lower() == "bearer" else ""
    if any(compare_digest(one.encode(), expected.encode()) for one in (bearer, request.cookies.get(_COOKIE, ""))):
        return
    if compare_digest(quote(request.query_params.get("key", ""), safe=""), expected):
        cookie = f"{_COOKIE}={expected}; HttpOnly; SameSite=Strict; Path=/"
        raise HTTPException(303, headers={"location": request.url.path, "set-cookie": cookie})
    hint = "Send 'Authorization: Bearer KEY' with the key of this server, or open its page with ?key=KEY once."
    raise HTTPException(401, hint, {"www-authenticate": "Bearer"})


def run(
    app: FastAPI,
    host: str,
    port: int,
    *,
    heading: str,
    open_browser: bool = False,
    question: str | None = None,
    api_key: str | None = None,
) -> None:
    """Serve `app` until Ctrl-C. Raises `CommandError` if it cannot listen on `host` and `port`.

    `heading` is printed above the URLs. `question` is sent to the agent once, and its answer printed here.
    """
    listener = _listen(host, port)
    any_address = host in {"0.0.0.0", "::"}  # noqa: S104  # a browser cannot open it
    name = "localhost" if any_address else f"[{host}]" if ":" in host else host
    url = f"http://{name}:{listener.getsockname()[1]}"
    query, header = (f"?key={quote(api_key, safe='')}", " -H 'Authorization: Bearer KEY'") if api_key else ("", "")
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=_SHUTDOWN_SECONDS)
    typer.echo(
        f"{heading}\n\n"
        f"  Playground  {url}/{query}\n"
        f"  Agent       {url}{AGENT_PATH}\n"
        f'  Terminal    langgraph-agui chat {url}{AGENT_PATH} "Hello"{header}\n\n'
        "Ctrl-C stops the server."
    )
    if open_browser:
        webbrowser.open(f"{url}/{query}")
    if question is not None:
        # The socket accepts connections already; the answer comes once the server below has started.
        Thread(target=_ask, args=(f"{url}{AGENT_PATH}", question, api_key), daemon=True).start()
    with listener, suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])


def _ask(url: str, question: str, api_key: str | None) -> None:
    typer.echo(f'\n$ langgraph-agui chat {url} "{question}"')
    try:
        chat.run(url, question, [f"Authorization: Bearer {api_key}"] if api_key else [])
    except CommandError as error:
        typer.echo(printable(f"Error: {error}"), err=True)


def _listen(host: str, port: int) -> socket.socket:
    """Open the listening socket before the server starts, so that a printed URL always works."""
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        hint = "Choose another port with --port, or 0 for any free port."
        raise CommandError(f"Cannot listen on {host}:{port}: {error.strerror}. {hint}", ExitCode.FAILED) from error
