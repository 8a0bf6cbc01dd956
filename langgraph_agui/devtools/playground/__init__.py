"""The playground: a web page that talks to an AG-UI agent and shows every event.

In: requests of a browser. Out: static files without a build step. The page sends requests only to
its own server and never writes data as markup; its Content-Security-Policy forbids both.
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import PurePath
from string import Template
from typing import Final

from langgraph_agui.kernel.aio import run_in_thread
from langgraph_agui.kernel.extras import named_extras

with named_extras():
    from fastapi import APIRouter, Request, Response
    from fastapi.responses import HTMLResponse, JSONResponse

    from langgraph_agui.devtools.playground.answers import (
        MARKDOWN_LIMITS,
        STREAM_LIMITS,
        find_faults,
        render_texts,
    )
    from langgraph_agui.fastapi.body import read_body

# The headers of the page and of its files.
HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "media-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}

_MEDIA_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def playground_router(
    agent_path: str | Mapping[str, str] = "/agent",
    *,
    title: str = "AG-UI playground",
    suggestions: Sequence[str] = (),
) -> APIRouter:
    """Return a router that serves the playground at its root.

    The page talks to the agent at `agent_path`, a path in the same application, or to one that its
    user chooses of several, which are given as paths by names. It shows `title`, and offers
    `suggestions` as first messages, both as plain text.
    """
    paths = {"agent": agent_path} if isinstance(agent_path, str) else agent_path
    router = APIRouter(include_in_schema=False)
    folder = files(__name__)
    page = Template((folder / "index.html").read_text("utf-8"))
    assets = {
        file.name: file.read_bytes()
        for file in folder.iterdir()
        if PurePath(file.name).suffix in _MEDIA_TYPES
    }
    buttons = "".join(f'<button type="button">{escape(text)}</button>' for text in suggestions)

    @router.get("/", name="playground_page")
    async def show_page(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "").rstrip("/")
        agents = [
            {"name": name, "url": f"{root}/{path.lstrip('/')}"} for name, path in paths.items()
        ]
        content = page.substitute(
            title=escape(title),
            agent=escape(agents[0]["url"]),
            agents=escape(json.dumps(agents)),
            assets=escape(f"{request.url_for('playground_page').path}playground"),
            suggestions=buttons,
        )
        return HTMLResponse(content, headers=HEADERS)

    @router.get("/playground/{name}", name="playground_asset")
    async def send_asset(name: str) -> Response:
        if name not in assets:
            return Response("Not found", 404, headers=HEADERS, media_type="text/plain")
        return Response(
            assets[name], headers=HEADERS, media_type=_MEDIA_TYPES[PurePath(name).suffix]
        )

    @router.post("/playground/markdown")
    async def render(request: Request) -> JSONResponse:
        body = await read_body(request, MARKDOWN_LIMITS.max_bytes, "the texts")
        return JSONResponse(await run_in_thread(render_texts, body), headers=HEADERS)

    @router.post("/playground/verify")
    async def judge(request: Request) -> JSONResponse:
        body = await read_body(request, STREAM_LIMITS.max_bytes, "the stream")
        return JSONResponse(await run_in_thread(find_faults, body), headers=HEADERS)

    return router
