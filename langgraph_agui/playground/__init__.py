"""The playground: a plain web page that talks to an AG-UI agent and shows everything that arrives.

It is a handful of static files without a build step. The page makes no request but the ones to its own
server, writes no data as markup, and runs under a Content-Security-Policy that forbids both.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

HEADERS: Final = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of the page and of its files."""

_MEDIA_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_PAGE: Final = "index.html"


def playground_router(
    agent_path: str = "/agent", *, title: str = "AG-UI playground", suggestions: Sequence[str] = ()
) -> APIRouter:
    """Return a router that shows the playground at its root, talking to the agent at `agent_path`.

    `agent_path` is a path in the same application. `suggestions` are first messages to offer; they and
    `title` are shown as plain text.
    """
    router = APIRouter(include_in_schema=False)
    folder = files(__name__)
    page = Template((folder / _PAGE).read_text("utf-8"))
    assets = {
        file.name: (file.read_bytes(), media_type)
        for file in folder.iterdir()
        for suffix, media_type in _MEDIA_TYPES.items()
        if file.name.endswith(suffix)
    }
    buttons = "".join(f'<button type="button">{escape(text)}</button>' for text in suggestions)

    @router.get("/", name="playground_page")
    async def show_page(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "").rstrip("/")
        content = page.substitute(
            title=escape(title),
            agent=escape(f"{root}/{agent_path.lstrip('/')}"),
            assets=escape(f"{request.url_for('playground_page').path}playground"),
            suggestions=buttons,
        )
        return HTMLResponse(content, headers=HEADERS)

    @router.get("/playground/{name}", name="playground_asset")
    async def send_asset(name: str) -> Response:
        if name not in assets:
            return Response("Not found", 404, headers=HEADERS, media_type="text/plain")
        content, media_type = assets[name]
        return Response(content, headers=HEADERS, media_type=media_type)

    return router
