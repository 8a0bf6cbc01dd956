"""The body of a request. Bytes enter `read_input`, a clean input leaves; a fault is a 4xx."""

import re
from typing import Final

from ag_ui.core import PROTOCOL_VERSION
from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect

from langgraph_agui.kernel.aio import run_in_thread
from langgraph_agui.kernel.errors import RunInputError
from langgraph_agui.protocol.input import CleanInput, check_items, clean_input
from langgraph_agui.protocol.json import check_json, read_json
from langgraph_agui.protocol.limits import InputLimits
from langgraph_agui.protocol.schema import parse_input
from langgraph_agui.protocol.wire import ProtocolError

# Bytes of a body that is read in the event loop. A larger one would keep other requests waiting.
_SMALL: Final = 32 * 1024


async def read_input(request: Request, limits: InputLimits) -> tuple[CleanInput, list[str]]:
    """Return the input in the body of a request, and what of it is ignored. Raises `HTTPException`
    if there is none.
    """
    body = await _read_body(request, limits.max_bytes)
    return await run_in_thread(_parse, body, limits) if len(body) > _SMALL else _parse(body, limits)


async def _read_body(request: Request, max_bytes: int) -> bytes:
    """Return the body of a request.

    Raises:
        HTTPException: It is not sent as JSON (415), is larger than `max_bytes` (413), or breaks off
            (400).
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        # Browsers ask before they send JSON to another site; other types they just send.
        raise HTTPException(415, "Send RunAgentInput as application/json.")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                raise HTTPException(413, f"The input is larger than {max_bytes} bytes (max_bytes).")
    except ClientDisconnect as error:
        raise HTTPException(400, "The body is not complete.") from error
    return bytes(body)


def _parse(body: bytes, limits: InputLimits) -> tuple[CleanInput, list[str]]:
    notes: list[str] = []
    try:
        # `json` would take other encodings, in which the limits see no JSON
        text = body.decode("utf-8-sig")
        values = check_json(body, limits)
        value = read_json(text)
        if not isinstance(value, dict):
            raise HTTPException(422, "RunAgentInput is a JSON object.")
        if _other_major(value.get("protocolVersion")):
            raise HTTPException(422, f"This agent speaks AG-UI {PROTOCOL_VERSION}.")
        check_items(value, limits, values)
        return clean_input(parse_input(value, notes)), notes
    except (ProtocolError, RunInputError) as error:
        raise HTTPException(422, str(error)) from error
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "The body is not JSON.") from error


def _other_major(version: object) -> bool:
    """Return whether a client uses another major version of AG-UI. One that names no version is
    served.
    """
    found = re.fullmatch(r"(\d+)\.\d+", version) if isinstance(version, str) else None
    return found is not None and found[1] != PROTOCOL_VERSION.partition(".")[0]
