"""The bodies of the page's own requests. Bytes enter, data of the expected form leave, or a 4xx."""

from typing import Final, TypeVar

from fastapi import HTTPException, Request
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from langgraph_agui import InputLimits
from langgraph_agui.protocol import ProtocolError, parse_json

Body = TypeVar("Body", bound=BaseModel)

_JSON: Final = "application/json"


async def read_body(request: Request, limits: InputLimits) -> bytes:
    """Return the body of a request.

    Raises:
        HTTPException: It is not sent as JSON (415), is too large (413), or breaks off (400).
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != _JSON:
        # Browsers ask before they send JSON to another site; other types they just send.
        raise HTTPException(415, f"Send {_JSON}.")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limits.max_bytes:
                raise HTTPException(413, f"The body is larger than {limits.max_bytes} bytes.")
    except ClientDisconnect as error:
        raise HTTPException(400, "The body is not complete.") from error
    return bytes(body)


def parse_body(body: bytes, form: type[Body], limits: InputLimits, expected: str) -> Body:
    """Return the data in a body.

    Args:
        body: The body.
        form: The form of the data.
        limits: How much of it there may be.
        expected: A sentence for errors: the form in words.

    Raises:
        HTTPException: It is too large (413), or of another form (422).
    """
    try:
        return form.model_validate(parse_json(body, limits))
    except ProtocolError as error:
        raise HTTPException(413, str(error)) from error
    except ValidationError as error:
        raise HTTPException(422, expected) from error
    except ValueError as error:
        raise HTTPException(422, f"The body is not JSON. {expected}") from error
