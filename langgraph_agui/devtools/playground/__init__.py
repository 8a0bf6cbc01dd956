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

from pydantic import BaseModel

from langgraph_agui import InputLimits
from langgraph_agui.devtools.faults import first_fault
from langgraph_agui.devtools.playground.markdown import to_html
from langgraph_agui.kernel.extras import named_extras
from langgraph_agui.protocol import ProtocolError, parse_input

with named_extras():
    from fastapi import APIRouter, HTTPException, Request, Response
    from fastapi.concurrency import run_in_threadpool
    from fastapi.responses import HTMLResponse, JSONResponse

    from langgraph_agui.devtools.playground.body import parse_body, read_body

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

_TEXT_LIMITS: Final = InputLimits(max_bytes=1_000_000, max_items=64)
_STREAM_LIMITS: Final = InputLimits(max_values=1_000_000)
_TEXTS: Final = 'Expected {"texts": [...]}: at most 64 Markdown texts.'
_STREAM: Final = (
    'Expected {"input": RunAgentInput or null, "events": [...]}: AG-UI events as JSON objects.'
)

_MEDIA_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class _Texts(BaseModel):
    texts: list[str]


class _Stream(BaseModel):
    input: dict[str, object] | None = None
    events: list[dict[str, object]]


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

    Raises:
        TypeError: `agent_path` is neither a path nor a mapping of names to paths.
    """
    _check_path(agent_path)
    paths = {"agent": agent_path} if isinstance(agent_path, str) else agent_path
    router = APIRouter(include_in_schema=False)
    folder = files(__name__)
    page = Template((folder / "index.html").read_text("utf-8"))
    assets = {
        f"{prefix}{file.name}": file.read_bytes()
        for prefix, part in (("", folder), ("vendor/", folder / "vendor"))
        for file in part.iterdir()
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

    @router.get("/playground/{name:path}", name="playground_asset")
    async def send_asset(name: str) -> Response:
        if name not in assets:
            return Response("Not found", 404, headers=HEADERS, media_type="text/plain")
        return Response(
            assets[name], headers=HEADERS, media_type=_MEDIA_TYPES[PurePath(name).suffix]
        )

    @router.post("/playground/markdown")
    async def render(request: Request) -> JSONResponse:
        body = await read_body(request, _TEXT_LIMITS)
        return JSONResponse(await run_in_threadpool(_render, body), headers=HEADERS)

    @router.post("/playground/verify")
    async def judge(request: Request) -> JSONResponse:
        body = await read_body(request, _STREAM_LIMITS)
        return JSONResponse(await run_in_threadpool(_judge, body), headers=HEADERS)

    return router


def _render(body: bytes) -> dict[str, list[str]]:
    """Return the HTML of each Markdown text in a body."""
    texts = parse_body(body, _Texts, _TEXT_LIMITS, _TEXTS).texts
    if len(texts) > _TEXT_LIMITS.max_items:
        raise HTTPException(413, f"There are {len(texts)} texts. {_TEXTS}")
    return {"html": [to_html(text) for text in texts]}


def _judge(body: bytes) -> dict[str, object]:
    """Return the first event in a body that breaks a rule for producers, as `findings`: at most
    one.

    `index` is the event's place; that of a fault of the whole stream is the number of events.
    """
    stream = parse_body(body, _Stream, _STREAM_LIMITS, _STREAM)
    try:
        run_input = None if stream.input is None else parse_input(stream.input)
    except ProtocolError as error:
        raise HTTPException(422, f"{error} {_STREAM}") from error
    fault = first_fault(stream.events, run_input)
    if fault is None:
        return {"findings": [], "stopped": False}
    index, found = fault
    finding = {"index": index, "code": found.code, "message": str(found)}
    return {"findings": [finding], "stopped": True}


def _check_path(agent_path: object) -> None:
    if not isinstance(agent_path, str | Mapping):
        kind = type(agent_path).__name__
        raise TypeError(f"agent_path must be the path of the agent, such as '/agent', not {kind}")
