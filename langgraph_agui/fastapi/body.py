"""The body of a request. Its bytes enter `read_input`, a `RunAgentInput` leaves; what is wrong is a 4xx."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from ag_ui.core import PROTOCOL_VERSION, RunAgentInput
from fastapi import HTTPException, Request
from starlette.requests import ClientDisconnect

from langgraph_agui.protocol.schema import parse_input
from langgraph_agui.protocol.wire import ProtocolError


async def read_input(request: Request, max_body: int) -> RunAgentInput:
    """Return the input in the body of a request. Raises `HTTPException` if there is none."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        # Browsers ask before they send JSON to another site; other types they just send.
        raise HTTPException(415, "Send RunAgentInput as application/json.")
    try:
        value = json.loads(await _body(request, max_body), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "The body is not JSON.") from error
    if not isinstance(value, dict):
        raise HTTPException(422, "RunAgentInput is a JSON object.")
    if _other_major(value.get("protocolVersion")):
        raise HTTPException(422, f"This agent speaks AG-UI {PROTOCOL_VERSION}.")
    try:
        return parse_input(value)
    except ProtocolError as error:
        raise HTTPException(422, str(error)) from error


async def _body(request: Request, max_body: int) -> bytearray:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_body:
                raise HTTPException(413, f"The input is larger than {max_body} bytes.")
    except ClientDisconnect as error:
        raise HTTPException(400, "The body is not complete.") from error
    return body


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _other_major(version: object) -> bool:
    """Return whether a client uses another major version of AG-UI. One that names no version is served."""
    found = re.fullmatch(r"(\d+)\.\d+", version) if isinstance(version, str) else None
    return found is not None and found[1] != PROTOCOL_VERSION.partition(".")[0]
