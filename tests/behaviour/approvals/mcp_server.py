"""An MCP server whose tools ask before they answer, as a process of its own: `python -m ...
<port>`."""

from __future__ import annotations

import sys
from typing import Any

from fastmcp import Context, FastMCP
from mcp.types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
)

server: FastMCP[Any] = FastMCP("asking")

DATE = {"date": {"type": "string", "minLength": 3}}
FORM = {"type": "object", "properties": DATE, "required": ["date"]}
WHEN = ElicitRequest(params=ElicitRequestFormParams(message="When?", requested_schema=FORM))
URL: dict[str, Any] = {"url": "https://example.com/in", "elicitation_id": "in-1"}
WHO = ElicitRequest(params=ElicitRequestURLParams(message="Please log in.", **URL))


def answer(context: Context, key: str) -> ElicitResult | None:
    given = (context.input_responses or {}).get(key)
    return given if isinstance(given, ElicitResult) else None


@server.tool
async def book(to: str, context: Context) -> Any:
    """Book a table."""
    date = answer(context, "date")
    if date is None:
        return InputRequiredResult(input_requests={"date": WHEN})
    return f"{to}: {date.action} {(date.content or {}).get('date')}"


@server.tool
async def login(to: str, context: Context) -> Any:
    """Log in."""
    done = answer(context, "login")
    if done is None:
        return InputRequiredResult(input_requests={"login": WHO})
    return f"{to}: {done.action}"


@server.tool
async def both(to: str, context: Context) -> Any:
    """Ask for two things at once, and for one of them again."""
    if context.request_state == "again":
        return f"{to}: {answer(context, 'date')}"
    if answer(context, "login") is None:
        return InputRequiredResult(input_requests={"date": WHEN, "login": WHO})
    return InputRequiredResult(input_requests={"date": WHEN}, request_state="again")


if __name__ == "__main__":
    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
