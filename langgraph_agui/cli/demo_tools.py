"""The tools of the demo agent: real, deterministic, and without a network.

Each shows one thing a front end must render: a structured result (`get_weather`), a failing call
(`calculate` of nonsense), shared state that changes (`remember`), and a call that waits for a person
(`send_email`, gated in `langgraph_agui.cli.demo`).
"""

from __future__ import annotations

import ast
import json
import operator
import zlib
from typing import TYPE_CHECKING, Annotated, Any, Final

from langchain.agents import AgentState
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, InjectedToolCallId, ToolException, tool
from langgraph.types import Command

if TYPE_CHECKING:
    from collections.abc import Callable

CLIMATE: Final = {
    "Amsterdam": (14, "drizzle"),
    "Athens": (27, "sunny"),
    "Berlin": (17, "partly cloudy"),
    "Cairo": (33, "sunny"),
    "Delhi": (34, "hazy"),
    "Dublin": (13, "rain"),
    "Helsinki": (9, "cloudy"),
    "Istanbul": (22, "sunny"),
    "Lagos": (30, "humid"),
    "Lisbon": (23, "sunny"),
    "London": (15, "rain"),
    "Madrid": (26, "sunny"),
    "Mexico City": (21, "partly cloudy"),
    "Nairobi": (24, "partly cloudy"),
    "New York": (19, "windy"),
    "Oslo": (11, "cloudy"),
    "Paris": (18, "partly cloudy"),
    "Prague": (16, "cloudy"),
    "Rome": (25, "sunny"),
    "San Francisco": (16, "fog"),
    "Seoul": (20, "clear"),
    "Singapore": (31, "thunderstorms"),
    "Sydney": (22, "sunny"),
    "Tokyo": (21, "clear"),
    "Vienna": (17, "partly cloudy"),
    "Zurich": (15, "cloudy"),
}
"""What the demo says about each city: degrees Celsius and the sky. Invented, and always the same."""

_SKIES: Final = ("sunny", "cloudy", "rain", "windy", "fog", "clear")
_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_MAX_EXPONENT: Final = 256
_MAX_MAGNITUDE: Final = 10**60


class DemoState(AgentState[Any]):
    """The agent's state plus the notes that `remember` keeps, which the front end sees as shared state."""

    notes: Annotated[list[str], operator.add]


def evaluate(expression: str) -> int | float:
    """Return the value of an arithmetic expression, raising `ToolException` for anything else."""
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body)
    except ZeroDivisionError:
        raise ToolException(f"{expression!r} divides by zero.") from None
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise ToolException(f"{expression!r} cannot be calculated: {error}.") from None


def _value(node: ast.expr) -> int | float:
    match node:
        case ast.Constant(value=bool()):
            raise ValueError("only numbers are allowed")
        case ast.Constant(value=int() | float() as number):
            result: int | float = number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            result = -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            result = _value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            first, second = _value(left), _value(right)
            if isinstance(op, ast.Pow) and abs(second) > _MAX_EXPONENT:
                raise ValueError("the exponent is too large")
            result = _BINARY[type(op)](first, second)
        case _:
            raise ValueError("only numbers and + - * / // % ** ( ) are allowed")
    if isinstance(result, complex) or abs(result) > _MAX_MAGNITUDE:
        raise ValueError("the result is out of range")
    return result


@tool
def get_weather(city: str) -> str:
    """Get the current weather of a city."""
    known = {name.casefold(): name for name in CLIMATE}.get(city.strip().casefold())
    if known is None:
        digest = zlib.crc32(city.strip().casefold().encode())
        celsius, sky = digest % 30, _SKIES[digest % len(_SKIES)]
    else:
        celsius, sky = CLIMATE[known]
    report = {"city": known or city, "celsius": celsius, "sky": sky, "source": "invented"}
    return json.dumps(report, ensure_ascii=False)


@tool
def calculate(expression: str) -> str:
    """Calculate an arithmetic expression such as `(3 + 4) * 12`."""
    value = evaluate(expression)
    return str(value) if isinstance(value, int) else f"{value:.10g}"


@tool
def remember(note: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
    """Remember a note in the state that the agent shares with the user interface."""
    answer = ToolMessage(f"Noted: {note}", tool_call_id=tool_call_id)
    return Command(update={"notes": [note], "messages": [answer]})


@tool
def send_email(to: str, body: str) -> str:
    """Send an e-mail. The demo sends nothing; it only says that it would have."""
    return f"Pretended to send {len(body)} characters to {to}. No e-mail left this machine."


calculate.handle_tool_error = True

DEMO_TOOLS: Final[list[BaseTool]] = [get_weather, calculate, remember, send_email]
"""The tools that need no model; `langgraph_agui.cli.demo_guide` has the one that does."""
